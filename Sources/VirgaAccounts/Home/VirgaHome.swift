import FoundationEssentials
import Glibc
package import VirgaAuth
package import VirgaModel

/// The folder of a device: its keys, which accounts they belong to, and settings.
///
/// | file | holds |
/// |---|---|
/// | `device.key` | the device's private key, PKCS #8 in PEM form |
/// | `device.key.box` | the seed of the X25519 keys by which others seal something to the device |
/// | `account.json` | one account for each server that the device knows |
/// | `account-….keys` | the keys of an account's encrypted values |
/// | `config.json` | settings that people write: `endpoint`, `containers`, `certificateFile`, `apiToken`, `webAuthToken` |
/// | `web-tokens.json` | the latest token of a user of Apple's service |
///
/// Several processes may use one home at once: every file is replaced whole, and changes of `account.json` take turns.
package struct VirgaHome: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  /// `$VIRGA_HOME`, else `~/.virga`.
  package init(environment: [String: String]) {
    if let path = environment["VIRGA_HOME"], !path.isEmpty {
      self.init(path: path)
    } else {
      self.init(path: Self.userFolder(environment) + "/.virga")
    }
  }

  /// `$HOME`; where that is not set, as in some services, what the password database says. Never the current folder, which
  /// is another one the next time.
  private static func userFolder(_ environment: [String: String]) -> String {
    if let home = environment["HOME"], !home.isEmpty { return home }
    guard let entry = getpwuid(getuid()), let folder = entry.pointee.pw_dir else { return "/" }
    return String(cString: folder)
  }

  // MARK: Settings

  package struct Config: Codable, Hashable, Sendable {
    /// The server's address.
    package var endpoint: String?
    /// Containers of the apps of this device; the first is the default one.
    package var containers: [ContainerID]?
    /// The certificates of authorities that this device trusts, in PEM form, in place of the system's.
    package var certificateFile: String?
    /// Of the default container at Apple's service, or at another that takes such tokens.
    package var apiToken: String?
    /// Of the user who has signed in there.
    package var webAuthToken: String?

    fileprivate enum CodingKeys: String, CodingKey {
      case endpoint, containers, certificateFile, apiToken, webAuthToken
    }

    package init(endpoint: String? = nil, containers: [ContainerID]? = nil) {
      self.endpoint = endpoint
      self.containers = containers
    }
  }

  package static let defaultEndpoint = "http://127.0.0.1:8787"

  /// The settings; empty where there is no file.
  package func config() throws(SecureFileError) -> Config {
    let file = SecureFile(path: path + "/config.json", content: .settings)
    return try decoded(file) ?? Config()
  }

  /// The keys of the settings' file that have no meaning: misspelt ones, most likely.
  package func unknownSettings() throws(SecureFileError) -> [String] {
    struct AnyKey: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    struct Keys: Decodable {
      let names: [String]
      init(from decoder: any Decoder) throws {
        names = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
      }
    }
    let file = SecureFile(path: path + "/config.json", content: .settings)
    let keys: Keys? = try decoded(file)
    return (keys?.names ?? []).filter { Config.CodingKeys(stringValue: $0) == nil }.sorted()
  }

  package func write(_ config: Config) throws(SecureFileError) {
    try makeFolder()
    try write(config, to: SecureFile(path: path + "/config.json", content: .settings))
  }

  /// Where the server is: `$VIRGA_ENDPOINT`, else `config.json`, else the default; without a slash at the end.
  package func endpoint(environment: [String: String]) throws(SecureFileError) -> String {
    var endpoint = environment["VIRGA_ENDPOINT"] ?? ""
    if endpoint.isEmpty { endpoint = try config().endpoint ?? Self.defaultEndpoint }
    while endpoint.hasSuffix("/") { endpoint.removeLast() }
    return endpoint
  }

  /// Whose certificates are trusted: those in the file that `$VIRGA_CA_FILE` names, else in that of `config.json`; `nil` for
  /// the system's.
  package func certificateFile(environment: [String: String]) throws(SecureFileError) -> String? {
    if let file = environment["VIRGA_CA_FILE"], !file.isEmpty { return file }
    return try config().certificateFile
  }

  // MARK: Accounts

  /// The account that this device has on one server.
  package struct KnownAccount: Codable, Hashable, Sendable {
    /// What the server calls itself.
    package var server: String
    /// Where the server was when last met.
    package var endpoint: String
    package var account: AccountID
    package var device: DeviceID
    /// The name of the key's file in the home.
    package var key: String

    package init(server: String, endpoint: String, account: AccountID, device: DeviceID, key: String) {
      self.server = server
      self.endpoint = endpoint
      self.account = account
      self.device = device
      self.key = key
    }
  }

  private struct AccountsFile: Codable {
    /// The one used last comes first.
    var accounts: [KnownAccount] = []
    /// Accounts that the device left for another one; their keys are kept.
    var previous: [KnownAccount] = []
  }

  static let defaultKey = "device.key"

  /// The account on a server, by what it calls itself.
  package func account(onServer server: String) throws(SecureFileError) -> KnownAccount? {
    try accountsFile().accounts.first { $0.server == server }
  }

  /// The account last used at an address: known without asking the server.
  package func account(atEndpoint endpoint: String) throws(SecureFileError) -> KnownAccount? {
    try accountsFile().accounts.first { $0.endpoint == endpoint }
  }

  /// Where the servers of all accounts are, that of the one used last first.
  package func endpoints() throws(SecureFileError) -> [String] { try accountsFile().accounts.map(\.endpoint) }

  /// Keeps an account as the one of its server; another one that was there is kept among the previous ones.
  package func remember(_ account: KnownAccount) throws(SecureFileError) {
    try withLock { () throws(SecureFileError) in
      var file = try accountsFile()
      if file.accounts.first == account { return }
      file.previous += file.accounts.filter { $0.server == account.server && $0.account != account.account }
      file.accounts.removeAll { $0.server == account.server }
      file.accounts.insert(account, at: 0)
      try write(file, to: accountsURL)
    }
  }

  private var accountsURL: SecureFile { SecureFile(path: path + "/account.json") }

  private func accountsFile() throws(SecureFileError) -> AccountsFile {
    try decoded(accountsURL) ?? AccountsFile()
  }

  // MARK: Keys

  /// A key by the name of its file.
  package func key(named name: String) throws(SecureFileError) -> SigningKey {
    let file = keyFile(name)
    guard let bytes = try file.read() else {
      throw .damaged(path: file.path, reason: "is missing, although account.json names it")
    }
    return try key(bytes, of: file)
  }

  /// The device's key, made at first use. Of several processes that come first at once, all get the same key.
  package func deviceKey() throws(SecureFileError) -> SigningKey {
    let file = keyFile(Self.defaultKey)
    if let bytes = try file.read() { return try key(bytes, of: file) }
    try makeFolder()
    try file.create(try newKey(for: file).bytes)
    return try key(named: Self.defaultKey)
  }

  /// Another key, for a device that leaves its account for another one.
  package func addKey() throws(SecureFileError) -> (name: String, key: SigningKey) {
    try makeFolder()
    let name = "device-\(Hex.encode(SystemRandom.bytes(4))).key"
    let file = keyFile(name)
    let (key, bytes) = try newKey(for: file)
    try file.write(bytes)
    return (name, key)
  }

  private func keyFile(_ name: String) -> SecureFile { SecureFile(path: path + "/" + name) }

  private func newKey(for file: SecureFile) throws(SecureFileError) -> (key: SigningKey, bytes: [UInt8]) {
    do throws(KeyError) {
      let key = try SigningKey.generate()
      return (key, Array(try key.pem().utf8))
    } catch {
      throw .unwritable(path: file.path, reason: "OpenSSL could not make a key")
    }
  }

  private func key(_ bytes: [UInt8], of file: SecureFile) throws(SecureFileError) -> SigningKey {
    do throws(KeyError) { return try SigningKey(pem: String(decoding: bytes, as: UTF8.self)) } catch {
      throw .damaged(path: file.path, reason: "is not a private key on P-256")
    }
  }

  // MARK: Files

  func makeFolder() throws(SecureFileError) {
    if mkdir(path, 0o700) == 0 { return }
    if errno == ENOENT {
      makeParents()
      if mkdir(path, 0o700) == 0 { return }
    }
    guard errno == EEXIST else { throw .unwritable(path: path, reason: errorText()) }
    var status = stat()
    guard stat(path, &status) == 0 else { throw .unreadable(path: path, reason: errorText()) }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .unwritable(path: path, reason: "not a folder") }
    // Whoever may write in the folder may put another key there.
    guard status.st_mode & 0o022 == 0 else { throw .tooOpen(path: path, mode: status.st_mode & 0o777) }
  }

  /// Makes the folders above; what cannot be made shows when the home itself is.
  private func makeParents() {
    var end = path.startIndex
    while let slash = path[end...].firstIndex(of: "/") {
      if slash != path.startIndex { mkdir(String(path[..<slash]), 0o700) }
      end = path.index(after: slash)
    }
  }

  /// Lets one process at a time read and write `account.json`. Nothing but file work happens inside, so waiting is short.
  func withLock(_ body: () throws(SecureFileError) -> Void) throws(SecureFileError) {
    try makeFolder()
    let lock = path + "/lock"
    let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .unwritable(path: lock, reason: errorText()) }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw .unwritable(path: lock, reason: errorText()) }
    }
    try body()
  }

  func decoded<Value: Decodable>(_ file: SecureFile) throws(SecureFileError) -> Value? {
    guard let bytes = try file.read() else { return nil }
    do { return try JSONDecoder().decode(Value.self, from: Data(bytes)) } catch {
      throw .damaged(path: file.path, reason: "does not hold the expected JSON")
    }
  }

  func write(_ value: some Encodable, to file: SecureFile) throws(SecureFileError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try file.write(Array(try encoder.encode(value)) + [UInt8(ascii: "\n")])
    } catch let error as SecureFileError {
      throw error
    } catch {
      throw .unwritable(path: file.path, reason: "cannot be encoded")
    }
  }
}
