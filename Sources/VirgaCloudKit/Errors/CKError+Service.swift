import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaWire

/// What an error of the service is about; the same code means different things for different items.
enum ServiceErrorItem {
  /// A whole request.
  case request
  case record
  case zone
  case subscription
}

extension CKError {
  /// Names in userInfo of what the service said, for logs.
  static let serverErrorCodeKey = "VirgaServerErrorCode"
  static let httpStatusKey = "VirgaHTTPStatus"
  /// The identifier of the request, under which the service's log has it. Apple's errors carry it under the same name.
  static let requestIDKey = "RequestUUID"

  /// A number of seconds that can be reckoned with, whoever named it.
  private static func wait(_ seconds: Int) -> Int { max(0, min(seconds, 1_000_000_000)) }

  /// The error for an answer that is no success.
  init(_ answer: TransportResponse, item: ServiceErrorItem) {
    let status = answer.statusOnTheWay ?? answer.status
    if Self.comesFromTheWay(answer) {
      self.init(
        .networkFailure, "Something between this device and the service answered instead of it (status \(status)).")
      return
    }
    if answer.status == 413, !ServiceError.isOne(answer.body) {
      self.init(
        .limitExceeded,
        userInfo: [
          NSLocalizedDescriptionKey:
            "A proxy in front of the service refuses requests of this size (status 413). Raise its "
            + "limit: in nginx, client_max_body_size.",
          Self.httpStatusKey: NSNumber(value: 413),
        ])
      return
    }
    var error = ServiceError(decoding: answer.body, status: answer.status)
    if error.retryAfterSeconds == nil, answer.status == 429 || answer.status == 503 {
      error.retryAfterSeconds = answer[header: "Retry-After"].flatMap { Int($0) }.map(Self.wait)
    }
    error.requestID = error.requestID ?? answer[header: "X-Apple-Request-UUID"]
    self.init(error, item: item, status: status)
  }

  /// Whether a network's sign-in page or a proxy has answered: it is not the service's word on what was asked. Of those
  /// that only pass on, some tell of a limit, of too many requests, or of a service that is down.
  private static func comesFromTheWay(_ answer: TransportResponse) -> Bool {
    guard (300..<500).contains(answer.status), answer.status != 413, answer.status != 429 else { return false }
    return !ServiceError.isOne(answer.body)
  }

  /// The error for an answer that says success, and is not what was asked for.
  init(unreadable answer: TransportResponse, to operation: String, _ error: WireError) {
    let isObject = answer.body.first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) } == UInt8(ascii: "{")
    var userInfo: [String: Any] = [Self.httpStatusKey: NSNumber(value: answer.status)]
    userInfo[Self.requestIDKey] = answer[header: "X-Apple-Request-UUID"]
    userInfo[NSLocalizedDescriptionKey] =
      isObject
      ? "The service sent an unreadable answer to \(operation): expected \(error.expected) at byte "
        + "\(error.offset) of \(answer.body.count)."
      : "Something between this device and the service answered \(operation), and not with JSON."
    self.init(isObject ? .internalError : .networkFailure, userInfo: userInfo)
  }

  init(_ error: ServiceError, item: ServiceErrorItem, status: Int? = nil) {
    var userInfo: [String: Any] = [
      NSLocalizedDescriptionKey: error.reason, Self.serverErrorCodeKey: error.code.rawValue,
      Self.httpStatusKey: NSNumber(value: status ?? error.code.httpStatus),
    ]
    if let seconds = error.retryAfterSeconds { userInfo[CKErrorRetryAfterKey] = NSNumber(value: Double(seconds)) }
    if error.reason.hasPrefix(Reason.encryptedDataReset) {
      userInfo[CKErrorUserDidResetEncryptedDataKey] = NSNumber(value: true)
    }
    if let redirectURL = error.redirectURL { userInfo[NSURLErrorKey] = redirectURL }
    if let requestID = error.requestID { userInfo[Self.requestIDKey] = requestID }
    self.init(Self.code(error, item), userInfo: userInfo)
  }

  /// One code for each code of the service, told apart further by the beginning of its reason.
  private static func code(_ error: ServiceError, _ item: ServiceErrorItem) -> Code {
    if let code = Self.code(byReason: error.reason) { return code }
    switch error.code {
    case .accessDenied: return .permissionFailure
    case .atomicError: return .batchRequestFailed
    case .authenticationFailed, .authenticationRequired: return .notAuthenticated
    case .badRequest: return .invalidArguments
    case .conflict: return .serverRecordChanged
    case .exists: return item == .record ? .serverRecordChanged : .serverRejectedRequest
    case .internalError: return .internalError
    case .notFound: return item == .request ? .badContainer : .unknownItem
    case .quotaExceeded: return .quotaExceeded
    case .throttled: return .requestRateLimited
    case .tryAgainLater: return item == .request ? .serviceUnavailable : .zoneBusy
    case .validatingReferenceError: return .referenceViolation
    case .zoneNotFound: return .zoneNotFound
    case .uniqueFieldError: return .constraintViolation
    }
  }

  /// Conditions that have no code of their own in the protocol.
  private static func code(byReason reason: String) -> Code? {
    let codes: [(String, Code)] = [
      (Reason.changeTokenExpired, .changeTokenExpired),
      (Reason.limitExceeded, .limitExceeded),
      (Reason.zonePurged, .userDeletedZone),
      (Reason.encryptedDataReset, .zoneNotFound),
      (Reason.accountUnavailable, .accountTemporarilyUnavailable),
      (Reason.noZonesInPublic, .badDatabase),
      (Reason.schemaRefusal, .serverRejectedRequest),
      (Reason.schemaFieldRefusal, .serverRejectedRequest),
      (Reason.tagButNoRecord, .unknownItem),
      (Reason.recordNotFound, .unknownItem),
      (Reason.recordTypeNotFound, .unknownItem),
      (Reason.shareNotFound, .unknownItem),
      (Reason.alreadyShared, .alreadyShared),
      (Reason.tooManyParticipants, .tooManyParticipants),
      (Reason.noRecordToShare, .referenceViolation),
    ]
    return codes.first { reason.hasPrefix($0.0) }?.1
  }

  /// - Parameter url: Where the request went. Its server is named where the network is at fault: a wrong address is one
  ///   of the reasons.
  init(_ error: TransportError, from url: String = "") {
    let server = Self.server(of: url)
    switch error {
    case .unreachable(let reason): self.init(.networkUnavailable, server + reason)
    case .failed(let reason): self.init(.networkFailure, server + reason)
    case .insecure(let failure):
      let code: URLError.Code =
        switch failure {
        case .untrusted: .serverCertificateUntrusted
        case .failed: .secureConnectionFailed
        case .certificateFileUnusable: .clientCertificateRejected
        }
      self.init(
        .networkFailure,
        userInfo: [NSLocalizedDescriptionKey: server + failure.text, NSUnderlyingErrorKey: URLError(code)])
    case .responseLost(let reason): self.init(.serverResponseLost, server + reason)
    case .tooLarge: self.init(.limitExceeded, "The answer is too large; ask for fewer records at once.")
    case .cancelled: self.init(.operationCancelled, "The task was cancelled.")
    case .file(let reason): self.init(.internalError, reason)
    case .diskFull(let reason):
      self.init(
        .internalError,
        userInfo: [
          NSLocalizedDescriptionKey: "The disk of this device is full: \(reason)",
          NSUnderlyingErrorKey: CocoaError(.fileWriteOutOfSpace),
        ])
    }
  }

  /// `http://host:port: `; names and signatures of the address are left out.
  private static func server(of url: String) -> String {
    guard let components = URLComponents(string: url), let scheme = components.scheme, let host = components.host else {
      return ""
    }
    return "\(scheme)://\(host)\(components.port.map { ":\($0)" } ?? ""): "
  }

  /// The error with the identifier of a request, unless it has one.
  func naming(request: String?) -> CKError {
    guard let request, userInfo[Self.requestIDKey] == nil else { return self }
    var userInfo = userInfo
    userInfo[Self.requestIDKey] = request
    return CKError(code, userInfo: userInfo)
  }

  init(_ error: AccountError) {
    switch error {
    case .deviceRemoved, .enrolmentRefused, .hasAccount, .wrongCode, .joiningRefused, .joiningNotConfirmed,
      .serverElsewhere:
      self.init(.notAuthenticated, error.description)
    case .home, .accountChanged, .keyWouldBeLost, .keyMissing:
      self.init(.accountTemporarilyUnavailable, error.description)
    case .deviceUnknown:
      self.init(
        .accountTemporarilyUnavailable,
        "\(error.description); to join again: virga account join CODE --replace; to make a new account: "
          + "virga account new --replace")
    case .throttled(let seconds):
      self.init(
        .requestRateLimited,
        userInfo: [
          NSLocalizedDescriptionKey: error.description,
          CKErrorRetryAfterKey: NSNumber(value: Double(Self.wait(seconds))),
        ])
    case .refused(let status, let code, let reason, let request):
      let known = ServerErrorCode(rawValue: code)
      let fallback = ServerErrorCode.allCases.first { $0.httpStatus == status } ?? .internalError
      var refusal = ServiceError(known ?? fallback, known == nil ? "\(code): \(reason)" : reason)
      refusal.requestID = request
      self.init(refusal, item: .request, status: status)
    // Something stands in the way, such as the sign-in page of a network.
    case .badAnswer(let what): self.init(.networkFailure, what)
    }
  }
}
