import Foundation
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

@Suite struct OperatorTests {
  @Test(arguments: ["GET tokens", "POST tokens/create", "GET keys", "POST keys/add", "GET users", "GET nothing"])
  func nobodyElseIsTheOperator(call: String) async throws {
    let world = try await GatewayWorld()
    let parts = call.split(separator: " ").map(String.init)
    let target = "/virga/1/operator/\(parts[1])"
    let host = ("Host", "localhost")
    for headers in [
      [host], [host, ("X-Virga-Session", "x")], [host, ("X-Virga-Operator", "guess")],
      [("Host", "server.example"), ("X-Virga-Session", world.session)], [host, ("X-Virga-Session", world.session)],
      [host, ("X-Virga-Session", world.session), ("Origin", "https://evil.example")],
    ] {
      let answer = try await world.send(parts[0], target, Array("{}".utf8), headers: headers)
      #expect([401, 403].contains(answer.status))
      #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
    }
  }

  /// Which methods a call takes is told to the operator alone.
  @Test(arguments: [("faults", "GET, PUT, DELETE"), ("operate", "POST"), ("roles", "GET, PUT")])
  func aWrongMethodIsToldToTheOperator(name: String, allowed: String) async throws {
    let world = try await GatewayWorld()
    let token = ("X-Virga-Operator", world.front.secrets.operatorToken)
    let answer = try await world.send("PATCH", "/virga/1/\(name)", headers: [token])
    #expect(answer.status == 405 && answer.headers["Allow"] == "\(allowed), OPTIONS")
    let other = try await world.send("PATCH", "/virga/1/\(name)", headers: [("Host", "localhost")])
    #expect([401, 403].contains(other.status) && other.headers["Allow"] == nil)
    #expect(other.error.reason.contains("X-Virga-Operator"), "\(other.text)")
    #expect(try await world.send("GET", "/virga/1/\(name)/more", headers: [token]).status == 404)
  }

  // MARK: API tokens

  @Test func tokenWorksUntilItIsRevoked() async throws {
    let world = try await GatewayWorld()
    let (id, text) = try await world.makeToken()
    #expect(text.wholeMatch(of: /[0-9a-f]{64}/) != nil)
    #expect(try await world.withToken(text, .recordsLookup, body: #"{"records":[]}"#).status == 200)
    #expect(try await world.withToken(text, .zonesList, scope: .private).status == 421)
    let listed: [OperatorMessages.Token] = try await world.managed("GET", "tokens")
    #expect(listed.map(\.id) == [id])
    #expect(listed.first?.name == "site" && listed.first?.environment == .development)
    #expect(listed.first?.token == nil)
    let others: [OperatorMessages.Token] = try await world.managed("GET", "tokens?container=iCloud.other")
    #expect(others.isEmpty)
    let _: OperatorMessages.Done = try await world.managed(
      "POST", "tokens/revoke", OperatorMessages.Identified(id: id))
    #expect(try await world.withToken(text, .recordsLookup, body: #"{"records":[]}"#).status == 401)
    for wrong in [id, "", "x"] {
      #expect(try await world.manage("POST", "tokens/revoke", OperatorMessages.Identified(id: wrong)).status == 404)
    }
  }

  @Test func revokedTokenOfTheContainersDevicesIsReplaced() async throws {
    let world = try await GatewayWorld()
    func token() async throws -> AccountMessages.Tokens {
      let answer = try await world.send(
        "POST", "/virga/1/account/token", Array(#"{"container":"\#(world.container)"}"#.utf8), session: world.session)
      return try JSONDecoder().decode(AccountMessages.Tokens.self, from: Data(answer.body))
    }
    let first = try await token().apiToken
    #expect(try await token().apiToken == first)
    for _ in 0..<2 {
      let before = try await token().apiToken
      let listed: [OperatorMessages.Token] = try await world.managed("GET", "tokens")
      #expect(listed.count == 1)
      _ = try await world.manage("POST", "tokens/revoke", OperatorMessages.Identified(id: listed[0].id))
      #expect(try await world.withToken(before, .recordsLookup, body: #"{"records":[]}"#).status == 401)
      let after = try await token().apiToken
      #expect(after != before)
      #expect(after.wholeMatch(of: /[0-9a-f]{64}/) != nil)
      #expect(try await world.withToken(after, .recordsLookup, body: #"{"records":[]}"#).status == 200)
    }
  }

  @Test func tokensKeptBeforeTheyWereListedGoOnWorking() async throws {
    let world = try await GatewayWorld()
    let text = world.front.secrets.apiToken(for: world.container, in: .development)
    let value = Array(#"{"container":"\#(world.container)"}"#.utf8)
    try await world.store.write { try $0.put(Entity(.apiToken, key: SHA256.hexDigest(of: text), value: value)) }
    #expect(try await world.withToken(text, .recordsLookup, body: #"{"records":[]}"#).status == 200)
    let body = Array(#"{"container":"\#(world.container)"}"#.utf8)
    _ = try await world.send("POST", "/virga/1/account/token", body, session: world.session)
    let listed: [OperatorMessages.Token] = try await world.managed("GET", "tokens")
    #expect(listed.count == 1)
  }

  @Test func pagesOfOtherOriginsAreRefused() async throws {
    let world = try await GatewayWorld()
    let (_, text) = try await world.makeToken(origins: ["https://app.example", "HTTP://localhost:3000"])
    let body = #"{"records":[]}"#
    for origin in ["https://app.example", "http://localhost:3000"] {
      let answer = try await world.withToken(text, .recordsLookup, body: body, headers: [("Origin", origin)])
      #expect(answer.status == 200)
      #expect(answer.headers["Access-Control-Allow-Origin"] == origin)
    }
    #expect(try await world.withToken(text, .recordsLookup, body: body).status == 200, "programs send no origin")
    for origin in ["https://evil.example", "http://app.example", "https://app.example:444", "null"] {
      let answer = try await world.withToken(text, .recordsLookup, body: body, headers: [("Origin", origin)])
      #expect(answer.status == 403)
      #expect(answer.error.code == .accessDenied)
    }
  }

  @Test(
    arguments: [
      ("https://app.example", "https://app.example", nil), ("https://app.example/", nil, "an origin must be"),
      ("app.example", nil, "an origin must be"), ("https://", nil, "an origin must be"),
      ("https://a b", nil, "an origin must be"),
    ] as [(String, String?, String?)])
  func originsAreChecked(text: String, kept: String?, reason: String?) async throws {
    let world = try await GatewayWorld()
    let answer = try await world.manage(
      "POST", "tokens/create", OperatorMessages.TokenRequest(container: world.container, origins: [text]))
    if let reason {
      #expect(answer.status == 400 && answer.error.reason.hasPrefix(reason), "\(answer.text)")
    } else {
      let token = try JSONDecoder().decode(OperatorMessages.Token.self, from: Data(answer.body))
      #expect(token.origins == kept.map { [$0] })
    }
  }

  @Test(arguments: [
    ("https://app.example/done?x=1", true), ("http://localhost:3000/done", true), ("http://127.0.0.1/", true),
    ("cloudkit-icloud.com.example.diary://auth", true), ("http://app.example/done", false),
    ("javascript:alert(1)", false), ("javascript://x/%0aalert(1)", false), ("data:text/html,x", false),
    ("https://", false), ("https:///x", false), ("cloudkit-icloud.other://auth", false), ("https://a/#x", false),
    ("https://a/ b", false), ("", false),
  ])
  func callbacksAreChecked(callback: String, isGood: Bool) async throws {
    let world = try await GatewayWorld()
    let answer = try await world.manage(
      "POST", "tokens/create", OperatorMessages.TokenRequest(container: world.container, callback: callback))
    #expect(answer.status == (isGood ? 200 : 400), "\(answer.text)")
  }

  @Test func tokensAreKeptAsDigestsOnly() async throws {
    let world = try await GatewayWorld()
    let (_, text) = try await world.makeToken()
    let kept = try await world.store.read { transaction in
      try Credentials().tokens(of: nil, in: transaction).map { try transaction.entity(.apiToken, key: $0.digest) }
    }
    #expect(kept.count == 1)
    #expect(kept.allSatisfy { !String(decoding: $0?.value ?? [], as: UTF8.self).contains(text) && $0?.key != text })
  }

  // MARK: Keys and users

  @Test func keyIsListedAndTheSameWhenAddedAgain() async throws {
    let world = try await GatewayWorld()
    let key = try SigningKey.generate()
    let first = try await world.register(key)
    let second = try await world.register(key)
    #expect(first == second)
    #expect(first.id.wholeMatch(of: /[0-9a-f]{64}/) != nil)
    let elsewhere = try await world.register(key, container: "iCloud.other")
    #expect(elsewhere.id != first.id && elsewhere.user != first.user)
    let listed: [OperatorMessages.Key] = try await world.managed("GET", "keys?container=\(world.container)")
    #expect(listed == [first])
  }

  @Test func onlyP256KeysAreTaken() async throws {
    let world = try await GatewayWorld()
    // The point of another curve, secp256k1.
    let other = """
      -----BEGIN PUBLIC KEY-----
      MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEeb5mfvncu6xVoGKVzocLBwKb/NstzijZ
      WfKBWxb4F5hIOtp3JqPEZV2k+/wOEQio/Re0SKaFVBmcR9CP+xDUuA==
      -----END PUBLIC KEY-----

      """
    for text in ["", "key", other, try SigningKey.generate().pem()] {
      let request = OperatorMessages.KeyRequest(container: world.container, name: "script", publicKey: text)
      let answer = try await world.manage("POST", "keys/add", request)
      #expect(answer.status == 400, "\(answer.text)")
      #expect(!answer.text.contains("PRIVATE"))
    }
  }

  @Test func accountsAreListedWithWhoTheyAreInEachContainer() async throws {
    let world = try await GatewayWorld()
    let challenge = try await world.send("POST", "/virga/1/challenge")
    let fresh = try JSONDecoder().decode(AccountMessages.Challenge.self, from: Data(challenge.body))
    let key = try SigningKey.generate()
    let text = SignedText.enrolment(server: fresh.server, challenge: fresh.challenge, name: "laptop")
    let request = AccountMessages.EnrolRequest(
      publicKey: CanonicalBase64.encode(key.publicKey.der), name: "laptop", challenge: fresh.challenge,
      signature: CanonicalBase64.encode(try key.signature(of: text)), code: nil)
    _ = try await world.send("POST", "/virga/1/enrol", Array(try JSONEncoder().encode(request)))
    let accounts: [OperatorMessages.Account] = try await world.managed("GET", "users")
    #expect(accounts.flatMap { $0.devices.map(\.name) } == ["laptop"])
    #expect(accounts.allSatisfy { $0.users.isEmpty }, "it has no data yet")
    let named: [OperatorMessages.Account] = try await world.managed("GET", "users?container=\(world.container)")
    let account = try #require(named.first)
    let id = try #require(account.account)
    #expect(account.users.map(\.user) == [world.front.authenticator.user(of: id, in: world.container)])
    // A device was put into the store that has no account; its user has a database all the same.
    try await world.makeZone()
    let all: [OperatorMessages.Account] = try await world.managed("GET", "users")
    #expect(all.last?.account == nil && all.last?.users.map(\.user) == [world.user])
    let elsewhere: [OperatorMessages.Account] = try await world.managed("GET", "users?container=iCloud.else")
    #expect(elsewhere.map(\.account) == [id])
  }
}
