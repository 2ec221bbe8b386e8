import Foundation

/// Work with one database.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
  // Unchecked because the class is not final: see CKOperation.

  /// Where the operation works; nil is the private database of its container.
  open var database: CKDatabase?

  /// The database, with this operation's settings.
  /// - Throws: `operationCancelled` for an operation that was cancelled before it began.
  final func target() throws -> CKDatabase {
    try checkCancellation()
    let settings = settings
    let database = self.database ?? (settings.container ?? .default()).privateCloudDatabase
    return database.configured(by: CallSettings(settings))
  }
}

extension CKOperation {
  /// The container, with this operation's settings.
  /// - Throws: `operationCancelled` for an operation that was cancelled before it began.
  func targetContainer() throws -> CKContainer {
    try checkCancellation()
    let settings = settings
    return (settings.container ?? .default()).configured(by: CallSettings(settings))
  }
}

extension CKDatabase {
  /// Starts an operation in this database as soon as what it depends on is done.
  public func add(_ operation: CKDatabaseOperation) {
    operation.database = self
    CKOperation.queue.addOperation(operation)
  }

  /// Hands in a database whose calls use those settings.
  @discardableResult
  @preconcurrency
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
    body: @Sendable (CKDatabase) async throws -> R
  ) async rethrows -> R {
    try await body(configured(by: CallSettings(configuration, group)))
  }

  /// The same for a body that does not wait.
  @discardableResult
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil, body: (CKDatabase) throws -> R
  ) rethrows -> R {
    try body(configured(by: CallSettings(configuration, group)))
  }
}

extension CKContainer {
  /// Starts an operation with this container as soon as what it depends on is done.
  public func add(_ operation: CKOperation) {
    if operation.configuration.explicit.container == nil { operation.configuration.container = self }
    CKOperation.queue.addOperation(operation)
  }

  /// Hands in a container whose calls, and whose databases' calls, use those settings.
  @discardableResult
  @preconcurrency
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
    body: @Sendable (CKContainer) async throws -> R
  ) async rethrows -> R {
    try await body(configured(by: CallSettings(configuration, group)))
  }

  /// The same for a body that does not wait.
  @discardableResult
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil, body: (CKContainer) throws -> R
  ) rethrows -> R {
    try body(configured(by: CallSettings(configuration, group)))
  }

  // MARK: Long-lived operations

  /// None, ever: no operation goes on after its process.
  public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] { [] }

  /// `allLongLivedOperationIDs()` with a completion handler.
  @preconcurrency
  public func fetchAllLongLivedOperationIDs(
    completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.allLongLivedOperationIDs() }
  }

  /// nil, always: no operation goes on after its process.
  public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? { nil }

  /// `longLivedOperation(for:)` with a completion handler.
  @preconcurrency
  public func fetchLongLivedOperation(
    withID operationID: CKOperation.ID, completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
  ) {
    callBack({ (result: Result<CKOperation?, any Error>) in
      switch result {
      case .success(let operation): completionHandler(operation, nil)
      case .failure(let error): completionHandler(nil, error)
      }
    }) { try await self.longLivedOperation(for: operationID) }
  }
}

extension CallSettings {
  init(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) {
    let explicit = configuration?.explicit ?? ConfigurationValues()
    self.init(explicit.over(group?.defaultConfiguration.explicit))
  }
}
