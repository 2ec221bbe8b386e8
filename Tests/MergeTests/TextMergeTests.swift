import TestSupport
import Testing
import VirgaMerge

@Suite struct TextMergeTests {
  @Test(
    arguments: [
      ("a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC"),
      ("a\nb", "a\nb\nc", "A\nb", "A\nb\nc"),
      ("one two three", "ONE two three", "one two THREE", "ONE two THREE"),
      ("one two", "one two", "uno two", "uno two"),
      ("one", "uno", "eins", nil),
      ("", "a", "b", nil), ("", "a", "a", "a"),
      ("a\n", "a\nx\n", "a\ny\n", nil),
      ("a\r\nb", "a\r\nB", "A\r\nb", "A\r\nB"),
      (
        "The first rain in weeks.", "The first warm rain in weeks.", "The first rain in months.",
        "The first warm rain in months."
      ),
      ("x\ny", "y", "x\ny\nz", "y\nz"),
    ] as [(String, String, String, String?)])
  func linesAndWordsAreMerged(ancestor: String, mine: String, theirs: String, expected: String?) {
    #expect(TextMerge.merge(ancestor: ancestor, mine: mine, theirs: theirs) == expected)
    #expect(TextMerge.merge(ancestor: ancestor, mine: theirs, theirs: mine) == expected)
  }

  @Test func twoSpellingsOfOneLetterAreTwoTexts() throws {
    let text = try #require(TextMerge.merge(ancestor: "caf\u{e9}", mine: "cafe\u{301}", theirs: "caf\u{e9}"))
    #expect(text.utf8.count == 6)
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func mergingIsSymmetricAndLosesNoLine(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let base = (0..<Int.random(in: 0...6, using: &random)).map { "line \($0)" }
    func edited(_ name: String) -> [String] {
      var lines = base
      for step in 0..<Int.random(in: 0...3, using: &random) {
        let place = Int.random(in: 0...lines.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: lines.insert("\(name) \(step)", at: place)
        case 1 where place < lines.count: lines[place] += " \(name)\(step)"
        default: if place < lines.count { lines.remove(at: place) }
        }
      }
      return lines
    }
    let (mine, theirs) = (edited("mine"), edited("theirs"))
    func merged(_ left: [String], _ right: [String]) -> String? {
      TextMerge.merge(
        ancestor: base.joined(separator: "\n"), mine: left.joined(separator: "\n"),
        theirs: right.joined(separator: "\n"))
    }
    let result = merged(mine, theirs)
    #expect(result == merged(theirs, mine), "seed \(seed)")
    guard let result else { return }
    for line in mine + theirs where line.contains("mine") || line.contains("theirs") {
      let word = line.split(separator: " ").first { $0.hasPrefix("mine") || $0.hasPrefix("theirs") }
      #expect(result.contains(word ?? "?"), "seed \(seed): \(line) is not in \(result)")
    }
  }

  @Test func longTextsEndInBoundedTime() {
    let base = (0..<5_000).map { "line \($0)" }.joined(separator: "\n")
    let other = (0..<5_000).map { "other \($0)" }.joined(separator: "\n")
    #expect(TextMerge.merge(ancestor: base, mine: "top\n" + base, theirs: base + "\nend") == "top\n" + base + "\nend")
    #expect(TextMerge.merge(ancestor: base, mine: other, theirs: base) == other)
  }
}
