import CloudKit
import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaSync
import VirgaWire

@testable import VirgaCloudKit

/// Which of CloudKit's codes stands for what the service says.
struct ErrorMappingTests {
  // C95
  @Test(
    arguments: [
      (.accessDenied, .permissionFailure), (.atomicError, .batchRequestFailed),
      (.authenticationFailed, .notAuthenticated), (.authenticationRequired, .notAuthenticated),
      (.badRequest, .invalidArguments), (.conflict, .serverRecordChanged), (.exists, .serverRecordChanged),
      (.internalError, .internalError), (.notFound, .unknownItem), (.quotaExceeded, .quotaExceeded),
      (.throttled, .requestRateLimited), (.tryAgainLater, .zoneBusy),
      (.validatingReferenceError, .referenceViolation), (.zoneNotFound, .zoneNotFound),
      (.uniqueFieldError, .constraintViolation),
    ] as [(ServerErrorCode, CKError.Code)])
  func eachCodeOfTheServiceHasOneCode(code: ServerErrorCode, expected: CKError.Code) {
    let error = CKError(ServiceError(code, "why"), item: .record)
    #expect(error.code == expected)
    #expect(error.localizedDescription == "why")
    #expect(error.userInfo["VirgaServerErrorCode"] as? String == code.rawValue)
  }

  @Test func noCodeOfTheServiceIsForgotten() {
    #expect(ServerErrorCode.allCases.count == 15)
  }

  @Test(
    arguments: [
      (Reason.changeTokenExpired, .changeTokenExpired), (Reason.limitExceeded + ": operations", .limitExceeded),
      (Reason.zonePurged, .userDeletedZone), (Reason.encryptedDataReset, .zoneNotFound),
      (Reason.noZonesInPublic, .badDatabase), (Reason.schemaRefusal + " X", .serverRejectedRequest),
      (Reason.schemaFieldRefusal + " x", .serverRejectedRequest),
    ] as [(String, CKError.Code)])
  func reasonsTellConditionsApartThatHaveNoCode(reason: String, expected: CKError.Code) {
    let error = CKError(ServiceError(.badRequest, reason), item: .request)
    #expect(error.code == expected)
    let isReset = error.userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool ?? false
    #expect(isReset == (reason == Reason.encryptedDataReset))
  }

  /// Apple's service, ours and earlier versions of ours say the same with different codes.
  @Test(
    arguments: [
      (
        [ServiceError(.conflict, Reason.recordExists), ServiceError(.exists, Reason.recordExists)], .serverRecordChanged
      ),
      (
        [
          ServiceError(.notFound, "\(Reason.schemaRefusal) T in production schema"),
          .badRequest("\(Reason.schemaRefusal) T in production schema"),
        ], .serverRejectedRequest
      ),
    ] as [([ServiceError], CKError.Code)])
  func whatServicesSayDifferentlyMeansTheSame(answers: [ServiceError], expected: CKError.Code) {
    for answer in answers { #expect(CKError(answer, item: .record).code == expected) }
  }

  @Test func aBodyThatIsTooLargeIsLimitExceededFromWhomeverItComes() {
    let told = ServiceError.badRequest("\(Reason.limitExceeded): The body is larger than any call accepts.")
    for (status, body) in [(400, told.encoded(uuid: "u")), (413, told.encoded(uuid: "u")), (413, [])] {
      #expect(CKError(TransportResponse(status: status, body: body), item: .request).code == .limitExceeded)
    }
  }

  // C95
  @Test func unknownCodesKeepCodeStatusAndReason() {
    let body = Array(#"{"serverErrorCode":"BRAND_NEW","reason":"because"}"#.utf8)
    let error = CKError(TransportResponse(status: 418, body: body), item: .request)
    #expect(error.localizedDescription.contains("BRAND_NEW"))
    #expect(error.localizedDescription.contains("because"))
    #expect(error.userInfo["VirgaHTTPStatus"] as? Int == 418)
  }

  // C95
  @Test func waitIsTakenFromTheBodyOrTheHeader() {
    let body = Array(#"{"serverErrorCode":"THROTTLED","reason":"slow","retryAfter":13}"#.utf8)
    #expect(CKError(TransportResponse(status: 429, body: body), item: .request).retryAfterSeconds == 13)
    let header = TransportResponse(status: 503, headers: [("retry-after", "7")])
    #expect(CKError(header, item: .request).code == .serviceUnavailable)
    #expect(CKError(header, item: .request).retryAfterSeconds == 7)
    let quota = Array(#"{"serverErrorCode":"QUOTA_EXCEEDED","reason":"full"}"#.utf8)
    #expect(CKError(TransportResponse(status: 413, body: quota), item: .request).retryAfterSeconds == nil)
  }

  /// What another machine says must not stop the process that reckons with it.
  @Test(arguments: ["9223372036854775807", "-5", "99999999999999999999"])
  func waitIsOneThatCanBeReckonedWith(header: String) {
    let error = CKError(TransportResponse(status: 503, headers: [("Retry-After", header)]), item: .request)
    #expect(error.retryAfterSeconds.map { (0...1e9).contains($0) } ?? (Int(header) == nil))
    #expect(CKError(AccountError.throttled(retryAfterSeconds: .max)).retryAfterSeconds == 1e9)
    let failure = SyncFailure(error)
    let now = Timestamp(milliseconds: 1_790_000_000_000)
    #expect(now + SyncPolicy().wait(afterFailures: 1, retryAfter: failure.retryAfter, jitter: 1) > now)
  }

  @Test(
    arguments: [
      (.unreachable(""), .networkUnavailable), (.failed(""), .networkFailure), (.responseLost(""), .serverResponseLost),
      (.cancelled, .operationCancelled),
    ] as [(TransportError, CKError.Code)])
  func transportErrorsHaveCodes(error: TransportError, expected: CKError.Code) {
    #expect(CKError(error).code == expected)
  }

  /// Behind the code that CloudKit has is what Foundation calls it, and how it is mended.
  @Test(
    arguments: [
      (.untrusted("self-signed certificate"), .serverCertificateUntrusted, "VIRGA_CA_FILE"),
      (.failed("wrong version number"), .secureConnectionFailed, "wrong version number"),
      (.certificateFileUnusable("/x.pem"), .clientCertificateRejected, "/x.pem"),
    ] as [(TLSFailure, URLError.Code, String)])
  func failuresOfTLSSayWhatTheyAre(failure: TLSFailure, expected: URLError.Code, words: String) {
    let error = CKError(TransportError.insecure(failure), from: "https://sync.example.org/x")
    #expect(error.code == .networkFailure)
    #expect((error.userInfo[NSUnderlyingErrorKey] as? URLError)?.code == expected)
    #expect(error.localizedDescription.hasPrefix("https://sync.example.org: "))
    #expect(error.localizedDescription.contains(words))
  }

  /// Only a proxy answers so, as the service says in its own words what is too large.
  @Test func aProxysLimitIsNamed() {
    let page = TransportResponse(status: 413, body: Array("<html>413 Request Entity Too Large</html>".utf8))
    let error = CKError(page, item: .request)
    #expect(error.code == .limitExceeded)
    #expect(error.localizedDescription.contains("client_max_body_size"))
    let own = #"{"uuid":"u","serverErrorCode":"BAD_REQUEST","reason":"limit exceeded: record size"}"#
    #expect(
      !CKError(TransportResponse(status: 413, body: Array(own.utf8)), item: .request).localizedDescription.contains(
        "nginx"))
  }

  /// A wrong address is one of the reasons, so it is named; what stands in it besides the server is nobody's business.
  @Test func errorsOfTheNetworkNameTheServer() {
    let url = "https://user:word@sync.example.org:8443/assets/1/upload?signature=secret"
    let error = CKError(TransportError.unreachable("Could not connect to server"), from: url)
    #expect(error.localizedDescription == "https://sync.example.org:8443: Could not connect to server")
    #expect(CKError(TransportError.failed("why"), from: "http://[::1]/x").localizedDescription == "http://[::1]: why")
  }

  @Test(
    arguments: [
      (.deviceRemoved, .notAuthenticated), (.deviceUnknown, .accountTemporarilyUnavailable),
      (.enrolmentRefused("closed"), .notAuthenticated),
      (.throttled(retryAfterSeconds: 3), .requestRateLimited), (.badAnswer("a page"), .networkFailure),
      (.refused(status: 503, code: "TRY_AGAIN_LATER", reason: ""), .serviceUnavailable),
      (.refused(status: 500, code: "NEW", reason: ""), .internalError),
    ] as [(AccountError, CKError.Code)])
  func accountErrorsHaveCodes(error: AccountError, expected: CKError.Code) {
    #expect(CKError(error).code == expected)
  }
}
