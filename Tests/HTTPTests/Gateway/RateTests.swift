import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

@Suite struct RateTests {
  private let start = Timestamp(milliseconds: 1_800_000_000_000)

  // MARK: Buckets

  @Test func burstGoesThroughAndThenOneAtATime() {
    var limiter = RateLimiter(Rate(perSecond: 4, burst: 3))
    for _ in 0..<3 { #expect(limiter.admit("a", now: start) == nil) }
    #expect(limiter.admit("a", now: start) == .milliseconds(250))
    #expect(limiter.admit("a", now: start) == .milliseconds(250), "a refusal costs nothing")
    #expect(limiter.admit("b", now: start) == nil)
    #expect(limiter.admit("a", now: start + .milliseconds(249)) == .milliseconds(1))
    #expect(limiter.admit("a", now: start + .milliseconds(250)) == nil)
    #expect(limiter.admit("a", now: start + .milliseconds(250)) == .milliseconds(250))
    // A bucket that was left alone is full, and no fuller.
    for _ in 0..<3 { #expect(limiter.admit("a", now: start + .seconds(900)) == nil) }
    #expect(limiter.admit("a", now: start + .seconds(900)) != nil)
  }

  /// Reading past what others hide is bounded for each user, over all their requests.
  @Test func whoHadMuchReadForThemOfOthersWaits() async throws {
    let world = try await GatewayWorld()
    let front = world.front
    let endpoint = Endpoint(
      container: world.container, environment: .development, scope: .shared, operation: .recordsChanges)
    let context = CallContext(
      endpoint: endpoint, principal: Principal(user: world.user, account: "account-phone", device: nil),
      now: world.clock.now, random: SplitMix64(seed: 1),
      urls: front.urls(for: HTTPRequestHead(method: "GET", target: "/")))
    for reads in [Limits.hiddenReadsPerUserMax - 1, 1] {
      _ = try front.hiddenReads.counting(for: context, now: { world.clock.now }) { context in
        context.hiddenReads = reads
        return .zones([])
      }
    }
    for scope in [DatabaseScope.shared, .public] {
      let refused = try await world.send("POST", world.path(.zonesLookup, scope: scope), Array(#"{"zones":[]}"#.utf8))
      #expect(refused.status == 429 && refused.error.retryAfterSeconds ?? 0 > 0, "\(refused.text)")
    }
    #expect(try await world.call(.zonesLookup, #"{"zones":[]}"#).status == 200, "what is the user's own")
    world.clock.advance(by: .seconds(1))
    let later = try await world.send("POST", world.path(.zonesLookup, scope: .shared), Array(#"{"zones":[]}"#.utf8))
    #expect(later.status == 200, "\(later.text)")
  }

  /// C123: a limit of one a second.
  @Test func whoWaitsAsToldIsNotRefusedAgain() {
    var limiter = RateLimiter(Rate(perSecond: 1, burst: 1))
    var now = start
    var refusals = 0
    for _ in 0..<50 {
      guard let wait = limiter.admit("a", now: now) else { continue }
      refusals += 1
      now = now + wait
      #expect(limiter.admit("a", now: now) == nil)
    }
    #expect(refusals == 49)
  }

  @Test func clockThatGoesBackKeepsNobodyOutForLong() {
    var limiter = RateLimiter(Rate(perSecond: 1, burst: 1))
    #expect(limiter.admit("a", now: start) == nil)
    #expect(limiter.admit("a", now: start - .seconds(86_400)) == .seconds(1))
    #expect(limiter.admit("a", now: start - .seconds(86_399)) == nil)
    var wide = RateLimiter(Rate(perSecond: 4, burst: 3))
    for _ in 0..<3 { #expect(wide.admit("a", now: start) == nil) }
    #expect(wide.admit("a", now: start - .seconds(86_400)) == .milliseconds(250))
  }

  @Test func soManyKeysAreRememberedAndNoMore() {
    var limiter = RateLimiter(Rate(perSecond: 1, burst: 1))
    for number in 0..<Limits.rateKeysMax { #expect(limiter.admit("\(number)", now: start) == nil) }
    #expect(limiter.admit("0", now: start) != nil)
    #expect(limiter.admit("one more", now: start) == nil)
    #expect(limiter.admit("0", now: start) == nil, "all were forgotten")
  }

  @Test(
    arguments: [
      ("1", 1, 10), ("50:500", 50, 500), ("100000", 100_000, 100_000), ("0", nil, 0), ("", nil, 0), ("1:", nil, 0),
      ("1:0", nil, 0), ("100001", nil, 0), ("1:2:3", nil, 0), ("-1", nil, 0), ("x", nil, 0),
    ] as [(String, Int?, Int)])
  func ratesAreRead(text: String, perSecond: Int?, burst: Int) {
    #expect(Rate(text) == perSecond.map { Rate(perSecond: $0, burst: burst) })
  }

  // MARK: Requests

  /// C95: the wait stands where clients look for it.
  @Test func refusalSaysInBodyAndHeaderHowLongToWait() async throws {
    let world = try await GatewayWorld { $0.userRate = Rate(perSecond: 1, burst: 2) }
    for _ in 0..<2 { #expect(try await world.call(.zonesList, "{}").status == 200) }
    let refused = try await world.call(.zonesList, "{}")
    #expect(refused.status == 429)
    #expect(refused.error.code == .throttled)
    #expect(refused.error.retryAfterSeconds == 1)
    #expect(refused.text.contains(#""retryAfter":1"#))
    #expect(refused.headers["Retry-After"] == "1")
    let stranger = try await world.stranger()
    #expect(try await world.call(.zonesList, "{}", session: stranger).status == 200, "others are not held up")
    world.clock.advance(by: .seconds(1))
    #expect(try await world.call(.zonesList, "{}").status == 200)
  }

  @Test func waitIsRoundedUp() async throws {
    let world = try await GatewayWorld { $0.userRate = Rate(perSecond: 1, burst: 1) }
    for _ in 0..<1 { _ = try await world.call(.zonesList, "{}") }
    world.clock.advance(by: .milliseconds(1))
    #expect(try await world.call(.zonesList, "{}").error.retryAfterSeconds == 1)
    world.clock.advance(by: .milliseconds(998))
    #expect(try await world.call(.zonesList, "{}").status == 429)
    world.clock.advance(by: .milliseconds(1))
    #expect(try await world.call(.zonesList, "{}").status == 200)
  }

  @Test func addressIsCountedWhoeverAsks() async throws {
    let world = try await GatewayWorld { $0.addressRate = Rate(perSecond: 1, burst: 3) }
    let stranger = try await world.stranger()
    #expect(try await world.call(.zonesList, "{}").status == 200)
    #expect(try await world.call(.zonesList, "{}", session: stranger).status == 200)
    #expect(try await world.send("POST", "/virga/1/challenge").status == 200)
    #expect(try await world.send("POST", "/virga/1/challenge").status == 429)
    #expect(try await world.call(.zonesList, "{}").status == 429)
    #expect(try await world.send("GET", "/healthz").status == 200, "monitors are not counted")
    let other = try await world.call(.zonesList, "{}", headers: [("X-Forwarded-For", "192.0.2.1")])
    #expect(other.status == 200, "a proxy on this machine says for whom it asks")
  }

  @Test func addressesOfOneIPv6NetworkShareTheirRate() async throws {
    let world = try await GatewayWorld { $0.addressRate = Rate(perSecond: 1, burst: 1) }
    func ask(from address: String) async throws -> Int {
      try await world.call(.zonesList, "{}", headers: [("X-Forwarded-For", address)]).status
    }
    #expect(try await ask(from: "2001:db8::1") == 200)
    #expect(try await ask(from: "2001:db8::2") == 429)
    #expect(try await ask(from: "2001:db8:0:1::2") == 200)
  }

  @Test func callersWithoutAUserAreCountedByAddressOnly() async throws {
    let world = try await GatewayWorld { $0.userRate = Rate(perSecond: 1, burst: 1) }
    let token = try await world.makeToken().text
    for _ in 0..<5 {
      #expect(try await world.withToken(token, .recordsLookup, body: #"{"records":[]}"#).status == 200)
    }
  }

  // MARK: Pages of other origins

  @Test func everyAnswerMayBeReadByThePageThatAsked() async throws {
    let world = try await GatewayWorld { $0.userRate = Rate(perSecond: 1, burst: 1) }
    let origin = ("Origin", "https://app.example")
    var answers = [try await world.call(.zonesList, "{}", headers: [origin])]
    answers.append(try await world.call(.zonesList, "{}", headers: [origin]))
    answers.append(try await world.send("POST", world.path(.zonesList), headers: [origin], session: ""))
    answers.append(try await world.send("PUT", world.path(.zonesList), headers: [origin]))
    answers.append(try await world.send("POST", "/assets/1/upload?t=x", [1], headers: [origin]))
    #expect(answers.map(\.status) == [200, 429, 401, 405, answers[4].status])
    for answer in answers {
      #expect(answer.headers["Access-Control-Allow-Origin"] == "https://app.example")
      let exposed = answer.headers["Access-Control-Expose-Headers"] ?? ""
      for name in [
        "X-Apple-CloudKit-Web-Auth-Token", "X-Apple-CloudKit-Session", "X-Apple-Request-UUID", "Retry-After",
      ] {
        #expect(exposed.contains(name))
      }
    }
    #expect(world.front.response(to: .bodyTooLarge).headers["Access-Control-Allow-Origin"] == "*")
  }

  @Test(arguments: ["/database/1/iCloud.a/development/public/records/query", "/assets/1/upload", "/nowhere"])
  func preflightIsAnsweredOnEveryPath(path: String) async throws {
    let world = try await GatewayWorld()
    let answer = try await world.send(
      "OPTIONS", path,
      headers: [("Origin", "https://app.example"), ("Access-Control-Request-Headers", "content-type, x-custom")],
      session: "")
    #expect(answer.status == 204)
    #expect(answer.headers["Access-Control-Allow-Origin"] == "https://app.example")
    #expect(answer.headers["Access-Control-Allow-Headers"] == "content-type, x-custom")
    for method in ["GET", "POST", "PUT", "OPTIONS"] {
      #expect(answer.headers["Access-Control-Allow-Methods"]?.contains(method) == true)
    }
    let account = try await world.send("OPTIONS", "/virga/1/enrol", headers: [("Origin", "https://app.example")])
    #expect(account.headers["Access-Control-Allow-Origin"] == nil)
  }
}
