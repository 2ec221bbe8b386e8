import CDigest

/// Digests by OpenSSL, for names and for files.
package struct Digest: ~Copyable {
  package enum Algorithm { case sha256, md5 }

  private let context: OpaquePointer

  package init(_ algorithm: Algorithm) {
    guard let context = EVP_MD_CTX_new() else { preconditionFailure("no memory for a digest") }
    let isReady = EVP_DigestInit_ex(context, algorithm == .sha256 ? EVP_sha256() : EVP_md5(), nil)
    precondition(isReady == 1, "the cryptographic library refuses a digest")
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    let isDone = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    precondition(isDone == 1, "the cryptographic library refuses bytes")
  }

  /// The digest in lower-case hex digits.
  package consuming func hex() -> String {
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    let isDone = EVP_DigestFinal_ex(context, &digest, &count)
    precondition(isDone == 1, "the cryptographic library refuses to finish a digest")
    return Self.hex(digest.prefix(Int(count)))
  }

  private static func hex(_ bytes: ArraySlice<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    return String(decoding: text, as: UTF8.self)
  }

  package static func sha256(_ text: String) -> String {
    var digest = Digest(.sha256)
    Array(text.utf8).withUnsafeBytes { digest.update($0) }
    return digest.hex()
  }

  /// What Day One names files by.
  package static func md5(_ bytes: [UInt8]) -> String {
    var digest = Digest(.md5)
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.hex()
  }

  /// A record name made from what it stands for: 32 hex digits of the parts' digest, each part ended by a zero byte.
  package static func name(of parts: [String]) -> String {
    String(sha256(parts.map { $0 + "\0" }.joined()).prefix(32))
  }
}
