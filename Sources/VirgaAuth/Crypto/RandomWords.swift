import Synchronization

/// Random words of the system, fetched some at a time: one call for each word would be two for each request.
///
/// There is one of it in the process, and copies of a `SystemRandom` share it. Were the words in the generator itself, a
/// copy, such as a call's context makes, would hand out the same words as the original: two secrets that are one.
final class RandomWords: Sendable {
  /// Few, as they wait in memory to become secrets.
  private static let fetched = 64

  private let supply = Mutex<[UInt64]>([])

  func next() -> UInt64 {
    supply.withLock { words in
      if words.isEmpty { Self.fetch(into: &words) }
      let word = words[words.count - 1]
      // A word that was given to somebody stays nowhere else.
      words[words.count - 1] = 0
      words.removeLast()
      return word
    }
  }

  private static func fetch(into words: inout [UInt64]) {
    words.append(contentsOf: repeatElement(0, count: fetched))
    words.withUnsafeMutableBytes { SystemRandom.fill($0) }
  }
}
