package import VirgaModel
package import VirgaWire

/// The rules of accounts: who may enrol, join, leave and hold tokens. A value without state, as `Service` is.
package struct Accounts: Sendable {
  // All accounts are listed under one owner, to find out whether there is any.
  private static let listedAccounts = "accounts"

  package init() {}

  // MARK: Reading

  package func hasAccounts(in transaction: any ReadTransaction) throws -> Bool {
    try !transaction.entities(.account, owner: Self.listedAccounts).isEmpty
  }

  /// The accounts in the order in which they were made.
  package func all(in transaction: any ReadTransaction) throws -> [Account] {
    let accounts: [Account] = try transaction.entities(.account, owner: Self.listedAccounts).map { try $0.decoded() }
    return accounts.sorted { ($0.created, $0.id) < ($1.created, $1.id) }
  }

  /// A device by its id, also when it was removed.
  package func device(_ id: DeviceID, in transaction: any ReadTransaction) throws -> Device? {
    try transaction.entity(.device, key: id.rawValue)?.decoded()
  }

  /// Whether a device was removed. What lasts longer than a request is not given to it, however the request began.
  package func isRemoved(_ id: DeviceID, in transaction: any ReadTransaction) throws -> Bool {
    try device(id, in: transaction)?.removed != nil
  }

  /// - Throws: `AUTHENTICATION_FAILED` if the device was removed, or is none.
  package func checkIsIn(_ id: DeviceID, in transaction: any ReadTransaction) throws {
    guard let device = try device(id, in: transaction), device.removed == nil else { throw ServiceError.deviceRemoved }
  }

  /// The devices of an account in the order in which they came.
  package func devices(of account: AccountID, in transaction: any ReadTransaction) throws -> [Device] {
    let devices: [Device] = try transaction.entities(.device, owner: account.rawValue).map { try $0.decoded() }
    return devices.filter { $0.removed == nil }.sorted { ($0.enrolled, $0.id) < ($1.enrolled, $1.id) }
  }

  package func webToken(digest: String, in transaction: any ReadTransaction) throws -> WebToken? {
    try transaction.entity(.webToken, key: digest)?.decoded()
  }

  // MARK: Devices

  /// Makes an account for a device; a device that has one already keeps it, so that a lost answer can be asked for again.
  /// - Parameter device: Its `account` is the new account's id.
  /// - Parameter code: The digest of an enrolment code, if one was given.
  /// - Parameter isMasterCode: Whether that code is the one the server printed, which is good for the first account.
  /// - Returns: The device as it is stored.
  /// - Throws: `ACCESS_DENIED` if the policy forbids it, `NOT_FOUND` if the code is wrong or too old,
  ///   `AUTHENTICATION_FAILED` if the device was removed.
  package func enrol(
    _ device: Device, policy: EnrolmentPolicy, code: String?, isMasterCode: Bool,
    in transaction: any WriteTransaction, now: Timestamp
  ) throws -> Device {
    if let known = try self.device(device.id, in: transaction) {
      if known.removed != nil { throw ServiceError.deviceRemoved }
      return known
    }
    switch policy {
    case .open: break
    case .closed: throw ServiceError(.accessDenied, AccountReason.enrolmentClosed)
    case .invite:
      guard let code else { throw ServiceError(.accessDenied, AccountReason.enrolmentNeedsCode) }
      let isFirst = try isMasterCode && !hasAccounts(in: transaction)
      if !isFirst { try redeem(code, in: transaction, now: now) }
    }
    let account = Account(id: device.account, created: now)
    try transaction.put(try Entity(.account, key: account.id.rawValue, owner: Self.listedAccounts, encoding: account))
    try put(device, in: transaction)
    return device
  }

  /// Makes an account again that was here once, or elsewhere, with its devices. One that is here stays as it is.
  /// - Throws: `EXISTS` if none of the devices is free to be in it.
  package func restore(
    _ id: AccountID, created: Timestamp, _ devices: [Device], in transaction: any WriteTransaction
  ) throws {
    guard try transaction.entity(.account, key: id.rawValue) == nil else { return }
    let free = try devices.filter { try device($0.id, in: transaction) == nil }
    guard !free.isEmpty else { throw ServiceError(.exists, AccountReason.devicesElsewhere) }
    let account = Account(id: id, created: created)
    try transaction.put(try Entity(.account, key: account.id.rawValue, owner: Self.listedAccounts, encoding: account))
    for device in free { try add(device, in: transaction) }
  }

  /// Adds a device to an existing account. Asking again for the same device changes nothing.
  /// - Throws: `AUTHENTICATION_FAILED` if the device was removed, `EXISTS` if it belongs to another account.
  package func add(_ device: Device, in transaction: any WriteTransaction) throws {
    if let known = try self.device(device.id, in: transaction) {
      if known.removed != nil { throw ServiceError.deviceRemoved }
      if known.account == device.account { return }
      throw ServiceError(.exists, AccountReason.deviceHasAccount)
    }
    let ever = try transaction.entities(.device, owner: device.account.rawValue).count
    try Limits.check(
      ever + 1, atMost: Limits.pastDevicesPerAccountMax, "devices that the account has or had")
    let others = try devices(of: device.account, in: transaction)
    guard others.count < Limits.devicesPerAccountMax else {
      throw ServiceError.limitExceeded("devices", observed: others.count + 1, limit: Limits.devicesPerAccountMax)
    }
    var device = device
    device.name = device.freeName(among: others)
    try put(device, in: transaction)
  }

  /// Whether a device may be removed: the device, or `nil` if it was before.
  /// - Throws: `NOT_FOUND` if the account has no such device, `ACCESS_DENIED` if it is the last one.
  @discardableResult
  package func removable(
    _ id: DeviceID, from account: AccountID, in transaction: any ReadTransaction
  ) throws -> Device? {
    guard let device = try device(id, in: transaction), device.account == account else {
      throw ServiceError(.notFound, AccountReason.deviceNotFound)
    }
    if device.removed != nil { return nil }
    // Nobody could ever reach the account's data again.
    guard try devices(of: account, in: transaction).count > 1 else {
      throw ServiceError(.accessDenied, AccountReason.lastDevice)
    }
    return device
  }

  /// Removes a device and the web-auth tokens that it made. Its push tokens lie in containers: see
  /// `Service.removePushTokens`. One that was removed before stays so: who asks again may not have heard the answer.
  /// - Throws: As `removable`.
  package func remove(
    _ id: DeviceID, from account: AccountID, in transaction: any WriteTransaction, now: Timestamp
  ) throws {
    guard var device = try removable(id, from: account, in: transaction) else { return }
    device.removed = now
    try put(device, in: transaction)
    for entity in try transaction.entities(.webToken, owner: account.rawValue) {
      let token: WebToken = try entity.decoded()
      if token.device == id { try transaction.removeEntity(.webToken, key: entity.key) }
    }
  }

  func put(_ device: Device, in transaction: any WriteTransaction) throws {
    try transaction.put(
      try Entity(.device, key: device.id.rawValue, owner: device.account.rawValue, encoding: device))
  }

  // MARK: Codes and tokens

  /// Keeps an enrolment code, by its digest, for somebody who is to make an account, and drops those of the account that
  /// have ended.
  /// - Throws: `limitExceeded` if too many of the account's codes live.
  package func invite(
    digest: String, expires: Timestamp, by account: AccountID, in transaction: any WriteTransaction, now: Timestamp
  ) throws {
    let owner = "account/\(account)"
    var living = 0
    for entity in try transaction.entities(.invitation, owner: owner) {
      let code: Invitation = try entity.decoded()
      if code.expires < now { try transaction.removeEntity(.invitation, key: entity.key) } else { living += 1 }
    }
    try Limits.check(
      living + 1, atMost: Limits.enrolmentCodesPerAccountMax, "enrolment codes of one account that nobody has used")
    try transaction.put(try Entity(.invitation, key: digest, owner: owner, encoding: Invitation(expires: expires)))
  }

  private func redeem(_ digest: String, in transaction: any WriteTransaction, now: Timestamp) throws {
    let invitation: Invitation? = try transaction.entity(.invitation, key: digest)?.decoded()
    guard let invitation, now <= invitation.expires else { throw ServiceError(.notFound, AccountReason.wrongCode) }
    try transaction.removeEntity(.invitation, key: digest)
  }

  /// Keeps a web-auth token, by its digest, and drops those of the account that have ended.
  package func putWebToken(
    digest: String, _ token: WebToken, in transaction: any WriteTransaction, now: Timestamp
  ) throws {
    var valid = 0
    for entity in try transaction.entities(.webToken, owner: token.account.rawValue) {
      let old: WebToken = try entity.decoded()
      if old.expires < now { try transaction.removeEntity(.webToken, key: entity.key) } else { valid += 1 }
    }
    guard valid < Limits.webTokensPerAccountMax else {
      throw ServiceError.limitExceeded("web tokens", observed: valid + 1, limit: Limits.webTokensPerAccountMax)
    }
    try transaction.put(try Entity(.webToken, key: digest, owner: token.account.rawValue, encoding: token))
  }
}

extension ServiceError {
  package static let deviceRemoved = ServiceError(.authenticationFailed, AccountReason.deviceRemoved)
}
