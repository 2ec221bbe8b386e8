package import VirgaAuth
package import VirgaModel

extension AccountClient {
  /// What a removal needs.
  package enum KeyCondition: Sendable {
    /// The key is replaced, if there is one.
    case replaced
    /// The device goes, also where this one cannot replace the key.
    case any
  }

  /// Removes a device; the server refuses it from its next request on, and what is encrypted from now on is not for it.
  ///
  /// The account's key is replaced whatever the server says of its devices: one that it does not list may be there. A
  /// device that was removed before may be removed again, which replaces the key for its sake.
  /// - Throws: `AccountError.refused` if the server would not remove it, `.keyMissing` if `condition` does not hold,
  ///   `.keyWouldBeLost`; nothing has changed then. `.badAnswer` if the server does not keep the new key.
  package func remove(
    _ device: DeviceID, condition: KeyCondition = .replaced
  ) async throws -> (account: AccountMessages.Description, key: KeyReplacement) {
    // Asked first: a key that was replaced for the sake of a device that then stays is of use to nobody.
    let asked: AccountMessages.Description = try await authorized(
      "account/remove/check", AccountMessages.RemoveRequest(device: device))
    defer { isLeaving = false }
    // The key before the device: whoever asks again after a failure in between has lost nothing.
    let (replacement, new) = try await replaceKey(leavingOut: device, of: asked.devices.map(\.id))
    if replacement == .kept, condition == .replaced { throw AccountError.keyMissing }
    let left: AccountMessages.Description = try await authorized(
      "account/remove", AccountMessages.RemoveRequest(device: device))
    if let new, let known = try knownAccount(), known.device == device {
      // It was kept in case that this device had to stay.
      try homeFiles { home throws(SecureFileError) in try home.forgetSuccessor(new, of: known.account, device: device) }
    }
    return (left, replacement)
  }

  /// Replaces the account's key by one that is sealed to all devices but one. Nothing happens where the account has no
  /// key, or this device does not have it.
  /// - Parameter listed: The account's devices, as the server says.
  /// - Throws: `AccountError.keyWouldBeLost` if it would be sealed to nobody, `.badAnswer` if the server does not keep it.
  @discardableResult
  func replaceKey(
    leavingOut device: DeviceID, of listed: [DeviceID]
  ) async throws -> (replacement: KeyReplacement, new: AccountKey?) {
    for _ in 0..<Self.keyReplacementsMax {
      let keys = try await accountKeys(makingFirst: false)
      guard let current = keys.keychain.current else {
        return (keys.hasFirst || !keys.keychain.keys.isEmpty ? .kept : .nothingToReplace, nil)
      }
      let log = AccountKeyLog(keys.texts.map { KeyMessages.Item($0.key, $0.value) })
      let own = try recipient(of: keys.account)
      var remaining = log.boxes(of: listed.filter { $0 != device && $0 != own.id }, vouchedUnder: current)
      // Where the new key is sealed to for this device is known here, and not asked of the server.
      if device != own.id { remaining.insert(own, at: 0) }
      guard !remaining.isEmpty else { throw AccountError.keyWouldBeLost }
      let new = AccountKey.random()
      try homeFiles { home throws(SecureFileError) in
        try home.prepareSuccessor(new, of: keys.account, device: own.id)
      }
      // The next replacement may come before some of them have heard of this one.
      _ = try await keyItems(
        of: nil,
        adding: try remaining.map {
          KeyMessages.Item(
            AccountKeyLog.voucher($0.id, new.id), try AccountKeyLog.voucher(for: $0.id, box: $0.box, under: new))
        }, as: keys.account)
      isLeaving = device == own.id
      let text = try AccountKeyLog.succession(
        from: current, to: new, account: keys.account, devices: remaining, leavingOut: device)
      let item = KeyMessages.Item(AccountKeyLog.after(current.id), text)
      let items = try await keyItems(of: nil, adding: [item], as: keys.account)
      // Another device may have replaced it at the same time, for another one's sake: then its key is replaced too.
      if items.contains(where: { $0.name == item.name && $0.value == item.value }) {
        // Whoever was let in since the list was read has the older key.
        let present = try await describe(as: keys.account).devices.map(\.id).filter { $0 != device }
        try await bringUp(AccountKeyLog(items).boxes(of: present, vouchedUnder: current), from: current.id)
        return (.replaced, new)
      }
      try Task.checkCancellation()
    }
    throw AccountError.badAnswer("the server did not store the account's new key")
  }

  /// Each further attempt means that another device replaced the key in the same moment.
  static let keyReplacementsMax = 20

  private func recipient(of account: AccountID) throws -> AccountKeyLog.Recipient {
    guard let known = try knownAccount(), known.account == account else { throw AccountError.accountChanged }
    let box = try homeFiles { home throws(SecureFileError) in try home.box(besideKey: known.key) }
    return (known.device, box.publicKey)
  }
}
