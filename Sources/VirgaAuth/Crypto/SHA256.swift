import COpenSSL

/// SHA-256 over bytes that come in pieces.
///
/// The value owns an OpenSSL context; `finish` gives the digest and leaves the value ready for a new message.
package struct SHA256: ~Copyable, @unchecked Sendable {
  // Safe to send: the pointer has this one owner, and nothing outside keeps it.
  private let context: OpaquePointer

  package static let digestLength = 32

  package init() {
    guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory for a digest") }
    self.context = context
    start()
  }

  deinit { EVP_MD_CTX_free(context) }

  private func start() {
    precondition(EVP_DigestInit_ex2(context, Algorithm.sha256.pointer, nil) == 1, "SHA-256 is not available")
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "a digest refused bytes")
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  package mutating func finish() -> [UInt8] {
    let digest = [UInt8](unsafeUninitializedCapacity: Self.digestLength) { buffer, count in
      precondition(EVP_DigestFinal_ex(context, buffer.baseAddress, nil) == 1, "a digest did not finish")
      count = Self.digestLength
    }
    start()
    return digest
  }

  /// The digest of one message.
  package static func digest(of bytes: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    hash.update(bytes)
    return hash.finish()
  }

  /// The digest of a text's UTF-8, as 64 lower-case hexadecimal digits: the form in which tokens are stored.
  package static func hexDigest(of text: String) -> String { Hex.encode(digest(of: Array(text.utf8))) }
}

/// A fetched algorithm: fetching once instead of at each use saves about a microsecond per message.
final class Algorithm: @unchecked Sendable {
  // Safe to share: OpenSSL's fetched methods are immutable.
  let pointer: OpaquePointer

  init(_ name: String) {
    guard let pointer = EVP_MD_fetch(nil, name, nil) else { preconditionFailure("OpenSSL has no \(name)") }
    self.pointer = pointer
  }

  static let sha256 = Algorithm("SHA2-256")
}

/// Compares secrets in a time that depends on their length alone.
package func equalsInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

package func equalsInConstantTime(_ left: String, _ right: String) -> Bool {
  equalsInConstantTime(Array(left.utf8), Array(right.utf8))
}
