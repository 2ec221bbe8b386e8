import Testing
import VirgaModel

@Suite struct IdentifierTests {
  @Test(arguments: [1, 9, 10, 35, 36, 37, 1_295, 1_296, 46_655, 46_656, .max, .max - 1, 0, -1, .min] as [Int64])
  func aTagIsItsNumberToBase36(number: Int64) {
    #expect(ChangeTag(sequence: number).rawValue == String(number, radix: 36))
    #expect(ChangeTag(sequence: number).sequence == (number > 0 ? number : nil))
  }

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
