package import FoundationEssentials
package import VirgaModel

/// The public half of a key with which a program signs its requests for a container's public database.
package struct ServerKey: Hashable, Sendable, Codable {
  /// 64 hexadecimal digits, which say which container and which key: registering a key again gives the same.
  package var id: String
  package var container: ContainerID
  package var name: String
  /// SubjectPublicKeyInfo in DER form.
  package var publicKey: Data
  package var created: Timestamp

  package init(id: String, container: ContainerID, name: String, publicKey: [UInt8], created: Timestamp) {
    self.id = id
    self.container = container
    self.name = name
    self.publicKey = Data(publicKey)
    self.created = created
  }

  /// What a key is as an account: it is one user, of its container alone.
  package var account: AccountID { AccountID("key \(id)") }
}
