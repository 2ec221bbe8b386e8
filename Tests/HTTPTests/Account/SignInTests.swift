import Foundation
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

@Suite struct SignInTests {
  private let origin = "https://app.example"

  /// A page of the sign-in, as the browser that was sent there drives it.
  private struct Page {
    let world: GatewayWorld
    let token: String
    var origin: String?

    func post<Answer: Decodable>(_ call: String, _ message: some Encodable) async throws -> Answer {
      let answer = try await raw(call, message)
      guard answer.status == 200 else { throw answer.error }
      return try JSONDecoder().decode(Answer.self, from: Data(answer.body))
    }

    func raw(
      _ call: String, _ message: some Encodable, from page: String = "http://server.example"
    ) async throws -> GatewayWorld.Answer {
      try await world.send(
        "POST", "/virga/1/sign-in/\(call)", Array(try JSONEncoder().encode(message)),
        headers: [("Origin", page), ("Host", "server.example")])
    }

    func start() async throws -> SignInMessages.Started {
      var message = ["container": world.container.rawValue, "token": SHA256.hexDigest(of: token)]
      message["origin"] = origin
      return try await post("start", message)
    }

    func state(_ ticket: String) async throws -> SignInMessages.State.Kind {
      let state: SignInMessages.State = try await post("wait", ["ticket": ticket])
      return state.state
    }

    private struct Collect: Encodable {
      var ticket: String
      var keepsSignedIn: Bool
    }

    func collect(_ ticket: String, keeps: Bool = false) async throws -> SignInMessages.HandOver {
      try await post("collect", Collect(ticket: ticket, keepsSignedIn: keeps))
    }
  }

  private func device<Answer: Decodable>(
    _ world: GatewayWorld, _ call: String, _ message: some Encodable, session: String? = nil
  ) async throws -> Answer {
    let answer = try await world.send(
      "POST", "/virga/1/sign-in/\(call)", Array(try JSONEncoder().encode(message)), session: session ?? world.session)
    guard answer.status == 200 else { throw answer.error }
    return try JSONDecoder().decode(Answer.self, from: Data(answer.body))
  }

  private func settle(_ world: GatewayWorld, _ code: String, accepts: Bool = true) async throws {
    let _: SignInMessages.State = try await device(
      world, "settle", SignInMessages.Settle(code: code, accepts: accepts))
  }

  private func users(_ world: GatewayWorld, _ api: String, _ web: String) async throws -> GatewayWorld.Answer {
    let query = "?ckAPIToken=\(api)&ckWebAuthToken=\(web.percentEncodedPathSegment)"
    return try await world.send("GET", world.path(.usersCaller, scope: .public) + query, session: "")
  }

  // MARK: The whole way

  @Test func pageIsSignedInOnceADeviceConfirmsItsCode() async throws {
    let world = try await GatewayWorld()
    let token = try await world.makeToken(origins: [origin]).text
    let asked = try await world.send(
      "GET", world.path(.usersCaller, scope: .public) + "?ckAPIToken=\(token)", headers: [("Origin", origin)],
      session: "")
    #expect(asked.status == 421)
    let url = try #require(asked.error.redirectURL)
    let digest = SHA256.hexDigest(of: token)
    #expect(
      url == "http://server.example/virga/1/sign-in?container=\(world.container)&token=\(digest)"
        + "&origin=https%3A%2F%2Fapp.example")
    #expect(!url.contains(token))
    #expect(try await world.send("GET", try world.target(of: url)).status == 200)

    let page = Page(world: world, token: token, origin: origin)
    let begun = try await page.start()
    #expect(begun.code.wholeMatch(of: /[2-9A-HJKMNP-TV-Z]{4}-[2-9A-HJKMNP-TV-Z]{4}/) != nil)
    let seen: SignInMessages.Asked = try await device(world, "look", SignInMessages.Look(code: begun.code.lowercased()))
    #expect(seen == SignInMessages.Asked(container: world.container, name: "site", origin: origin, callback: nil))
    async let waited = page.state(begun.ticket)
    try await settle(world, begun.code)
    #expect(try await waited == .accepted)
    let given = try await page.collect(begun.ticket)
    #expect(given.way == .message && given.origin == origin && given.url == nil)
    #expect(given.webAuthToken.wholeMatch(of: /158__54__[A-Za-z0-9+\/=_]{91,}/) != nil)
    let answer = try await users(world, token, given.webAuthToken)
    #expect(answer.status == 200 && answer.text.contains(world.user.rawValue))
    // Rotation hands the same token on, in both headers.
    for name in ["X-Apple-CloudKit-Web-Auth-Token", "X-Apple-CloudKit-Session"] {
      #expect(answer.headers[name] == given.webAuthToken)
    }
  }

  /// The rules find out that these need a user, not the look at the credentials.
  @Test(arguments: [
    (VirgaWire.Operation.subscriptionsList, DatabaseScope.public, "{}"),
    (.subscriptionsModify, .public, #"{"operations":[]}"#),
    (.subscriptionsLookup, .public, #"{"subscriptions":[{"subscriptionID":"s"}]}"#),
    (.assetsUpload, .public, #"{"tokens":[{"recordName":"r","recordType":"T","fieldName":"f"}]}"#),
    (.assetsRereference, .public, #"{"assets":[]}"#),
    (.tokensCreate, .private, #"{"apnsEnvironment":"development"}"#), (.usersCaller, .public, "{}"),
    (.recordsQuery, .private, #"{"query":{"recordType":"T"}}"#),
  ])
  func whateverNeedsAUserSaysWhereToSignIn(
    operation: VirgaWire.Operation, scope: DatabaseScope, body: String
  ) async throws {
    let world = try await GatewayWorld()
    let token = try await world.makeToken().text
    let answer = try await world.withToken(token, operation, scope: scope, body: body)
    #expect(answer.status == 421, "\(answer.text)")
    #expect(answer.error.redirectURL?.hasPrefix("http://server.example/virga/1/sign-in?") == true, "\(answer.text)")
  }

  @Test(arguments: [
    ("https://app.example/done", "https://app.example/done?ckWebAuthToken="),
    ("https://app.example/done?x=1", "https://app.example/done?x=1&ckWebAuthToken="),
    ("cloudkit-icloud.com.example.diary://auth", "cloudkit-icloud.com.example.diary://auth?ckWebAuthToken="),
  ])
  func callbackIsGivenTheToken(callback: String, beginning: String) async throws {
    let world = try await GatewayWorld()
    let token = try await world.makeToken(callback: callback).text
    let page = Page(world: world, token: token, origin: "https://evil.example")
    let begun = try await page.start()
    let seen: SignInMessages.Asked = try await device(world, "look", SignInMessages.Look(code: begun.code))
    #expect(seen.callback == callback && seen.origin == nil)
    try await settle(world, begun.code)
    let given = try await page.collect(begun.ticket)
    #expect(given.way == .redirect && given.origin == nil)
    let encoded = given.webAuthToken.percentEncodedPathSegment
    #expect(given.url == "\(beginning)\(encoded)&ckSession=\(encoded)")
  }

  @Test func onlyAllowedOriginsAreHandedAToken() async throws {
    let world = try await GatewayWorld()
    let token = try await world.makeToken(origins: [origin, "https://other.example"]).text
    for wrong in ["https://evil.example", "null", "*", "javascript:alert(1)"] {
      let error = await #expect(throws: ServiceError.self, "\(wrong)") {
        try await Page(world: world, token: token, origin: wrong).start()
      }
      #expect(error?.code == .accessDenied)
    }
    // With several origins and no page that asks, nobody is posted anything.
    let page = Page(world: world, token: token)
    let begun = try await page.start()
    try await settle(world, begun.code)
    #expect(try await page.collect(begun.ticket).way == .show)
    let single = try await world.makeToken(origins: [origin]).text
    let other = Page(world: world, token: single)
    let second = try await other.start()
    try await settle(world, second.code)
    let given = try await other.collect(second.ticket)
    #expect(given.way == .message && given.origin == origin)
  }

  // MARK: Codes

  @Test func refusedAndUsedCodesGiveNothing() async throws {
    let world = try await GatewayWorld()
    let page = Page(world: world, token: try await world.makeToken().text, origin: origin)
    let refused = try await page.start()
    await #expect(throws: ServiceError.wrongCode) { try await page.collect(refused.ticket) }
    try await settle(world, refused.code, accepts: false)
    #expect(try await page.state(refused.ticket) == .refused)
    await #expect(throws: ServiceError.wrongCode) { try await page.collect(refused.ticket) }
    await #expect(throws: ServiceError.wrongCode) { try await settle(world, refused.code) }

    let used = try await page.start()
    try await settle(world, used.code)
    await #expect(throws: ServiceError.wrongCode) { try await settle(world, used.code) }
    _ = try await page.collect(used.ticket)
    await #expect(throws: ServiceError.wrongCode) { try await page.collect(used.ticket) }
    await #expect(throws: ServiceError.wrongCode) { try await page.state(used.ticket) }
  }

  @Test func codeEndsAfterTenMinutes() async throws {
    let world = try await GatewayWorld()
    let page = Page(world: world, token: try await world.makeToken().text, origin: origin)
    let begun = try await page.start()
    world.clock.advance(by: Limits.pairingCodeAge - .milliseconds(1))
    let _: SignInMessages.Asked = try await device(world, "look", SignInMessages.Look(code: begun.code))
    world.clock.advance(by: .milliseconds(1))
    await #expect(throws: ServiceError.wrongCode) { try await settle(world, begun.code) }
    await #expect(throws: ServiceError.wrongCode) { try await page.state(begun.ticket) }
  }

  @Test func guessedCodesAreCountedAgainstCodeAndAddress() async throws {
    let world = try await GatewayWorld()
    let page = Page(world: world, token: try await world.makeToken().text, origin: origin)
    let begun = try await page.start()
    let wrong = PairingCode.plain(begun.code).prefix(7) + (begun.code.hasSuffix("Z") ? "Y" : "Z")
    for _ in 0..<Limits.wrongGuessesPerCodeMax {
      await #expect(throws: ServiceError.wrongCode) { try await settle(world, String(wrong)) }
    }
    await #expect(throws: ServiceError.wrongCode, "the code is void") { try await settle(world, begun.code) }
    let fresh = try await page.start()
    for _ in (Limits.wrongGuessesPerCodeMax + 1)..<Limits.wrongGuessesPerAddressMax {
      await #expect(throws: ServiceError.wrongCode) { try await settle(world, "22222222") }
    }
    let error = await #expect(throws: ServiceError.self) { try await settle(world, fresh.code) }
    #expect(error?.code == .throttled && error?.retryAfterSeconds == 600)
  }

  @Test func ticketOfAVoidCodeIsNotAnothersWhoseCodeBeginsAlike() throws {
    var table = SignInTable()
    let now = Timestamp(milliseconds: 0)
    let request = SignInTable.Request(
      container: "c", tokenDigest: "d", tokenName: nil, origin: nil, callback: nil)
    func begin(_ ticket: String) throws -> String {
      var dice = Constant()
      return try table.begin(request, ticket: ticket, address: ticket, now: now, random: &dice).code
    }
    let first = try begin("first")
    for _ in 0..<Limits.wrongGuessesPerCodeMax {
      #expect(throws: ServiceError.wrongCode) {
        try table.request(of: String(first.prefix(7)), now: now, isEqual: ==)
      }
    }
    let second = try begin("second")
    #expect(first == second)
    try table.settle(second, as: .accepted(account: "a", device: "d"), now: now, isEqual: ==)
    #expect(throws: ServiceError.wrongCode) { try table.collect("first", now: now) }
    #expect(try table.collect("second", now: now).account == "a")
  }

  private struct Constant: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0x8123_4567_89ab_cdef }
  }

  @Test func addressBeginsSoManySignInsAndNoMore() async throws {
    let world = try await GatewayWorld()
    let page = Page(world: world, token: try await world.makeToken().text, origin: origin)
    for _ in 0..<Limits.signInsPerAddressMax { _ = try await page.start() }
    let error = await #expect(throws: ServiceError.self) { try await page.start() }
    #expect(error?.code == .throttled)
    world.clock.advance(by: Limits.pairingCodeAge)
    _ = try await page.start()
  }

  // MARK: Tokens

  @Test func signInLastsAsLongAsWasAskedFor() async throws {
    let world = try await GatewayWorld {
      $0.signInAge = .seconds(60)
      $0.keptSignInAge = .seconds(3_600)
    }
    let token = try await world.makeToken().text
    let page = Page(world: world, token: token, origin: origin)
    var given: [SignInMessages.HandOver] = []
    for keeps in [false, true] {
      let begun = try await page.start()
      try await settle(world, begun.code)
      given.append(try await page.collect(begun.ticket, keeps: keeps))
    }
    #expect(given.map { $0.expires - world.clock.now } == [.seconds(60), .seconds(3_600)])
    world.clock.advance(by: .seconds(60))
    #expect(try await users(world, token, given[0].webAuthToken).status == 421)
    #expect(try await users(world, token, given[1].webAuthToken).status == 200)
  }

  @Test func whatWasTakenBackInBetweenGivesNoToken() async throws {
    let world = try await GatewayWorld()
    let (id, text) = try await world.makeToken()
    let page = Page(world: world, token: text, origin: origin)
    let begun = try await page.start()
    try await settle(world, begun.code)
    _ = try await world.manage("POST", "tokens/revoke", OperatorMessages.Identified(id: id))
    let error = await #expect(throws: ServiceError.self) { try await page.collect(begun.ticket) }
    #expect(error?.code == .authenticationFailed)
    await #expect(throws: ServiceError.self) { try await page.start() }
  }

  // MARK: Who may ask

  @Test func pagesOfOthersCannotDriveIt() async throws {
    let world = try await GatewayWorld()
    let page = Page(world: world, token: try await world.makeToken().text, origin: origin)
    let begun = try await page.start()
    for call in ["start", "wait", "collect"] {
      let answer = try await page.raw(call, ["ticket": begun.ticket], from: "https://evil.example")
      #expect(answer.status == 403)
      #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
    }
    for call in ["look", "settle"] {
      let answer = try await page.raw(call, SignInMessages.Settle(code: begun.code, accepts: true))
      #expect(answer.status == 401, "a device's session is needed")
    }
  }

  // MARK: The page

  @Test func pageLoadsNothingAndRunsNothingButItsOwn() async throws {
    let world = try await GatewayWorld()
    let query = "container=%3Cscript%3Ealert(1)%3C/script%3E&token=%22%20onload=%22x&origin=%27%3E%3Cimg%20src=x%3E"
    let answer = try await world.send("GET", "/virga/1/sign-in?\(query)")
    let policy = try #require(answer.headers["Content-Security-Policy"])
    let nonce = String(try #require(policy.firstMatch(of: /script-src 'nonce-([A-Za-z0-9_-]{24})'/)).output.1)
    #expect(policy.hasPrefix("default-src 'none'; "))
    #expect(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"))
    #expect(answer.headers["Content-Type"] == "text/html; charset=UTF-8")
    #expect(answer.headers["Cache-Control"] == "no-store" && answer.headers["Referrer-Policy"] == "no-referrer")
    let text = answer.text
    #expect(text.components(separatedBy: "<script").count == 2)
    #expect(text.contains("<script nonce=\"\(nonce)\">") && text.contains("<style nonce=\"\(nonce)\">"))
    for bad in ["<script>", "<img", " onload=\"", "http://", "https://", "src=", "@import", "url("] {
      #expect(!text.replacing("&lt;img src=x&gt;", with: "").contains(bad), "\(bad)")
    }
    let again = try await world.send("GET", "/virga/1/sign-in?\(query)")
    #expect(again.headers["Content-Security-Policy"] != policy, "a nonce is used once")
  }

  @Test(arguments: [
    ("", "en"), ("es", "es"), ("es-MX,es;q=0.9,en;q=0.8", "es"), ("en-GB,es;q=0.9", "en"), ("fr,es;q=0.5", "es"),
    ("fr", "en"), ("es;q=0", "en"), ("es;q=0.1, en;q=0.2", "en"), ("*", "en"), (";;,q=,es;q=x", "es"),
  ])
  func pageSpeaksTheBrowsersLanguage(header: String, language: String) async throws {
    let world = try await GatewayWorld()
    let answer = try await world.send("GET", "/virga/1/sign-in", headers: [("Accept-Language", header)])
    #expect(answer.headers["Content-Language"] == language)
    #expect(answer.text.contains("<html lang=\"\(language)\">"))
    #expect(answer.text.contains(language == "es" ? "Iniciar sesión" : "Sign in"))
  }
}
