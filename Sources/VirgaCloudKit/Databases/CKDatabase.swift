public import Foundation

/// One database of a container.
public final class CKDatabase: NSObject, Sendable {
  /// Whose data a database holds.
  public enum Scope: Int, Sendable {
    /// Everyone's.
    case `public` = 1
    /// The user's own.
    case `private` = 2
    /// What others share with the user.
    case shared = 3
  }

  public let databaseScope: Scope

  init(_ databaseScope: Scope) { self.databaseScope = databaseScope }
}
