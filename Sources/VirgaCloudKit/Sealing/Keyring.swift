import Foundation
import Synchronization
package import VirgaAuth
package import VirgaModel

/// The keys by which this device reads and writes encrypted values, as far as they were needed so far.
///
/// Keys are fetched before values are read or written; opening a value then waits for nobody.
final class Keyring: Sendable {
  /// A zone as this device's user reaches it.
  struct Spot: Hashable, Sendable {
    var place: ZonePlace
    /// `nil` for the user's own.
    var owner: UserName?

    var message: KeyMessages.Zone {
      KeyMessages.Zone(
        container: place.container, environment: place.environment.rawValue, owner: owner, zone: place.zone)
    }
  }

  /// What lies in a zone's list.
  private struct Zone: Sendable {
    var keys: [KeyID: ZoneKey] = [:]
    /// The account's key under which each of them was made.
    var origins: [KeyID: KeyID] = [:]
    /// Those under the newest secret, by name: all devices write with the first one.
    var writing: [KeyID] = []
    /// The newest secret, which a share's address carries.
    var secret: ZoneSecret?
    var loaded: Timestamp
  }

  private struct Memory: Sendable {
    var account: (keys: AccountKeys, loaded: Timestamp)?
    var zones: [Spot: Zone] = [:]
  }

  /// How long what was fetched counts as fresh. A device that was removed can read what others write for as long.
  private static let freshness: Duration = .seconds(15)

  private let accounts: AccountClient
  private let now: @Sendable () -> Timestamp
  private let memory = Mutex(Memory())

  init(accounts: AccountClient, now: @escaping @Sendable () -> Timestamp) {
    self.accounts = accounts
    self.now = now
  }

  // MARK: Without waiting

  func key(_ id: KeyID, in spot: Spot) -> ZoneKey? { memory.withLock { $0.zones[spot]?.keys[id] } }

  /// What a share's address carries, if it is known.
  func secret(of spot: Spot) -> ZoneSecret? { memory.withLock { $0.zones[spot]?.secret } }

  // MARK: Fetching

  /// Fetches a zone's keys, unless that was done a moment ago.
  /// - Throws: `CKError`, if the service could not be asked. That there is no key is no error.
  func load(_ spot: Spot) async throws {
    let now = now()
    if let loaded = memory.withLock({ $0.zones[spot]?.loaded }), now < loaded + Self.freshness { return }
    _ = try await translating { try await fetch(spot, adding: []) }
  }

  /// The key that values of a zone are to be encrypted with. Makes the account's and the zone's first keys.
  /// - Throws: `accountTemporarilyUnavailable` if this device has not been given the keys.
  func writingKey(in spot: Spot) async throws -> ZoneKey {
    let moment = now()
    let known = memory.withLock { memory -> ZoneKey? in
      guard let zone = memory.zones[spot], moment < zone.loaded + Self.freshness else { return nil }
      return zone.writing.first.flatMap { zone.keys[$0] }
    }
    if let known { return known }
    return try await translating {
      let zone = try await fetch(spot, adding: [])
      if let key = zone.writing.first.flatMap({ zone.keys[$0] }) { return key }
      if spot.owner == nil {
        let keys = try await accountKeys(makingFirst: true)
        if let current = keys.keychain.current {
          // Another device may make one at the same moment. Both stay, and all devices take the same of the two from
          // their next look on.
          let secret = current.secret(of: spot.place)
          let made = ZoneKey.random(for: spot.place)
          let zone = try await fetch(spot, adding: [Self.item(made, under: secret)])
          if let key = zone.writing.first.flatMap({ zone.keys[$0] }) { return key }
        }
      }
      throw CKError(
        .accountTemporarilyUnavailable,
        "This device does not have the key of encrypted values in the zone \(spot.place.zone) yet.")
    }
  }

  private static func item(_ key: ZoneKey, under secret: ZoneSecret) -> KeyMessages.Item {
    KeyMessages.Item("key/\(secret.ownerKey)/\(key.id)", Base64.encode(secret.wrap(key)))
  }

  private func accountKeys(makingFirst: Bool) async throws -> AccountKeys {
    let moment = now()
    if let known = memory.withLock({ $0.account }), moment < known.loaded + Self.freshness,
      !makingFirst || known.keys.keychain.current != nil
    {
      return known.keys
    }
    let keys = try await accounts.accountKeys(makingFirst: makingFirst)
    memory.withLock { memory in
      if memory.account?.keys.account != keys.account { memory.zones = [:] }
      memory.account = (keys, moment)
    }
    return keys
  }

  private func fetch(_ spot: Spot, adding items: [KeyMessages.Item]) async throws -> Zone {
    let moment = now()
    let account = try await accountKeys(makingFirst: false)
    let known = memory.withLock { $0.zones[spot] }
    var secrets = secrets(of: spot, account)
    let answer = try await accounts.zoneKeyItems(of: spot.message, adding: items)
    var found = answer.items
    if spot.owner != nil, let user = answer.user {
      secrets = ZoneHandover.secrets(secrets, of: user, from: found, holding: account.keychain)
    }
    let missing = missingItems(in: found, user: answer.user, spot, account, secrets, known)
    if !missing.isEmpty { found = try await accounts.keyItems(of: spot.message, adding: missing) }
    var zone = Zone(loaded: moment)
    if let known { (zone.keys, zone.origins) = (known.keys, known.origins) }
    let bySecret = Dictionary(secrets.map { ($0.ownerKey, $0) }) { first, _ in first }
    var began: [KeyID: Timestamp] = [:]
    for item in found {
      guard let name = ZoneItem(item.name), let secret = bySecret[name.ownerKey],
        let key = Base64.decode(item.value).flatMap({ secret.unwrap($0, id: name.key) })
      else { continue }
      zone.keys[key.id] = key
      if zone.origins[key.id] == nil { zone.origins[key.id] = name.ownerKey }
      let added = item.added ?? moment
      began[name.ownerKey] = min(began[name.ownerKey] ?? added, added)
    }
    if spot.owner != nil {
      // Whoever is in on a zone learns from the list itself which secret came last.
      secrets.sort { (began[$0.ownerKey] ?? moment, $0.ownerKey) < (began[$1.ownerKey] ?? moment, $1.ownerKey) }
      secrets.removeAll { began[$0.ownerKey] == nil }
    }
    zone.secret = secrets.last
    if spot.owner == nil, account.keychain.current == nil { zone.secret = nil }
    if let secret = zone.secret {
      zone.writing = found.compactMap { item in
        guard let name = ZoneItem(item.name), name.ownerKey == secret.ownerKey else { return nil }
        return name.key
      }.filter { zone.keys[$0] != nil }.sorted()
    }
    memory.withLock { [zone] in $0.zones[spot] = zone }
    return zone
  }

  /// What others should find in a zone's list, and do not.
  private func missingItems(
    in found: [KeyMessages.Item], user: UserName?, _ spot: Spot, _ account: AccountKeys, _ secrets: [ZoneSecret],
    _ known: Zone?
  ) -> [KeyMessages.Item] {
    guard let current = account.keychain.current else { return [] }
    if spot.owner != nil {
      guard let user else { return [] }
      let names = Set(found.map(\.name))
      return secrets.map { ZoneHandover.introduction(of: user, key: current, under: $0) }.filter {
        !names.contains($0.name)
      }
    }
    guard let secret = secrets.last else { return [] }
    // A server whose data are older than what this device has used is told again: each key under the account's key that
    // it was made under, so that no older one is taken for a present one.
    let names = Set(found.compactMap { ZoneItem($0.name)?.key })
    let lost = (known?.keys.values.filter { !names.contains($0.id) } ?? []).sorted { $0.id < $1.id }
    let items = lost.compactMap { key in
      secrets.first { $0.ownerKey == known?.origins[key.id] }.map { Self.item(key, under: $0) }
    }
    return items
      + ZoneHandover.handovers(of: secret, to: found, holding: secrets)
  }

  /// The name of a zone's key in the zone's list: `key/ACCOUNTKEY/ZONEKEY`.
  private struct ZoneItem {
    var ownerKey: KeyID
    var key: KeyID

    init?(_ name: String) {
      let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 3, parts[0] == "key" else { return nil }
      (ownerKey, key) = (KeyID(parts[1]), KeyID(parts[2]))
    }
  }

  /// The secrets of a zone that this device has, the newest last.
  private func secrets(of spot: Spot, _ account: AccountKeys) -> [ZoneSecret] {
    guard spot.owner != nil else { return account.keychain.keys.map { $0.secret(of: spot.place) } }
    return ZoneAccess.secrets(of: spot, in: account)
  }

  // MARK: Shares

  /// Keeps what a share's address brought, for all devices of the account.
  func keep(_ secret: ZoneSecret, of spot: Spot) async throws {
    try await translating {
      let account = try await accountKeys(makingFirst: true)
      guard let current = account.keychain.current else { return }
      if ZoneAccess.secrets(of: spot, in: account).contains(secret) { return }
      _ = try await accounts.keyItems(of: nil, adding: [ZoneAccess.item(secret, of: spot, under: current)])
      memory.withLock { memory in
        memory.account = nil
        memory.zones[spot] = nil
      }
      _ = try await fetch(spot, adding: [])
    }
  }

  private func translating<Value>(_ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch let error as AccountError { throw CKError(error) }
  }
}

extension AccountClient {
  /// Keeps what the address of a share brought, for all devices of the account; nothing if it brought none.
  package func keepSecret(
    fragment: String, of zone: ZoneID, in container: ContainerID, _ environment: VirgaModel.Environment
  ) async throws {
    let place = ZonePlace(container: container, environment: environment, zone: zone.name)
    guard let secret = ZoneSecret(fragment: fragment, place: place) else { return }
    let keyring = Keyring(accounts: self, now: { Timestamp(Date()) })
    try await keyring.keep(secret, of: Keyring.Spot(place: place, owner: zone.owner))
  }
}

/// What an account keeps of zones that others share with it: `access/…`, the zone's secret under the account's key.
private enum ZoneAccess {
  private static func prefix(_ spot: Keyring.Spot) -> String {
    let place = spot.place
    return "access/\(place.container)/\(place.environment.rawValue)/\(spot.owner?.rawValue ?? "")/\(place.zone)/"
  }

  private static func context(_ spot: Keyring.Spot, _ ownerKey: KeyID) -> [UInt8] {
    Array("virga access 1\n\(prefix(spot))\(ownerKey)".utf8)
  }

  static func item(_ secret: ZoneSecret, of spot: Keyring.Spot, under key: AccountKey) -> KeyMessages.Item {
    let sealed = key.wrapping.seal(secret.bytes, for: context(spot, secret.ownerKey))
    return KeyMessages.Item("\(prefix(spot))\(secret.ownerKey)/\(key.id)", Base64.encode(sealed))
  }

  static func secrets(of spot: Keyring.Spot, in account: AccountKeys) -> [ZoneSecret] {
    let prefix = prefix(spot)
    return account.texts.sorted { $0.key < $1.key }.compactMap { name, text in
      guard name.hasPrefix(prefix) else { return nil }
      let parts = name.dropFirst(prefix.count).split(separator: "/").map { KeyID(String($0)) }
      guard parts.count == 2, let key = account.keychain[parts[1]], let sealed = Base64.decode(text),
        let bytes = key.wrapping.open(sealed, for: context(spot, parts[0])).flatMap({ SecretKey($0) })
      else { return nil }
      return ZoneSecret(bytes, ownerKey: parts[0], place: spot.place)
    }
  }
}
