public import Foundation
import Synchronization
import VirgaAccounts
import VirgaAuth
package import VirgaModel

/// Whether the device has an account.
public enum CKAccountStatus: Int, Sendable {
  /// Asking failed; only the completion handler is given this.
  case couldNotDetermine = 0
  /// There is an account, or the first request makes one.
  case available = 1
  /// An account is not allowed here. Never the case on Linux.
  case restricted = 2
  /// The server refuses an account, or has removed this device from it.
  case noAccount = 3
  /// There is an account that cannot be used now.
  case temporarilyUnavailable = 4
}

/// The databases of one app, or of several that share them.
///
/// Which server a container is on, and which one is the default container, is configuration: `ServiceSettings` says where
/// it comes from. No login is needed: the first request makes an account for this device.
public final class CKContainer: NSObject, Sendable {
  private let id: ContainerID
  package let service: RemoteService
  /// The user's own data. Only they see it, and whom they share with.
  public let privateCloudDatabase: CKDatabase
  /// Data for everybody who uses the app. Roles of the schema say who may do what.
  public let publicCloudDatabase: CKDatabase
  /// The zones that others share with the user. Each is in the database of its owner, and named here by them.
  public let sharedCloudDatabase: CKDatabase

  /// The container that belongs to this program.
  public class func `default`() -> CKContainer { Process.defaultContainer }

  /// The container of that identifier, such as `iCloud.com.example.Diary`. Asks nobody: the first call finds out
  /// whether it is there.
  public convenience init(identifier containerIdentifier: String) {
    self.init(ContainerID(containerIdentifier), on: Process.service)
  }

  package convenience init(_ id: ContainerID, on service: RemoteService) {
    let assets = AssetStore(service: service, container: id)
    let user = CurrentUser(service: service)
    self.init(id, on: service) { CKDatabase($0, of: id, on: service, assets: assets, user: user) }
  }

  private init(_ id: ContainerID, on service: RemoteService, database: (CKDatabase.Scope) -> CKDatabase) {
    self.id = id
    self.service = service
    privateCloudDatabase = database(.private)
    publicCloudDatabase = database(.public)
    sharedCloudDatabase = database(.shared)
  }

  /// The identifier that the container was made with; never nil.
  public var containerIdentifier: String? { id.rawValue }

  /// The container's database of that scope: the same object each time.
  public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
    switch databaseScope {
    case .public: publicCloudDatabase
    case .private: privateCloudDatabase
    case .shared: sharedCloudDatabase
    }
  }

  /// The same container, with calls that are carried out in another way.
  func configured(by settings: CallSettings) -> CKContainer {
    CKContainer(id, on: service) { database(with: $0).configured(by: settings) }
  }

  /// Another container of the same server, as a share's address may name.
  func sibling(_ id: ContainerID) -> CKContainer {
    guard id != self.id else { return self }
    return CKContainer(id, on: service).configured(by: privateCloudDatabase.settings)
  }

  // MARK: The account

  /// Whether there is an account, from what lies on this device: it needs no network and does not wait.
  ///
  /// A device that was never used is `available`, because its first request makes an account. It is `noAccount` once
  /// the server has refused that, or has removed the device from its account, and `temporarilyUnavailable` while the server
  /// does not know the device, or the user has to sign in again.
  public func accountStatus() async throws -> CKAccountStatus { service.accountStatus }

  /// `accountStatus()` with a completion handler.
  public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
    callBack({ (result: Result<CKAccountStatus, any Error>) in
      switch result {
      case .success(let status): completionHandler(status, nil)
      case .failure(let error): completionHandler(.couldNotDetermine, error)
      }
    }) { try await self.accountStatus() }
  }

  /// The record of this user, whose name differs from container to container. Asks the service once.
  public func userRecordID() async throws -> CKRecord.ID {
    CKRecord.ID(user: try await publicCloudDatabase.nameOfUserRecord())
  }

  /// `userRecordID()` with a completion handler.
  public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
    callBack(completionHandler) { try await self.userRecordID() }
  }

  public override var description: String { "<CKContainer \(id)>" }
}

/// What a program has one of.
private enum Process {
  static let defaultContainer = CKContainer(settings.container, on: service)
  static let service = settings.service

  private static let settings: (container: ContainerID, service: RemoteService) = {
    let variables = ProcessInfo.processInfo.environment
    do {
      let settings = try ServiceSettings(environment: variables, program: ServiceSettings.runningProgram)
      return (settings.defaultContainer, settings.makeService())
    } catch {
      // Settings that cannot be read must not stop the app, which works without a server; and guessing another server
      // could send data where they do not belong.
      let service = RemoteService(
        endpoint: "", environment: .development, home: VirgaHome(environment: variables),
        transport: NoTransport(reason: "\(error)"))
      return ("iCloud.unknown", service)
    }
  }()
}

/// Stands where nobody knows the server.
private struct NoTransport: Transport {
  let reason: String
  func send(_ request: TransportRequest) async throws -> TransportResponse { throw TransportError.file(reason) }
}

/// Runs the async form of a call for its form with a completion handler.
func callBack<Value: Sendable>(
  _ completionHandler: @escaping @Sendable (Value?, (any Error)?) -> Void,
  _ body: @escaping @Sendable () async throws -> Value
) {
  callBack(
    { result in
      switch result {
      case .success(let value): completionHandler(value, nil)
      case .failure(let error): completionHandler(nil, error)
      }
    }, body)
}

func callBack<Value: Sendable>(
  _ completionHandler: @escaping @Sendable (Result<Value, any Error>) -> Void,
  _ body: @escaping @Sendable () async throws -> Value
) {
  // A caller that is not async has no task whose executor could be kept: the global one is the only place to go.
  Task(executorPreference: globalConcurrentExecutor) {
    let result: Result<Value, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    completionHandler(result)
  }
}
