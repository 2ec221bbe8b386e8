import Testing
import VirgaModel
import VirgaWire

@testable import VirgaHTTP

@Suite(.timeLimit(.minutes(1))) struct FrontMetricsTests {
  private let here = [("Host", "127.0.0.1:8787")]
  private let token = "a-token-of-the-operator"

  @Test func answersAreCountedByOperationAndStatus() async throws {
    let world = try await FrontWorld()
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

  @Test func strangersDoNotSeeTheMetrics() async throws {
    let open = try await FrontWorld()
    for headers in [[], here, [("Host", "server.example")], here + [("X-Forwarded-For", "1.2.3.4")]] {
      #expect(try await open.send("GET", "/metrics", headers: headers, session: open.session).status == 403)
    }
    let own = open.front.secrets.operatorToken
    #expect(try await open.send("GET", "/metrics", headers: [("Authorization", "Bearer \(own)")]).status == 200)
    #expect(try await open.send("GET", "/metrics", headers: [("Authorization", "Bearer x\(own)")]).status == 403)
    #expect(try await open.send("POST", "/metrics", headers: here).status == 405)
    let token = token
    let guarded = try await FrontWorld { $0.operatorToken = token }
    #expect(try await guarded.send("GET", "/metrics", headers: here).status == 403)
    #expect(try await guarded.send("GET", "/metrics", headers: [("Authorization", "Bearer \(token)")]).status == 200)
    #expect(try await guarded.send("GET", "/metrics", headers: [("X-Virga-Operator", token)]).status == 200)
    #expect(try await guarded.send("GET", "/metrics", headers: [("X-Virga-Operator", "no")]).status == 401)
  }
}
