public import Foundation
package import VirgaModel
package import VirgaWire

/// One database of a container.
///
/// Every call throws `CKError`. Calls for several items give a result for each, and throw only when nothing was tried;
/// calls for one item throw that item's own error.
public final class CKDatabase: NSObject, Sendable {
  /// Whose data a database holds.
  public enum Scope: Int, Sendable {
    /// Everyone's.
    case `public` = 1
    /// The user's own.
    case `private` = 2
    /// What others share with the user.
    case shared = 3

    init(_ model: DatabaseScope) {
      switch model {
      case .public: self = .public
      case .private: self = .private
      case .shared: self = .shared
      }
    }
  }

  /// Whose data this database holds.
  public let databaseScope: Scope
  package let container: ContainerID
  package let service: RemoteService
  let assets: AssetStore
  let user: CurrentUser
  /// How calls are carried out.
  let settings: CallSettings

  init(
    _ databaseScope: Scope, of container: ContainerID, on service: RemoteService, assets: AssetStore, user: CurrentUser,
    settings: CallSettings = CallSettings()
  ) {
    self.databaseScope = databaseScope
    self.container = container
    self.service = service
    self.assets = assets
    self.user = user
    self.settings = settings
  }

  /// The same database, with calls that are carried out in another way.
  func configured(by settings: CallSettings) -> CKDatabase {
    CKDatabase(databaseScope, of: container, on: service, assets: assets, user: user, settings: settings)
  }

  /// Performs a call of the protocol in this database, with the device's session.
  /// - Parameter zone: Where records of the answer lie that do not say so themselves.
  /// - Throws: `CKError`, if the call failed as a whole.
  package func perform(
    _ call: Call, in zone: ZoneID = ZoneID(.default, owner: .defaultOwner)
  ) async throws -> Reply {
    if Task.isCancelled { throw CKError(TransportError.cancelled) }
    return try await settings.retrying(on: service, isRepeatable: call.operation.isReadOnly) {
      let (reply, userName) = try await service.perform(
        call, container: container, scope: scope, zone: zone, timeout: settings.requestTimeout)
      if let userName { user.note(userName) }
      return reply
    }
  }

  private var scope: DatabaseScope {
    switch databaseScope {
    case .public: .public
    case .private: .private
    case .shared: .shared
    }
  }

  /// The zone as apps name it: their own without its owner's name, which only the service knows.
  func local(_ zone: ZoneID) -> ZoneID {
    databaseScope == .shared ? zone : ZoneID(zone.name, owner: .defaultOwner)
  }

  public override var description: String { "<CKDatabase \(databaseScope) of \(container)>" }
}
