import Foundation
import TestSupport
import Testing

/// What the documents tell a reader to type is known to the program.
@Suite(.timeLimit(.minutes(2))) struct DocumentCommandTests {
  /// A command of a document with its options.
  struct Typed: Hashable, CustomStringConvertible {
    var words: [String]
    var options: Set<String>
    var description: String { (words + options.sorted()).joined(separator: " ") }
  }

  static let commands: [Typed] = {
    let pages = ["README.md", "docs", "Sources/VirgaCloudKit/VirgaCloudKit.docc"].flatMap { documents(at: $0) }
    var lines: [Substring] = []
    for page in pages {
      for block in (try? Repository.blocks("sh", in: page)) ?? [] { lines += block.split(separator: "\n") }
    }
    return Set(lines.compactMap(typed)).sorted { "\($0)" < "\($1)" }
  }()

  private static func documents(at path: String) -> [String] {
    if path.hasSuffix(".md") { return [path] }
    let below = FileManager.default.enumerator(atPath: Repository.root.appending(path: path).path)
    return (below?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".md") }.map { "\(path)/\($0)" }
  }

  /// - Returns: `nil` for a line that runs another program.
  private static func typed(_ line: Substring) -> Typed? {
    let command = line.prefix { $0 != "#" && $0 != "|" && $0 != "&" }.split(separator: " ").map(String.init)
    guard let first = command.first, first == "virga" || first.hasSuffix("/virga") else { return nil }
    let words = command.dropFirst().prefix { $0.allSatisfy { $0.isLowercase || $0 == "-" } && !$0.hasPrefix("-") }
    let options = command.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
    // A group has a second word: `backup` has none.
    return Typed(words: Array(words.prefix(groups.contains(words.first ?? "") ? 2 : 1)), options: Set(options))
  }

  private static let groups = Set(
    HelpTests.commands.compactMap { command in
      let words = command.split(separator: " ")
      return words.count > 1 ? String(words[0]) : nil
    })

  @Test(arguments: commands) func documentsNameCommandsAndOptionsThatExist(typed: Typed) async throws {
    let help = try await ProgramRun.run(typed.words + ["--help"])
    #expect(help.code == 0, "\(typed): \(help.errors)")
    for option in typed.options { #expect(help.output.contains("\(option) ") || help.output.contains("\(option)\n")) }
  }

  @Test func theDocumentsShowManyCommands() { #expect(Self.commands.count > 20) }
}
