import Testing
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct AuthenticatorTests {
  let world = AccountWorld()

  private func encoded(_ text: String) -> String { text.percentEncodedPathSegment }

  @Test func requestWithoutCredentialsIsRefused() async {
    for query in ["", "?", "?clientId=1", "?ckAPIToken=", "?ckWebAuthToken=158__54__x"] {
      await #expect(throws: ServiceError(.authenticationFailed, "no auth method found"), "\(query)") {
        try await world.principal(query: query, scope: .public)
      }
    }
  }

  @Test func tokensHaveTheFormsThatClientsCheck() async throws {
    let tokens = try await world.device().tokens(for: "iCloud.test", in: .development)
    #expect(tokens.apiToken.wholeMatch(of: /[0-9a-f]{64}/) != nil)
    #expect(tokens.webAuthToken.wholeMatch(of: /158__54__[A-Za-z0-9+\/=_]{91,}/) != nil)
    #expect(tokens.expires == world.clock.now + .seconds(14 * 86_400))
  }

  @Test func tokensAreKeptAsDigestsOnly() async throws {
    let tokens = try await world.device().tokens(for: "iCloud.test", in: .development)
    let (api, web) = (SHA256.hexDigest(of: tokens.apiToken), SHA256.hexDigest(of: tokens.webAuthToken))
    let kept = try await world.store.read { transaction in
      [
        try transaction.entity(.apiToken, key: api), try transaction.entity(.webToken, key: web),
        try transaction.entity(.apiToken, key: tokens.apiToken),
        try transaction.entity(.webToken, key: tokens.webAuthToken),
      ].map { $0.map { String(decoding: $0.value, as: UTF8.self) } }
    }
    #expect(kept[0]?.contains(tokens.apiToken) == false)
    #expect(kept[1]?.contains(tokens.webAuthToken) == false)
    #expect(kept[2] == nil && kept[3] == nil)
  }

  @Test func apiTokenAloneIsTheWorldInThePublicDatabaseOnly() async throws {
    let token = try await world.device().tokens(for: "iCloud.test", in: .development).apiToken
    let query = "?ckAPIToken=\(token)"
    #expect(try await world.principal(query: query, scope: .public) == .world)
    for (scope, operation) in [
      (DatabaseScope.private, Operation.zonesList), (.shared, .zonesList), (.public, .usersCaller),
      (.public, .usersCurrent), (.private, .tokensCreate),
    ] {
      let error = await #expect(throws: ServiceError.self) {
        try await world.principal(query: query, scope: scope, operation: operation)
      }
      #expect(error?.code == .authenticationRequired)
      let digest = SHA256.hexDigest(of: token)
      #expect(
        error?.redirectURL == "http://server.example/virga/1/sign-in?container=iCloud.test&token=\(digest)")
    }
  }

  @Test func apiTokenOfAnotherContainerIsRefused() async throws {
    let tokens = try await world.device().tokens(for: "iCloud.other", in: .development)
    let query = "?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(encoded(tokens.webAuthToken))"
    for scope in [DatabaseScope.public, .private] {
      let error = await #expect(throws: ServiceError.self) { try await world.principal(query: query, scope: scope) }
      #expect(error?.code == .authenticationFailed)
    }
  }

  @Test func webTokenOfAnotherContainerAsksToSignIn() async throws {
    let device = try world.device()
    let here = try await device.tokens(for: "iCloud.test", in: .development)
    let there = try await device.tokens(for: "iCloud.other", in: .development)
    let query = "?ckAPIToken=\(here.apiToken)&ckWebAuthToken=\(encoded(there.webAuthToken))"
    let error = await #expect(throws: ServiceError.self) { try await world.principal(query: query) }
    #expect(error?.code == .authenticationRequired)
  }

  /// Else a token for the pages of one origin would do for those of all, and outlive what ends it.
  @Test func webTokenWorksWithNoOtherAPIToken() async throws {
    let device = try world.device()
    let own = try await device.tokens(for: "iCloud.test", in: .development)
    let page = "0123"
    try await world.store.write {
      var token = APIToken(container: "iCloud.test", environment: .development)
      token.origins = ["https://app.example"]
      try Credentials().add(token, digest: SHA256.hexDigest(of: page), in: $0)
    }
    let paged = try await device.tokens(for: "iCloud.test", in: .development, page: page)
    #expect(paged.apiToken == page)
    func code(_ api: String, _ web: String) async -> ServerErrorCode? {
      do {
        _ = try await world.principal(query: "?ckAPIToken=\(api)&ckWebAuthToken=\(encoded(web))")
        return nil
      } catch { return error.code }
    }
    #expect(await code(own.apiToken, own.webAuthToken) == nil)
    #expect(await code(page, paged.webAuthToken) == nil)
    #expect(await code(own.apiToken, paged.webAuthToken) == .authenticationRequired)
    #expect(await code(page, own.webAuthToken) == .authenticationRequired)
    // Those made before tokens said so came with the token that the container's devices share.
    let old = WebToken(account: "a", device: "d", container: "iCloud.test", expires: world.clock.now + .seconds(60))
    try await world.store.write { [now = world.clock.now] in
      try Accounts().putWebToken(digest: SHA256.hexDigest(of: "old"), old, in: $0, now: now)
    }
    #expect(await code(own.apiToken, "old") == nil)
    #expect(await code(page, "old") == .authenticationRequired)
  }

  @Test func tokensBelongToOneEnvironment() async throws {
    let device = try world.device()
    for (own, other) in [
      (VirgaModel.Environment.development, VirgaModel.Environment.production), (.production, .development),
    ] {
      let tokens = try await device.tokens(for: "iCloud.test", in: own)
      #expect(try await device.tokens(for: "iCloud.test", in: own).apiToken == tokens.apiToken)
      #expect(try await device.tokens(for: "iCloud.test", in: other).apiToken != tokens.apiToken)
      let query = "?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(encoded(tokens.webAuthToken))"
      #expect(try await world.principal(query: query, environment: own).user != nil)
      let error = await #expect(throws: ServiceError.self) {
        try await world.principal(query: query, environment: other)
      }
      #expect(error?.code == .authenticationFailed && error?.reason.contains("in \(other.rawValue)") == true)
      await #expect(throws: AccountError.self) {
        _ = try await device.tokens(for: "iCloud.test", in: other, page: tokens.apiToken)
      }
    }
    // One that was made before tokens belonged to an environment reaches both.
    try await world.store.write {
      let token = APIToken(container: "iCloud.test", environment: nil)
      try Credentials().add(token, digest: SHA256.hexDigest(of: "old"), in: $0)
    }
    for environment in VirgaModel.Environment.allCases {
      #expect(
        try await world.principal(query: "?ckAPIToken=old", scope: .public, environment: environment) == .world)
    }
  }

  @Test func webTokenIsReadInEverySpellingThatClientsSend() async throws {
    let device = try world.device()
    let session = try await device.session()
    // Among a few tokens there is one with each of the characters that need escapes.
    for _ in 0..<8 {
      let tokens = try await device.tokens(for: "iCloud.test", in: .development)
      let web = tokens.webAuthToken
      let spellings = [
        web, encoded(web), encoded(encoded(web)), web.replacing("+", with: "%20"), web.replacing("/", with: "%2f"),
      ]
      for spelling in spellings {
        for name in ["ckWebAuthToken", "ckSession"] {
          let query = "?a&ckAPIToken=\(tokens.apiToken)&\(name)=\(spelling)&_t=1"
          let principal = try await world.principal(query: query)
          #expect(principal.account == session.account, "\(spelling)")
          #expect(principal.device == nil)
        }
      }
    }
  }

  @Test func webTokenIsHandedBackInBothHeaders() async throws {
    let tokens = try await world.device().tokens(for: "iCloud.test", in: .development)
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: .private, operation: .zonesList)
    let target = "\(endpoint.path)?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(encoded(tokens.webAuthToken))"
    let request = HTTPRequest(head: HTTPRequestHead(method: "GET", target: target))
    let headers = try await world.authenticator.authenticate(request, for: endpoint).responseHeaders
    #expect(headers.map(\.name) == ["X-Apple-CloudKit-Web-Auth-Token", "X-Apple-CloudKit-Session"])
    #expect(headers.allSatisfy { $0.value == tokens.webAuthToken })
  }

  @Test func webTokenEndsWithItsTime() async throws {
    let tokens = try await world.device().tokens(for: "iCloud.test", in: .development)
    let query = "?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(encoded(tokens.webAuthToken))"
    world.clock.advance(by: Limits.webTokenAge - .milliseconds(1))
    #expect(try await world.principal(query: query).user != nil)
    world.clock.advance(by: .milliseconds(1))
    let error = await #expect(throws: ServiceError.self) { try await world.principal(query: query) }
    #expect(error?.code == .authenticationRequired)
  }

  @Test(arguments: ["x", "%", "%ZZ", "158__54__AAAA", "%F0%9F", "%00"])
  func foreignWebTokensAskToSignIn(token: String) async throws {
    let api = try await world.device().tokens(for: "iCloud.test", in: .development).apiToken
    let error = await #expect(throws: ServiceError.self) {
      try await world.principal(query: "?ckAPIToken=\(api)&ckWebAuthToken=\(token)")
    }
    #expect(error?.code == .authenticationRequired)
  }

  @Test func tokensAreOfOneAccountAndContainer() async throws {
    let (one, two) = (try world.device(), try world.device())
    let tokens = try await one.tokens(for: "iCloud.test", in: .development)
    let session = try await two.session()
    let query = "?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(encoded(tokens.webAuthToken))"
    let first = try await world.principal(query: query)
    let second = try await world.principal(session: session.token)
    #expect(first.user != second.user)
    #expect(
      try await one.tokens(for: "iCloud.test", in: .development).apiToken == tokens.apiToken,
      "an API token is a container's")
  }

  @Test(arguments: ["", "a\nb", "_x", String(repeating: "c", count: 256)])
  func tokensForNamesThatAreNoContainersAreRefused(container: String) async throws {
    let device = try world.device()
    let error = await #expect(throws: AccountError.self) {
      try await device.tokens(for: ContainerID(container), in: .development)
    }
    guard case .refused(400, "BAD_REQUEST", _, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func damagedStoreIsAnInternalError() async throws {
    try await world.store.write { transaction in
      try transaction.put(Entity(.apiToken, key: SHA256.hexDigest(of: "t"), value: Array("{".utf8)))
    }
    let error = await #expect(throws: ServiceError.self) { try await world.principal(query: "?ckAPIToken=t") }
    #expect(error?.code == .internalError)
  }
}
