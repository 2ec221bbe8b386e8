package import VirgaModel

/// Counts wrong guesses of each address and says when one has to wait.
package struct GuessLimiter: Sendable {
  private struct Guesses {
    var count: Int
    var began: Timestamp
  }

  private var guesses: [String: Guesses] = [:]

  package init() {}

  /// How long the address has to wait before it may try again; `nil` when it may now.
  package func wait(for address: String, now: Timestamp) -> Duration? {
    guard let made = guesses[address], made.count >= Limits.wrongGuessesPerAddressMax else { return nil }
    let end = made.began + Limits.guessWindow
    return now < end ? end - now : nil
  }

  package mutating func recordWrongGuess(from address: String, now: Timestamp) {
    if let made = guesses[address], now < made.began + Limits.guessWindow {
      guesses[address] = Guesses(count: made.count + 1, began: made.began)
      return
    }
    if guesses.count >= Limits.guessingAddressesMax { forgetSome(now: now) }
    guesses[address] = Guesses(count: 1, began: now)
  }

  private mutating func forgetSome(now: Timestamp) {
    guesses = guesses.filter { now < $0.value.began + Limits.guessWindow }
    guard guesses.count >= Limits.guessingAddressesMax else { return }
    let oldest = guesses.min { ($0.value.began, $0.key) < ($1.value.began, $1.key) }
    if let oldest { guesses[oldest.key] = nil }
  }
}
