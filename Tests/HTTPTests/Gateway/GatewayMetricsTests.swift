import Testing
import VirgaModel
import VirgaWire

@testable import VirgaHTTP

@Suite(.timeLimit(.minutes(1))) struct GatewayMetricsTests {
  private let here = [("Host", "127.0.0.1:8787")]
  private let token = "a-token-of-the-operator"

  @Test func answersAreCountedByOperationAndStatus() async throws {
    let world = try await GatewayWorld()
    _ = try await world.call(.zonesList, "{}")
    _ = try await world.call(.zonesList, "{}", session: "wrong")
    world.front.metrics.add { [.init("virga_test", .gauge, "A number.", 7)] }
    let operatorToken = world.front.secrets.operatorToken
    let answer = try await world.send("GET", "/metrics", headers: here + [("X-Virga-Operator", operatorToken)])
    #expect(answer.headers["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
    for line in [
      #"virga_answers_total{operation="zones/list",status="2xx"} 1"#,
      #"virga_answers_total{operation="zones/list",status="4xx"} 1"#, "virga_answer_seconds_count 2",
      "# TYPE virga_test gauge\nvirga_test 7\n",
    ] { #expect(answer.text.contains(line), "\(line) is missing in \(answer.text)") }
    let names = answer.text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
    #expect(Set(names).count == names.count)
    #expect(!answer.text.contains(world.user.rawValue))
  }

  /// An answer with status 200 may hold nothing but failures.
  @Test func errorsOfItemsAreCountedByOperationAndCode() async throws {
    let token = token
    let world = try await GatewayWorld { $0.operatorToken = token }
    try await world.makeZone()
    let operations = ["a", "b", "c"].map {
      #"{"operationType":"update","record":{"recordName":"\#($0)","recordType":"T","recordChangeTag":"x"}}"#
    }.joined(separator: ",")
    let body = #"{"zoneID":"Trips","atomic":false,"operations":[\#(operations)]}"#
    #expect(try await world.call(.recordsModify, body).status == 200)
    #expect(
      try await world.call(.recordsLookup, #"{"zoneID":"Trips","records":[{"recordName":"none"}]}"#).status == 200)
    #expect(
      try await world.call(.zonesLookup, #"{"zones":[{"zoneID":{"zoneName":"None"}}]}"#).status == 200)
    #expect(
      try await world.call(
        .changesZone, #"{"zones":[{"zoneID":{"zoneName":"None"}},{"zoneID":{"zoneName":"Trips"}}]}"#
      ).status == 200)
    #expect(
      try await world.call(
        .subscriptionsLookup, #"{"subscriptions":[{"subscriptionID":"none"}]}"#
      ).status == 200)
    _ = try await world.call(.zonesList, "{}")
    let text = try await world.send("GET", "/metrics", headers: [("X-Virga-Operator", token)]).text
    let counts = text.split(separator: "\n").filter { $0.hasPrefix("virga_item_errors_total{") }
    #expect(counts.contains { $0.contains(#"operation="records/modify""#) && $0.hasSuffix(" 3") }, "\(counts)")
    for (operation, code) in [
      ("records/lookup", "NOT_FOUND"), ("zones/lookup", "ZONE_NOT_FOUND"), ("changes/zone", "ZONE_NOT_FOUND"),
      ("subscriptions/lookup", "NOT_FOUND"),
    ] {
      let line = #"virga_item_errors_total{operation="\#(operation)",code="\#(code)"} 1"#
      #expect(counts.contains { $0 == line }, "\(line) is missing in \(counts)")
    }
    #expect(counts.count == 5)
  }

  @Test func strangersDoNotSeeTheMetrics() async throws {
    let open = try await GatewayWorld()
    for headers in [[], here, [("Host", "server.example")], here + [("X-Forwarded-For", "1.2.3.4")]] {
      #expect(try await open.send("GET", "/metrics", headers: headers, session: open.session).status == 403)
    }
    let own = open.front.secrets.operatorToken
    #expect(try await open.send("GET", "/metrics", headers: [("Authorization", "Bearer \(own)")]).status == 200)
    #expect(try await open.send("GET", "/metrics", headers: [("Authorization", "Bearer x\(own)")]).status == 403)
    #expect(try await open.send("POST", "/metrics", headers: here).status == 405)
    let token = token
    let guarded = try await GatewayWorld { $0.operatorToken = token }
    #expect(try await guarded.send("GET", "/metrics", headers: here).status == 403)
    #expect(try await guarded.send("GET", "/metrics", headers: [("Authorization", "Bearer \(token)")]).status == 200)
    #expect(try await guarded.send("GET", "/metrics", headers: [("X-Virga-Operator", token)]).status == 200)
    #expect(try await guarded.send("GET", "/metrics", headers: [("X-Virga-Operator", "no")]).status == 401)
  }
}
