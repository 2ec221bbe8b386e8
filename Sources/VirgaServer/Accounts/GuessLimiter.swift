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
    guard let made = guesses[address], counts(made, now: now), made.count >= Limits.wrongGuessesPerAddressMax else {
      return nil
    }
    return made.began + Limits.guessWindow - now
  }

  /// Whether guesses are still held against an address. Those of the far future were made before the clock was set back;
  /// those of the near one count, since requests are not counted in the order in which they began.
  private func counts(_ made: Guesses, now: Timestamp) -> Bool {
    made.began <= now + Limits.guessWindow && now < made.began + Limits.guessWindow
  }

  package mutating func recordWrongGuess(from address: String, now: Timestamp) {
    if let made = guesses[address], counts(made, now: now) {
      guesses[address] = Guesses(count: made.count + 1, began: made.began)
      return
    }
    if guesses.count >= Limits.guessingAddressesMax { forgetSome(now: now) }
    guesses[address] = Guesses(count: 1, began: now)
  }

  private mutating func forgetSome(now: Timestamp) {
    guesses = guesses.filter { counts($0.value, now: now) }
    guard guesses.count >= Limits.guessingAddressesMax else { return }
    let oldest = guesses.min { ($0.value.began, $0.key) < ($1.value.began, $1.key) }
    if let oldest { guesses[oldest.key] = nil }
  }
}
