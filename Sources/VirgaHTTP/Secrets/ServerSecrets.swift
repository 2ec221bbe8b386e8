package import VirgaAuth
package import VirgaModel
import VirgaServer

/// What only the server knows: one key, from which all that it signs or hides is derived.
///
/// Losing the key makes every user of every container a stranger to their own data, so it lies beside them and belongs
/// into every backup.
package struct ServerSecrets: Sendable {
  private let key: [UInt8]

  package static let keyLength = 32
  /// The name of the key's file in the data folder.
  package static let fileName = DataFile.secrets

  /// - Precondition: `key` has `keyLength` bytes.
  package init(key: [UInt8]) {
    precondition(key.count == Self.keyLength, "a server's key has \(Self.keyLength) bytes")
    self.key = key
  }

  /// A new key, for a server without a data folder.
  package static func random() -> ServerSecrets { ServerSecrets(key: SystemRandom.bytes(keyLength)) }

  /// Reads the key of a data folder; `nil` if it has none.
  package static func read(from folder: String) throws(SecureFileError) -> ServerSecrets? {
    let file = SecureFile(path: folder + "/" + fileName)
    guard let bytes = try file.read() else { return nil }
    return try ServerSecrets(bytes, of: file)
  }

  /// Reads the key of a data folder, making one (mode 0600) where there is none.
  /// - Precondition: The folder has a key or holds no data: beside data another key would make everybody a stranger.
  package static func load(from folder: String) throws(SecureFileError) -> ServerSecrets {
    if let existing = try read(from: folder) { return existing }
    let file = SecureFile(path: folder + "/" + fileName)
    try file.create(SystemRandom.bytes(keyLength))
    // Somebody else may have been first: what lies there now counts.
    guard let stored = try file.read() else { throw .damaged(path: file.path, reason: "vanished") }
    return try ServerSecrets(stored, of: file)
  }

  private init(_ bytes: [UInt8], of file: SecureFile) throws(SecureFileError) {
    guard bytes.count == Self.keyLength else {
      throw .damaged(path: file.path, reason: "has \(bytes.count) bytes instead of \(Self.keyLength)")
    }
    self.init(key: bytes)
  }

  /// The user of an account in a container: `_` and 32 hexadecimal digits. Nobody without the key can tell that two
  /// users of different containers are one account.
  package func userName(of account: AccountID, in container: ContainerID) -> UserName {
    let message = Array(account.rawValue.utf8) + [0] + Array(container.rawValue.utf8)
    return UserName("_" + Hex.encode(HMACSHA256.code(for: message, key: key).prefix(16)))
  }

  /// A name for this server that tells nothing of its key: clients keep their accounts under it.
  package var serverID: String { Hex.encode(mac(of: [], for: .serverID).prefix(16)) }

  /// The API token that a container's own devices are given for an environment: 64 hexadecimal digits, the same each time.
  /// - Parameter generation: How many before it were revoked.
  package func apiToken(for container: ContainerID, in environment: Environment, generation: Int = 0) -> String {
    // No container's name has a line break. That of development is the one that both environments had once.
    var text = container.rawValue
    if environment != .development { text += "\n\(environment.rawValue)" }
    if generation > 0 { text += "\n\(generation)" }
    return Hex.encode(mac(of: Array(text.utf8), for: .apiToken))
  }

  /// What whoever runs the server shows to manage it: 43 characters, the same each time. Who can read the server's key
  /// can make it, so a program beside the data needs to be given nothing.
  package var operatorToken: String { signature(of: "", for: .operatorToken) }

  /// The key under which the values of encrypted fields are kept.
  package var fieldKey: FieldKey { FieldKey(key: mac(of: [], for: .fields)) }

  /// The key of the tokens that clients carry.
  package var tokenKey: TokenKey { TokenKey(key: mac(of: [], for: .tokens), nonceKey: mac(of: [], for: .tokenNonces)) }

  /// What a signature is for. A signature for one purpose is none for another.
  package enum Purpose: String, Sendable {
    case serverID = "server"
    case apiToken = "api"
    case session = "session"
    case uploadURL = "upload"
    case downloadURL = "download"
    case pushURL = "push"
    case fields = "fields"
    case operatorToken = "operator"
    case identity = "identity"
    case tokens = "tokens"
    case tokenNonces = "token-nonces"
  }

  /// Signs a text; 43 characters that may stand in a URL or a header.
  package func signature(of text: String, for purpose: Purpose) -> String {
    CanonicalBase64.encodeForURL(mac(of: Array(text.utf8), for: purpose))
  }

  /// Whether `signature` is what `signature(of:for:)` gives; takes the same time for every wrong one.
  package func verifies(_ signature: String, of text: String, for purpose: Purpose) -> Bool {
    equalsInConstantTime(signature, self.signature(of: text, for: purpose))
  }

  // The prefix cannot begin a message of `userName`: an account's name has no NUL at its start.
  private func mac(of message: [UInt8], for purpose: Purpose) -> [UInt8] {
    HMACSHA256.code(for: [0] + Array(purpose.rawValue.utf8) + [0] + message, key: key)
  }
}
