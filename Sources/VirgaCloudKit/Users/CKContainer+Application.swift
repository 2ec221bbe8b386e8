extension CKContainer {
  /// What an app may do in a container; everything here has been retired.
  public enum Application {
    /// The older name of `ApplicationPermissions`.
    public typealias Permissions = CKContainer.ApplicationPermissions
    /// The older name of `ApplicationPermissionStatus`.
    public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
    /// The older name of `ApplicationPermissionBlock`.
    public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
  }

  /// What an app could ask its user for.
  public struct ApplicationPermissions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Whether others may find the user. Here anybody is found by their user record's ID, and by nothing else.
    public static let userDiscoverability = ApplicationPermissions(rawValue: 1)
  }

  /// Whether the user has allowed it.
  public enum ApplicationPermissionStatus: Int, Sendable {
    /// The user was not asked.
    case initialState = 0
    /// The user could not be asked.
    case couldNotComplete = 1
    /// The user has refused.
    case denied = 2
    /// The user has agreed.
    case granted = 3
  }

  /// What the older calls are answered with.
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

  /// `applicationPermissionStatus(for:)` with a completion handler.
  public func status(
    forApplicationPermission applicationPermission: ApplicationPermissions,
    completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
  ) {
    tell(completionHandler) { try await self.applicationPermissionStatus(for: applicationPermission) }
  }

  /// `requestApplicationPermission(_:)` with a completion handler.
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
/// An older name.
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
/// An older name.
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock
