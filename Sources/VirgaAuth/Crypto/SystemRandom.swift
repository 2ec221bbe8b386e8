import COpenSSL

/// The system's secure random numbers, as a generator that may cross isolation.
package struct SystemRandom: RandomNumberGenerator, Sendable {
  private static let words = RandomWords()

  package init() {}

  package mutating func next() -> UInt64 { Self.words.next() }

  /// Bytes for keys, nonces and tokens.
  package static func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]))
      initialized = count
    }
  }

  static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    let start = buffer.assumingMemoryBound(to: UInt8.self).baseAddress
    precondition(RAND_bytes(start, Int32(buffer.count)) == 1, "the system has no random bytes")
  }
}
