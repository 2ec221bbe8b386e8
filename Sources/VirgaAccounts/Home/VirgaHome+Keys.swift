import FoundationEssentials
import Glibc
import VirgaAuth
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
    /// Oldest first, CanonicalBase64.
    var keys: [String]
  }

  /// The account's keys that this device has, oldest first, and the device as which they came.
  func accountKeys(of account: AccountID) throws(SecureFileError) -> (keys: [AccountKey], device: DeviceID?) {
    let file = keysFile(of: account)
    guard let stored: KeysFile = try decoded(file) else { return ([], nil) }
    let keys = stored.keys.compactMap { CanonicalBase64.decode($0).flatMap { SecretKey($0) } }
    guard keys.count == stored.keys.count, stored.account == account else {
      throw .damaged(path: file.path, reason: "does not hold this account's keys")
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

  /// Keeps a key that is about to replace the account's present one, before the server hears of it. Where this device is
  /// not among those that it is sealed to, it would have no key if what comes after that failed.
  func prepareSuccessor(_ key: AccountKey, of account: AccountID, device: DeviceID) throws(SecureFileError) {
    try withLock { () throws(SecureFileError) in
      let others = try successors(of: account).suffix(Self.successorsMax - 1)
      try write(others + [key], of: account, device: device, to: successorFile(of: account))
    }
  }

  /// Keys that were about to replace the account's, oldest first, and of which it is not known whether they did.
  func successors(of account: AccountID) throws(SecureFileError) -> [AccountKey] {
    let file = successorFile(of: account)
    guard let stored: KeysFile = try decoded(file) else { return [] }
    let keys = stored.keys.compactMap { CanonicalBase64.decode($0).flatMap { SecretKey($0) } }
    guard keys.count == stored.keys.count, stored.account == account else {
      throw .damaged(path: file.path, reason: "does not hold this account's keys")
    }
    return keys.map { AccountKey($0) }
  }

  /// Keeps successors that the account has taken with its other keys.
  func takeUpSuccessors(_ keys: [AccountKey], of account: AccountID, device: DeviceID) throws(SecureFileError) {
    try withLock { () throws(SecureFileError) in
      let known = try accountKeys(of: account)
      // As those of the device that they were made on: it may have joined once more since.
      try write(
        known.keys.filter { !keys.contains($0) } + keys, of: account, device: known.device ?? device)
      try dropSuccessors(keys, of: account, device: device)
    }
  }

  /// Forgets a key that is not for this device, which has left the account.
  func forgetSuccessor(_ key: AccountKey, of account: AccountID, device: DeviceID) throws(SecureFileError) {
    try withLock { () throws(SecureFileError) in
      let known = try accountKeys(of: account)
      // Another process may have taken it up.
      if known.keys.contains(key) {
        try write(known.keys.filter { $0 != key }, of: account, device: known.device ?? device)
      }
      try dropSuccessors([key], of: account, device: device)
    }
  }

  /// Those that were made before count no more either: they were to come after a key that has been replaced.
  private func dropSuccessors(_ keys: [AccountKey], of account: AccountID, device: DeviceID) throws(SecureFileError) {
    let all = try successors(of: account)
    guard let last = all.lastIndex(where: keys.contains) else { return }
    let rest = Array(all[(last + 1)...])
    if rest.isEmpty {
      unlink(successorFile(of: account).path)
    } else {
      try write(rest, of: account, device: device, to: successorFile(of: account))
    }
  }

  /// Each attempt to replace a key makes one. Those that came to nothing are of no use.
  private static let successorsMax = 8

  private func preparedKey(of account: AccountID) throws(SecureFileError) -> AccountKey? {
    let file = preparedFile(of: account)
    guard let stored: KeysFile = try decoded(file) else { return nil }
    guard stored.account == account,
      let key = stored.keys.first.flatMap(CanonicalBase64.decode).flatMap({ SecretKey($0) })
    else { throw .damaged(path: file.path, reason: "does not hold this account's key") }
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
    let stored = KeysFile(account: account, device: device, keys: keys.map { CanonicalBase64.encode($0.root.bytes) })
    try write(stored, to: file ?? keysFile(of: account))
  }

  // The account's name comes from a server and is not to choose where a file lies.
  private func keysFile(of account: AccountID) -> SecureFile {
    SecureFile(path: "\(path)/account-\(SHA256.hexDigest(of: account.rawValue).prefix(16)).keys")
  }

  private func successorFile(of account: AccountID) -> SecureFile {
    SecureFile(path: keysFile(of: account).path + ".after")
  }

  private func preparedFile(of account: AccountID) -> SecureFile {
    SecureFile(path: keysFile(of: account).path + ".next")
  }
}
