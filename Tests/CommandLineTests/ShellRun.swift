import Foundation

/// Runs a program of the system, with files of its own around it.
struct ShellRun {
  struct End {
    var code: Int32
    var output: String
    var errors: String
  }

  let folder: String

  init() throws {
    folder = FileManager.default.temporaryDirectory.path + "/virga-shell-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  func remove() { try? FileManager.default.removeItem(atPath: folder) }

  func write(_ text: String, to name: String) throws -> String {
    let path = folder + "/" + name
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  /// Where a program is; `nil`, with a line that says so, where it is not installed.
  static func path(of program: String) -> String? {
    for folder in ["/usr/bin", "/bin", "/usr/local/bin"] {
      if FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)") { return "\(folder)/\(program)" }
    }
    print("skipped: \(program) is not installed (apt-get install \(program))")
    return nil
  }

  func run(_ path: String, _ arguments: [String]) throws -> End {
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
