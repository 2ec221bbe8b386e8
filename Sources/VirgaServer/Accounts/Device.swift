package import FoundationEssentials
package import VirgaModel

/// One key of an account. Removed devices are kept, so that a removed key never comes back.
package struct Device: Hashable, Sendable, Codable {
  /// The first 32 hexadecimal digits of the SHA-256 of `publicKey`.
  package var id: DeviceID
  package var account: AccountID
  package var name: String
  /// SubjectPublicKeyInfo in DER form.
  package var publicKey: Data
  package var enrolled: Timestamp
  package var removed: Timestamp?

  package init(id: DeviceID, account: AccountID, name: String, publicKey: [UInt8], enrolled: Timestamp) {
    self.id = id
    self.account = account
    self.name = name
    self.publicKey = Data(publicKey)
    self.enrolled = enrolled
  }

  /// What is wrong with a device's name; `nil` when nothing is. A name is shown in terminals, so it holds nothing that
  /// could steer one.
  package static func objection(toName name: String) -> String? {
    if name.isEmpty { return "is empty" }
    if name.count > Limits.deviceNameLengthMax { return "is longer than \(Limits.deviceNameLengthMax) characters" }
    return name.unicodeScalars.allSatisfy(NameRule.isPrintable) ? nil : "has a character that cannot be printed"
  }
}

/// An account: what its devices have in common.
package struct Account: Hashable, Sendable, Codable {
  package var id: AccountID
  package var created: Timestamp
}

/// What a web-auth token stands for. Its text is never stored, only the digest that it is kept under.
package struct WebToken: Hashable, Sendable, Codable {
  package var account: AccountID
  /// The device that made it; the token ends with that device.
  package var device: DeviceID
  package var container: ContainerID
  package var expires: Timestamp
  /// The digest of the API token that it was made with, and ends with.
  package var apiToken: String?

  package init(
    account: AccountID, device: DeviceID, container: ContainerID, expires: Timestamp, apiToken: String? = nil
  ) {
    self.account = account
    self.device = device
    self.container = container
    self.expires = expires
    self.apiToken = apiToken
  }
}

/// A code that lets somebody make an account on a server that invites.
package struct Invitation: Hashable, Sendable, Codable {
  package var expires: Timestamp
}
