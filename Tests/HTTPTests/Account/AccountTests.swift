import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct AccountTests {
  // MARK: Enrolment

  @Test func firstUseMakesKeyAccountAndSession() async throws {
    let world = AccountWorld()
    let home = try temporaryHome()
    let device = try world.device(home: home)
    #expect(try device.knownAccount() == nil)
    let session = try await device.session()
    #expect(try device.knownAccount()?.account == session.account)
    #expect(try home.deviceKey().publicKey.digest.hasPrefix(session.device.rawValue))
    let principal = try await world.principal(session: session.token)
    #expect(principal.account == session.account)
    #expect(principal.device == session.device)
    #expect(principal.user == world.secrets.userName(of: session.account, in: "iCloud.test"))
  }

  @Test func laterUsesKeepTheAccount() async throws {
    let world = AccountWorld()
    let home = try temporaryHome()
    let first = try await world.device(home: home).session()
    let second = try await world.device(home: home).session()
    #expect(first.account == second.account)
    #expect(first.device == second.device)
  }

  @Test func concurrentFirstUsesOfOneHomeMakeOneAccount() async throws {
    let world = AccountWorld()
    let home = try temporaryHome()
    let accounts = try await withThrowingTaskGroup(of: AccountID.self) { group in
      for _ in 0..<16 {
        let device = try world.device(home: home)
        group.addTask { try await device.session().account }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(accounts.count == 1)
    #expect(try await world.accountCount() == 1)
  }

  @Test func concurrentCallersShareOneSession() async throws {
    let device = try AccountWorld().device()
    let tokens = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<16 { group.addTask { try await device.session().token } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(tokens.count == 1)
  }

  @Test func enrollingAKeyAgainGivesItsAccount() async throws {
    let world = AccountWorld()
    let key = try SigningKey.generate()
    let first = try await world.enrol(key)
    let second = try await world.enrol(key)
    #expect(first.status == 200)
    #expect(first.body == second.body)
  }

  @Test func closedServerTakesNobodyNew() async throws {
    let device = try AccountWorld(policy: .closed).device()
    await #expect(throws: AccountError.enrolmentRefused(AccountReason.enrolmentClosed)) { try await device.session() }
  }

  @Test func invitingServerWantsACodeThatWorksOnce() async throws {
    let world = AccountWorld(policy: .invite)
    let printed = try #require(try await world.routes.codeForFirstAccount())
    let first = try world.device("first")
    await #expect(throws: AccountError.enrolmentRefused(AccountReason.enrolmentNeedsCode)) {
      try await first.session()
    }
    _ = try await first.join(code: printed.lowercased(), replacing: false, announce: { _ in })
    #expect(try await world.routes.codeForFirstAccount() == nil)

    let second = try world.device("second")
    await #expect(throws: AccountError.wrongCode) {
      try await second.join(code: printed, replacing: false, announce: { _ in })
    }
    let made = try await first.enrolmentCode()
    _ = try await second.join(code: made.code, replacing: false, announce: { _ in })
    #expect(try await first.session().account != second.session().account)

    let third = try world.device("third")
    await #expect(throws: AccountError.wrongCode) {
      try await third.join(code: made.code, replacing: false, announce: { _ in })
    }
    #expect(try await world.accountCount() == 2)
  }

  @Test func enrolmentCodeEnds() async throws {
    let world = AccountWorld(policy: .invite)
    let first = try world.device()
    let printed = try #require(try await world.routes.codeForFirstAccount())
    _ = try await first.join(code: printed, replacing: false, announce: { _ in })
    let made = try await first.enrolmentCode()
    world.clock.advance(by: Limits.enrolmentCodeAge + .milliseconds(1))
    let second = try world.device()
    await #expect(throws: AccountError.wrongCode) {
      try await second.join(code: made.code, replacing: false, announce: { _ in })
    }
  }

  @Test(arguments: ["", String(repeating: "n", count: 65), "a\nb", "a\u{1b}[2J", "a\u{202e}b"])
  func deviceNamesThatCouldSteerATerminalAreRefused(name: String) async throws {
    let answer = try await AccountWorld().enrol(try SigningKey.generate(), name: name)
    #expect(answer.status == 400)
    #expect(answer.body.contains("name "))
  }

  // MARK: Proofs

  @Test func enrolmentNeedsTheSignatureOfTheKeyItself() async throws {
    let world = AccountWorld()
    let (mine, other) = (try SigningKey.generate(), try SigningKey.generate())
    let answer = try await world.enrol(mine, signer: other)
    #expect(answer.status == 401)
    #expect(answer.body.contains(AccountReason.wrongSignature))
    #expect(try await world.accountCount() == 0)
  }

  @Test func challengeIsAnsweredOnce() async throws {
    let world = AccountWorld()
    let key = try SigningKey.generate()
    let challenge = try await world.challenge()
    #expect(try await world.enrol(key, challenge: challenge).status == 200)
    let replay = try await world.openSession(key, challenge: challenge)
    #expect(replay.status == 401)
    #expect(replay.body.contains(AccountReason.wrongChallenge))
  }

  @Test func challengeEnds() async throws {
    let world = AccountWorld()
    let key = try SigningKey.generate()
    let atTheEnd = try await world.challenge()
    world.clock.advance(by: Limits.challengeAge - .milliseconds(1))
    #expect(try await world.enrol(key, challenge: atTheEnd).status == 200)
    let tooLate = try await world.challenge()
    world.clock.advance(by: Limits.challengeAge)
    let answer = try await world.openSession(key, challenge: tooLate)
    #expect(answer.status == 401)
    #expect(answer.body.contains(AccountReason.wrongChallenge))
  }

  @Test(arguments: ["", "x", "a.b.c", "a.9999999999999.c"])
  func foreignChallengesAreRefused(text: String) async throws {
    let world = AccountWorld()
    var challenge = try await world.challenge()
    challenge.challenge = text
    let answer = try await world.enrol(try SigningKey.generate(), challenge: challenge)
    #expect(answer.status == 401)
    #expect(answer.body.contains(AccountReason.wrongChallenge))
  }

  @Test func signatureForEnrolmentOpensNoSession() async throws {
    let world = AccountWorld()
    let key = try SigningKey.generate()
    #expect(try await world.enrol(key).status == 200)
    let challenge = try await world.challenge()
    let text = SignedText.enrolment(server: challenge.server, challenge: challenge.challenge, name: "phone")
    let signature = CanonicalBase64.encode(try key.signature(of: text))
    let device = DeviceID(of: key.publicKey)
    let answer = await world.post(
      "session",
      #"{"device":"\#(device)","challenge":"\#(challenge.challenge)","signature":"\#(signature)"}"#)
    #expect(answer.status == 401)
    #expect(answer.body.contains(AccountReason.wrongSignature))
  }

  @Test func unknownDeviceGetsNoSession() async throws {
    let world = AccountWorld()
    let answer = try await world.openSession(try SigningKey.generate(), challenge: try await world.challenge())
    #expect(answer.status == 401)
    #expect(answer.body.contains(AccountReason.deviceUnknown))
  }

  @Test func wrongSignaturesAreCountedByAddress() async throws {
    let world = AccountWorld()
    let (mine, other) = (try SigningKey.generate(), try SigningKey.generate())
    for _ in 0..<Limits.wrongGuessesPerAddressMax {
      #expect(try await world.enrol(mine, signer: other).status == 401)
    }
    let answer = try await world.enrol(mine)
    #expect(answer.status == 429)
    #expect(answer.body.contains("\"retryAfter\":600"))
    #expect(try await world.enrol(mine, address: "192.0.2.10").status == 200)
    world.clock.advance(by: Limits.guessWindow)
    #expect(try await world.enrol(mine).status == 200)
  }

  @Test func proxyOnThisMachineSaysForWhomItAsks() async throws {
    let world = AccountWorld()
    let (mine, other) = (try SigningKey.generate(), try SigningKey.generate())
    func forwarded(_ address: String) -> [(String, String)] { [("X-Forwarded-For", "203.0.113.7, \(address)")] }
    for _ in 0..<Limits.wrongGuessesPerAddressMax {
      _ = try await world.enrol(mine, signer: other, address: "127.0.0.1", headers: forwarded("192.0.2.77"))
    }
    let blocked = try await world.enrol(mine, address: "127.0.0.1", headers: forwarded("192.0.2.77"))
    #expect(blocked.status == 429)
    #expect(try await world.enrol(mine, address: "127.0.0.1", headers: forwarded("192.0.2.78")).status == 200)
  }

  /// A proxy may add a field of its own behind the one that the client sent.
  @Test func clientCannotSayForWhomAProxyAsks() async throws {
    let world = AccountWorld()
    let (mine, other) = (try SigningKey.generate(), try SigningKey.generate())
    func forwarded(_ claimed: Int) -> [(String, String)] {
      [("X-Forwarded-For", "203.0.113.\(claimed)"), ("x-forwarded-for", "192.0.2.77")]
    }
    for number in 0..<Limits.wrongGuessesPerAddressMax {
      _ = try await world.enrol(mine, signer: other, address: "127.0.0.1", headers: forwarded(number))
    }
    #expect(try await world.enrol(mine, address: "127.0.0.1", headers: forwarded(99)).status == 429)
  }

  // MARK: Sessions and removal

  @Test func sessionEndsWithItsTimeAndIsRenewedBefore() async throws {
    let world = AccountWorld()
    let device = try world.device()
    let first = try await device.session()
    world.clock.advance(by: Limits.sessionAge - .seconds(61))
    #expect(try await device.session().token == first.token)
    world.clock.advance(by: .seconds(2))
    let second = try await device.session()
    #expect(second.token != first.token)
    world.clock.advance(by: .seconds(59))
    await #expect(throws: ServiceError(.authenticationFailed, AccountReason.sessionEnded)) {
      try await world.principal(session: first.token)
    }
    #expect(try await world.principal(session: second.token).account == first.account)
  }

  @Test func droppedSessionIsReplaced() async throws {
    let world = AccountWorld()
    let device = try world.device()
    let first = try await device.session()
    await device.drop(first)
    world.clock.advance(by: .milliseconds(1))
    #expect(try await device.session().token != first.token)
  }

  @Test(arguments: ["", "x", "a.b.1.c", "....", "a.b.99999999999999999999.c"])
  func foreignSessionTokensAreRefused(token: String) async throws {
    await #expect(throws: ServiceError(.authenticationFailed, AccountReason.sessionEnded)) {
      try await AccountWorld().principal(session: token)
    }
  }

  @Test func changedSessionTokenIsRefused() async throws {
    let world = AccountWorld()
    let token = try await world.device().session().token
    let other = try await world.device().session()
    var parts = token.split(separator: ".").map(String.init)
    parts[1] = other.account.rawValue
    await #expect(throws: ServiceError(.authenticationFailed, AccountReason.sessionEnded)) {
      try await world.principal(session: parts.joined(separator: "."))
    }
  }

  @Test func removedDeviceIsRefusedFromItsNextRequestOn() async throws {
    let world = AccountWorld()
    let (phone, laptop) = (try world.device("phone"), try world.device("laptop"))
    try await world.pair(phone, laptop)
    let session = try await laptop.session()
    let tokens = try await laptop.tokens(for: "iCloud.test", in: .development)
    let query = "?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(tokens.webAuthToken.percentEncodedPathSegment)"
    // Both are remembered by now, and must be forgotten.
    #expect(try await world.principal(session: session.token).account == session.account)
    #expect(try await world.principal(query: query).account == session.account)

    let left = try await phone.remove(session.device)
    #expect(left.account.devices.map(\.name) == ["phone"])
    await #expect(throws: ServiceError.deviceRemoved) { try await world.principal(session: session.token) }
    let error = await #expect(throws: ServiceError.self) { try await world.principal(query: query) }
    #expect(error?.code == .authenticationRequired)

    await laptop.drop(session)
    await #expect(throws: AccountError.deviceRemoved) { try await laptop.session() }
    await #expect(throws: AccountError.deviceRemoved) { try await laptop.describe() }
    #expect(try await phone.describe().devices.count == 1)
  }

  /// What began before the removal and is written after it gives the device nothing that lasts.
  @Test(arguments: ["account/token", "account/invite", "account/remove", "account/rename", "keys", "pairing/confirm"])
  func requestUnderWayGivesNothingToADeviceThatIsRemoved(call: String) async throws {
    let box = Box<InterruptedStore?>(nil)
    let world = AccountWorld(
      over: { store in
        let interrupted = InterruptedStore(store)
        box.value.withLock { $0 = interrupted }
        return interrupted
      })
    let (phone, laptop, third) = (try world.device("phone"), try world.device("laptop"), try world.device("third"))
    try await world.pair(phone, laptop)
    let (own, session) = (try await phone.session(), try await laptop.session())
    let code = try await laptop.invite().code
    let joining = Task { try await third.join(code: code, replacing: false, announce: { _ in }) }
    let candidate = try await laptop.candidate(for: code)
    let now = world.clock.now
    let store = try #require(box.value.withLock { $0 })
    store.interrupt { try Accounts().remove(session.device, from: session.account, in: $0, now: now) }
    let body =
      switch call {
      case "account/token": #"{"container":"iCloud.test"}"#
      case "account/remove": #"{"device":"\#(own.device)"}"#
      case "account/rename": #"{"device":"\#(own.device)","name":"theirs"}"#
      case "keys": #"{"add":[{"name":"n","value":"v"}]}"#
      case "pairing/confirm":
        #"{"code":"\#(code)","device":"\#(candidate.device)","accepts":true}"#
      default: "{}"
      }
    let answer = await world.post(call, body, session: session.token)
    #expect(answer.status == 401, "\(answer.body)")
    #expect(answer.body.contains(AccountReason.deviceRemoved))
    #expect(try await phone.describe().devices.map(\.name) == ["phone"])
    #expect(try await store.read { try $0.entities(.webToken, owner: session.account.rawValue) }.isEmpty)
    let keys = try await store.read { try KeyRegistry().items(in: .account(session.account), $0) }
    #expect(!keys.contains { $0.name == "n" })
    joining.cancel()
    _ = await joining.result
  }

  @Test func removedKeyNeverComesBack() async throws {
    let world = AccountWorld()
    let home = try temporaryHome()
    let (phone, laptop) = (try world.device("phone"), try world.device("laptop", home: home))
    try await world.pair(phone, laptop)
    _ = try await phone.remove(try await laptop.session().device)
    let key = try home.deviceKey()
    let answer = try await world.enrol(key)
    #expect(answer.status == 401)
    #expect(answer.body.contains(AccountReason.deviceRemoved))
  }

  @Test func removedDeviceJoinsAgainWithAnotherKey() async throws {
    let world = AccountWorld()
    let (phone, laptop) = (try world.device("phone"), try world.device("laptop"))
    try await world.pair(phone, laptop)
    let removed = try await laptop.session().device
    _ = try await phone.remove(removed)
    let code = try await phone.invite()
    async let joined = laptop.join(code: code.code, replacing: true, announce: { _ in })
    let candidate = try await phone.candidate(for: code.code)
    _ = try await phone.confirm(candidate, code: code.code, accepts: true)
    #expect(try await joined.device != removed)
    #expect(try await laptop.session().account == phone.session().account)
  }

  @Test func lastDeviceStays() async throws {
    let phone = try AccountWorld().device()
    let device = try await phone.session().device
    let error = await #expect(throws: AccountError.self) { try await phone.remove(device) }
    #expect(error?.isRefusal(403, "ACCESS_DENIED", AccountReason.lastDevice) == true)
  }

  @Test func devicesOfOthersCannotBeRemoved() async throws {
    let world = AccountWorld()
    let (mine, other) = (try world.device(), try world.device())
    let device = try await other.session().device
    let error = await #expect(throws: AccountError.self) { try await mine.remove(device) }
    #expect(error?.isRefusal(404, "NOT_FOUND", AccountReason.deviceNotFound) == true)
    #expect(try await other.describe().devices.count == 1)
  }

  // MARK: Where the server is

  /// Whoever wrote an address could hand the challenge of the device's server on, and have it sign in for them.
  @Test func nothingIsSignedForAKnownServerAtAnAddressThatSomebodySent() async throws {
    let world = AccountWorld()
    let home = try temporaryHome()
    let account = try await world.device(home: home).session().account
    let clock = world.clock
    func device(_ source: AccountClient.EndpointSource) -> AccountClient {
      AccountClient(
        home: home, endpoint: "http://relay.example", from: source,
        transport: RouteTransport(routes: world.routes, address: "192.0.2.6"), deviceName: "phone", now: { clock.now })
    }
    let refusal = AccountError.serverElsewhere(known: "http://server.example", asked: "http://relay.example")
    await #expect(throws: refusal) { try await device(.address).session() }
    await #expect(throws: refusal) { try await device(.address).invite() }
    #expect(try home.endpoints() == ["http://server.example"])
    #expect(try device(.address).knownAccount() == nil)
    // The device's user may say that it has moved, and then it has.
    #expect(try await device(.settings).session().account == account)
    #expect(try home.endpoints() == ["http://relay.example"])
    #expect(try await device(.address).session().account == account)
  }

  /// A server that the device does not know is one like any other.
  @Test func anAddressMayLeadToANewServer() async throws {
    let world = AccountWorld()
    let home = try temporaryHome()
    let clock = world.clock
    let device = AccountClient(
      home: home, endpoint: "http://other.example", from: .address,
      transport: RouteTransport(routes: world.routes, address: "192.0.2.6"), deviceName: "phone", now: { clock.now })
    #expect(try await device.session().account == (try device.knownAccount()?.account))
  }

  @Test func sessionRenewsWhenTheServerEndedIt() async throws {
    // The server's clock goes on, the client's does not know.
    let world = AccountWorld()
    let clock = ManualClock()
    let device = AccountClient(
      home: try temporaryHome(), endpoint: "http://server.example",
      transport: RouteTransport(routes: world.routes, address: "192.0.2.1"), deviceName: "phone", now: { clock.now })
    _ = try await device.session()
    world.clock.advance(by: Limits.sessionAge)
    #expect(try await device.describe().devices.count == 1)
  }

  // MARK: Requests

  @Test(arguments: [
    ("POST", "enrol", "", 400), ("POST", "enrol", "[]", 400), ("POST", "enrol", "{}", 400),
    ("POST", "session", #"{"device":1}"#, 400), ("GET", "account", "", 401), ("POST", "account/remove", "{}", 401),
    ("POST", "account/token", "{}", 401), ("POST", "account/invite", "{}", 401), ("POST", "pairing/invite", "{}", 401),
    ("POST", "pairing/await", "{}", 401), ("POST", "pairing/confirm", "{}", 401), ("POST", "pairing/join", "{", 400),
    ("POST", "pairing/result", #"{"ticket":""}"#, 404), ("POST", "pairing/result", #"{"ticket":"x"}"#, 404),
    ("GET", "enrol", "", 404), ("POST", "nothing", "{}", 404), ("POST", "", "{}", 404),
  ])
  func malformedRequestsGetTheProtocolsError(method: String, path: String, body: String, status: Int) async throws {
    let world = AccountWorld()
    let answer = await world.post(path, body, method: method)
    #expect(answer.status == status)
    let failure = try JSONDecoder().decode(AccountMessages.Failure.self, from: Data(answer.body.utf8))
    #expect(ServerErrorCode(rawValue: failure.serverErrorCode)?.httpStatus == status)
    #expect(!failure.reason.isEmpty)
    #expect(try await world.accountCount() == 0)
  }

  @Test(arguments: [#""publicKey":"!""#, #""publicKey":"AAAA""#])
  func keysThatAreNoneAreRefused(key: String) async throws {
    let answer = await AccountWorld().post("enrol", #"{\#(key),"name":"n","challenge":"c","signature":"s"}"#)
    #expect(answer.status == 400)
    #expect(answer.body.contains("publicKey is not"))
  }

}

extension AccountWorld {
  func accountCount() async throws -> Int {
    try await store.read { try $0.entities(.account, owner: "accounts").count }
  }

  func enrol(
    _ key: SigningKey, name: String = "phone", signer: SigningKey? = nil,
    challenge given: AccountMessages.Challenge? = nil, address: String = "192.0.2.9",
    headers: [(String, String)] = []
  ) async throws -> (status: Int, body: String) {
    let challenge: AccountMessages.Challenge
    if let given { challenge = given } else { challenge = try await self.challenge() }
    let text = SignedText.enrolment(server: challenge.server, challenge: challenge.challenge, name: name)
    let request = AccountMessages.EnrolRequest(
      publicKey: CanonicalBase64.encode(key.publicKey.der), name: name, challenge: challenge.challenge,
      signature: CanonicalBase64.encode(try (signer ?? key).signature(of: text)), code: nil)
    let body = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
    return await post("enrol", body, address: address, headers: headers)
  }

  func openSession(
    _ key: SigningKey, challenge: AccountMessages.Challenge
  ) async throws -> (status: Int, body: String) {
    let device = DeviceID(of: key.publicKey)
    let text = SignedText.session(server: challenge.server, challenge: challenge.challenge, device: device)
    let request = AccountMessages.SessionRequest(
      device: device, challenge: challenge.challenge, signature: CanonicalBase64.encode(try key.signature(of: text)))
    return await post("session", String(decoding: try JSONEncoder().encode(request), as: UTF8.self))
  }
}

extension AccountError {
  /// Whether the server refused so, whatever request it was.
  fileprivate func isRefusal(_ status: Int, _ code: String, _ reason: String) -> Bool {
    if case .refused(status, code, reason, _) = self { true } else { false }
  }
}
