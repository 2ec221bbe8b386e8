package import VirgaModel
package import VirgaWire

/// Counts wrong guesses of each address and says when one has to wait.
///
/// A guess is counted before it is judged, and given back if it was right: so of many that are made at once no more are
/// judged than of as many one after the other.
package struct GuessLimiter: Sendable {
  private struct Guesses {
    /// Those that were wrong.
    var count: Int
    /// Those that are being judged.
    var pending = 0
    var began: Timestamp
  }

  private var guesses: [String: Guesses] = [:]

  package init() {}

  /// Whether a guess may be judged, or how long the address has to wait.
  package enum Admission: Hashable, Sendable {
    case admitted
    case wait(Duration)

    /// - Throws: `THROTTLED` with the time to wait.
    package func check() throws(ServiceError) {
      guard case .wait(let wait) = self else { return }
      let seconds = Int((wait.wholeMilliseconds + 999) / 1_000)
      throw ServiceError(.throttled, AccountReason.tooManyGuesses, retryAfterSeconds: seconds)
    }
  }

  /// Takes one of the guesses that the address has. Each that is admitted is ended by `end`.
  package mutating func begin(from address: String, now: Timestamp) -> Admission {
    var made = guesses[address] ?? Guesses(count: 0, began: now)
    if !counts(made, now: now) { made = Guesses(count: 0, pending: made.pending, began: now) }
    guard made.count < Limits.wrongGuessesPerAddressMax else {
      return .wait(made.began + Limits.guessWindow - now)
    }
    // Those under way are soon judged, and most are right.
    guard made.count + made.pending < Limits.wrongGuessesPerAddressMax else { return .wait(.seconds(1)) }
    if guesses[address] == nil, guesses.count >= Limits.guessingAddressesMax { forgetSome(now: now) }
    made.pending += 1
    guesses[address] = made
    return .admitted
  }

  /// Ends a guess that was admitted: a right one is given back.
  package mutating func end(from address: String, wasWrong: Bool, now: Timestamp) {
    // It may have been forgotten in the meantime, for others.
    var made = guesses[address] ?? Guesses(count: 0, pending: 1, began: now)
    made.pending = max(0, made.pending - 1)
    if wasWrong {
      // The time runs from the first wrong one.
      if made.count == 0 || !counts(made, now: now) { (made.count, made.began) = (0, now) }
      made.count += 1
    }
    guesses[address] = made.count == 0 && made.pending == 0 ? nil : made
  }

  /// Whether guesses are still held against an address. Those of the far future were made before the clock was set back;
  /// those of the near one count, since requests are not counted in the order in which they began.
  private func counts(_ made: Guesses, now: Timestamp) -> Bool {
    made.began <= now + Limits.guessWindow && now < made.began + Limits.guessWindow
  }

  private mutating func forgetSome(now: Timestamp) {
    guesses = guesses.filter { $0.value.pending > 0 || counts($0.value, now: now) }
    guard guesses.count >= Limits.guessingAddressesMax else { return }
    let oldest = guesses.min { ($0.value.began, $0.key) < ($1.value.began, $1.key) }
    if let oldest { guesses[oldest.key] = nil }
  }
}
