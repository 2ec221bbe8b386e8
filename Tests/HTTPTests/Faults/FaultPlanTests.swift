import Testing
import VirgaModel
import VirgaWire

@testable import VirgaHTTP

@Suite struct FaultPlanTests {
  private func plan(_ faults: String, seed: Int = 1) throws -> FaultPlan {
    try FaultPlan(json: Array(#"{"seed": \#(seed), "faults": [\#(faults)]}"#.utf8))
  }

  private func facts(_ operation: String = "records/modify", zones: Set<ZoneName> = ["Diary"]) -> FaultPlan.Facts {
    var facts = FaultPlan.Facts(operation: operation, container: "iCloud.test", scope: .private)
    facts.user = "_a"
    facts.device = "phone"
    facts.client = "c"
    facts.zones = zones
    facts.records = ["r1", "r2"]
    return facts
  }

  @Test(
    arguments: [
      (#"{}"#, true), (#"{"operation": "records/modify"}"#, true), (#"{"operation": "records/lookup"}"#, false),
      (#"{"container": "iCloud.test"}"#, true), (#"{"container": "iCloud.other"}"#, false),
      (#"{"database": "private"}"#, true), (#"{"database": "public"}"#, false), (#"{"user": "_a"}"#, true),
      (#"{"user": "_b"}"#, false), (#"{"device": "phone"}"#, true), (#"{"device": "laptop"}"#, false),
      (#"{"client": "c"}"#, true), (#"{"client": "d"}"#, false), (#"{"zone": "Diary"}"#, true),
      (#"{"zone": "Trips"}"#, false), (#"{"record": "r2"}"#, true), (#"{"record": "r3"}"#, false),
      (#"{"probability": 0}"#, false), (#"{"probability": 1}"#, true), (#"{"call": 2}"#, false),
    ])
  func aRuleMeetsWhatFitsAllThatItSays(condition: String, isMet: Bool) throws {
    var plan = try plan(#"{"when": \#(condition), "do": {"throttle": 1}}"#)
    #expect(plan.meet(facts()).count == (isMet ? 1 : 0))
  }

  @Test(
    arguments: [
      (#"{"call": 3}"#, [3]), (#"{"call": 2, "times": 2}"#, [2, 3]), (#"{"times": 2}"#, [1, 2]),
      (#"{"times": 2, "call": 4}"#, [4, 5]), (#"{}"#, [1, 2, 3, 4, 5, 6]),
    ])
  func callsAreCounted(condition: String, expected: [Int]) throws {
    var plan = try plan(#"{"when": \#(condition), "do": {"throttle": 1}}"#)
    #expect((1...6).filter { _ in !plan.meet(facts()).isEmpty } == expected)
  }

  @Test func theSameSeedMeetsTheSameRequests() throws {
    func trace(seed: Int) throws -> [Bool] {
      var plan = try plan(#"{"when": {"probability": 0.3}, "do": {"throttle": 1}}"#, seed: seed)
      return (0..<1_000).map { _ in !plan.meet(facts()).isEmpty }
    }
    #expect(try trace(seed: 5) == trace(seed: 5))
    #expect(try trace(seed: 5) != trace(seed: 6))
    let count = try trace(seed: 7).count { $0 }
    #expect((250...350).contains(count), "\(count) of 1,000 at 0.3")
  }

  @Test func rulesOfNotificationsMeetPollsAlone() throws {
    var plan = try plan(#"{"do": {"notifications": "drop"}}, {"do": {"throttle": 1}}"#)
    #expect(plan.meet(facts()).map(\.name) == ["fault 2"])
    #expect(plan.meet(facts("push")).map(\.name) == ["fault 1"])
  }

  // Each text is wrong in its third line.
  @Test(
    arguments: [
      (#"{"do": {"throttle": -1}}"#, "faults[0].do.throttle: -1 is not from 0 to 86400"),
      (#"{"do": {}}"#, "this does nothing"), (#"{"when": {}}"#, #"faults[0]: "do" is missing"#),
      (#"{"do": {"throttle": 1, "zoneBusy": true}}"#, "this one already does throttle"),
      (#"{"do": {"throttle": 1, "zone": "Z"}}"#, "zone has no effect with throttle"),
      (#"{"do": {"latency": 1, "reason": "R"}}"#, "reason has no effect with latency alone"),
      (#"{"when": {"zonee": "Z"}, "do": {"throttle": 1}}"#, #"faults[0].when: unknown key "zonee""#),
      (#"{"when": {"operation": "records/save"}, "do": {"throttle": 1}}"#, #""records/save" is not one of"#),
      (#"{"do": {"error": "OOPS"}}"#, #"faults[0].do.error: "OOPS" is not one of ACCESS_DENIED"#),
      (#"{"do": {"zoneBusy": false}}"#, "leave it out"), (#"{"do": {"cut": 5}}"#, "expected a string"),
      (#"{"when": {"call": 0}, "do": {"throttle": 1}}"#, "0 is less than 1"),
      (#"{"when": {"operation": "push"}, "do": {"purgeZone": true}}"#, "cannot happen to the operation push"),
      (#"{"when": {"probability": 2}, "do": {"throttle": 1}}"#, "2.0 is not from 0.0 to 1.0"),
      (#"{"do": {"throttle": 1}, "do": {"throttle": 1}}"#, "given twice"), ("nonsense", "expected an object"),
    ])
  func objectionsNameLineAndPlace(fault: String, expected: String) {
    do throws(FaultPlan.Objection) {
      _ = try FaultPlan(json: Array("{\n\"faults\": [\n\(fault)\n]}".utf8))
      Issue.record("\(fault) was taken")
    } catch {
      #expect(error.line == 3)
      #expect(error.description.contains(expected), "\(error)")
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct FaultRouteTests {
  private func manage(
    _ world: GatewayWorld, _ method: String, _ text: String = "", token: String? = nil
  ) async throws -> GatewayWorld.Answer {
    try await world.send(
      method, "/virga/1/faults", Array(text.utf8),
      headers: [("X-Virga-Operator", token ?? world.front.secrets.operatorToken)])
  }

  @Test func theOperatorAloneMakesFaults() async throws {
    let world = try await GatewayWorld()
    #expect(try await world.send("GET", "/virga/1/faults").error.code == .accessDenied)
    #expect(try await manage(world, "GET", token: "wrong").error.code == .authenticationFailed)
    #expect(try await manage(world, "GET").text == #"{"seed":0,"faults":[]}"#)
    let bad = try await manage(world, "PUT", #"{"fault": []}"#)
    #expect(bad.status == 400)
    #expect(bad.error.reason.hasPrefix("line 1: "))
  }

  @Test func faultsAreSetCountedAndTakenBack() async throws {
    let world = try await GatewayWorld()
    _ = try await manage(world, "PUT", #"{"faults": [{"name": "busy", "do": {"throttle": 7}}]}"#)
    let answer = try await world.call(.zonesList, "{}")
    #expect(answer.status == 429)
    #expect(answer.headers["Retry-After"] == "7")
    let shown = try await manage(world, "GET").text
    #expect(
      shown == #"{"seed":0,"faults":[{"name":"busy","when":{},"do":{"error":"THROTTLED","reason":"too many requests","#
        + #""retryAfter":7,"reach":"request"},"matched":1,"met":1}]}"#)
    // What is shown can be set again.
    #expect(try await manage(world, "PUT", shown).status == 200)
    #expect(try await manage(world, "DELETE").status == 200)
    #expect(try await world.call(.zonesList, "{}").status == 200)
  }

  /// Each thing that a plan may say is in what is shown, and means the same when it is read again.
  @Test(arguments: [
    #"{"throttle": 13}"#, #"{"error": "CONFLICT", "reason": "so", "reach": "items"}"#, #"{"zoneBusy": true}"#,
    #"{"quotaFull": true, "retryAfter": 3}"#, #"{"accountUnavailable": true}"#, #"{"cut": "beforeCommit"}"#,
    #"{"cut": "afterCommit", "latency": 0.25}"#, #"{"expireTokens": "zone", "zone": "Z"}"#,
    #"{"expireTokens": "zone"}"#, #"{"expireTokens": "database"}"#, #"{"purgeZone": true, "zone": "Z"}"#,
    #"{"resetEncryptedData": true}"#, #"{"notifications": "drop"}"#, #"{"notifications": "repeat"}"#,
    #"{"latency": 1.5}"#, #"{"latency": 0}"#,
  ])
  func theWholePlanIsShown(action: String) throws {
    let conditions = [
      "{}", #"{"call": 3}"#, #"{"call": 3, "times": 2}"#, #"{"times": 9, "probability": 0.125}"#,
      #"{"container": "iCloud.a", "database": "shared", "user": "_u", "device": "d", "client": "c", "zone": "Z"}"#,
    ]
    for condition in conditions {
      let text = #"{"seed": 7, "faults": [{"name": "n", "when": \#(condition), "do": \#(action)}]}"#
      let plan = try FaultPlan(json: Array(text.utf8))
      #expect(try FaultPlan(json: plan.encoded()) == plan, "\(text)")
    }
  }

  @Test func notificationsAreDroppedOrRepeated() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.makePushTarget()
    func save(_ name: String) async throws {
      let body =
        #"{"zoneID":"Trips","operations":[{"operationType":"forceUpdate","record":{"recordName":"\#(name)","recordType":"T"}}]}"#
      _ = try await world.call(.recordsModify, body, query: "?clientId=writer")
    }
    _ = try await manage(
      world, "PUT",
      #"{"faults": [{"when": {"call": 1}, "do": {"notifications": "drop"}}, {"when": {"call": 2}, "do": {"notifications": "repeat"}}]}"#
    )
    try await save("a")
    let poll = Task { try await world.send("GET", target) }
    try await world.until { world.waiting(String(target.split(separator: "/")[2])) == 0 }
    try await save("b")
    let first = try await poll.value.text
    let second = try await world.send("GET", target).text
    #expect(first.contains("\"ck\""))
    #expect(first == second)
  }

  @Test func latencyIsWaitedFor() async throws {
    let waited = Box<[Duration]>([])
    let world = try await GatewayWorld { $0.sleep = { time in waited.value.withLock { $0.append(time) } } }
    _ = try await manage(world, "PUT", #"{"faults": [{"do": {"latency": 1.5, "throttle": 1}}]}"#)
    _ = try await world.call(.zonesList, "{}")
    #expect(waited.value.withLock { $0 } == [.milliseconds(1_500)])
  }

  @Test func aBrokenOffAnswerHasAHeadAndNoBody() async throws {
    let world = try await GatewayWorld()
    let server = HTTPServer(handler: world.front)
    let port = try server.start(host: "127.0.0.1", port: 0)
    _ = try await manage(world, "PUT", #"{"faults": [{"do": {"cut": "afterCommit"}}]}"#)
    let client = SocketClient(port: port)
    let body = #"{"operations":[{"operationType":"create","zone":{"zoneID":"Kept"}}]}"#
    client.send(
      "POST \(world.path(.zonesModify)) HTTP/1.1\r\nHost: localhost\r\nX-Virga-Session: \(world.session)\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    #expect(client.answer() == nil)
    _ = try await manage(world, "DELETE")
    #expect(try await world.call(.zonesList, "{}").text.contains("Kept"))
    await server.stop(drain: .milliseconds(500))
  }
}
