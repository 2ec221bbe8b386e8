import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

@Suite struct GatewayRouteTests {
  @Test(arguments: [
    ("POST", "/database/1/iCloud.x/development/private/records/eat", 404),
    ("POST", "/database/2/iCloud.x/development/private/zones/list", 404),
    ("POST", "/database/1/iCloud.x/moon/private/zones/list", 404),
    ("POST", "/database/1/iCloud.x/development/Private/zones/list", 404),
    ("POST", "/database/1/iCloud.x/development/private/zones/list/", 404),
    ("POST", "/database/1/iCloud.x/development/private", 404),
    ("POST", "/database/1//development/private/zones/list", 404),
    ("POST", "/database/1/a%0Ab/development/private/zones/list", 404),
    ("POST", "/database/1/a%2Fb/development/private/zones/list", 404),
    ("POST", "/database/1/a%20b/development/private/zones/list", 404),
    ("POST", "/database/1/_a/development/private/zones/list", 404),
    ("POST", "/database/1/\(String(repeating: "c", count: 256))/development/private/zones/list", 404),
    ("POST", "/device/1/iCloud.x/development/zones/list", 404),
    ("POST", "/device/1/iCloud.x/development/tokens/eat", 404),
    ("GET", "/", 404), ("GET", "/favicon.ico", 404), ("GET", "/assets/1/", 404), ("GET", "/push/1", 404),
    ("GET", "/database/1/iCloud.x/development/private/records/modify", 405),
    ("DELETE", "/database/1/iCloud.x/development/private/zones/list", 405),
    ("GET", "/device/1/iCloud.x/development/tokens/create", 405),
    ("GET", "/assets/1/upload?t=x", 405), ("POST", "/assets/1/download/abc", 405), ("POST", "/push/1/x", 405),
    ("POST", "/healthz", 405),
    ("POST", "/database/1/iCloud.x/development/private/records/%", 400),
    ("POST", "/database/1/%ZZ/development/private/zones/list", 400),
    ("POST", "/database/1/%ff/development/private/zones/list", 400),
  ])
  func wrongPathsAndMethodsGetTheProtocolsError(_ method: String, _ target: String, _ status: Int) async throws {
    // C93: broken escapes are the client's fault, never the server's.
    let answer = try await GatewayWorld().send(method, target)
    #expect(answer.status == status)
    #expect(answer.error.code == (status == 404 ? .notFound : .badRequest))
    #expect(!answer.error.reason.isEmpty)
    #expect(answer.text.contains("\"uuid\":\"\(answer.headers["X-Apple-Request-UUID"] ?? "none")\""))
    #expect(answer.headers["Content-Type"] == "application/json; charset=UTF-8")
    #expect((answer.headers["Allow"] != nil) == (status == 405))
  }

  @Test(arguments: ["application/json", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", nil])
  func theContentTypeDoesNotMatter(_ type: String?) async throws {
    let world = try await GatewayWorld()
    let headers = type.map { [("Content-Type", $0)] } ?? []
    let answer = try await world.call(.zonesList, "{}", headers: headers)
    #expect(answer.status == 200)
    #expect(answer.text.contains("_defaultZone"))
  }

  @Test func listsAnswerToGetAsToPost() async throws {
    let world = try await GatewayWorld()
    let got = try await world.send("GET", world.path(.zonesList) + "?_t=17&ckjsVersion=2.6.4")
    let posted = try await world.call(.zonesList, "")
    #expect(got.status == 200)
    #expect(got.text == posted.text)
    #expect(try await world.send("GET", world.path(.usersCaller, scope: .public)).text.contains(world.user.rawValue))
  }

  @Test func pathsMayBeEncodedAndTokensLieAtTwoPlaces() async throws {
    let world = try await GatewayWorld()
    let body = Array(#"{"apnsEnvironment":"development"}"#.utf8)
    let encoded = "iCloud%2Ecom%2eexample.Diary"
    for target in [
      "/device/1/\(encoded)/development/tokens/create", "/database/1/\(encoded)/development/public/tokens/create",
    ] {
      let answer = try await world.send("POST", target, body)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(answer.text.contains("http://server.example/push/1/"))
    }
  }

  /// What was wrong is named: the name, the value, the limit.
  @Test(arguments: [
    (VirgaWire.Operation.tokensCreate, #"{"apnsEnvironment":"dev"}"#, "development or production, not 'dev'"),
    (
      .recordsModify,
      #"{"operations":[{"operationType":"create","record":{"recordName":"n","recordType":"T","fields":{"1a":{"value":1}}}}]}"#,
      "field name '1a' does not begin"
    ),
    (
      .recordsModify,
      #"{"operations":[{"operationType":"create","record":{"recordName":"n","recordType":"a b","fields":{}}}]}"#,
      "record type 'a b' has a character"
    ),
    (
      .zonesList, String(repeating: " ", count: Limits.requestBytesMax + 1),
      "larger than the \(Limits.requestBytesMax) bytes"
    ),
  ])
  func refusalsNameWhatIsWrong(operation: VirgaWire.Operation, body: String, text: String) async throws {
    let answer = try await GatewayWorld().call(operation, body)
    #expect(answer.text.contains("BAD_REQUEST") && answer.text.contains(text), "\(answer.text)")
  }

  @Test func URLsNameTheHostThatWasAskedUnlessOneIsConfigured() async throws {
    let world = try await GatewayWorld { $0.baseURL = nil }
    let body = #"{"apnsEnvironment":"development"}"#
    let good = try await world.call(.tokensCreate, body, headers: [("Host", "localhost:9000")])
    #expect(good.text.contains("http://localhost:9000/push/1/"))
    let none = try await world.call(.tokensCreate, body)
    #expect(none.text.contains("http://127.0.0.1:8787/push/1/"))
  }

  @Test func aContainerThatIsNotServedIsNotFound() async throws {
    let world = try await GatewayWorld { $0.containers = ["iCloud.other"] }
    let answer = try await world.call(.zonesList, "{}")
    #expect(answer.status == 404)
    #expect(answer.error.code == .notFound)
  }

  @Test func strangersAreAskedForCredentials() async throws {
    let world = try await GatewayWorld()
    let none = try await world.call(.zonesList, "{}", session: "")
    #expect(none.status == 401)
    #expect(none.error.code == .authenticationFailed)
    let wrong = try await world.call(.zonesList, "{}", session: "a.b.c.d")
    #expect(wrong.status == 401)
    let token = world.front.secrets.apiToken(for: world.container, in: .development)
    try await world.store.write { [container = world.container] in
      try Credentials().add(
        APIToken(container: container, environment: .development), digest: SHA256.hexDigest(of: token), in: $0)
    }
    let signIn = try await world.call(.zonesList, "{}", query: "?ckAPIToken=\(token)", session: "")
    #expect(signIn.status == 421)
    #expect(signIn.error.redirectURL?.hasPrefix("http://server.example/virga/1/sign-in") == true)
  }

  @Test func browsersMayAskFromAnyOrigin() async throws {
    let world = try await GatewayWorld()
    let origin = ("Origin", "https://app.example")
    let asked = try await world.send(
      "OPTIONS", "/anything", headers: [origin, ("Access-Control-Request-Headers", "x-virga-session")])
    #expect(asked.status == 204)
    #expect(asked.headers["Access-Control-Allow-Origin"] == "https://app.example")
    #expect(asked.headers["Access-Control-Allow-Headers"] == "x-virga-session")
    #expect(asked.headers["Access-Control-Allow-Methods"]?.contains("POST") == true)
    for answer in [
      try await world.call(.zonesList, "{}", headers: [origin]), try await world.send("GET", "/no", headers: [origin]),
    ] {
      #expect(answer.headers["Access-Control-Allow-Origin"] == "https://app.example")
      #expect(answer.headers["Access-Control-Expose-Headers"]?.contains("X-Apple-CloudKit-Web-Auth-Token") == true)
    }
    #expect(try await world.call(.zonesList, "{}").headers["Access-Control-Allow-Origin"] == nil)
  }

  @Test func noPageOfAnotherOriginReachesAccounts() async throws {
    let world = try await GatewayWorld()
    for method in ["OPTIONS", "POST"] {
      let answer = try await world.send(method, "/virga/1/challenge", headers: [("Origin", "https://app.example")])
      #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
    }
  }

  @Test func healthIsTold() async throws {
    let answer = try await GatewayWorld().send("GET", "/healthz")
    #expect(answer.status == 200)
    #expect(answer.text == #"{"status":"ok"}"#)
  }

  @Test(arguments: [
    (413, ServerErrorCode.badRequest), (400, .badRequest), (408, .tryAgainLater), (503, .tryAgainLater),
    (507, .tryAgainLater), (500, .internalError), (501, .internalError),
  ])
  func whatTheConnectionRefusesHasTheProtocolsBody(_ status: Int, _ code: ServerErrorCode) async throws {
    let world = try await GatewayWorld()
    let response = world.front.response(to: HTTPRefusal(status: status, reason: "because"))
    guard case .bytes(let body) = response.body else { return }
    #expect(response.status == (status == 413 ? 400 : status))
    #expect(ServiceError(decoding: body, status: status).code == code)
    #expect((response.headers["Retry-After"] != nil) == (code == .tryAgainLater))
  }
}

@Suite struct GatewayCallTests {
  @Test func aRecordIsSavedAndReadBack() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let saved = try await world.save([
      RecordChange(name: "t1", type: "Trip", fields: [FieldChange("nights", Field(.int64(9_007_199_254_740_993)))])
    ])
    guard case .record(let record) = saved[0] else {
      Issue.record("not saved: \(saved)")
      return
    }
    #expect(record.id == RecordID("t1", in: ZoneID("Trips", owner: world.user)))
    let answer = try await world.call(
      .recordsLookup, #"{"zoneID":"Trips","records":["t1"]}"#, query: "?getCurrentSyncToken=True&clientId=c1")
    #expect(answer.text.contains("9007199254740993"))
    #expect(answer.text.contains("\"syncToken\""))
    let extended = try await world.call(.zonesList, "{}", headers: [("X-Virga-Extensions", "1")])
    #expect(extended.text.contains("\"atomic\""))
    #expect(try await !world.call(.zonesList, "{}").text.contains("\"atomic\""))
  }

  @Test func largerPagesAreGivenOnRequest() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    for batch in 0..<2 {
      _ = try await world.save((0..<150).map { RecordChange(name: RecordName("r\(batch)-\($0)"), type: "Trip") })
    }
    func page(_ headers: [(String, String)]) async throws -> Int {
      let answer = try await world.call(
        .changesZone, #"{"zones":[{"zoneID":"Trips"}],"resultsLimit":2000}"#, headers: headers)
      guard case .zoneChanges(let results) = try Reply(decoding: answer.body, for: .changesZone),
        case .page(let page) = results[0]
      else { return -1 }
      return page.records.count
    }
    #expect(try await page([]) == 200)
    #expect(try await page([("X-Virga-Page", "1000")]) == 300)
    #expect(try await page([("X-Virga-Page", "many")]) == 200)
  }

  @Test func garbageIsRefusedAndNothingChanges() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    var dice = SplitMix64(seed: 3)
    let noise = (0..<(2 << 20)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
    let deep = Array(String(repeating: "[", count: 2 << 20).utf8)
    let cut = Array((#"{"operations":["# + String(repeating: #"{"operationType":"create","#, count: 70_000)).utf8)
    for body in [noise, deep, cut, Array("null".utf8), Array("{\"operations\":7}".utf8)] {
      let answer = try await world.send("POST", world.path(.recordsModify), body)
      #expect(answer.status == 400)
      #expect(answer.error.code == .badRequest)
    }
    let large = try await world.send(
      "POST", world.path(.recordsModify), Array(repeating: 0x20, count: Limits.requestBytesMax + 1))
    #expect(large.status == 400)
    #expect(large.error.reason.hasPrefix(Reason.limitExceeded))
    #expect(try await world.call(.recordsLookup, #"{"zoneID":"Trips","records":["x"]}"#).text.contains("NOT_FOUND"))
  }

  @Test func tooManyOperationsAreRefusedWhole() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let operations = (0..<401).map {
      RecordOperation(.forceUpdate, RecordChange(name: RecordName("r\($0)"), type: "T"))
    }
    let request = RecordsModifyRequest(operations: operations, zone: ZoneSelector("Trips"))
    let answer = try await world.send("POST", world.path(.recordsModify), Call.recordsModify(request).encoded())
    #expect(answer.status == 400)
    #expect(answer.error.reason.hasPrefix(Reason.limitExceeded))
  }

  @Test(arguments: [
    String(repeating: "n", count: 256), String(repeating: "😀", count: 128), "a\u{0}b", "a\u{85}b", "_own", "",
  ])
  func namesThatAreNoneAreRefusedForTheirRecordAlone(_ name: String) async throws {
    // C93
    let world = try await GatewayWorld()
    try await world.makeZone()
    let request = RecordsModifyRequest(
      operations: [
        RecordOperation(.forceUpdate, RecordChange(name: RecordName(name), type: "Trip")),
        RecordOperation(.forceUpdate, RecordChange(name: "fine", type: "Trip")),
      ], zone: ZoneSelector("Trips"), atomic: false)
    guard case .records(let reply) = try await world.call(.recordsModify(request)),
      case .failure(let failure) = reply.records[0], case .record = reply.records[1]
    else {
      Issue.record("not one failure and one record")
      return
    }
    #expect(failure.error.code == .badRequest)
  }

  @Test(arguments: [
    "a/b", "say \"x\"", "100%", "a+b ?&=#", "Note/../..", String(repeating: "n", count: 255), "caf\u{e9}",
    "cafe\u{301}", "\u{301}/\u{308}", "r😀", String(repeating: "\u{e9}", count: 250),
  ])
  func namesWithOddCharactersGoThroughEveryCall(_ name: String) async throws {
    // C93
    let world = try await GatewayWorld()
    try await world.makeZone()
    _ = try await world.save([RecordChange(name: RecordName(name), type: "Trip")])
    guard
      case .records(let reply) = try await world.call(
        .recordsLookup(RecordsLookupRequest(records: [.init(RecordName(name))], zone: ZoneSelector("Trips")))),
      case .record(let record) = reply.records[0]
    else {
      Issue.record("not found")
      return
    }
    #expect(record.id.name.rawValue == name)
    _ = try await world.upload([1], record: RecordName(name))
  }

  @Test func aTokenOfAnotherZoneHasExpired() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone("A")
    try await world.makeZone("B")
    _ = try await world.save([RecordChange(name: "r", type: "T")], in: "A")
    guard
      case .zoneChanges(let results) = try await world.call(
        .changesZone([ZoneChangesRequest(zone: ZoneSelector("A"))])), case .page(let page) = results[0],
      case .zoneChanges(let foreign) = try await world.call(
        .changesZone([ZoneChangesRequest(zone: ZoneSelector("B"), syncToken: page.syncToken)])),
      case .failure(_, let error) = foreign[0]
    else {
      Issue.record("no failure")
      return
    }
    #expect(error == .changeTokenExpired)
  }

  @Test(arguments: [
    (StoreError.full("x"), 503, ServerErrorCode.tryAgainLater), (.busy("x"), 503, .tryAgainLater),
    (.closed, 503, .tryAgainLater), (.damaged("secret path"), 500, .internalError), (.other("x"), 500, .internalError),
  ])
  func whatTheStoreSuffersIsNotToldInDetail(_ error: StoreError, _ status: Int, _ code: ServerErrorCode) async throws {
    let world = try await GatewayWorld()
    let answer = world.front.failure(world.front.serviceError(error, uuid: "U", during: "test"), uuid: "U")
    guard case .bytes(let body) = answer.body else { return }
    #expect(answer.status == status)
    #expect(ServiceError(decoding: body, status: status).code == code)
    #expect(!String(decoding: body, as: UTF8.self).contains("secret path"))
    #expect((answer.headers["Retry-After"] != nil) == (status == 503))
    if status == 500 { #expect(world.logged.value.withLock { $0.count } == 1) }
  }
}
