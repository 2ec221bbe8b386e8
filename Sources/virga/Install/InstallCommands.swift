import Foundation
import VirgaCommandLine

/// What a package brings beside the program, made by the program itself.
enum InstallCommands {
  private static let completion = CommandSpec(
    name: "virga completion", summary: "Prints the completions of a shell, or writes them to a file.",
    brief: "Prints the completions of a shell",
    operands: [.init("SHELL", values: .words(Shell.allCases.map(\.rawValue)))],
    options: [.init(name: "--file", value: "FILE", help: "Write them to this file.")],
    notes: """
      SHELL is bash, zsh or fish. To use them:
        bash   virga completion bash --file ~/.local/share/bash-completion/completions/virga
        zsh    virga completion zsh --file FOLDER/_virga, where FOLDER is one of $fpath
        fish   virga completion fish --file ~/.config/fish/completions/virga.fish

      Exit codes: 0 done · 64 wrong arguments · 73 the file cannot be written
      """)
  private static let manual = CommandSpec(
    name: "virga manual", summary: "Writes the manual pages into a folder: virga.1 and one for each command.",
    brief: "Writes the manual pages into a folder", operands: ["FOLDER"],
    notes: """
      To read one: man FOLDER/virga.1

      Exit codes: 0 done · 64 wrong arguments · 73 the folder cannot be written
      """)
  private static let version = CommandSpec(
    name: "virga version", summary: "Prints the version.",
    notes: "Exit codes: 0 done · 64 wrong arguments")

  static let commands = [
    Command(completion, writeCompletion), Command(manual, writeManual),
    Command(version) { _ in Terminal.print("virga \(Program.version)") },
  ]

  private static func writeCompletion(_ arguments: Arguments) throws {
    let name = arguments.operands[0]
    guard let shell = Shell(rawValue: name) else {
      throw Failure.usage(completion.name, "SHELL must be bash, zsh or fish, not \(name)")
    }
    let text = shell.completion(of: Program.spec)
    guard let path = arguments.value("--file") else { return Terminal.print(String(text.dropLast())) }
    try write(text, to: path)
  }

  private static func writeManual(_ arguments: Arguments) throws {
    let folder = arguments.operands[0]
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch { throw Failure(.unwritable, "cannot make the folder \(folder)") }
    for page in ManualPage.all(of: Program.spec, isSplit: true) {
      try write(page.text, to: "\(folder)/\(page.fileName)")
    }
  }

  private static func write(_ text: String, to path: String) throws(Failure) {
    do { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) } catch {
      throw Failure(.unwritable, "cannot write \(path)")
    }
  }
}
