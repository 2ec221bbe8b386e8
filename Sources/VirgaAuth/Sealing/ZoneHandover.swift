package import VirgaModel

/// How those whom a zone is shared with come by its secret after its owner's key was replaced.
///
/// | name in the zone's list | text |
/// |---|---|
/// | `participant/USER/SECRET/KEY` | the public key of a participant's account, under the secret that they joined by |
/// | `handover/USER/SECRET/KEY/NEW` | the new secret, sealed to that key, under the secret that they joined by |
///
/// Only who has the older secret can write either, so a server can add neither a participant nor a secret. SECRET and NEW
/// are named by the owner's keys that they follow from, KEY is the participant's account key.
package enum ZoneHandover {
  /// What a participant leaves for the owner.
  package static func introduction(
    of user: UserName, key: AccountKey, under secret: ZoneSecret
  ) -> KeyMessages.Item {
    let name = "\(user)/\(secret.ownerKey)/\(key.id)"
    let sealed = secret.derived(for: "participant").seal(key.box.publicKey, for: Array(name.utf8))
    return KeyMessages.Item("participant/\(name)", Base64.encode(sealed))
  }

  /// What an owner hands to the participants that introduced themselves, and has not handed them yet.
  package static func handovers(
    of secret: ZoneSecret, to items: [KeyMessages.Item], holding older: [ZoneSecret]
  ) -> [KeyMessages.Item] {
    let taken = Set(items.map(\.name))
    return items.compactMap { item in
      guard item.name.hasPrefix("participant/") else { return nil }
      let name = String(item.name.dropFirst("participant/".count))
      let parts = name.split(separator: "/").map(String.init)
      let new = "handover/\(name)/\(secret.ownerKey)"
      guard parts.count == 3, !taken.contains(new), KeyID(parts[1]) != secret.ownerKey,
        let old = older.first(where: { $0.ownerKey == KeyID(parts[1]) }),
        let box = Base64.decode(item.value).flatMap({
          old.derived(for: "participant").open($0, for: Array(name.utf8))
        }),
        let sealed = BoxKey.seal(secret.bytes, to: box)
      else { return nil }
      return KeyMessages.Item(
        new, Base64.encode(old.derived(for: "handover").seal(sealed, for: Array(new.utf8))))
    }
  }

  /// The secrets that a participant has, with those that were handed to them since.
  package static func secrets(
    _ known: [ZoneSecret], of user: UserName, from items: [KeyMessages.Item], holding keychain: AccountKeychain
  ) -> [ZoneSecret] {
    var secrets = known
    var index = 0
    while index < secrets.count {
      let old = secrets[index]
      index += 1
      let prefix = "handover/\(user)/\(old.ownerKey)/"
      for item in items where item.name.hasPrefix(prefix) {
        let parts = item.name.dropFirst(prefix.count).split(separator: "/").map { KeyID(String($0)) }
        guard parts.count == 2, !secrets.contains(where: { $0.ownerKey == parts[1] }), let key = keychain[parts[0]],
          let bytes = Base64.decode(item.value)
            .flatMap({ old.derived(for: "handover").open($0, for: Array(item.name.utf8)) })
            .flatMap({ key.box.open($0) }).flatMap({ SecretKey($0) })
        else { continue }
        secrets.append(ZoneSecret(bytes, ownerKey: parts[1], place: old.place))
      }
    }
    return secrets
  }
}
