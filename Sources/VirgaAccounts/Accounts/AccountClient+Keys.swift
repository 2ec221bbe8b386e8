package import VirgaAuth
package import VirgaModel

extension AccountClient {
  /// Adds texts for those who read a zone, and answers all that is there, and who the caller is to them.
  /// - Parameter account: In whose name.
  package func zoneKeyItems(
    of zone: KeyMessages.Zone, adding items: [KeyMessages.Item], as account: AccountID
  ) async throws -> KeyMessages.Items {
    try await authorized("keys", KeyMessages.Request(zone: zone, add: items), as: account)
  }

  /// Adds texts for the account's devices, or for those who read a zone, and answers all that is there.
  /// - Parameter account: In whose name; nil for that of the device.
  package func keyItems(
    of zone: KeyMessages.Zone?, adding items: [KeyMessages.Item], as account: AccountID? = nil
  ) async throws -> [KeyMessages.Item] {
    let answer: KeyMessages.Items = try await authorized(
      "keys", KeyMessages.Request(zone: zone, add: items), as: account)
    return answer.items
  }

  /// What this device has read of a zone's roster, in this program or in one before.
  package nonisolated func knownRoster(
    of place: ZonePlace, account: AccountID, keys: [AccountKey]
  ) throws -> ZoneRoster {
    let stored = try homeFiles { home throws(SecureFileError) in try home.roster(of: place, account: account) }
    return ZoneRoster(stored, of: place, keys: keys)
  }

  /// Whether this device has read a zone's roster.
  package nonisolated func hasRoster(of place: ZonePlace, account: AccountID) throws -> Bool {
    try homeFiles { home throws(SecureFileError) in try !home.roster(of: place, account: account).texts.isEmpty }
  }

  /// Keeps a zone's roster for later starts.
  package nonisolated func remember(_ roster: ZoneRoster, of place: ZonePlace, account: AccountID) throws {
    try homeFiles { home throws(SecureFileError) in
      try home.rememberRoster(roster.stored, of: place, account: account)
    }
  }

  /// Keeps of the roster of a zone that is gone no more than what it takes to know it again.
  package nonisolated func endRoster(of place: ZonePlace, account: AccountID) throws {
    try homeFiles { home throws(SecureFileError) in
      let stored = try home.roster(of: place, account: account)
      if !stored.isEmpty { try home.rememberRoster(stored.over, of: place, account: account) }
    }
  }

  /// The account's keys, from the home and from what other devices left on the server.
  /// - Parameter makingFirst: Whether a key is made where the account has none.
  package func accountKeys(makingFirst: Bool) async throws -> AccountKeys {
    let session = try await session()
    let account = session.account
    guard let known = try knownAccount(), known.account == account else {
      // The device was given another account; the next session is that one's.
      drop(session)
      throw AccountError.accountChanged
    }
    let box = try homeFiles { home throws(SecureFileError) in try home.box(besideKey: known.key) }
    var items = try await keyItems(of: nil, adding: [], as: account)
    try takeUpKeys(items, known)
    var (held, holder) = try homeFiles { home throws(SecureFileError) in try home.accountKeys(of: account) }
    // Keys from before the device left and joined again are kept, and say nothing of the account's present one.
    let hasJustJoined = holder != known.device
    func keychain() -> AccountKeychain {
      AccountKeyLog(items).keychain(
        holding: held, of: account, device: known.device, box: box, trustsGrants: hasJustJoined)
    }
    var chain = keychain()
    if chain.keys.isEmpty, makingFirst, !items.contains(where: { $0.name == AccountKeyLog.first }) {
      // It is on disk before others hear of it, and used only once the server has it as the first.
      let made = try homeFiles { home throws(SecureFileError) in
        try home.rememberFirst(.random(), of: account, device: known.device)
      }
      items = try await keyItems(of: nil, adding: try introduction(of: made, known.device, box), as: account)
      if items.first(where: { $0.name == AccountKeyLog.first })?.value == made.id.rawValue {
        held = [made]
      } else {
        try homeFiles { home throws(SecureFileError) in try home.forget(made, of: account, device: known.device) }
      }
      chain = keychain()
    }
    if chain.keys != held || hasJustJoined && !chain.keys.isEmpty {
      try homeFiles { [keys = chain.keys] home throws(SecureFileError) in
        try home.remember(keys, of: account, device: known.device)
      }
    }
    chain.isCurrent = try await isInLine(chain, &items, account, (known.device, box.publicKey))
    // A server that was set up anew, and a device that was let in or has a new key, are told.
    if let current = chain.current {
      let names = Set(items.map(\.name))
      let missing = try introduction(of: current, known.device, box).filter { !names.contains($0.name) }
      if !missing.isEmpty { items = try await keyItems(of: nil, adding: missing, as: account) }
    }
    return AccountKeys(
      account: account, keychain: chain,
      texts: Dictionary(items.map { ($0.name, $0.value) }) { first, _ in first })
  }

  /// Takes up keys that this device made, and did not hear of what the server made of them: it was stopped in between.
  private func takeUpKeys(_ items: [KeyMessages.Item], _ known: VirgaHome.KnownAccount) throws {
    if let first = items.first(where: { $0.name == AccountKeyLog.first }) {
      try homeFiles { home throws(SecureFileError) in
        try home.takeUpKey(KeyID(first.value), of: known.account, device: known.device, at: now())
      }
    }
    if isLeaving { return }
    let waiting = try homeFiles { home throws(SecureFileError) in try home.successors(of: known.account) }
    if waiting.isEmpty { return }
    let held = try homeFiles { home throws(SecureFileError) in try home.accountKeys(of: known.account).keys }
    let taken = AccountKeyLog(items).successors(of: held.last, among: waiting)
    if taken.isEmpty { return }
    try homeFiles { home throws(SecureFileError) in
      try home.takeUpSuccessors(taken, of: known.account, device: known.device)
    }
  }

  /// Whether the newest key of this device is in the line that began with the account's first.
  ///
  /// It is not where another device was the first. It is not either where the server's data are older than the key; then
  /// the server is told of it again.
  private func isInLine(
    _ chain: AccountKeychain, _ items: inout [KeyMessages.Item], _ account: AccountID, _ own: AccountKeyLog.Recipient
  ) async throws -> Bool {
    let log = AccountKeyLog(items)
    let line = log.line
    guard let current = chain.current else { return false }
    if line.isEmpty || line.contains(current.id) { return true }
    guard let end = line.last.flatMap({ chain[$0] }) else { return false }
    // The server may have lost what was vouched for as well; this device is there in any case.
    let others = try await describe(as: account).devices.map(\.id).filter { $0 != own.id }
    let devices = [own] + log.boxes(of: others, vouchedUnder: current)
    let text = try AccountKeyLog.succession(from: end, to: current, account: account, devices: devices)
    items = try await keyItems(of: nil, adding: [KeyMessages.Item(AccountKeyLog.after(end.id), text)], as: account)
    return AccountKeyLog(items).line.contains(current.id)
  }

  private func introduction(of key: AccountKey, _ device: DeviceID, _ box: BoxKey) throws -> [KeyMessages.Item] {
    [
      KeyMessages.Item(AccountKeyLog.first, key.id.rawValue),
      KeyMessages.Item(
        AccountKeyLog.voucher(device, key.id), try AccountKeyLog.voucher(for: device, box: box.publicKey, under: key)),
    ]
  }

  /// Begins anew with another key, for an account whose devices have lost theirs. Zones with encrypted values are deleted;
  /// apps are told that it was for this reason, and send again what they have.
  ///
  /// Other devices have to join again. What this device had of keys is kept in its home, and not used.
  /// - Returns: How many zones were deleted.
  /// - Throws: `AccountError.badAnswer` if another device began anew at the same moment.
  package func resetKeys() async throws -> Int {
    let account = try await session().account
    guard let known = try knownAccount(), known.account == account else { throw AccountError.accountChanged }
    let box = try homeFiles { home throws(SecureFileError) in try home.box(besideKey: known.key) }
    // It is on disk before the server has it, and there from the moment on in which the others go: no other device can
    // put a key of its own in their place.
    let key = try homeFiles { home throws(SecureFileError) in
      try home.prepareKey(.random(), of: account, device: known.device)
    }
    let request = KeyMessages.Request(zone: nil, add: try introduction(of: key, known.device, box))
    let answer: KeyMessages.Reset = try await authorized("keys/reset", request, as: account)
    guard try await accountKeys(makingFirst: false).keychain.current == key else {
      throw AccountError.badAnswer("the server did not store the account's new key")
    }
    return answer.zones
  }

  // MARK: Devices that come and go

  /// Seals the account's key to a device that is let in, if it showed where to.
  /// - Returns: The name of the key that it got.
  func grantKey(to candidate: AccountMessages.Awaited.Candidate) async throws -> KeyID? {
    guard let box = candidate.box.flatMap(CanonicalBase64.decode) else { return nil }
    let keys = try await accountKeys(makingFirst: true)
    guard let current = keys.keychain.current,
      let grant = try AccountKeyLog.grant(of: current, account: keys.account, to: candidate.device, box: box)
    else { return nil }
    _ = try await keyItems(
      of: nil,
      adding: [
        KeyMessages.Item(AccountKeyLog.grant(current.id, candidate.device), grant),
        KeyMessages.Item(
          AccountKeyLog.voucher(candidate.device, current.id),
          try AccountKeyLog.voucher(for: candidate.device, box: box, under: current)),
      ], as: keys.account)
    return current.id
  }

  /// Gives devices that have one of the account's keys those that came after it. Who replaces a key and who lets a device
  /// in at the same moment may each not have seen what the other did; of the two, the last to look here has.
  func bringUp(_ devices: [(id: DeviceID, box: [UInt8])], from key: KeyID) async throws {
    for _ in 0..<Self.keyReplacementsMax {
      let keys = try await accountKeys(makingFirst: false)
      let log = AccountKeyLog(keys.texts.map { KeyMessages.Item($0.key, $0.value) })
      let missing = try devices.flatMap {
        try log.missingSteps(from: key, for: $0, holding: keys.keychain, account: keys.account)
      }
      if missing.isEmpty { return }
      _ = try await keyItems(of: nil, adding: missing, as: keys.account)
    }
  }
}
