package import FoundationEssentials
package import VirgaModel

/// The public half of a key with which a program signs its requests for a container's public database, in one environment.
package struct ServerKey: Hashable, Sendable, Codable {
  /// 64 hexadecimal digits, which say which container, environment and key: registering a key again gives the same.
  package var id: String
  package var container: ContainerID
  /// The environment that it reaches; `nil` for both, as keys did that were added before they belonged to one.
  package var environment: Environment?
  package var name: String
  /// SubjectPublicKeyInfo in DER form.
  package var publicKey: Data
  package var created: Timestamp

  package init(
    id: String, container: ContainerID, environment: Environment?, name: String, publicKey: [UInt8], created: Timestamp
  ) {
    self.id = id
    self.container = container
    self.environment = environment
    self.name = name
    self.publicKey = Data(publicKey)
    self.created = created
  }

  /// Whether it is one of a container in an environment.
  package func belongs(to container: ContainerID, in environment: Environment) -> Bool {
    self.container == container && (self.environment ?? environment) == environment
  }

  /// What a key is as an account: it is one user, of its container alone.
  package var account: AccountID { AccountID("key \(id)") }
}
