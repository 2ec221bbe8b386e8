import VirgaAuth
package import VirgaModel
import VirgaWire

/// The key that wraps the keys of one zone. It follows from the account's key, and is handed to those the zone is shared
/// with, who learn nothing of other zones by it.
package struct ZoneSecret: Hashable, Sendable {
  /// Its name: that of the account's key that it follows from, or one of its own where the zone was shared since.
  package let ownerKey: KeyID
  package let place: ZonePlace
  private let key: SecretKey

  package init(_ key: SecretKey, ownerKey: KeyID, place: ZonePlace) {
    self.key = key
    self.ownerKey = ownerKey
    self.place = place
  }

  package var bytes: [UInt8] { key.bytes }

  package func wrap(_ zoneKey: ZoneKey) -> [UInt8] {
    key.seal(zoneKey.key.bytes, for: SignedText.text("virga zone key 1", place.parts + [zoneKey.id.rawValue]))
  }

  package func unwrap(_ wrapped: [UInt8], id: KeyID) -> ZoneKey? {
    guard
      let bytes = key.open(wrapped, for: SignedText.text("virga zone key 1", place.parts + [id.rawValue])),
      let key = SecretKey(bytes)
    else { return nil }
    let zoneKey = ZoneKey(key, of: place)
    return zoneKey.id == id ? zoneKey : nil
  }

  /// A key between those who have the secret, for a purpose of its own.
  func derived(for purpose: String) -> SecretKey { key.derived(for: purpose) }

  // MARK: In a share's address

  /// What stands behind `#` in a share's address; browsers and clients do not send it to servers.
  package var fragment: String { "k=\(ownerKey).\(CanonicalBase64.encodeForURL(key.bytes))" }

  package init?(fragment: String, place: ZonePlace) {
    guard fragment.hasPrefix("k=") else { return nil }
    let parts = fragment.dropFirst(2).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, KeyID(parts[0]).bytes != nil,
      let key = CanonicalBase64.decodeFromURL(parts[1]).flatMap({ SecretKey($0) })
    else { return nil }
    self.init(key, ownerKey: KeyID(parts[0]), place: place)
  }
}
