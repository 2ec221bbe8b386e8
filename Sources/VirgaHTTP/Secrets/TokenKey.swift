import VirgaAuth
import VirgaServer

/// The key under which a server keeps from clients what stands in the tokens that they carry for it: AES-256 in GCM.
///
/// The same token is sealed into the same bytes, so that clients may compare them: the nonce is derived from what is
/// sealed, and no two texts share one but by a chance that is as small as for random nonces.
package struct TokenKey: FieldCipher {
  private let key: FieldKey
  private let nonceKey: [UInt8]

  /// - Precondition: Both have 32 bytes and are independent.
  init(key: [UInt8], nonceKey: [UInt8]) {
    precondition(nonceKey.count == 32, "a key for nonces has 32 bytes")
    self.key = FieldKey(key: key)
    self.nonceKey = nonceKey
  }

  package func seal(_ plain: [UInt8], for place: [UInt8]) -> [UInt8] {
    let length = (0..<8).map { UInt8(truncatingIfNeeded: place.count >> ($0 * 8)) }
    let nonce = HMACSHA256.code(for: length + place + plain, key: nonceKey).prefix(12)
    return key.seal(plain, for: place, nonce: Array(nonce))
  }

  /// - Returns: `nil` if the bytes were not sealed with this key for this place.
  package func open(_ sealed: [UInt8], for place: [UInt8]) -> [UInt8]? { key.open(sealed, for: place) }
}
