import CSodium
import VirgaAuth
import VirgaModel

/// A pair of X25519 keys: anybody who has the public key can seal a message, and only the secret key opens it.
package struct BoxKey: Sendable {
  package static let publicKeyLength = Int(crypto_box_PUBLICKEYBYTES)

  package let publicKey: [UInt8]
  private let secretKey: [UInt8]

  /// The pair that follows from a seed.
  package init(seed: SecretKey) {
    Sodium.check()
    var publicKey = [UInt8](repeating: 0, count: Self.publicKeyLength)
    var secretKey = [UInt8](repeating: 0, count: Int(crypto_box_SECRETKEYBYTES))
    precondition(crypto_box_seed_keypair(&publicKey, &secretKey, seed.bytes) == 0, "X25519 made no keys")
    self.publicKey = publicKey
    self.secretKey = secretKey
  }

  /// Seals a message for the holder of a key. Says nothing of who sealed it.
  /// - Returns: `nil` if the public key is not valid.
  package static func seal(_ plain: [UInt8], to publicKey: [UInt8]) -> [UInt8]? {
    Sodium.check()
    guard publicKey.count == publicKeyLength else { return nil }
    var sealed = [UInt8](repeating: 0, count: plain.count + crypto_box_sealbytes())
    return crypto_box_seal(&sealed, plain, UInt64(plain.count), publicKey) == 0 ? sealed : nil
  }

  /// - Returns: `nil` if the message was not sealed to this key.
  package func open(_ sealed: [UInt8]) -> [UInt8]? {
    guard sealed.count >= crypto_box_sealbytes() else { return nil }
    var plain = [UInt8](repeating: 0, count: sealed.count - crypto_box_sealbytes())
    let result = crypto_box_seal_open(&plain, sealed, UInt64(sealed.count), publicKey, secretKey)
    return result == 0 ? plain : nil
  }
}
