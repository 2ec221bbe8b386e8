import COpenSSL

/// A P-256 private key that signs with ECDSA and SHA-256.
package final class SigningKey: @unchecked Sendable {
  // Safe to share: the key is never changed after it was made, and OpenSSL counts references atomically.
  private let key: OpaquePointer

  package let publicKey: VerifyingKey

  private init(owning key: OpaquePointer) throws(KeyError) {
    self.key = key
    do throws(KeyError) {
      publicKey = try VerifyingKey(der: try derOfPublicKey(key))
    } catch {
      EVP_PKEY_free(key)
      throw error
    }
  }

  deinit { EVP_PKEY_free(key) }

  /// Makes a new key.
  package static func generate() throws(KeyError) -> SigningKey {
    guard let key = copenssl_generate_p256() else { throw .library }
    return try SigningKey(owning: key)
  }

  /// Reads a private key, PKCS #8 or SEC 1, unencrypted.
  package convenience init(pem: String) throws(KeyError) {
    try self.init(owning: try readPEM(pem) { PEM_read_bio_PrivateKey($0, nil, nil, nil) })
  }

  /// PKCS #8, unencrypted.
  package func pem() throws(KeyError) -> String {
    try writePEM { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
  }

  /// A signature in DER form. Signing the same message again gives other bytes.
  package func signature(of message: [UInt8]) throws(KeyError) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var length = 0
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      EVP_DigestSign(context, nil, &length, message, message.count) == 1
    else { throw .library }
    var signature = [UInt8](repeating: 0, count: length)
    guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { throw .library }
    return Array(signature.prefix(length))
  }
}

func isP256(_ key: OpaquePointer) -> Bool {
  var name = [CChar](repeating: 0, count: 64)
  var length = 0
  guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return false }
  return String(decoding: name.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self) == "prime256v1"
}

func derOfPublicKey(_ key: OpaquePointer) throws(KeyError) -> [UInt8] {
  let length = i2d_PUBKEY(key, nil)
  guard length > 0 else { throw .library }
  var der = [UInt8](repeating: 0, count: Int(length))
  let written = der.withUnsafeMutableBufferPointer { buffer in
    var cursor = buffer.baseAddress
    return i2d_PUBKEY(key, &cursor)
  }
  guard written == length else { throw .library }
  return der
}

func readPEM(_ pem: String, _ read: (OpaquePointer) -> OpaquePointer?) throws(KeyError) -> OpaquePointer {
  let bytes = Array(pem.utf8)
  let key = bytes.withUnsafeBytes { buffer -> OpaquePointer? in
    guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count)) else { return nil }
    defer { BIO_free(bio) }
    return read(bio)
  }
  guard let key else {
    ERR_clear_error()
    throw .unreadable
  }
  return key
}

func writePEM(_ write: (OpaquePointer) -> Int32) throws(KeyError) -> String {
  guard let bio = BIO_new(BIO_s_mem()) else { throw .library }
  defer { BIO_free(bio) }
  guard write(bio) == 1 else { throw .library }
  var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(bio))
  guard BIO_read(bio, &bytes, Int32(bytes.count)) == Int32(bytes.count) else { throw .library }
  return String(decoding: bytes, as: UTF8.self)
}
