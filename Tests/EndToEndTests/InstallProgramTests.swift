import Foundation
import TestSupport
import Testing

/// What the program writes for shells and for `man`, as they read it.
@Suite(.timeLimit(.minutes(2))) struct InstallProgramTests {
  private func completion(_ shell: String) async throws -> (path: String, run: ShellRun)? {
    guard let path = ShellRun.path(of: shell) else { return nil }
    let run = try ShellRun()
    let name = ["zsh": "_virga", "fish": "virga.fish"][shell] ?? "virga"
    let end = try await ProgramRun.run(["completion", shell, "--file", "\(run.folder)/\(name)"])
    #expect(end.code == 0 && end.output.isEmpty && end.errors.isEmpty, "\(end)")
    let written = try String(contentsOfFile: "\(run.folder)/\(name)", encoding: .utf8)
    #expect(try await ProgramRun.run(["completion", shell]).output == written)
    return (path, run)
  }

  static let cases: [(typed: String, offers: Set<String>)] = [
    ("virga ", ["serve", "account", "records", "completion"]), ("virga rec", ["records"]),
    ("virga records q", ["query"]), ("virga account remo", ["remove"]),
    ("virga records query --container c --data", ["--data", "--database"]),
    ("virga records query --environment ", ["development", "production"]),
    ("virga completion ", ["bash", "zsh", "fish"]), ("virga serve --enrolment ", ["open", "invite", "closed"]),
  ]

  @Test(arguments: cases) func bashOffersThem(typed: String, offers: Set<String>) async throws {
    guard let (path, run) = try await completion("bash") else { return }
    defer { run.remove() }
    let words = typed.split(separator: " ", omittingEmptySubsequences: false).map { "'\($0)'" }
    let script = """
      source ./virga; COMP_WORDS=(\(words.joined(separator: " "))); COMP_CWORD=\(words.count - 1); _virga
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let end = try run.run(path, ["--norc", "-uc", script])
    #expect(offers.isSubset(of: end.output.split(separator: "\n").map(String.init)), "\(end)")
    #expect(end.errors.isEmpty)
  }

  @Test(arguments: cases) func fishOffersThem(typed: String, offers: Set<String>) async throws {
    guard let (path, run) = try await completion("fish") else { return }
    defer { run.remove() }
    let end = try run.run(path, ["--no-config", "-c", "source ./virga.fish; complete -C '\(typed)'"])
    let offered = end.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    #expect(offers.isSubset(of: offered) && end.errors.isEmpty, "\(end)")
  }

  @Test(arguments: cases) func zshOffersThem(typed: String, offers: Set<String>) async throws {
    guard let (path, run) = try await completion("zsh") else { return }
    defer { run.remove() }
    let end = try run.run(path, ["-f", try run.write(ZshDriver.text, to: "driver.zsh"), run.folder, typed])
    #expect(offers.isSubset(of: end.output.split(separator: "\n").map(String.init)), "\(end)")
    #expect(end.errors.isEmpty)
  }

  @Test func anotherShellIsRefused() async throws {
    let end = try await ProgramRun.run(["completion", "csh"])
    #expect(end.code == 64 && end.errors.contains("bash, zsh or fish"))
    #expect(try await ProgramRun.run(["completion", "bash", "--file", "/nonexistent/x"]).code == 73)
  }

  @Test func everyCommandHasAManualPageWithoutFault() async throws {
    let run = try ShellRun()
    defer { run.remove() }
    let folder = run.folder + "/man1"
    #expect(try await ProgramRun.run(["manual", folder]).code == 0)
    let pages = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    for command in HelpTests.commands {
      let name = "virga-\(command.split(separator: " ")[0]).1"
      #expect(pages.contains(name))
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      #expect(text.contains(".B virga \(command)".replacing("-", with: "\\-")), "\(command)")
    }
    guard let mandoc = ShellRun.path(of: "mandoc") else { return }
    let end = try run.run(mandoc, ["-T", "lint", "-W", "warning"] + pages.map { "\(folder)/\($0)" })
    #expect(end.code == 0 && end.output.isEmpty, "\(end.output)")
    guard let man = ShellRun.path(of: "man") else { return }
    let shown = try run.run(man, ["--warnings", "-E", "utf-8", "-l", "\(folder)/virga-records.1"])
    #expect(shown.code == 0 && shown.errors.isEmpty && shown.output.contains("records query"), "\(shown)")
  }
}
