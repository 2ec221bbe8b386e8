import FoundationEssentials
package import VirgaModel

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
