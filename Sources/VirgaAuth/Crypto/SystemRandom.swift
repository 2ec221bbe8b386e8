import COpenSSL

/// The system's secure random numbers, as a generator that may cross isolation.
package struct SystemRandom: RandomNumberGenerator, Sendable {
  private var generator = SystemRandomNumberGenerator()

  package init() {}

  package mutating func next() -> UInt64 { generator.next() }

  /// Bytes for keys, nonces and tokens.
  package static func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      precondition(RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "the system has no random bytes")
      initialized = count
    }
  }
}
