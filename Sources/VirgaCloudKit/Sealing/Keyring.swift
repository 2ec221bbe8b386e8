import Foundation
import Synchronization
package import VirgaAccounts
import VirgaAuth
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
    /// Who takes part in the shares of a zone of one's own.
    var roster = ZoneRoster()
    var loaded: Timestamp
    /// Keys that were wanted and not there then.
    var absent: Set<KeyID> = []
  }

  private struct Memory: Sendable {
    /// Whose account everything else is about.
    var owner: AccountID?
    var account: (keys: AccountKeys, loaded: Timestamp)?
    var zones: [Spot: Zone] = [:]
    /// The shares of the user's own zones that came with records.
    var sharesMet: [Spot: Set<RecordName>] = [:]
  }

  /// How long what was fetched counts as fresh. A device that was removed can read what others write for as long.
  private static let freshness: Duration = .seconds(15)

  /// A clock that was set back makes nothing fresh.
  private static func isFresh(_ loaded: Timestamp, at now: Timestamp) -> Bool {
    loaded <= now && now < loaded + freshness
  }

  /// A text for one participant has about 350 bytes, and a request 64 KB at most.
  private static let itemsPerRequestMax = 100

  let accounts: AccountClient
  let now: @Sendable () -> Timestamp
  private let memory = Mutex(Memory())

  init(accounts: AccountClient, now: @escaping @Sendable () -> Timestamp) {
    self.accounts = accounts
    self.now = now
  }

  // MARK: Without waiting

  func key(_ id: KeyID, in spot: Spot) -> ZoneKey? { memory.withLock { $0.zones[spot]?.keys[id] } }

  /// What a share's address carries, if it is known.
  func secret(of spot: Spot) -> ZoneSecret? { memory.withLock { $0.zones[spot]?.secret } }

  /// Forgets what belongs to another account.
  func keepOnlyKeys(of account: AccountID) {
    memory.withLock { if $0.owner != account { $0 = Memory(owner: account) } }
  }

  /// The account may have begun anew: keys are asked for before the next value is written.
  func refresh() {
    memory.withLock { memory in
      memory.account = nil
      for spot in memory.zones.keys { memory.zones[spot]?.loaded = Timestamp(milliseconds: 0) }
    }
  }

  // MARK: Fetching

  /// Fetches a zone's keys, unless that was done a moment ago and for these: another device may have made one since.
  /// - Throws: `CKError`, if the service could not be asked. That there is no key is no error.
  func load(_ spot: Spot, for wanted: [KeyID]) async throws {
    try await translating {
      try await checkAccount()
      let now = now()
      if let zone = memory.withLock({ $0.zones[spot] }), Self.isFresh(zone.loaded, at: now),
        wanted.allSatisfy({ zone.keys[$0] != nil || zone.absent.contains($0) })
      {
        return
      }
      let absent = memory.withLock { $0.zones[spot]?.absent ?? [] }
      let zone = try await fetch(spot, adding: [])
      memory.withLock { memory in
        memory.zones[spot]?.absent = absent.union(wanted).filter { zone.keys[$0] == nil }
      }
    }
  }

  /// Forgets what belongs to another account than the one in whose name the next request goes.
  private func checkAccount() async throws { keepOnlyKeys(of: try await accounts.session().account) }

  /// The key that values of a zone are to be encrypted with. Makes the account's and the zone's first keys.
  /// - Throws: `accountTemporarilyUnavailable` if this device has not been given the keys.
  func writingKey(in spot: Spot) async throws -> ZoneKey {
    try await translating {
      try await checkAccount()
      let moment = now()
      let known = memory.withLock { memory -> ZoneKey? in
        guard let zone = memory.zones[spot], Self.isFresh(zone.loaded, at: moment) else { return nil }
        return zone.writing.first.flatMap { zone.keys[$0] }
      }
      if let known { return known }
      let zone = try await fetch(spot, adding: [])
      if let key = zone.writing.first.flatMap({ zone.keys[$0] }) { return key }
      if spot.owner == nil {
        let keys = try await accountKeys(makingFirst: true)
        if let current = keys.keychain.current {
          // Another device may make one at the same moment. Both stay, and all devices take the same of the two from
          // their next look on.
          let secret =
            current.secrets(of: spot.place, rounds: zone.roster.rounds).last ?? current.secret(of: spot.place)
          let made = ZoneKey.random(for: spot.place)
          let zone = try await fetch(spot, adding: [Self.item(made, under: secret)])
          if let key = zone.writing.first.flatMap({ zone.keys[$0] }) { return key }
        }
      }
      throw CKError(
        .accountTemporarilyUnavailable,
        "This device does not have the key for encrypted values in the zone \(spot.place.zone) yet.")
    }
  }

  private static func item(_ key: ZoneKey, under secret: ZoneSecret) -> KeyMessages.Item {
    KeyMessages.Item("key/\(secret.ownerKey)/\(key.id)", CanonicalBase64.encode(secret.wrap(key)))
  }

  /// Who takes part in the zone's shares, as it is now.
  func roster(of spot: Spot) async throws -> ZoneRoster {
    let moment = now()
    if let zone = memory.withLock({ $0.zones[spot] }), Self.isFresh(zone.loaded, at: moment) { return zone.roster }
    return try await fetch(spot, adding: []).roster
  }

  /// What is next asked of the zone is asked of the server.
  func forgetFreshness(of spot: Spot) {
    memory.withLock { $0.zones[spot]?.loaded = Timestamp(milliseconds: 0) }
  }

  func accountKeys(makingFirst: Bool) async throws -> AccountKeys {
    let moment = now()
    if let known = memory.withLock({ $0.account }), Self.isFresh(known.loaded, at: moment),
      !makingFirst || known.keys.keychain.current != nil
    {
      return known.keys
    }
    let keys = try await accounts.accountKeys(makingFirst: makingFirst)
    memory.withLock { memory in
      if memory.owner != keys.account { memory = Memory(owner: keys.account) }
      memory.account = (keys, moment)
    }
    return keys
  }

  private func fetch(_ spot: Spot, adding items: [KeyMessages.Item]) async throws -> Zone {
    let moment = now()
    let account = try await accountKeys(makingFirst: false)
    let known = memory.withLock { $0.zones[spot] }
    let answer = try await accounts.zoneKeyItems(of: spot.message, adding: items, as: account.account)
    var found = answer.items
    let roster = spot.owner == nil ? try readRoster(of: spot, found, account, known?.roster) : nil
    let own = secrets(of: spot, account, roster)
    let handed = ZoneHandover.secrets(
      spot.owner == nil ? [] : own, of: answer.user ?? "", from: found, holding: account.keychain)
    let secrets = spot.owner == nil ? own : handed.all
    let missing =
      if let roster {
        missingItems(in: found, spot, account, own, known, roster)
      } else {
        introductions(in: found, user: answer.user, account, handed)
      }
    do {
      for part in missing.chunks(of: Self.itemsPerRequestMax) {
        found = try await accounts.keyItems(of: spot.message, adding: Array(part), as: account.account)
      }
    } catch AccountError.refused(let status, _, _, _) where (400..<500).contains(status) {
      // A list that is full keeps nobody from reading what is in it.
    }
    var zone = Zone(loaded: moment)
    zone.roster = roster ?? zone.roster
    if let known { (zone.keys, zone.origins) = (known.keys, known.origins) }
    var opened: [KeyID: Set<KeyID>] = [:]
    var began: [KeyID: Timestamp] = [:]
    for one in Self.opened(found, by: secrets) {
      zone.keys[one.key.id] = one.key
      if zone.origins[one.key.id] == nil { zone.origins[one.key.id] = one.ownerKey }
      opened[one.ownerKey, default: []].insert(one.key.id)
      let added = one.added ?? moment
      began[one.ownerKey] = min(began[one.ownerKey] ?? added, added)
    }
    if spot.owner == nil {
      zone.secret = account.keychain.current == nil ? nil : secrets.last
    } else {
      // The secrets themselves say which came after which. One that came after another and has no key has one that is
      // withheld: the older one's is not used in its place. The server's word decides between those that are not related,
      // as those from before the owner began anew, which have no keys any more.
      zone.secret = secrets.filter { secret in
        !handed.replaced.contains(secret.ownerKey)
          && (began[secret.ownerKey] != nil || handed.heirs.contains(secret.ownerKey))
      }.max { (began[$0.ownerKey] ?? moment, $0.ownerKey) < (began[$1.ownerKey] ?? moment, $1.ownerKey) }
    }
    // A name in the list proves nothing: only what opens under the newest secret was put there by who has it.
    zone.writing = (zone.secret.flatMap { opened[$0.ownerKey] } ?? []).sorted()
    let isCurrent = memory.withLock { [zone] memory in
      guard memory.owner == account.account else { return false }
      memory.zones[spot] = zone
      return true
    }
    guard isCurrent else { throw AccountError.accountChanged }
    return zone
  }

  /// Who takes part in the zone's shares, as this device has ever read it.
  private func readRoster(
    of spot: Spot, _ found: [KeyMessages.Item], _ account: AccountKeys, _ read: ZoneRoster?
  ) throws -> ZoneRoster {
    let keys = account.keychain.keys
    let known = try read ?? accounts.knownRoster(of: spot.place, account: account.account, keys: keys)
    let roster = ZoneRoster(found, of: spot.place, keys: keys, known: known)
    if roster != known { try accounts.remember(roster, of: spot.place, account: account.account) }
    return roster
  }

  /// Forgets a zone that the device has deleted.
  func forget(_ spot: Spot) {
    memory.withLock { $0.zones[spot] = nil }
    // If the file cannot be removed, the zone that takes its name is told by what lies in its list.
    guard let account = try? accounts.knownAccount()?.account else { return }
    try? accounts.endRoster(of: spot.place, account: account)
  }

  /// Notes that a share came with the records of a zone: perhaps another device has made it.
  func meetShare(_ name: RecordName, in spot: Spot) {
    if spot.owner == nil { _ = memory.withLock { $0.sharesMet[spot, default: []].insert(name) } }
  }

  /// Whether a share may end with these records, as far as this device has heard of shares of the zone.
  func mayEndShare(_ names: Set<RecordName>, in spot: Spot) throws -> Bool {
    let (met, read, keys) = memory.withLock { memory in
      (memory.sharesMet[spot] ?? [], memory.zones[spot]?.roster, memory.account?.keys.keychain.keys)
    }
    guard let account = try accounts.knownAccount()?.account else { return false }
    // What is there cannot be read before the account's keys are known.
    if read == nil, keys == nil, try accounts.hasRoster(of: spot.place, account: account) { return true }
    let roster = try read ?? accounts.knownRoster(of: spot.place, account: account, keys: keys ?? [])
    return !roster.shares(endingWith: names).isEmpty || met.contains { names.contains($0) || roster.shares[$0] == nil }
  }

  /// A zone's key from its list, with the account's key under which it lay.
  private struct OpenedKey {
    var key: ZoneKey
    var ownerKey: KeyID
    var added: Timestamp?
  }

  private static func opened(_ items: [KeyMessages.Item], by secrets: [ZoneSecret]) -> [OpenedKey] {
    let bySecret = Dictionary(secrets.map { ($0.ownerKey, $0) }) { first, _ in first }
    return items.compactMap { item in
      guard let name = ZoneItem(item.name), let secret = bySecret[name.ownerKey],
        let key = CanonicalBase64.decode(item.value).flatMap({ secret.unwrap($0, id: name.key) })
      else { return nil }
      return OpenedKey(key: key, ownerKey: name.ownerKey, added: item.added)
    }
  }

  /// What participants tell the owner of a zone, and have not told yet.
  private func introductions(
    in found: [KeyMessages.Item], user: UserName?, _ account: AccountKeys, _ secrets: ZoneHandover.Secrets
  ) -> [KeyMessages.Item] {
    guard let current = account.keychain.current, let user else { return [] }
    let names = Set(found.map(\.name))
    return secrets.all.filter { !secrets.replaced.contains($0.ownerKey) }
      .map { ZoneHandover.introduction(of: user, key: current, under: $0) }.filter { !names.contains($0.name) }
  }

  /// What others should find in the list of a zone of one's own, and do not.
  private func missingItems(
    in found: [KeyMessages.Item], _ spot: Spot, _ account: AccountKeys, _ secrets: [ZoneSecret], _ known: Zone?,
    _ roster: ZoneRoster
  ) -> [KeyMessages.Item] {
    guard account.keychain.current != nil, let secret = secrets.last else { return [] }
    // A server whose data are older than what this device has used is told again: each key under the account's key that
    // it was made under, so that no older one is taken for a present one.
    let opened = Self.opened(found, by: secrets)
    let present = Set(opened.map(\.key.id))
    let lost = (known?.keys.values.filter { !present.contains($0.id) } ?? []).sorted { $0.id < $1.id }
    var items = lost.compactMap { key in
      secrets.first { $0.ownerKey == known?.origins[key.id] }.map { Self.item(key, under: $0) }
    }
    let used = Set(opened.map(\.ownerKey)).union(lost.compactMap { known?.origins[$0.id] })
    // A new secret comes with a key, so that participants need not wait for the owner's next save to write with it.
    if !used.isEmpty, !used.contains(secret.ownerKey) {
      items.append(Self.item(.random(for: spot.place), under: secret))
    }
    return roster.missing(in: found) + items
      + ZoneHandover.handovers(of: secret, to: found, holding: secrets, admittedBy: roster)
      + ZoneHandover.predecessors(of: secret, to: found, holding: secrets.filter { used.contains($0.ownerKey) })
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
  private func secrets(of spot: Spot, _ account: AccountKeys, _ roster: ZoneRoster?) -> [ZoneSecret] {
    if let roster { return account.keychain.keys.flatMap { $0.secrets(of: spot.place, rounds: roster.rounds) } }
    return ZoneAccess.secrets(of: spot, in: account)
  }

  // MARK: Shares

  /// Keeps what a share's address brought, for all devices of the account.
  /// - Throws: `accountTemporarilyUnavailable` if this device has not been given the account's key.
  func keep(_ secret: ZoneSecret, of spot: Spot) async throws {
    try await translating {
      let account = try await accountKeys(makingFirst: true)
      guard let current = account.keychain.current else {
        throw CKError(
          .accountTemporarilyUnavailable,
          "This device does not have the account's key yet, so it cannot store the key from the share's address."
        )
      }
      if ZoneAccess.secrets(of: spot, in: account).contains(secret) { return }
      _ = try await accounts.keyItems(
        of: nil, adding: [ZoneAccess.item(secret, of: spot, under: current)], as: account.account)
      memory.withLock { memory in
        memory.account = nil
        memory.zones[spot] = nil
      }
      _ = try await fetch(spot, adding: [])
    }
  }

  func translating<Value>(_ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch let error as AccountError {
      throw CKError(error)
    } catch is CancellationError {
      throw CKError(.operationCancelled, "The task was cancelled.")
    }
  }
}

extension AccountClient {
  /// Keeps what the address of a share brought, for all devices of the account.
  /// - Returns: Whether it brought a key.
  package func keepSecret(
    fragment: String, of zone: ZoneID, in container: ContainerID, _ environment: VirgaModel.Environment
  ) async throws -> Bool {
    let place = ZonePlace(container: container, environment: environment, zone: zone.name)
    guard let secret = ZoneSecret(fragment: fragment, place: place) else { return false }
    let keyring = Keyring(accounts: self, now: { Timestamp(Date()) })
    try await keyring.keep(secret, of: Keyring.Spot(place: place, owner: zone.owner))
    return true
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
    return KeyMessages.Item("\(prefix(spot))\(secret.ownerKey)/\(key.id)", CanonicalBase64.encode(sealed))
  }

  static func secrets(of spot: Keyring.Spot, in account: AccountKeys) -> [ZoneSecret] {
    let prefix = prefix(spot)
    return account.texts.sorted { $0.key < $1.key }.compactMap { name, text in
      guard name.hasPrefix(prefix) else { return nil }
      let parts = name.dropFirst(prefix.count).split(separator: "/").map { KeyID(String($0)) }
      guard parts.count == 2, let key = account.keychain[parts[1]], let sealed = CanonicalBase64.decode(text),
        let bytes = key.wrapping.open(sealed, for: context(spot, parts[0])).flatMap({ SecretKey($0) })
      else { return nil }
      return ZoneSecret(bytes, ownerKey: parts[0], place: spot.place)
    }
  }
}
