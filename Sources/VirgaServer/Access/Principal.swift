public import VirgaModel
import VirgaWire

/// Who asks, once credentials were checked.
public struct Principal: Hashable, Sendable {
  /// `nil` for a caller with an API token alone, who may read what the public database grants to the world.
  public var user: UserName?
  /// `nil` for a caller without one, such as a server-to-server key.
  public var account: AccountID?
  /// The enrolled device, for a device's session.
  public var device: DeviceID?
  /// The device with which the caller ends: of a web-auth token the one that made it, else the caller's own.
  public var endsWith: DeviceID?

  public init(user: UserName?, account: AccountID?, device: DeviceID?) {
    self.user = user
    self.account = account
    self.device = device
    endsWith = device
  }

  /// A caller without credentials of a user.
  public static let world = Principal(user: nil, account: nil, device: nil)

  /// What stands in a record's stamps: the device, or `iCloud` for a client without one.
  public var deviceName: String { device?.rawValue ?? "iCloud" }
}
