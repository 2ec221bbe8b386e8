/// The codes that the service answers with, and their HTTP status. Clients know exactly these.
public enum ServerErrorCode: String, Hashable, Sendable, CaseIterable {
  case accessDenied = "ACCESS_DENIED"
  case atomicError = "ATOMIC_ERROR"
  case authenticationFailed = "AUTHENTICATION_FAILED"
  case authenticationRequired = "AUTHENTICATION_REQUIRED"
  case badRequest = "BAD_REQUEST"
  case conflict = "CONFLICT"
  case exists = "EXISTS"
  case internalError = "INTERNAL_ERROR"
  case notFound = "NOT_FOUND"
  case quotaExceeded = "QUOTA_EXCEEDED"
  case throttled = "THROTTLED"
  case tryAgainLater = "TRY_AGAIN_LATER"
  case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
  case zoneNotFound = "ZONE_NOT_FOUND"
  case uniqueFieldError = "UNIQUE_FIELD_ERROR"

  /// The status of an answer that fails as a whole (Web Services Reference).
  public var httpStatus: Int {
    switch self {
    case .badRequest, .atomicError: 400
    case .authenticationFailed: 401
    case .accessDenied: 403
    case .notFound, .zoneNotFound: 404
    case .conflict, .exists, .uniqueFieldError: 409
    case .validatingReferenceError: 412
    case .quotaExceeded: 413
    case .authenticationRequired: 421
    case .throttled: 429
    case .internalError: 500
    case .tryAgainLater: 503
    }
  }
}

/// An error as the protocol states it: for a whole request, or for one item of it. Two that say the same are equal, whichever
/// requests they answer.
public struct ServiceError: Error, Hashable, Sendable, CustomStringConvertible {
  public var code: ServerErrorCode
  /// Says what is wrong, where, and where it helps what to do about it.
  public var reason: String
  /// Whole seconds to wait before another try; only where a retry makes sense.
  public var retryAfterSeconds: Int?
  /// Where to sign in; only with `authenticationRequired`.
  public var redirectURL: String?
  /// Names the request in the service's log; only in errors that were read.
  public var requestID: String?

  public init(_ code: ServerErrorCode, _ reason: String, retryAfterSeconds: Int? = nil) {
    self.code = code
    self.reason = reason
    self.retryAfterSeconds = retryAfterSeconds
  }

  public static func == (left: ServiceError, right: ServiceError) -> Bool {
    left.code == right.code && left.reason == right.reason && left.retryAfterSeconds == right.retryAfterSeconds
      && left.redirectURL == right.redirectURL
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(reason)
  }

  public var description: String { "\(code.rawValue): \(reason)" }
}

extension ServiceError {
  public static func badRequest(_ reason: String) -> ServiceError { ServiceError(.badRequest, reason) }

  public static let changeTokenExpired = ServiceError(.badRequest, Reason.changeTokenExpired)

  /// Says which limit was passed and by how much; our client turns it into `limitExceeded`.
  public static func limitExceeded(_ what: String, observed: Int, limit: Int) -> ServiceError {
    ServiceError(.badRequest, "\(Reason.limitExceeded): \(what), \(observed) given, at most \(limit) allowed")
  }
}
