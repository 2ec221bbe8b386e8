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
