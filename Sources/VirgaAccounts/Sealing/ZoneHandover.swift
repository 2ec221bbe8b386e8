package import VirgaAuth
package import VirgaModel

/// How those whom a zone is shared with come by its secrets where its owner's key was replaced: by the new one if they
/// joined before that, by the old ones if they join later.
///
/// | name in the zone's list | text |
/// |---|---|
/// | `participant/USER/SECRET/KEY` | the public key of a participant's account, under the secret that they joined by |
/// | `handover/USER/SECRET/KEY/NEW` | the new secret, sealed to that key, under the secret that they joined by |
/// | `before/NEW/SECRET` | an older secret, under the new one |
///
/// Only who has the older secret can write the first two, and only who has the newer one the third, so a server can add
/// neither a participant nor a secret, and cannot turn their order round. It can keep the introduction of somebody who was
/// taken out, so the owner's devices hand over to those in their roster alone (`ZoneRoster`). SECRET and NEW are the names of
/// secrets, KEY is the participant's account key.
package enum ZoneHandover {
  /// The secrets of a zone that somebody has.
  package struct Secrets: Sendable {
    package fileprivate(set) var all: [ZoneSecret]
    /// Those that another one came after.
    package fileprivate(set) var replaced: Set<KeyID> = []
    /// Those that came after another one.
    package fileprivate(set) var heirs: Set<KeyID> = []

    /// Takes in what somebody says who has one of the two. Nothing is taken in place of a secret that is here.
    fileprivate mutating func learn(_ secret: ZoneSecret, older: KeyID, newer: KeyID) {
      if let known = all.first(where: { $0.ownerKey == secret.ownerKey }) {
        guard known == secret else { return }
      } else {
        all.append(secret)
      }
      replaced.insert(older)
      heirs.insert(newer)
    }
  }

  /// What a participant leaves for the owner.
  package static func introduction(
    of user: UserName, key: AccountKey, under secret: ZoneSecret
  ) -> KeyMessages.Item {
    let name = "\(user)/\(secret.ownerKey)/\(key.id)"
    let sealed = secret.derived(for: "participant").seal(key.box.publicKey, for: Array(name.utf8))
    return KeyMessages.Item("participant/\(name)", CanonicalBase64.encode(sealed))
  }

  /// What an owner hands to the participants that introduced themselves, and has not handed them yet. Who is in no share
  /// gets nothing, though a server may have kept what they left when they were.
  package static func handovers(
    of secret: ZoneSecret, to items: [KeyMessages.Item], holding older: [ZoneSecret], admittedBy roster: ZoneRoster
  ) -> [KeyMessages.Item] {
    let taken = Set(items.map(\.name))
    // Who has shown that they have the secret that came after needs nothing more under the older one.
    let settled = Set(
      taken.compactMap { name -> String? in
        let parts = name.split(separator: "/").map(String.init)
        guard parts.count == 5, parts[0] == "handover",
          taken.contains("participant/\(parts[1])/\(parts[4])/\(parts[3])")
        else { return nil }
        return parts[1...3].joined(separator: "/")
      })
    return items.compactMap { item in
      guard item.name.hasPrefix("participant/") else { return nil }
      let name = String(item.name.dropFirst("participant/".count))
      let parts = name.split(separator: "/").map(String.init)
      let new = "handover/\(name)/\(secret.ownerKey)"
      guard parts.count == 3, roster.admits(UserName(parts[0])), !taken.contains(new), !settled.contains(name),
        KeyID(parts[1]) != secret.ownerKey,
        let old = older.first(where: { $0.ownerKey == KeyID(parts[1]) }),
        let box = CanonicalBase64.decode(item.value).flatMap({
          old.derived(for: "participant").open($0, for: Array(name.utf8))
        }),
        let sealed = BoxKey.seal(secret.bytes, to: box)
      else { return nil }
      return KeyMessages.Item(
        new, CanonicalBase64.encode(old.derived(for: "handover").seal(sealed, for: Array(new.utf8))))
    }
  }

  /// What an owner leaves for those who will know the newest secret only: the older ones, as far as they are not within
  /// their reach.
  /// - Parameter older: May have the newest one in it. Their order is that in which keychains have them, which is not
  ///   always that in which they were made; so each is put under the newest, and never one of them under another.
  package static func predecessors(
    of secret: ZoneSecret, to items: [KeyMessages.Item], holding older: [ZoneSecret]
  ) -> [KeyMessages.Item] {
    let taken = Set(items.map(\.name))
    var reached = Secrets(all: [secret])
    addPredecessors(to: &reached, from: items)
    var added: [KeyMessages.Item] = []
    for old in older.reversed() where !reached.all.contains(where: { $0.ownerKey == old.ownerKey }) {
      let name = "before/\(secret.ownerKey)/\(old.ownerKey)"
      guard !taken.contains(name) else { continue }
      let sealed = secret.derived(for: "before").seal(old.bytes, for: Array(name.utf8))
      added.append(KeyMessages.Item(name, CanonicalBase64.encode(sealed)))
      reached.learn(old, older: old.ownerKey, newer: secret.ownerKey)
      addPredecessors(to: &reached, from: items)
    }
    return added
  }

  /// The secrets that a participant has, with those that came before and after them.
  package static func secrets(
    _ known: [ZoneSecret], of user: UserName, from items: [KeyMessages.Item], holding keychain: AccountKeychain
  ) -> Secrets {
    var secrets = Secrets(all: known)
    var index = 0
    while index < secrets.all.count {
      let old = secrets.all[index]
      index += 1
      let prefix = "handover/\(user)/\(old.ownerKey)/"
      for item in items where item.name.hasPrefix(prefix) {
        let parts = item.name.dropFirst(prefix.count).split(separator: "/").map { KeyID(String($0)) }
        guard parts.count == 2, parts[1] != old.ownerKey, let key = keychain[parts[0]],
          let bytes = CanonicalBase64.decode(item.value)
            .flatMap({ old.derived(for: "handover").open($0, for: Array(item.name.utf8)) })
            .flatMap({ key.box.open($0) }).flatMap({ SecretKey($0) })
        else { continue }
        let new = ZoneSecret(bytes, ownerKey: parts[1], place: old.place)
        secrets.learn(new, older: old.ownerKey, newer: new.ownerKey)
      }
    }
    addPredecessors(to: &secrets, from: items)
    return secrets
  }

  private static func addPredecessors(to secrets: inout Secrets, from items: [KeyMessages.Item]) {
    var index = 0
    while index < secrets.all.count {
      let new = secrets.all[index]
      index += 1
      let prefix = "before/\(new.ownerKey)/"
      for item in items where item.name.hasPrefix(prefix) {
        let id = KeyID(String(item.name.dropFirst(prefix.count)))
        guard id != new.ownerKey,
          let bytes = CanonicalBase64.decode(item.value)
            .flatMap({ new.derived(for: "before").open($0, for: Array(item.name.utf8)) }).flatMap({ SecretKey($0) })
        else { continue }
        let old = ZoneSecret(bytes, ownerKey: id, place: new.place)
        secrets.learn(old, older: old.ownerKey, newer: new.ownerKey)
      }
    }
  }
}
