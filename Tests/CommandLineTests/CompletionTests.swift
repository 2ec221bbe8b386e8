import Foundation
import TestSupport
import Testing
import VirgaCommandLine

/// What each shell itself offers, with the script that was made for it.
@Suite(.timeLimit(.minutes(2))) struct CompletionTests {
  struct Case: CustomTestStringConvertible, Sendable {
    /// What was typed; the cursor is at its end.
    var typed: String
    /// All that must be offered.
    var offers: Set<String>
    /// What must not be.
    var withholds: Set<String> = []

    var testDescription: String { typed }
  }

  static let cases = [
    Case(typed: "lamp ", offers: ["light", "bulb"], withholds: ["list", "a.lamp"]),
    Case(typed: "lamp b", offers: ["bulb"], withholds: ["light"]),
    Case(typed: "lamp --home rooms bu", offers: ["bulb"], withholds: ["light"]),
    Case(typed: "lamp --ho", offers: ["--home"], withholds: ["--help"]),
    Case(typed: "lamp bulb ", offers: ["list", "change"], withholds: ["light", "bulb"]),
    Case(typed: "lamp bulb ch", offers: ["change"], withholds: ["list"]),
    Case(
      typed: "lamp light --", offers: ["--colour", "--from", "--log", "--note", "--yes", "--home", "--help"],
      withholds: ["--with"]),
    Case(typed: "lamp light --colour ", offers: ["red", "blue"], withholds: ["a.lamp", "light"]),
    Case(typed: "lamp light --colour r", offers: ["red"], withholds: ["blue"]),
    Case(typed: "lamp light --from ", offers: ["rooms"], withholds: ["a.lamp", "red"]),
    Case(typed: "lamp light --yes a", offers: ["a.lamp"], withholds: ["red"]),
    Case(typed: "lamp bulb change --with a", offers: ["a.lamp"], withholds: ["list"]),
    Case(typed: "lamp light --note text a", offers: ["a.lamp"], withholds: ["red"]),
    Case(typed: "lamp bulb list --", offers: ["--help", "--home"], withholds: ["--with", "--colour"]),
  ]

  private func shell(_ shell: Shell) throws -> (path: String, run: ShellRun, script: String)? {
    guard let path = ShellRun.path(of: shell.rawValue) else { return nil }
    let run = try ShellRun()
    _ = try run.write("", to: "a.lamp")
    try FileManager.default.createDirectory(atPath: run.folder + "/rooms", withIntermediateDirectories: true)
    return (path, run, try run.write(shell.completion(of: sample), to: shell.fileName(for: "lamp")))
  }

  private func check(_ offered: [String], _ wanted: Case, _ end: ShellRun.End) {
    // Folders are offered with a slash, and what is whole with a space.
    let words = Set(offered.map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "/ =")) })
    #expect(wanted.offers.isSubset(of: words), "\(wanted.typed): offered \(words.sorted()); \(end.errors)")
    #expect(wanted.withholds.isDisjoint(with: words), "\(wanted.typed): offered \(words.sorted())")
    #expect(end.errors.isEmpty, "\(end.errors)")
  }

  // bash hands over `=` as a word of its own.
  @Test(
    arguments: cases + [
      Case(typed: "lamp light --log=", offers: ["text", "json"]),
      Case(typed: "lamp light --colour=r", offers: ["red"], withholds: ["blue"]),
    ])
  func bashOffers(wanted: Case) throws {
    guard let (path, run, script) = try shell(.bash) else { return }
    defer { run.remove() }
    var words = wanted.typed.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    if let last = words.last, let place = last.firstIndex(of: "=") {
      words = words.dropLast() + [String(last[..<place]), "=", String(last[last.index(after: place)...])]
      if words.last == "" { words.removeLast() }
    }
    let list = words.map { "'\($0)'" }.joined(separator: " ")
    let end = try run.run(
      path,
      [
        "--norc", "-uc",
        """
        source '\(script)'; COMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1); _lamp; printf '%s\\n' "${COMPREPLY[@]}"
        """,
      ])
    check(end.output.split(separator: "\n").map(String.init), wanted, end)
  }

  @Test(
    arguments: cases + [
      Case(typed: "lamp light --log=", offers: ["--log=text", "--log=json"]),
      Case(typed: "lamp light --colour=r", offers: ["--colour=red"]),
    ])
  func fishOffers(wanted: Case) throws {
    guard let (path, run, script) = try shell(.fish) else { return }
    defer { run.remove() }
    let end = try run.run(
      path, ["--no-config", "-c", "source '\(script)'; complete -C '\(wanted.typed)'"])
    check(end.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }, wanted, end)
  }

  @Test(
    arguments: cases + [
      Case(typed: "lamp light --log=", offers: ["text", "json"]),
      Case(typed: "lamp light --colour=r", offers: ["red"], withholds: ["blue"]),
    ])
  func zshOffers(wanted: Case) throws {
    guard let (path, run, _) = try shell(.zsh) else { return }
    defer { run.remove() }
    let driver = try run.write(ZshDriver.text, to: "driver.zsh")
    let end = try run.run(path, ["-f", driver, run.folder, wanted.typed])
    check(end.output.split(separator: "\n").map(String.init), wanted, end)
  }

  /// Each shell reads what was written for it without a complaint.
  @Test(arguments: Shell.allCases) func scriptsAreWellFormed(shell: Shell) throws {
    guard let (path, run, script) = try self.shell(shell) else { return }
    defer { run.remove() }
    let end = try run.run(path, ["-n", script])
    #expect(end.code == 0 && end.errors.isEmpty, "\(end)")
  }
}
