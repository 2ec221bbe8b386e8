import FoundationEssentials
import VirgaAuth
import VirgaModel

/// What lies on the server for the devices of an account, as names and texts that are never changed once they are there.
///
/// | name | text |
/// |---|---|
/// | `first` | the name of the account's first key: of two devices that make one at once, the first to write it has made it |
/// | `grant/KEY/DEVICE` | the key, sealed to the device that somebody let in |
/// | `voucher/DEVICE/KEY` | the device's public key, encrypted under the account's key by a device that has it; one for each key |
/// | `after/KEY` | the key that replaced it, sealed to the devices that remain, and the one before under the new one |
/// | `late/KEY/NEW/DEVICE` | the same for a device that was let in while the key was replaced |
/// | `access/…` | the secret of a zone that somebody else shares, encrypted under the account's key |
struct AccountKeyLog: Sendable {
  /// A device, and where something is sealed to it.
  typealias Recipient = (id: DeviceID, box: [UInt8])

  static let first = KeyMessages.first
  static func grant(_ key: KeyID, _ device: DeviceID) -> String { "grant/\(key)/\(device)" }
  static func voucher(_ device: DeviceID, _ key: KeyID) -> String { "voucher/\(device)/\(key)" }
  static func after(_ key: KeyID) -> String { "after/\(key)" }
  static func late(_ old: KeyID, _ new: KeyID, _ device: DeviceID) -> String { "late/\(old)/\(new)/\(device)" }

  private(set) var texts: [String: String] = [:]

  init(_ items: [KeyMessages.Item]) {
    for item in items { texts[item.name] = item.value }
  }

  /// A key sealed to one device.
  private struct Grant: Codable {
    var account: AccountID
    var device: DeviceID
    var root: [UInt8]
  }

  private struct Voucher: Codable {
    var device: DeviceID
    var box: [UInt8]
  }

  private struct Succession: Codable {
    var key: KeyID
    /// The older key under the new one.
    var previous: String
    /// By device: the new key sealed to it, under the older one.
    var grants: [String: String]
    /// The device for whose sake the key was replaced, under the new one; empty for none.
    var leftOut: String?
  }

  // MARK: Reading

  /// All keys that this device can have, from those that it holds.
  /// - Parameter trustsGrants: Whether a key that is sealed to the device is taken as it is. Anybody can seal something to
  ///   it, the server too; so that holds for a device that has just joined and has nothing else to go by.
  func keychain(
    holding held: [AccountKey], of account: AccountID, device: DeviceID, box: BoxKey, trustsGrants: Bool
  ) -> AccountKeychain {
    var known: [KeyID: AccountKey] = [:]
    var order: [KeyID] = []
    func learn(_ key: AccountKey) {
      if known.updateValue(key, forKey: key.id) == nil { order.append(key.id) }
    }
    held.forEach(learn)
    var start = held.last?.id
    for (name, text) in texts.sorted(by: { $0.key < $1.key }) where trustsGrants && name.hasPrefix("grant/") {
      let parts = name.split(separator: "/").map(String.init)
      guard parts.count == 3, parts[2] == device.rawValue, known[KeyID(parts[1])] == nil,
        let key = Self.openGrant(CanonicalBase64.decode(text), of: account, device: device, box: box),
        key.id == KeyID(parts[1])
      else { continue }
      learn(key)
      start = key.id
    }
    // Each link can be walked in both directions; a device that comes late begins at the newest key.
    let links = successions
    var isGrowing = true
    while isGrowing {
      isGrowing = false
      for (old, link) in links {
        if let key = known[old], known[link.key] == nil,
          let text = link.grants[device.rawValue] ?? texts[Self.late(old, link.key, device)],
          let next = Self.openStep(text, to: link.key, from: key, account: account, device: device, box: box)
        {
          learn(next)
          isGrowing = true
        } else if let key = known[link.key], known[old] == nil, let previous = Self.openPrevious(link, by: key, id: old)
        {
          learn(previous)
          isGrowing = true
        }
      }
    }
    let next = Dictionary(links.map { ($0.old, $0.link) }) { first, _ in first }
    var isCurrent = start != nil
    var seen: Set<KeyID> = []
    while let here = start, let link = next[here], seen.insert(here).inserted {
      // That the device has the next key is not enough: a server could name an older one as what came after.
      guard let successor = known[link.key], Self.openPrevious(link, by: successor, id: here) != nil else {
        isCurrent = false
        break
      }
      start = successor.id
    }
    let last = start
    return AccountKeychain(
      keys: (order.filter { $0 != last } + [last].compactMap { $0 }).compactMap { known[$0] }, isCurrent: isCurrent)
  }

  /// The names of the account's keys from the first to the present one, as the server tells it.
  var line: [KeyID] {
    guard let first = texts[Self.first] else { return [] }
    let next = Dictionary(successions.map { ($0.old, $0.link.key) }) { first, _ in first }
    var line = [KeyID(first)]
    while let last = line.last, let successor = next[last], !line.contains(successor) { line.append(successor) }
    return line
  }

  /// The keys that came after one, each after the one before, of those that this device made. Only who has a key can have written
  /// what it came after. One that came after an older key counts no more: another one has taken its place since.
  func successors(of key: AccountKey?, among made: [AccountKey]) -> [AccountKey] {
    let next = Dictionary(successions.map { ($0.old, $0.link) }) { first, _ in first }
    var line: [AccountKey] = []
    var last = key
    while let here = last, let link = next[here.id],
      let new = made.first(where: { $0.id == link.key && !line.contains($0) }),
      Self.openPrevious(link, by: new, id: here.id) != nil
    {
      line.append(new)
      last = new
    }
    return line
  }

  private var successions: [(old: KeyID, link: Succession)] {
    texts.sorted { $0.key < $1.key }.compactMap { name, text in
      guard name.hasPrefix("after/"), let link = try? JSONDecoder().decode(Succession.self, from: Data(text.utf8))
      else {
        return nil
      }
      return (KeyID(String(name.dropFirst(6))), link)
    }
  }

  private static func openGrant(
    _ sealed: [UInt8]?, of account: AccountID, device: DeviceID, box: BoxKey
  ) -> AccountKey? {
    guard let sealed, let plain = box.open(sealed),
      let grant = try? JSONDecoder().decode(Grant.self, from: Data(plain)), grant.account == account,
      grant.device == device
    else { return nil }
    return SecretKey(grant.root).map { AccountKey($0) }
  }

  private static func openStep(
    _ text: String, to new: KeyID, from old: AccountKey, account: AccountID, device: DeviceID, box: BoxKey
  ) -> AccountKey? {
    // Only who has the older key can have written this: a server cannot slip in a key of its own.
    guard let sealed = CanonicalBase64.decode(text).flatMap({ old.wrapping.open($0, for: context(old.id, new)) }),
      let next = openGrant(sealed, of: account, device: device, box: box), next.id == new
    else { return nil }
    return next
  }

  private static func openPrevious(_ link: Succession, by key: AccountKey, id: KeyID) -> AccountKey? {
    guard let text = CanonicalBase64.decode(link.previous),
      let bytes = key.wrapping.open(text, for: context(id, key.id)),
      let previous = SecretKey(bytes).map({ AccountKey($0) }), previous.id == id
    else { return nil }
    return previous
  }

  private static func context(_ old: KeyID, _ new: KeyID) -> [UInt8] {
    SignedText.text("virga account key 1", [old.rawValue, new.rawValue])
  }

  private static func leftOutContext(_ old: KeyID, _ new: KeyID) -> [UInt8] {
    SignedText.text("virga account key left out 1", [old.rawValue, new.rawValue])
  }

  // MARK: Writing

  static func grant(of key: AccountKey, account: AccountID, to device: DeviceID, box: [UInt8]) throws -> String? {
    let plain = try JSONEncoder().encode(Grant(account: account, device: device, root: key.root.bytes))
    return BoxKey.seal(Array(plain), to: box).map { CanonicalBase64.encode($0) }
  }

  static func voucher(for device: DeviceID, box: [UInt8], under key: AccountKey) throws -> String {
    let plain = try JSONEncoder().encode(Voucher(device: device, box: box))
    return CanonicalBase64.encode(key.wrapping.seal(Array(plain), for: voucherContext(device)))
  }

  /// The public keys of those devices that somebody with the account's present key vouched for.
  ///
  /// A voucher under an older key says nothing: it may be that of a device that was removed, and a server can list that
  /// one again.
  func boxes(of devices: [DeviceID], vouchedUnder key: AccountKey) -> [Recipient] {
    devices.compactMap { device in
      guard let text = texts[Self.voucher(device, key.id)].flatMap(CanonicalBase64.decode),
        let plain = key.wrapping.open(text, for: Self.voucherContext(device)),
        let voucher = try? JSONDecoder().decode(Voucher.self, from: Data(plain)), voucher.device == device
      else { return nil }
      return (device, voucher.box)
    }
  }

  private static func voucherContext(_ device: DeviceID) -> [UInt8] {
    SignedText.text("virga voucher 1", [device.rawValue])
  }

  private static func step(
    from old: AccountKey, to new: AccountKey, account: AccountID, for device: Recipient
  ) throws -> String? {
    try grant(of: new, account: account, to: device.id, box: device.box).flatMap(CanonicalBase64.decode)
      .map { CanonicalBase64.encode(old.wrapping.seal($0, for: context(old.id, new.id))) }
  }

  /// What a device lacks to follow the account's keys from one that it has to the newest that the caller has. A device
  /// for whose sake a key was replaced gets no further than to that key.
  func missingSteps(
    from start: KeyID, for device: Recipient, holding chain: AccountKeychain, account: AccountID
  ) throws -> [KeyMessages.Item] {
    let next = Dictionary(successions.map { ($0.old, $0.link) }) { first, _ in first }
    var items: [KeyMessages.Item] = []
    var seen: Set<KeyID> = []
    var here = start
    while seen.insert(here).inserted, let link = next[here], let old = chain[here], let new = chain[link.key],
      Self.openPrevious(link, by: new, id: here) != nil,
      let leftOut = link.leftOut.flatMap(CanonicalBase64.decode)
        .flatMap({ new.wrapping.open($0, for: Self.leftOutContext(old.id, new.id)) }),
      leftOut != Array(device.id.rawValue.utf8)
    {
      let late = Self.late(old.id, new.id, device.id)
      if link.grants[device.id.rawValue] == nil, texts[late] == nil,
        let step = try Self.step(from: old, to: new, account: account, for: device)
      {
        items.append(KeyMessages.Item(late, step))
      }
      let voucher = Self.voucher(device.id, new.id)
      if texts[voucher] == nil {
        items.append(KeyMessages.Item(voucher, try Self.voucher(for: device.id, box: device.box, under: new)))
      }
      here = new.id
    }
    return items
  }

  /// - Parameter leftOut: The device for whose sake the key is replaced.
  /// - Throws: `AccountError.keyWouldBeLost` if the new key would be sealed to nobody.
  static func succession(
    from old: AccountKey, to new: AccountKey, account: AccountID, devices: [Recipient],
    leavingOut leftOut: DeviceID? = nil
  ) throws -> String {
    var grants: [String: String] = [:]
    for device in devices {
      grants[device.id.rawValue] = try step(from: old, to: new, account: account, for: device)
    }
    guard !grants.isEmpty else { throw AccountError.keyWouldBeLost }
    let name = Array((leftOut?.rawValue ?? "").utf8)
    let link = Succession(
      key: new.id, previous: CanonicalBase64.encode(new.wrapping.seal(old.root.bytes, for: context(old.id, new.id))),
      grants: grants, leftOut: CanonicalBase64.encode(new.wrapping.seal(name, for: leftOutContext(old.id, new.id))))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(link), as: UTF8.self)
  }
}
