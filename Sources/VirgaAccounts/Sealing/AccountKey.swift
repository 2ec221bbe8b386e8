import FoundationEssentials
import VirgaAuth
package import VirgaModel

/// The key of an account, which all of its devices have and its server never sees.
package struct AccountKey: Hashable, Sendable {
  package let id: KeyID
  let root: SecretKey

  init(_ root: SecretKey) {
    self.root = root
    id = root.id(for: "account")
  }

  static func random() -> AccountKey { AccountKey(.random()) }

  /// Encrypts what the account's devices say to each other.
  package var wrapping: SecretKey { root.derived(for: "wrapping") }

  /// The pair by which others seal something to the account.
  package var box: BoxKey { BoxKey(seed: root.derived(for: "box")) }

  package func secret(of place: ZonePlace) -> ZoneSecret {
    ZoneSecret(root.derived(for: "zone", place.parts), ownerKey: id, place: place)
  }

  /// The zone's secrets under this key: the one that it began with, and one for each round of its shares, oldest first.
  package func secrets(of place: ZonePlace, rounds: [String]) -> [ZoneSecret] {
    [secret(of: place)]
      + rounds.map { round in
        let secret = root.derived(for: "zone", place.parts + [round])
        return ZoneSecret(secret, ownerKey: secret.id(for: "zone secret"), place: place)
      }
  }

  /// For people to compare on two devices: five groups of four digits.
  package var fingerprint: String {
    VerifyingKey.fingerprint(digest: Hex.encode(root.derived(for: "fingerprint").bytes))
  }
}
