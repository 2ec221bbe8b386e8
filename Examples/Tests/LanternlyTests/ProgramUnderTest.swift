import Foundation
import Synchronization

@testable import LanternlyCore

/// Runs commands in this process, with its own home, clock and words around it.
final class ProgramUnderTest: Sendable {
  struct Result: Sendable {
    var code: Int32
    var lines: [String]
    var problems: [String]
    var output: String { lines.joined(separator: "\n") }
  }

  let folder = TemporaryFolder()
  let home: String
  let clock = Mutex(Moment(iso8601: "2026-11-30T18:05:00Z") ?? .never)
  private let environment: [String: String]
  private let screen: Screen
  private let saysYes: Bool

  init(
    _ name: String = "phone", environment: [String: String] = [:], screen: Screen = Screen(), saysYes: Bool = false
  ) {
    home = folder.path + "/" + name
    self.environment = environment
    self.screen = screen
    self.saysYes = saysYes
  }

  init(home: String) {
    self.home = home
    environment = [:]
    screen = Screen()
    saysYes = false
  }

  /// As messages name the program, which always has its folder named here.
  var command: String { "lanternly --home \(home)" }

  @discardableResult
  func run(
    _ words: String..., input: String? = nil, editing: @escaping @Sendable (String) -> String? = { _ in nil }
  ) async -> Result {
    await run(words: words, input: input, editing: editing)
  }

  func run(
    words: [String], input: String? = nil, editing: @escaping @Sendable (String) -> String? = { _ in nil }
  ) async -> Result {
    await run(words, input: input) { path in
      guard let text = try? String(contentsOfFile: path, encoding: .utf8), let edited = editing(text) else { return 1 }
      return (try? edited.write(toFile: path, atomically: false, encoding: .utf8)) == nil ? 1 : 0
    }
  }

  /// With an editor that leaves these bytes in its file.
  func run(_ words: String..., writing bytes: Data) async -> Result {
    await run(words, input: nil) { path in FileManager.default.createFile(atPath: path, contents: bytes) ? 0 : 1 }
  }

  /// With an editor that does with its file what it wants.
  func run(_ words: String..., withEditor edit: @escaping @Sendable (String) -> Int32) async -> Result {
    await run(words, input: nil, edit: edit)
  }

  private func run(_ words: [String], input: String?, edit: @escaping @Sendable (String) -> Int32) async -> Result {
    let lines = Mutex<(lines: [String], problems: [String])>(([], []))
    let output = Output(
      line: { line in lines.withLock { $0.lines.append(line) } },
      problem: { line in lines.withLock { $0.problems.append(line) } })
    let surroundings = Surroundings(
      environment: environment, now: { self.clock.withLock { $0 } }, output: output, screen: screen,
      input: { _ in input }, edit: { _, path in edit(path) }, confirm: { _ in self.saysYes })
    let code = await Lanternly.run(["--home", home] + words, surroundings)
    return lines.withLock { Result(code: code, lines: $0.lines, problems: $0.problems) }
  }

  func store() throws -> DiaryStore { try DiaryStore(home: DiaryHome(path: home)) }

  /// The name of the only entry, or of that whose text begins so.
  func name(_ start: String = "") throws -> String {
    try store().entries().first { $0.entry.text.hasPrefix(start) }?.id.name ?? "none"
  }

  func pass(seconds: Int64) { clock.withLock { $0.milliseconds += seconds * 1000 } }
}
