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

/// Which of a container's databases is meant; the numbers are CloudKit's.
public enum DatabaseScope: Int, Hashable, Sendable, Codable, CaseIterable {
  case `public` = 1
  case `private` = 2
  case shared = 3

  /// As in a URL.
  public var pathName: String {
    switch self {
    case .public: "public"
    case .private: "private"
    case .shared: "shared"
    }
  }

  /// Reads the name that a path has for the scope: `public`, `private` or `shared`.
  public init?(pathName: some StringProtocol) {
    guard let scope = Self.allCases.first(where: { $0.pathName == pathName }) else { return nil }
    self = scope
  }
}

/// Development grows its schema as records are saved; production only by deploys.
public enum Environment: String, Hashable, Sendable, Codable, CaseIterable {
  case development
  case production
}

/// Why a zone was deleted: by an app, by its user in the settings, or because encrypted data were reset.
public enum ZoneDeletionReason: String, Hashable, Sendable, Codable {
  case deleted = "DELETED"
  case purged = "PURGED"
  case encryptedDataReset = "ENCRYPTED_DATA_RESET"
}
