import Foundation

/// Runs a program of the system, with files of its own around it.
package struct ShellRun {
  package struct End {
    package var code: Int32
    package var output: String
    package var errors: String
  }

  package let folder: String

  package init() throws {
    folder = FileManager.default.temporaryDirectory.path + "/virga-shell-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  package func remove() { try? FileManager.default.removeItem(atPath: folder) }

  package func write(_ text: String, to name: String) throws -> String {
    let path = folder + "/" + name
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  /// Where a program is; `nil`, with a line that says so, where it is not installed.
  package static func path(of program: String) -> String? {
    for folder in ["/usr/bin", "/bin", "/usr/local/bin"] {
      if FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)") { return "\(folder)/\(program)" }
    }
    print("skipped: \(program) is not installed (apt-get install \(program))")
    return nil
  }

  package func run(_ path: String, _ arguments: [String]) throws -> End {
    let process = Process()
    // A shell that waits for something that never comes is a failure, and not a test without end.
    process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
    process.arguments = ["--kill-after=5", "60", path] + arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.environment = [
      "PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "TERM": "xterm", "XDG_CONFIG_HOME": folder,
      "XDG_DATA_HOME": folder,
    ]
    // Files, since a pipe that nobody reads would hold it up.
    let (output, errors) = (folder + "/.output", folder + "/.errors")
    for file in [".output", ".errors"] { _ = try write("", to: file) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle(forWritingAtPath: output)
    process.standardError = FileHandle(forWritingAtPath: errors)
    try process.run()
    process.waitUntilExit()
    func text(_ file: String) throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
    return End(code: process.terminationStatus, output: try text(output), errors: try text(errors))
  }
}

/// zsh completes only in a terminal: this one opens one, types, and prints what the completion system was given.
package enum ZshDriver {
  package static let text = #"""
    zmodload zsh/zpty
    zpty shell zsh -f -i
    note() { zpty -w shell "$1" }
    note "PROMPT= PS2= RPROMPT= ; stty -echo; unsetopt zle_bracketed_paste 2>/dev/null; cd '$1'"
    note "fpath=('$1' \$fpath); autoload -Uz compinit; compinit -u -D"
    note "zstyle ':completion:*' completer _complete"
    note "compadd() {
      local -a __found
      if [[ \${@[1,(i)(-|--)]} != *-[OAD]* ]]; then
        builtin compadd -O __found \"\$@\"
        print -rl -- \"\${__found[@]/#/offer:}\" >> '$1/offers'
      fi
      builtin compadd \"\$@\"
    }"
    note "try() { zle complete-word; print -r -- ov''er }; zle -N try; bindkey '^I' try"
    # Only once the shell reads keys, and not lines, does it see them all.
    note "zle-line-init() { print -r -- re''ady }; zle -N zle-line-init"
    zpty -r -m shell seen '*ready*' || exit 1
    zpty -w -n shell "$2"$'\t'
    zpty -r -m shell seen '*over*' || exit 1
    zpty -d shell
    [[ -f $1/offers ]] && sed -n 's/^offer://p' "$1/offers"
    exit 0
    """#
}
