/// A zone's full name: its name and whose database it lies in.
public struct ZoneID: Hashable, Sendable, Codable, Comparable {
  /// The zone's name, unique among those of its owner.
  public var name: ZoneName
  /// On a server always a real user; a client may say `UserName.defaultOwner` for itself.
  public var owner: UserName

  /// Names a zone by its name and owner.
  public init(_ name: ZoneName, owner: UserName) {
    self.name = name
    self.owner = owner
  }

  /// The order of the owners' names, then of the zones' names, by bytes.
  public static func < (left: ZoneID, right: ZoneID) -> Bool { (left.owner, left.name) < (right.owner, right.name) }
}

/// Why a zone was deleted: by an app, by its user in the settings, or because encrypted data were reset.
public enum ZoneDeletionReason: String, Hashable, Sendable, Codable {
  case deleted = "DELETED"
  case purged = "PURGED"
  case encryptedDataReset = "ENCRYPTED_DATA_RESET"
}
