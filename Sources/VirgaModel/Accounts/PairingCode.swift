/// Codes that people read from one screen and type on another: no letter looks like another letter or digit.
package enum PairingCode {
  package static let alphabet = Array("23456789ABCDEFGHJKMNPQRSTVWXYZ")
  /// Characters of a code that adds a device to an account: 39 bits, enough for ten minutes and few guesses.
  package static let pairingLength = 8
  /// Characters of a code that makes an account, which lives for days: 78 bits.
  package static let enrolmentLength = 16

  /// Draws a code in its plain form, without hyphens.
  package static func draw(length: Int, using random: inout some RandomNumberGenerator) -> String {
    String((0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] })
  }

  /// In groups of four, as people see it.
  package static func spelled(_ code: String) -> String {
    let characters = Array(code)
    return stride(from: 0, to: characters.count, by: 4)
      .map { String(characters[$0..<min($0 + 4, characters.count)]) }.joined(separator: "-")
  }

  /// What was typed in its plain form: case, spaces and hyphens do not matter.
  package static func plain(_ typed: String) -> String {
    String(typed.filter { !$0.isWhitespace && $0 != "-" }.uppercased())
  }
}
