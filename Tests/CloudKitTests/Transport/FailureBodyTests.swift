import CloudKit
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaWire

@testable import VirgaCloudKit

/// Failures are known by what an answer says: its status may come from something on the way.
@Suite struct FailureBodyTests {
  let server: TestServer
  let phone: TestDevice
  let id = CKRecord.ID(recordName: "a")

  init() throws {
    server = try TestServer()
    phone = try server.device()
  }

  private func body(_ code: String, retryAfter: Int? = nil) -> [UInt8] {
    let wait = retryAfter.map { #","retryAfter":\#($0)"# } ?? ""
    return Array(#"{"uuid":"request-7","serverErrorCode":"\#(code)","reason":"because"\#(wait)}"#.utf8)
  }

  private func answer(_ part: String, status: Int, _ body: [UInt8]) {
    phone.network.replaceAnswers { path, answer in
      path.contains(part) ? TransportResponse(status: status, body: body) : answer
    }
  }

  @Test(arguments: ServerErrorCode.allCases, [200, 203])
  func anErrorWithTheStatusOfASuccessKeepsWhatItSays(code: ServerErrorCode, status: Int) async throws {
    answer("records/", status: status, body(code.rawValue, retryAfter: 13))
    let expected = CKError(ServiceError(code, "because"), item: .request).code
    let fetch = await #expect(throws: CKError.self) { try await phone.database.record(for: id) }
    let save = await #expect(throws: CKError.self) {
      try await phone.database.save(CKRecord(recordType: "Note", recordID: id))
    }
    let query = await #expect(throws: CKError.self) {
      try await phone.database.records(matching: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
    }
    for error in [fetch, save] {
      #expect(error?.code == expected)
      #expect(error?.localizedDescription == "because" && error?.retryAfterSeconds == 13)
      #expect(error?.userInfo["RequestUUID"] as? String == "request-7")
      #expect(error?.userInfo["VirgaHTTPStatus"] as? Int == status)
    }
    #expect(query?.localizedDescription == "because")
  }

  @Test func anUnknownCodeWithTheStatusOfASuccessIsAnError() async {
    answer("zones/list", status: 200, body("BRAND_NEW"))
    let error = await #expect(throws: CKError.self) { try await phone.database.allRecordZones() }
    #expect(error?.code == .internalError && error?.localizedDescription == "BRAND_NEW: because")
  }

  @Test func anEndedSessionIsRenewedWhateverTheStatus() async throws {
    _ = try await phone.database.allRecordZones()
    let refusal = body("AUTHENTICATION_FAILED")
    let turns = TestClock()
    phone.network.replaceAnswers { path, answer in
      guard path.contains("zones/list"), turns.now == TestClock().now else { return answer }
      turns.advance(by: .seconds(1))
      return TransportResponse(status: 200, body: refusal)
    }
    #expect(try await phone.database.allRecordZones().count == 1)
  }

  @Test func requestsOfTheAccountAreJudgedAlike() async throws {
    answer("/virga/1/challenge", status: 200, body("THROTTLED", retryAfter: 9))
    let throttled = await #expect(throws: CKError.self) { try await phone.database.allRecordZones() }
    #expect(throttled?.code == .requestRateLimited && throttled?.retryAfterSeconds == 9)
    answer("/virga/1/challenge", status: 200, body("TRY_AGAIN_LATER"))
    let busy = await #expect(throws: CKError.self) { try await phone.database.allRecordZones() }
    #expect(busy?.code == .serviceUnavailable && busy?.userInfo["RequestUUID"] as? String == "request-7")
    let direct = await #expect(throws: AccountError.self) { try await phone.accounts.session() }
    #expect(direct == .refused(status: 503, code: "TRY_AGAIN_LATER", reason: "because", request: "request-7"))
  }

  @Test func anUploadThatFailedSaysWhy() async throws {
    let file = try server.folder.file("photo", [1, 2, 3])
    let record = CKRecord(recordType: "Note", recordID: id)
    record["photo"] = CKAsset(fileURL: file)
    answer("/assets/1/upload", status: 200, body("QUOTA_EXCEEDED"))
    let error = await #expect(throws: CKError.self) { try await phone.database.save(record) }
    #expect(error?.code == .quotaExceeded && error?.localizedDescription == "because")
  }

  /// What is not the service's word is a failure of the network, so that nothing is dropped for it.
  @Test(
    arguments: [
      (200, "<html>Welcome</html>"), (302, ""), (400, "<html>nginx</html>"), (401, "who are you"),
      (404, "<html></html>"),
      (407, ""), (421, "misdirected"), (451, "{}"),
    ])
  func whatAnswersInsteadOfTheServiceIsTheNetwork(status: Int, text: String) async throws {
    _ = try await phone.database.allRecordZones()
    phone.network.forget()
    answer("zones/list", status: status, Array(text.utf8))
    let error = await #expect(throws: CKError.self) { try await phone.database.allRecordZones() }
    #expect(error?.code == .networkFailure)
    #expect(phone.network.count("session") == 0)
  }

  /// A message tells people what happened, and never shows a value of the program.
  @Test(arguments: [#"{"zones":7}"#, "{}", #"{"zones":[{"zoneID":7}]}"#, #"{"zones":["#, "[]", ""])
  func messagesAreSentences(text: String) async throws {
    answer("zones/list", status: 200, Array(text.utf8))
    let error = await #expect(throws: CKError.self) { try await phone.database.allRecordZones() }
    let message = try #require(error?.localizedDescription)
    #expect(message.hasSuffix("."))
    for part in ["WireError", "Error(", "kind:", "Optional", "VirgaWire", "[UInt8"] {
      #expect(!message.contains(part), "\(message)")
    }
  }

  @Test func errorsOfItemsNameTheRequestToo() async throws {
    let results = try await phone.database.records(for: [id])
    let error = try #require(#expect(throws: CKError.self) { try results[id]?.get() })
    #expect(error.code == .unknownItem)
    let request = try #require(error.userInfo["RequestUUID"] as? String)
    #expect(UUID(uuidString: request) != nil)
  }

  @Test func theIdentifierOfAnAnswerIsInItsHeader() async throws {
    phone.network.replaceAnswers { _, answer in
      guard let id = answer[header: "X-Apple-Request-UUID"], answer.status != 200 else { return answer }
      #expect(String(decoding: answer.body, as: UTF8.self).contains(#""uuid":"\#(id)""#))
      return answer
    }
    // Refusals of the account's requests, and of the web service's.
    await #expect(throws: AccountError.self) { try await phone.accounts.signIn(code: "none") }
    await #expect(throws: CKError.self) {
      try await phone.database.recordZoneChanges(inZoneWith: .default, since: CKServerChangeToken("none"))
    }
    #expect(phone.network.requests(to: "sign-in/look").count == 1)
  }
}
