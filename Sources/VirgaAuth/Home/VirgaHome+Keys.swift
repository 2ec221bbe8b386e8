import FoundationEssentials
import Glibc
import VirgaModel

extension VirgaHome {
  /// The pair by which something is sealed to this device; made at first use beside the device's key.
  func box(besideKey name: String) throws(SecureFileError) -> BoxKey {
    let file = SecureFile(path: "\(path)/\(name).box")
    if try file.read() == nil {
      try makeFolder()
      // Of several processes that come first at once, one makes it.
      try file.create(SecretKey.random().bytes)
    }
    guard let bytes = try file.read(), let seed = SecretKey(bytes) else {
      throw .damaged(path: file.path, reason: "does not have \(SecretKey.byteCount) bytes")
    }
    return BoxKey(seed: seed)
  }

  private struct KeysFile: Codable {
    var account: AccountID
    /// The device as which they came.
    var device: DeviceID
    /// Oldest first, Base64.
    var keys: [String]
  }

  /// The account's keys that this device has, oldest first, and the device as which they came.
  func accountKeys(of account: AccountID) throws(SecureFileError) -> (keys: [AccountKey], device: DeviceID?) {
    let file = keysFile(of: account)
    guard let stored: KeysFile = try decoded(file) else { return ([], nil) }
    let keys = stored.keys.compactMap { Base64.decode($0).flatMap { SecretKey($0) } }
    guard keys.count == stored.keys.count, stored.account == account else {
      throw .damaged(path: file.path, reason: "holds something else than this account's keys")
    }
    return (keys.map { AccountKey($0) }, stored.device)
  }

  /// Keeps keys in the order given, behind others that were there; a key once kept stays.
  func remember(_ keys: [AccountKey], of account: AccountID, device: DeviceID) throws(SecureFileError) {
    try withLock { () throws(SecureFileError) in
      let known = try accountKeys(of: account)
      let kept = known.keys.filter { !keys.contains($0) } + keys
      if kept != known.keys || known.device != device { try write(kept, of: account, device: device) }
    }
  }

  /// Keeps a key as the account's first, unless there is one.
  /// - Returns: The first key that is there now.
  func rememberFirst(
    _ key: AccountKey, of account: AccountID, device: DeviceID
  ) throws(SecureFileError) -> AccountKey {
    var first = key
    try withLock { () throws(SecureFileError) in
      if let known = try accountKeys(of: account).keys.first {
        first = known
      } else {
        try write([key], of: account, device: device)
      }
    }
    return first
  }

  /// Keeps a key with which the account is to begin anew, beside the keys that it has until then; one that was kept
  /// before is taken again, since the server may have it.
  /// - Returns: The key that is there now.
  func prepareKey(_ key: AccountKey, of account: AccountID, device: DeviceID) throws(SecureFileError) -> AccountKey {
    var prepared = key
    try withLock { () throws(SecureFileError) in
      if let known = try preparedKey(of: account) {
        prepared = known
      } else {
        try write([key], of: account, device: device, to: preparedFile(of: account))
      }
    }
    return prepared
  }

  /// Makes a key that was prepared the only one, once the server has it as the account's first. The others are kept under
  /// another name, where nothing looks for them. Nothing happens if another key or none was prepared.
  func takeUpKey(
    _ id: KeyID, of account: AccountID, device: DeviceID, at now: Timestamp
  ) throws(SecureFileError) {
    guard try preparedKey(of: account)?.id == id else { return }
    try withLock { () throws(SecureFileError) in
      // Another process may have done it meanwhile.
      guard let key = try preparedKey(of: account), key.id == id else { return }
      let path = keysFile(of: account).path
      guard link(path, "\(path).\(now.milliseconds)") == 0 || errno == ENOENT || errno == EEXIST else {
        throw .unwritable(path: path, reason: errorText())
      }
      try write([key], of: account, device: device, to: keysFile(of: account))
      unlink(preparedFile(of: account).path)
    }
  }

  private func preparedKey(of account: AccountID) throws(SecureFileError) -> AccountKey? {
    let file = preparedFile(of: account)
    guard let stored: KeysFile = try decoded(file) else { return nil }
    guard stored.account == account, let key = stored.keys.first.flatMap(Base64.decode).flatMap({ SecretKey($0) })
    else { throw .damaged(path: file.path, reason: "holds something else than this account's key") }
    return AccountKey(key)
  }

  /// Forgets a key that was never used.
  func forget(_ key: AccountKey, of account: AccountID, device: DeviceID) throws(SecureFileError) {
    try withLock { () throws(SecureFileError) in
      try write(try accountKeys(of: account).keys.filter { $0 != key }, of: account, device: device)
    }
  }

  private func write(
    _ keys: [AccountKey], of account: AccountID, device: DeviceID, to file: SecureFile? = nil
  ) throws(SecureFileError) {
    let stored = KeysFile(account: account, device: device, keys: keys.map { Base64.encode($0.root.bytes) })
    try write(stored, to: file ?? keysFile(of: account))
  }

  // The account's name comes from a server and is not to choose where a file lies.
  private func keysFile(of account: AccountID) -> SecureFile {
    SecureFile(path: "\(path)/account-\(SHA256.hexDigest(of: account.rawValue).prefix(16)).keys")
  }

  private func preparedFile(of account: AccountID) -> SecureFile {
    SecureFile(path: keysFile(of: account).path + ".next")
  }
}
