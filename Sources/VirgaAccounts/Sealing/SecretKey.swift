import CSodium
import VirgaAuth
import VirgaModel

/// A key of 32 bytes that encrypts with XChaCha20-Poly1305 and from which further keys are derived.
///
/// The nonce has 24 bytes and is drawn for each message, so that one key is good for more messages than anybody will
/// ever write, whichever devices share it.
package struct SecretKey: Hashable, Sendable, CustomStringConvertible {
  package static let byteCount = 32
  private static let nonceLength = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
  private static let tagLength = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

  package let bytes: [UInt8]

  /// - Returns: `nil` unless there are 32 bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  private init(exactly bytes: [UInt8]) { self.bytes = bytes }

  package static func random() -> SecretKey { SecretKey(exactly: SystemRandom.bytes(byteCount)) }

  /// - Parameter context: What the message belongs to; it opens in the same context only.
  /// - Returns: Nonce, ciphertext and tag.
  package func seal(_ plain: [UInt8], for context: [UInt8]) -> [UInt8] {
    Sodium.check()
    let nonce = SystemRandom.bytes(Self.nonceLength)
    var text = [UInt8](repeating: 0, count: plain.count + Self.tagLength)
    let result = crypto_aead_xchacha20poly1305_ietf_encrypt(
      &text, nil, plain, UInt64(plain.count), context, UInt64(context.count), nil, nonce, bytes)
    precondition(result == 0, "XChaCha20-Poly1305 did not encrypt")
    return nonce + text
  }

  /// - Returns: `nil` if the bytes were not sealed with this key for this context.
  package func open(_ sealed: [UInt8], for context: [UInt8]) -> [UInt8]? {
    Sodium.check()
    guard sealed.count >= Self.nonceLength + Self.tagLength else { return nil }
    let text = Array(sealed[Self.nonceLength...])
    var plain = [UInt8](repeating: 0, count: text.count - Self.tagLength)
    let result = crypto_aead_xchacha20poly1305_ietf_decrypt(
      &plain, nil, nil, text, UInt64(text.count), context, UInt64(context.count), Array(sealed[..<Self.nonceLength]),
      bytes)
    return result == 0 ? plain : nil
  }

  /// Another key that follows from this one; who has it learns nothing of this one.
  func derived(for purpose: String, _ parts: [String] = []) -> SecretKey {
    SecretKey(exactly: HMACSHA256.code(for: SignedText.text("virga key 1 \(purpose)", parts), key: bytes))
  }

  /// The key's name, which says nothing about the key, and which no other key has.
  func id(for purpose: String) -> KeyID {
    KeyID(bytes: derived(for: "name of \(purpose)").bytes.prefix(KeyID.byteCount))
  }

  /// Never the key.
  package var description: String { "SecretKey" }
}

enum Sodium {
  private static let isReady = sodium_init() >= 0

  /// The library must be started once before its first use, on any thread.
  static func check() { precondition(isReady, "libsodium cannot be used here") }
}
