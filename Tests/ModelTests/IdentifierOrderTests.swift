import Testing
import VirgaModel

@Suite struct IdentifierOrderTests {
  @Test func namesAreInTheOrderOfTheirBytes() {
    let names = [
      "", "a", "A", "aa", "ab", "b", "ä", "a\u{308}", "\u{1f600}", "\u{ffff}", "title", "titles", "Title", "\u{0}",
      "fifteen bytes..", "sixteen bytes...", "sixteen bytes..!", String(repeating: "x", count: 200),
    ]
    for left in names {
      for right in names {
        let isBefore = left.utf8.lexicographicallyPrecedes(right.utf8)
        #expect((FieldName(left) < FieldName(right)) == isBefore, "'\(left)' before '\(right)'")
      }
    }
  }
}
