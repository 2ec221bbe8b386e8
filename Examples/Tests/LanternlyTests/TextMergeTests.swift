import Testing

@testable import LanternlyCore

struct TextMergeTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var base, mine, theirs: String
    var result: TextMerge.Outcome
    var testDescription: String { name }
  }

  static let cases: [Case] = [
    Case(name: "nothing changed", base: "a", mine: "a", theirs: "a", result: .merged("a")),
    Case(name: "one side changed", base: "a", mine: "b", theirs: "a", result: .merged("b")),
    Case(name: "both changed alike", base: "a", mine: "b", theirs: "b", result: .merged("b")),
    Case(name: "both changed one line", base: "a", mine: "b", theirs: "c", result: .conflict),
    Case(
      name: "lines apart", base: "1\n2\n3\n4", mine: "1x\n2\n3\n4", theirs: "1\n2\n3\n4y",
      result: .merged("1x\n2\n3\n4y")),
    Case(name: "lines that touch", base: "1\n2\n3", mine: "1x\n2\n3", theirs: "1\n2y\n3", result: .conflict),
    Case(name: "two texts put at one place", base: "1\n2", mine: "1\na\n2", theirs: "1\nb\n2", result: .conflict),
    Case(name: "both add at the end", base: "1", mine: "1\n\na", theirs: "1\n\nb", result: .conflict),
    Case(
      name: "one adds at the end, one at the start", base: "1\n2", mine: "0\n1\n2", theirs: "1\n2\n3",
      result: .merged("0\n1\n2\n3")),
    Case(
      name: "a line removed there, one changed far", base: "1\n2\n3\n4", mine: "2\n3\n4", theirs: "1\n2\n3\n4z",
      result: .merged("2\n3\n4z")),
    Case(
      name: "a line that one removes and one changes", base: "1\n2\n3", mine: "1\n3", theirs: "1\n2!\n3",
      result: .conflict),
    Case(
      name: "the same change and another", base: "1\n2\n3\n4\n5", mine: "1x\n2\n3\n4\n5", theirs: "1x\n2\n3\n4\n5y",
      result: .merged("1x\n2\n3\n4\n5y")),
    Case(name: "from nothing", base: "", mine: "a", theirs: "b", result: .conflict),
    Case(
      name: "line ends of Windows stay", base: "1\r\n2\r\n3", mine: "0\r\n2\r\n3", theirs: "1\r\n2\r\n4",
      result: .merged("0\r\n2\r\n4")),
  ]

  @Test(arguments: cases) func mergesByLines(_ example: Case) {
    #expect(TextMerge.merge(base: example.base, mine: example.mine, theirs: example.theirs) == example.result)
    #expect(TextMerge.merge(base: example.base, mine: example.theirs, theirs: example.mine) == example.result)
  }

  /// C46: ten paragraphs; one device edits the first, another the ninth.
  @Test func editsOfDistantParagraphsBothSurvive() {
    let base = (1...10).map { "Paragraph \($0)." }.joined(separator: "\n\n")
    let mine = base.replacingOccurrences(of: "Paragraph 1.", with: "First, edited on the phone.")
    let theirs = base.replacingOccurrences(of: "Paragraph 9.", with: "Ninth, edited on the laptop.")
    guard case .merged(let text) = TextMerge.merge(base: base, mine: mine, theirs: theirs) else {
      Issue.record("the edits do not touch")
      return
    }
    #expect(text.contains("First, edited on the phone."))
    #expect(text.contains("Ninth, edited on the laptop."))
    #expect(text.components(separatedBy: "\n\n").count == 10)
  }

  /// Both orders agree, every added line survives a join, and a line is gone only if a side removed it.
  @Test func joinedTextsLoseNothing() {
    for seed in UInt64(0)..<2000 {
      var random = Seeded(seed)
      let base = (0..<Int.random(in: 0...8, using: &random)).map { "line \($0)" }
      let mine = Self.edited(base, by: "m", &random)
      let theirs = Self.edited(base, by: "t", &random)
      let texts = [base, mine, theirs].map { $0.joined(separator: "\n") }
      let outcome = TextMerge.merge(base: texts[0], mine: texts[1], theirs: texts[2])
      #expect(outcome == TextMerge.merge(base: texts[0], mine: texts[2], theirs: texts[1]), "seed \(seed)")
      guard case .merged(let text) = outcome else { continue }
      let lines = Set(text.split(separator: "\n").map(String.init))
      for line in mine + theirs where !base.contains(line) && !line.isEmpty {
        #expect(lines.contains(line), "seed \(seed): \(line) is lost")
      }
      for line in base where mine.contains(line) && theirs.contains(line) {
        #expect(lines.contains(line), "seed \(seed): \(line) vanished")
      }
    }
  }

  private static func edited(_ lines: [String], by author: String, _ random: inout Seeded) -> [String] {
    var lines = lines
    for edit in 0..<Int.random(in: 0...3, using: &random) {
      let place = Int.random(in: 0...lines.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: lines.insert("\(author) added \(edit)", at: place)
      case 1 where place < lines.count: lines[place] = "\(author) changed \(edit)"
      case 2 where place < lines.count: lines.remove(at: place)
      default: break
      }
    }
    return lines
  }

  @Test func hugeTextsAreComparedAsWholes() {
    let base = (0..<3000).map { "b\($0)" }.joined(separator: "\n")
    let mine = (0..<3000).map { "m\($0)" }.joined(separator: "\n")
    #expect(TextMerge.merge(base: base, mine: mine, theirs: base + "\nmore") == .conflict)
  }
}
