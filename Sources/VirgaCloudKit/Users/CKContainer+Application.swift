extension CKContainer {
  /// What an app may do in a container; everything here has been retired.
  public enum Application {
    public typealias Permissions = CKContainer.ApplicationPermissions
    public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
    public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
  }

  public struct ApplicationPermissions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Whether others may find the user. Here anybody is found by their user record's ID, and by nothing else.
    public static let userDiscoverability = ApplicationPermissions(rawValue: 1)
  }

  public enum ApplicationPermissionStatus: Int, Sendable {
    case initialState = 0
    case couldNotComplete = 1
    case denied = 2
    case granted = 3
  }

  public typealias ApplicationPermissionBlock = (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void

  /// Always denied, as on Apple's systems since discovery was retired.
  public func applicationPermissionStatus(
    for applicationPermission: ApplicationPermissions
  ) async throws -> ApplicationPermissionStatus { .denied }

  /// Always denied, as on Apple's systems since discovery was retired.
  public func requestApplicationPermission(
    _ applicationPermission: ApplicationPermissions
  ) async throws -> ApplicationPermissionStatus { .denied }

  // MARK: With completion handlers

  public func status(
    forApplicationPermission applicationPermission: ApplicationPermissions,
    completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
  ) {
    tell(completionHandler) { try await self.applicationPermissionStatus(for: applicationPermission) }
  }

  public func requestApplicationPermission(
    _ applicationPermission: ApplicationPermissions,
    completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
  ) {
    tell(completionHandler) { try await self.requestApplicationPermission(applicationPermission) }
  }

  private func tell(
    _ completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void,
    _ ask: @escaping @Sendable () async throws -> ApplicationPermissionStatus
  ) {
    callBack(
      { (result: Result<ApplicationPermissionStatus, any Error>) in
        switch result {
        case .success(let status): completionHandler(status, nil)
        case .failure(let error): completionHandler(.couldNotComplete, error)
        }
      }, ask)
  }
}

/// Older names.
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock
