import COpenSSL

/// A P-256 public key that verifies ECDSA signatures over SHA-256.
package final class VerifyingKey: @unchecked Sendable {
  // Safe to share: as for `SigningKey`.
  private let key: OpaquePointer

  /// SubjectPublicKeyInfo in DER form, in the one encoding that this module writes.
  package let der: [UInt8]

  private init(owning key: OpaquePointer) throws(KeyError) {
    self.key = key
    do throws(KeyError) {
      guard isP256(key) else { throw .notP256 }
      der = try derOfPublicKey(key)
    } catch {
      EVP_PKEY_free(key)
      throw error
    }
  }

  deinit { EVP_PKEY_free(key) }

  package convenience init(der: [UInt8]) throws(KeyError) {
    let key = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      var cursor = buffer.baseAddress
      guard let key = d2i_PUBKEY(nil, &cursor, buffer.count) else { return nil }
      // Bytes after the key would give one key several spellings.
      if cursor == buffer.baseAddress.map({ $0 + buffer.count }) { return key }
      EVP_PKEY_free(key)
      return nil
    }
    guard let key else {
      ERR_clear_error()
      throw .unreadable
    }
    try self.init(owning: key)
  }

  package convenience init(pem: String) throws(KeyError) {
    try self.init(owning: try readPEM(pem) { PEM_read_bio_PUBKEY($0, nil, nil, nil) })
  }

  package func pem() throws(KeyError) -> String { try writePEM { PEM_write_bio_PUBKEY($0, key) } }

  /// Whether `signature`, in DER form, is this key's over `message`.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    let context = EVP_MD_CTX_new()
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  /// SHA-256 of `der`, in hexadecimal digits.
  package var digest: String { Hex.encode(SHA256.digest(of: der)) }

  /// The beginning of `digest` for people to compare: five groups of four digits.
  package var fingerprint: String { Self.fingerprint(digest: digest) }

  package static func fingerprint(digest: String) -> String {
    let digits = Array(digest.utf8.prefix(20))
    let groups = stride(from: 0, to: digits.count, by: 4).map { start in
      String(decoding: digits[start..<min(start + 4, digits.count)], as: UTF8.self)
    }
    return groups.joined(separator: " ")
  }
}
