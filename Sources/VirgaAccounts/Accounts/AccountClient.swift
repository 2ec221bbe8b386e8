import FoundationEssentials
package import VirgaAuth
package import VirgaModel
package import VirgaWire

/// A device's side of accounts: enrols at first use, keeps a session, pairs with other devices.
///
/// Errors of the transport come out as they are; all others are `AccountError`.
package actor AccountClient {
  package typealias Session = AccountMessages.Session

  /// Who says where the server is.
  package enum EndpointSource: Sendable {
    /// The device's user, by an option, the environment or a setting. A server that was known elsewhere has moved.
    case settings
    /// An address that anybody may have written. A server that is known elsewhere is not believed to be there: whoever
    /// wrote the address could hand its challenge on, and have the device sign in for them.
    case address
  }

  private let home: VirgaHome
  package nonisolated let endpoint: String
  private let source: EndpointSource
  private let transport: any AccountTransport
  private let deviceName: String
  let now: @Sendable () -> Timestamp

  private var current: Session?
  private var isRenewing = false
  /// While this device removes itself: it has made a key that is not for it, and takes it up only if it has to stay.
  var isLeaving = false
  private let waiting = Waiters()

  /// How long before its end a session is replaced, so that none ends on its way.
  private static let renewalMargin: Duration = .seconds(60)

  /// - Parameter endpoint: The address that `transport` sends to; the account is kept under it for use without network.
  /// - Parameter source: Who says that the server is there.
  /// - Parameter deviceName: What other devices of the account see, such as the host's name.
  package init(
    home: VirgaHome, endpoint: String, from source: EndpointSource = .settings, transport: any AccountTransport,
    deviceName: String, now: @escaping @Sendable () -> Timestamp
  ) {
    self.home = home
    self.endpoint = endpoint
    self.source = source
    self.transport = transport
    self.deviceName = Self.plainName(deviceName)
    self.now = now
  }

  // MARK: Sessions

  /// The account of this device on this server, as far as it is known without asking; `nil` before the first use.
  package nonisolated func knownAccount() throws -> VirgaHome.KnownAccount? {
    try homeFiles { home throws(SecureFileError) in try home.account(atEndpoint: endpoint) }
  }

  /// Whether the home has a key of the account, as far as that is known without asking.
  package nonisolated func holdsKeys() throws -> Bool {
    guard let known = try knownAccount() else { return false }
    return try homeFiles { home throws(SecureFileError) in try !home.accountKeys(of: known.account).keys.isEmpty }
  }

  /// A session that is valid for a while. The first use ever makes the device's key and account.
  ///
  /// Of several callers at once one asks the server and the others wait for it.
  /// - Throws: `AccountError.enrolmentRefused` if there is no account and the server makes none, `.deviceRemoved`,
  ///   `.deviceUnknown`, `.serverElsewhere`, `.home`, or what the transport throws; `CancellationError` if the task was
  ///   cancelled while it waited.
  package func session() async throws -> Session {
    while isRenewing {
      try Task.checkCancellation()
      await waiting.wait()
    }
    if let current, now() + Self.renewalMargin < current.expires { return current }
    isRenewing = true
    defer { endRenewal() }
    let session = try await openSession()
    current = session
    return session
  }

  /// Drops a session that the server refused with 401; the next `session()` opens another one.
  package func drop(_ session: Session) {
    if current?.token == session.token { current = nil }
  }

  private func endRenewal() {
    isRenewing = false
    waiting.resumeAll()
  }

  private func openSession() async throws -> Session {
    let challenge = try await challenge()
    let known = try homeFiles { home throws(SecureFileError) in try home.account(onServer: challenge.server) }
    guard let known else {
      // The key is on disk before the server learns of it and enrolling it again gives the same account, so neither a
      // crash here nor another process that does the same can make a second one.
      let key = try homeFiles { home throws(SecureFileError) in try home.deviceKey() }
      _ = try await enrol(key, named: VirgaHome.defaultKey, code: nil, challenge: challenge)
      return try await openSession()
    }
    if known.endpoint != endpoint {
      guard source == .settings else {
        throw AccountError.serverElsewhere(known: known.endpoint, asked: endpoint)
      }
      var moved = known
      moved.endpoint = endpoint
      try homeFiles { [moved] home throws(SecureFileError) in try home.remember(moved) }
    }
    let key = try homeFiles { home throws(SecureFileError) in try home.key(named: known.key) }
    let text = SignedText.session(server: challenge.server, challenge: challenge.challenge, device: known.device)
    let request = AccountMessages.SessionRequest(
      device: known.device, challenge: challenge.challenge, signature: try signature(of: text, by: key))
    return try await post("session", request)
  }

  private func challenge() async throws -> AccountMessages.Challenge { try await post("challenge", Nothing()) }

  private func enrol(
    _ key: SigningKey, named name: String, code: String?, challenge: AccountMessages.Challenge
  ) async throws -> VirgaHome.KnownAccount {
    let text = SignedText.enrolment(server: challenge.server, challenge: challenge.challenge, name: deviceName)
    let request = AccountMessages.EnrolRequest(
      publicKey: CanonicalBase64.encode(key.publicKey.der), name: deviceName, challenge: challenge.challenge,
      signature: try signature(of: text, by: key), code: code)
    let enrolled: AccountMessages.Enrolled = try await post("enrol", request)
    return try remember(enrolled, key: name, server: challenge.server)
  }

  private func remember(
    _ enrolled: AccountMessages.Enrolled, key: String, server: String
  ) throws -> VirgaHome.KnownAccount {
    let account = VirgaHome.KnownAccount(
      server: server, endpoint: endpoint, account: enrolled.account, device: enrolled.device, key: key)
    try homeFiles { home throws(SecureFileError) in try home.remember(account) }
    current = nil
    return account
  }

  // MARK: The account

  /// The account and its devices.
  package func describe() async throws -> AccountMessages.Description { try await describe(as: nil) }

  func describe(as account: AccountID?) async throws -> AccountMessages.Description {
    try await authorized("account", method: "GET", Nothing(), as: account)
  }

  /// Gives a device of the account another name, which gets a number behind it if another device has it.
  package func rename(_ device: DeviceID, to name: String) async throws -> AccountMessages.Description {
    try await authorized("account/rename", AccountMessages.RenameRequest(device: device, name: Self.plainName(name)))
  }

  /// Tokens of this account for programs that speak the web service.
  /// - Parameter page: The API token of the page that is to use the web-auth token, if it has one of its own.
  package func tokens(
    for container: ContainerID, in environment: Environment, page: String? = nil
  ) async throws -> AccountMessages.Tokens {
    try await authorized(
      "account/token",
      AccountMessages.TokenRequest(container: container, environment: environment, apiToken: page))
  }

  /// A code with which somebody else can make an account of their own.
  package func enrolmentCode() async throws -> AccountMessages.Code {
    try await authorized("account/invite", Nothing())
  }

  // MARK: Sign-ins on web pages

  /// Who wants to be signed in by the code that a page shows.
  /// - Throws: `AccountError.wrongCode`.
  package func signIn(code: String) async throws -> SignInMessages.Asked {
    try await authorized("sign-in/look", SignInMessages.Look(code: PairingCode.plain(code)))
  }

  /// Lets a page into this account, or not.
  /// - Throws: `AccountError.wrongCode`.
  package func settleSignIn(code: String, accepts: Bool) async throws {
    let _: SignInMessages.State = try await authorized(
      "sign-in/settle", SignInMessages.Settle(code: PairingCode.plain(code), accepts: accepts))
  }

  // MARK: The web service

  /// Performs a call of the web service with this device's session.
  /// - Throws: `AccountError.refused` if it fails as a whole.
  package func call(_ call: Call, at endpoint: Endpoint) async throws -> Reply {
    var session = try await session()
    var answer = try await send(call, at: endpoint, session)
    if ServiceError.status(answer.status, of: answer.body) == 401 {
      drop(session)
      session = try await self.session()
      answer = try await send(call, at: endpoint, session)
    }
    try check(answer)
    do { return try Reply(decoding: answer.body, for: endpoint.operation) } catch {
      throw AccountError.badAnswer("unexpected answer to \(endpoint.operation.rawValue)")
    }
  }

  private func send(_ call: Call, at endpoint: Endpoint, _ session: Session) async throws -> (
    status: Int, body: [UInt8]
  ) {
    try await transport.send(
      method: "POST", path: endpoint.path,
      headers: [
        (name: "Content-Type", value: "application/json"), (name: "X-Virga-Session", value: session.token),
      ], body: call.encoded())
  }

  // MARK: Pairing

  /// A code with which another device can ask to join this account.
  package func invite() async throws -> AccountMessages.Code { try await authorized("pairing/invite", Nothing()) }

  /// Waits for a device that uses the code.
  /// - Throws: `AccountError.wrongCode` when the code's time is over.
  package func candidate(for code: String) async throws -> AccountMessages.Awaited.Candidate {
    try await parked {
      let answer: AccountMessages.Awaited = try await authorized(
        "pairing/await", AccountMessages.AwaitRequest(code: code))
      return try answer.candidate.map(checked)
    }
  }

  /// What people compare follows from the device's key here, and is not taken from the server. Where the account's key is
  /// sealed to is what that key has signed, or nowhere.
  private func checked(
    _ candidate: AccountMessages.Awaited.Candidate
  ) throws -> AccountMessages.Awaited.Candidate {
    var checked = candidate
    checked.box = nil
    guard let publicKey = candidate.publicKey else { return checked }
    guard let key = CanonicalBase64.decode(publicKey).flatMap({ try? VerifyingKey(der: $0) }),
      candidate.device == DeviceID(of: key)
    else { throw AccountError.badAnswer("the joining device does not fit its key") }
    checked.fingerprint = key.fingerprint
    if let box = candidate.box, let bytes = CanonicalBase64.decode(box), bytes.count == BoxKey.publicKeyLength,
      let signature = candidate.boxSignature.flatMap(CanonicalBase64.decode),
      key.verifies(signature, of: SignedText.box(bytes, of: candidate.device))
    {
      checked.box = box
    }
    return checked
  }

  /// Lets a device in, or not. One that is let in gets the account's key first, so that it has it from its first moment.
  package func confirm(
    _ candidate: AccountMessages.Awaited.Candidate, code: String, accepts: Bool
  ) async throws -> AccountMessages.Description {
    let granted = accepts ? try await grantKey(to: candidate) : nil
    let description: AccountMessages.Description = try await authorized(
      "pairing/confirm", AccountMessages.ConfirmRequest(code: code, device: candidate.device, accepts: accepts))
    if let granted, let box = candidate.box.flatMap(CanonicalBase64.decode) {
      // The device is in, whatever becomes of this.
      try? await bringUp([(candidate.device, box)], from: granted)
    }
    return description
  }

  /// Makes an account of the device's own, on a server that lets anybody make one.
  /// - Parameter replacing: Whether an account that the device has on this server is left for it; its key is kept.
  /// - Throws: `AccountError.hasAccount`, `.enrolmentRefused`.
  package func enrol(replacing: Bool) async throws -> VirgaHome.KnownAccount {
    let challenge = try await challenge()
    let (name, key) = try keyForAnotherAccount(on: challenge.server, replacing: replacing)
    return try await enrol(key, named: name, code: nil, challenge: challenge)
  }

  /// The device's key, or another one if it leaves an account of the server.
  private func keyForAnotherAccount(on server: String, replacing: Bool) throws -> (name: String, key: SigningKey) {
    let known = try homeFiles { home throws(SecureFileError) in try home.account(onServer: server) }
    if let known, !replacing { throw AccountError.hasAccount(known.account) }
    return try homeFiles { home throws(SecureFileError) in
      known == nil ? (VirgaHome.defaultKey, try home.deviceKey()) : try home.addKey()
    }
  }

  /// Joins an account with a pairing code, waiting for the other device to confirm, or makes one with an enrolment code.
  /// - Parameter replacing: Whether an account that the device has on this server is left for it; its key is kept.
  /// - Parameter announce: Told this device's fingerprint, which the other device shows too.
  /// - Throws: `AccountError.hasAccount`, `.wrongCode`, `.joiningRefused`, `.joiningNotConfirmed`.
  package func join(
    code typed: String, replacing: Bool, announce: @Sendable (String) -> Void
  ) async throws -> VirgaHome.KnownAccount {
    let code = PairingCode.plain(typed)
    guard code.count == PairingCode.pairingLength || code.count == PairingCode.enrolmentLength else {
      throw AccountError.wrongCode
    }
    let challenge = try await challenge()
    let (name, key) = try keyForAnotherAccount(on: challenge.server, replacing: replacing)
    announce(key.publicKey.fingerprint)
    if code.count == PairingCode.enrolmentLength {
      return try await enrol(key, named: name, code: code, challenge: challenge)
    }
    let text = SignedText.joining(
      server: challenge.server, challenge: challenge.challenge, code: code, name: deviceName)
    var request = AccountMessages.JoinRequest(
      code: code, publicKey: CanonicalBase64.encode(key.publicKey.der), name: deviceName,
      challenge: challenge.challenge,
      signature: try signature(of: text, by: key))
    let box = try homeFiles { home throws(SecureFileError) in try home.box(besideKey: name).publicKey }
    request.box = CanonicalBase64.encode(box)
    request.boxSignature = try signature(of: SignedText.box(box, of: DeviceID(of: key.publicKey)), by: key)
    let ticket: AccountMessages.Ticket = try await post("pairing/join", request)
    let enrolled = try await parked {
      let outcome: AccountMessages.Outcome
      // The code was right before, so only its time can be over.
      do { outcome = try await post("pairing/result", ticket) } catch AccountError.wrongCode {
        throw AccountError.joiningNotConfirmed
      }
      if outcome.isRefused { throw AccountError.joiningRefused }
      return outcome.enrolled
    }
    let account = try remember(enrolled, key: name, server: challenge.server)
    // The device is in, whether its key comes now or with the first value that needs it.
    _ = try? await accountKeys(makingFirst: false)
    return account
  }

  /// Asks again and again what the server parks until there is an answer.
  private func parked<Answer>(_ ask: () async throws -> Answer?) async throws -> Answer {
    var atOnceCount = 0
    while true {
      let start = ContinuousClock.now
      if let answer = try await ask() { return answer }
      try Task.checkCancellation()
      // Something in between may not let requests wait; it would be asked as fast as it answers.
      atOnceCount = ContinuousClock.now - start < .milliseconds(100) ? atOnceCount + 1 : 0
      if atOnceCount == Self.answersAtOnceMax {
        throw AccountError.badAnswer("the server answers at once, although it should wait for the other device")
      }
    }
  }

  private static let answersAtOnceMax = 50

  // MARK: Requests

  private struct Nothing: Codable {}

  /// Sends a request with a session, with a new one if the server has ended the first.
  /// - Parameter account: In whose name it is made.
  /// - Throws: `AccountError.accountChanged` if the device's account is another one by now.
  func authorized<Answer: Decodable>(
    _ path: String, method: String = "POST", _ message: some Encodable, as account: AccountID? = nil
  ) async throws -> Answer {
    func session() async throws -> Session {
      let session = try await self.session()
      if let account, account != session.account { throw AccountError.accountChanged }
      return session
    }
    let first = try await session()
    do {
      return try await send(path, method: method, message, session: first)
    } catch AccountError.refused(_, _, AccountReason.sessionEnded, _) {
      drop(first)
      return try await send(path, method: method, message, session: try await session())
    }
  }

  private func post<Answer: Decodable>(_ path: String, _ message: some Encodable) async throws -> Answer {
    try await send(path, method: "POST", message, session: nil)
  }

  private func send<Answer: Decodable>(
    _ path: String, method: String, _ message: some Encodable, session: Session?
  ) async throws -> Answer {
    var headers = [(name: "Content-Type", value: "application/json")]
    if let session { headers.append((name: "X-Virga-Session", value: session.token)) }
    let body = method == "GET" ? [] : Array(try JSONEncoder().encode(message))
    let answer = try await transport.send(method: method, path: "/virga/1/\(path)", headers: headers, body: body)
    try check(answer)
    do { return try JSONDecoder().decode(Answer.self, from: Data(answer.body)) } catch {
      throw AccountError.badAnswer("unexpected answer to \(path)")
    }
  }

  /// - Throws: What the answer says if it failed, by its body or by its status.
  private func check(_ answer: (status: Int, body: [UInt8])) throws {
    let status = ServiceError.status(answer.status, of: answer.body)
    guard (200..<300).contains(status) else { throw AccountError(status: status, body: answer.body) }
  }

  private func signature(of text: [UInt8], by key: SigningKey) throws -> String {
    do { return CanonicalBase64.encode(try key.signature(of: text)) } catch {
      throw AccountError.home(.damaged(path: home.path, reason: "has a key that cannot sign"))
    }
  }

  nonisolated func homeFiles<Value>(
    _ body: (VirgaHome) throws(SecureFileError) -> Value
  ) throws -> Value {
    do throws(SecureFileError) { return try body(home) } catch { throw AccountError.home(error) }
  }

  /// A host's name as a device may be called: printable, not empty, not too long.
  private static func plainName(_ name: String) -> String {
    let plain = String(String.UnicodeScalarView(name.unicodeScalars.filter(NameRule.isPrintable)))
    return plain.isEmpty ? "device" : String(plain.prefix(Limits.deviceNameLengthMax))
  }
}
