import Testing
import VirgaModel

/// How text is cut into words.
@Suite struct SearchTokenTests {
  /// C82
  @Test(arguments: [
    ("ΟΔΟΣ Οδός οδος", ["οδοσ", "οδοσ", "οδοσ"]), ("Ünal ÜNAL unal", ["unal", "unal", "unal"]),
    ("Café Cafe\u{301} CAFÉ", ["cafe", "cafe", "cafe"]),
    ("store's apple-pie, 2nd", ["store", "s", "apple", "pie", "2nd"]),
    ("Straße STRASSE", ["strasse", "strasse"]), ("İstanbul", ["istanbul"]), ("東京 タワー", ["東", "京", "タ", "ワ", "ー"]),
    ("ガ カ", ["カ\u{3099}", "カ"]), ("שָׁלוֹם", ["שלום"]), ("😀 — …", []), ("", []),
  ])
  func wordsAreFolded(text: String, words: [String]) {
    #expect(SearchTokens.tokens(of: text).map { Array($0.utf8) } == words.map { Array($0.utf8) })
  }

  @Test func longWordsAreCut() {
    #expect(SearchTokens.tokens(of: String(repeating: "x", count: 500)) == [String(repeating: "x", count: 64)])
  }
}
