import COpenSSL
import VirgaAuth
import VirgaServer

/// The key under which a server keeps the values of encrypted fields: AES-256 in GCM.
///
/// Sealed bytes are a random nonce of 12 bytes, the ciphertext, and the tag of 16 bytes. With random nonces one key is
/// good for some 2^32 values, more than a server of one's own will ever see.
package struct FieldKey: FieldCipher {
  private static let nonceLength = 12
  private static let tagLength = 16

  private let key: [UInt8]

  /// - Precondition: `key` has 32 bytes.
  init(key: [UInt8]) {
    precondition(key.count == 32, "a key for fields has 32 bytes")
    self.key = key
  }

  /// - Parameter place: What the bytes belong to; they open for the same place only.
  package func seal(_ plain: [UInt8], for place: [UInt8]) -> [UInt8] {
    seal(plain, for: place, nonce: SystemRandom.bytes(Self.nonceLength))
  }

  /// - Precondition: `nonce` has 12 bytes, and no other bytes were sealed with it.
  func seal(_ plain: [UInt8], for place: [UInt8], nonce: [UInt8]) -> [UInt8] {
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var length: Int32 = 0
    var text = [UInt8](repeating: 0, count: plain.count)
    var tag = [UInt8](repeating: 0, count: Self.tagLength)
    let isSealed =
      EVP_EncryptInit_ex2(context, EVP_aes_256_gcm(), key, nonce, nil) == 1
      && EVP_EncryptUpdate(context, nil, &length, place, Int32(place.count)) == 1
      && EVP_EncryptUpdate(context, &text, &length, plain, Int32(plain.count)) == 1
      && EVP_EncryptFinal_ex(context, nil, &length) == 1
      && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), &tag) == 1
    precondition(isSealed, "AES-256-GCM is not available")
    return nonce + text + tag
  }

  /// - Returns: `nil` if the bytes were not sealed with this key for this place.
  package func open(_ sealed: [UInt8], for place: [UInt8]) -> [UInt8]? {
    let textLength = sealed.count - Self.nonceLength - Self.tagLength
    guard textLength >= 0 else { return nil }
    let nonce = Array(sealed.prefix(Self.nonceLength))
    let text = Array(sealed.dropFirst(Self.nonceLength).prefix(textLength))
    var tag = Array(sealed.suffix(Self.tagLength))
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var length: Int32 = 0
    var plain = [UInt8](repeating: 0, count: textLength)
    let isOpen =
      EVP_DecryptInit_ex2(context, EVP_aes_256_gcm(), key, nonce, nil) == 1
      && EVP_DecryptUpdate(context, nil, &length, place, Int32(place.count)) == 1
      && EVP_DecryptUpdate(context, &plain, &length, text, Int32(textLength)) == 1
      && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), &tag) == 1
      && EVP_DecryptFinal_ex(context, nil, &length) == 1
    return isOpen ? plain : nil
  }
}
