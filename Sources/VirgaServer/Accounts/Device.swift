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
