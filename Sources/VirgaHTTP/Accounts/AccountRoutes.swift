import Synchronization
import VirgaAuth
package import VirgaModel
package import VirgaServer
import VirgaWire

/// The calls under `/virga/1/` by which devices enrol, sign in, pair and leave.
package final class AccountRoutes: Sendable {
  package static let prefix = "/virga/1/"

  private struct Pairings {
    var table = PairingTable()
    var random = SystemRandom()
  }

  let authenticator: Authenticator
  let accounts = Accounts()
  private let challenges = Challenges()
  private let pairings = Mutex(Pairings())
  private let guesses = Mutex(GuessLimiter())
  private let bell = WaitCondition()
  let probes = Probes()
  private let signIns: SignInRoutes
  private let masterCode: String
  private let pollAge: Duration
  private let queuesEnded: @Sendable ([String]) -> Void
  let quotas: Quotas
  private let admit: @Sendable (AccountID) throws -> Void
  let newAccounts = Mutex(
    WorkBudget(perSecond: 1, atOnce: Limits.accountsPerAddressMax * Limits.secondsPerAccountOfAddress))

  /// - Parameter pollAge: How long a request that waits for the other side of a pairing is parked.
  /// - Parameter signInAge: How long a sign-in on a web page lasts.
  /// - Parameter keptSignInAge: The same where the user wants to stay signed in.
  /// - Parameter quotas: How much a database may hold, its keys too.
  /// - Parameter admit: Throws `THROTTLED` for an account that asks too often.
  /// - Parameter queuesEnded: Told the push tokens of each device that was removed, before that is answered.
  package init(
    authenticator: Authenticator, pollAge: Duration = Limits.pairingPollAge, signInAge: Duration = Limits.signInAge,
    keptSignInAge: Duration = Limits.webTokenAge, quotas: Quotas = Quotas(),
    admit: @escaping @Sendable (AccountID) throws -> Void = { _ in },
    queuesEnded: @escaping @Sendable ([String]) -> Void = { _ in }
  ) {
    self.authenticator = authenticator
    self.quotas = quotas
    self.admit = admit
    self.queuesEnded = queuesEnded
    signIns = SignInRoutes(
      authenticator: authenticator, pollAge: pollAge, age: signInAge, keptAge: keptSignInAge)
    self.pollAge = pollAge
    var random = SystemRandom()
    masterCode = PairingCode.draw(length: PairingCode.enrolmentLength, using: &random)
  }

  /// The code with which the first account can be made on a server that invites; `nil` if it is not needed.
  package func codeForFirstAccount() async throws -> String? {
    guard authenticator.policy == .invite else { return nil }
    let hasAccounts = try await authenticator.store.read { [accounts] in try accounts.hasAccounts(in: $0) }
    return hasAccounts ? nil : PairingCode.spelled(masterCode)
  }

  /// Bodies here are small.
  package func bodyPlan(for head: HTTPRequestHead) -> BodyPlan { .buffer(limit: Limits.accountRequestBytesMax) }

  /// Answers a request whose path begins with `prefix`.
  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    let name = request.head.path.dropFirst(Self.prefix.count)
    if name == "sign-in" || name.hasPrefix("sign-in/") { return await signIns.respond(to: request) }
    let call = Incoming(request: request, address: request.callerAddress, now: authenticator.now())
    do throws(ServiceError) {
      switch (request.head.method, name) {
      case ("GET", "account"): return try .message(await describe(call))
      case ("GET", "identity"): return try .message(prove(call))
      case ("POST", "challenge"): return try .message(challenge(call))
      case ("POST", "enrol"): return try .message(await enrol(call))
      case ("POST", "session"): return try .message(await openSession(call))
      case ("POST", "account/rename"): return try .message(await rename(call))
      case ("POST", "account/remove"): return try .message(await remove(call))
      case ("POST", "account/remove/check"): return try .message(await checkRemoval(call))
      case ("POST", "account/token"): return try .message(await makeTokens(call))
      case ("POST", "account/invite"): return try .message(await makeEnrolmentCode(call))
      case ("POST", "keys"): return try .message(await keyItems(call))
      case ("POST", "pairing/invite"): return try .message(await invite(call))
      case ("POST", "pairing/await"): return try .message(await awaitCandidate(call))
      case ("POST", "pairing/confirm"): return try .message(await confirm(call))
      case ("POST", "pairing/join"): return try .message(await join(call))
      case ("POST", "pairing/result"): return try .message(await awaitOutcome(call))
      default: throw ServiceError(.notFound, "\(request.head.method) \(request.head.path) is not a call of this server")
      }
    } catch {
      return .failure(error)
    }
  }

  /// Proves that this server has the key of its data folder, to whoever has it too.
  private func prove(_ call: Incoming) throws(ServiceError) -> AccountMessages.Identity {
    let nonce = QueryParameters(of: call.request.head)["nonce"] ?? ""
    guard (16...128).contains(nonce.utf8.count) else { throw .badRequest("nonce must have 16 to 128 characters") }
    probes.see(nonce, call.request)
    let secrets = authenticator.secrets
    return AccountMessages.Identity(server: secrets.serverID, proof: secrets.signature(of: nonce, for: .identity))
  }

  // MARK: Enrolment and sessions

  private func challenge(_ call: Incoming) -> AccountMessages.Challenge {
    let (challenge, expires) = challenges.make(now: call.now)
    return AccountMessages.Challenge(challenge: challenge, server: authenticator.secrets.serverID, expires: expires)
  }

  private func enrol(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Enrolled {
    let message: AccountMessages.EnrolRequest = try call.body()
    let key = try checkedKey(message.publicKey)
    let name = try checkedName(message.name)
    let code = message.code.map(PairingCode.plain)
    let device = Device(
      id: DeviceID(of: key), account: AccountID(Hex.encode(SystemRandom.bytes(16))), name: name, publicKey: key.der,
      enrolled: call.now)
    let policy = authenticator.policy
    let isMasterCode = code.map { equalsInConstantTime($0, masterCode) } ?? false
    let digest = code.map(SHA256.hexDigest)
    func prove() throws(ServiceError) {
      try check(
        message.signature, by: key, challenge: message.challenge,
        over: SignedText.enrolment(server: authenticator.secrets.serverID, challenge: message.challenge, name: name),
        call)
    }
    func enrol() async throws(ServiceError) -> Device {
      try await authenticator.write { [accounts] in
        try accounts.enrol(device, policy: policy, code: digest, isMasterCode: isMasterCode, in: $0, now: call.now)
      }
    }
    let enrolled: Device
    if policy == .open {
      // No code is guessed at, so nobody's guesses wait for a commit.
      try await guessing(call) { () throws(ServiceError) in try prove() }
      enrolled = try await countingNewAccount(device, call, enrol)
    } else {
      enrolled = try await guessing(call) { () async throws(ServiceError) in
        try prove()
        return try await enrol()
      }
    }
    return AccountMessages.Enrolled(account: enrolled.account, device: enrolled.id)
  }

  /// Where everybody may make an account, nobody makes them without end. A machine's own programs may, and a device that
  /// is known makes none. It is counted before it is made, so that many at once count too, and given back if it was not.
  private func countingNewAccount(
    _ device: Device, _ call: Incoming, _ enrol: () async throws(ServiceError) -> Device
  ) async throws(ServiceError) -> Device {
    let isKnown = try await authenticator.read { [accounts] in try accounts.device(device.id, in: $0) != nil }
    if isKnown || SocketAddress.isLoopback(call.address) { return try await enrol() }
    let wait = newAccounts.withLock { accounts -> Duration? in
      if let wait = accounts.wait(for: call.address, now: call.now) { return wait }
      accounts.charge(Limits.secondsPerAccountOfAddress, to: call.address, now: call.now)
      return nil
    }
    if let wait {
      let seconds = Int((wait.wholeMilliseconds + 999) / 1_000)
      throw ServiceError(.throttled, "too many new accounts from this address", retryAfterSeconds: max(1, seconds))
    }
    func giveBack() {
      newAccounts.withLock { $0.giveBack(Limits.secondsPerAccountOfAddress, to: call.address, now: call.now) }
    }
    do {
      let enrolled = try await enrol()
      if enrolled.account != device.account { giveBack() }
      return enrolled
    } catch {
      giveBack()
      throw error
    }
  }

  private func openSession(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Session {
    let message: AccountMessages.SessionRequest = try call.body()
    let device = try await authenticator.read { [accounts] in try accounts.device(message.device, in: $0) }
    guard let device else { throw ServiceError(.authenticationFailed, AccountReason.deviceUnknown) }
    guard device.removed == nil else { throw ServiceError.deviceRemoved }
    let key: VerifyingKey
    do { key = try VerifyingKey(der: Array(device.publicKey)) } catch {
      throw ServiceError(.internalError, "the stored key of device \(device.id) cannot be read")
    }
    try await guessing(call) { () throws(ServiceError) in
      try check(
        message.signature, by: key, challenge: message.challenge,
        over: SignedText.session(
          server: authenticator.secrets.serverID, challenge: message.challenge, device: message.device), call)
    }
    let (token, session) = authenticator.makeSession(account: device.account, device: device.id)
    return AccountMessages.Session(
      token: token, account: session.account, device: session.device, expires: session.expires)
  }

  // MARK: The account

  private func describe(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Description {
    try await describe(try await session(call))
  }

  func describe(_ session: Authenticator.Session) async throws(ServiceError) -> AccountMessages.Description {
    let devices = try await authenticator.read { [accounts] in try accounts.devices(of: session.account, in: $0) }
    var description = AccountMessages.Description(
      account: session.account, server: authenticator.secrets.serverID,
      devices: devices.map { device in
        AccountMessages.Description.Device(
          id: device.id, name: device.name,
          fingerprint: VerifyingKey.fingerprint(digest: Hex.encode(SHA256.digest(of: Array(device.publicKey)))),
          enrolled: device.enrolled, isThisDevice: device.id == session.device)
      })
    description.now = authenticator.now()
    return description
  }

  /// Says whether a device could be removed, before a device changes anything for the sake of that.
  private func checkRemoval(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Description {
    let session = try await session(call)
    let message: AccountMessages.RemoveRequest = try call.body()
    try await authenticator.read { [accounts] transaction in
      try accounts.checkIsIn(session.device, in: transaction)
      try accounts.removable(message.device, from: session.account, in: transaction)
    }
    return try await describe(session)
  }

  private func remove(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Description {
    let session = try await session(call)
    let message: AccountMessages.RemoveRequest = try call.body()
    let containers = try await authenticator.read { try Set($0.databases().map(\.key.container)) }
    let queues = try await authenticator.write { [accounts, authenticator] transaction in
      // The one who removes may itself have been removed while this waited.
      try accounts.checkIsIn(session.device, in: transaction)
      try accounts.remove(message.device, from: session.account, in: transaction, now: call.now)
      return try containers.sorted().flatMap { container in
        let user = authenticator.user(of: session.account, in: container)
        return try Service().removePushTokens(of: message.device, user, container: container, in: transaction)
      }
    }
    authenticator.forget(message.device)
    queuesEnded(queues)
    return try await describe(session)
  }

  private func makeTokens(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Tokens {
    let session = try await session(call)
    let message: AccountMessages.TokenRequest = try call.body()
    if let objection = NameRule.container.objection(to: message.container.rawValue) {
      throw .badRequest("container \(objection)")
    }
    try authenticator.checkServed(message.container)
    let webToken = "158__54__" + CanonicalBase64.encode(SystemRandom.bytes(96))
    let token = WebToken(
      account: session.account, device: session.device, container: message.container,
      expires: call.now + Limits.webTokenAge)
    let apiToken = try await authenticator.write { [accounts, secrets = authenticator.secrets, token] transaction in
      try accounts.checkIsIn(session.device, in: transaction)
      let apiToken = try Self.apiToken(message, for: session.account, secrets, in: transaction, now: call.now)
      var token = token
      token.apiToken = SHA256.hexDigest(of: apiToken)
      try accounts.putWebToken(digest: SHA256.hexDigest(of: webToken), token, in: transaction, now: call.now)
      return apiToken
    }
    return AccountMessages.Tokens(
      container: token.container, apiToken: apiToken, webAuthToken: webToken, expires: token.expires)
  }

  /// The API token with which the web-auth token will work: the page's own, or the one that the container's devices share.
  private static func apiToken(
    _ message: AccountMessages.TokenRequest, for account: AccountID, _ secrets: ServerSecrets,
    in transaction: any WriteTransaction, now: Timestamp
  ) throws -> String {
    let environment = message.environment ?? .development
    if let text = message.apiToken {
      let known = try Credentials().token(digest: SHA256.hexDigest(of: text), in: transaction)
      guard let known, known.belongs(to: message.container, in: environment) else {
        throw ServiceError.badRequest(
          "apiToken does not belong to container \(message.container) in \(environment.rawValue)")
      }
      return text
    }
    func derived(_ generation: Int) -> String {
      secrets.apiToken(for: message.container, in: environment, generation: generation)
    }
    let generation = try Credentials().shareToken(
      of: message.container, in: environment, for: account, digest: { SHA256.hexDigest(of: derived($0)) },
      transaction: transaction, now: now)
    return derived(generation)
  }

  private func makeEnrolmentCode(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Code {
    let session = try await session(call)
    guard authenticator.policy != .closed else { throw ServiceError(.accessDenied, AccountReason.enrolmentClosed) }
    var random = SystemRandom()
    let code = PairingCode.draw(length: PairingCode.enrolmentLength, using: &random)
    let expires = call.now + Limits.enrolmentCodeAge
    try await authenticator.write { [accounts] transaction in
      try accounts.checkIsIn(session.device, in: transaction)
      try accounts.invite(
        digest: SHA256.hexDigest(of: code), expires: expires, by: session.account, in: transaction, now: call.now)
    }
    return AccountMessages.Code(code: PairingCode.spelled(code), expires: expires)
  }

  // MARK: Pairing

  private func invite(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Code {
    let session = try await session(call)
    let (code, expires) = try lockingPairings { pairings throws(ServiceError) in
      try pairings.table.invite(
        to: session.account, by: session.device, now: call.now, random: &pairings.random)
    }
    bell.ring()
    return AccountMessages.Code(code: PairingCode.spelled(code), expires: expires)
  }

  private func awaitCandidate(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Awaited {
    let session = try await session(call)
    let message: AccountMessages.AwaitRequest = try call.body()
    let code = PairingCode.plain(message.code)
    let state = try await bell.wait(atMost: pollAge, while: { $0 == .waiting }) { () throws(ServiceError) in
      try lockingPairings { pairings throws(ServiceError) in
        try pairings.table.state(of: code, madeBy: session.device, now: authenticator.now())
      }
    }
    guard case .asked(let candidate) = state else {
      if state == .waiting { return AccountMessages.Awaited(candidate: nil) }
      throw ServiceError.wrongCode
    }
    var shown = AccountMessages.Awaited.Candidate(
      device: candidate.id, name: candidate.name,
      fingerprint: VerifyingKey.fingerprint(digest: Hex.encode(SHA256.digest(of: candidate.publicKey))),
      publicKey: CanonicalBase64.encode(candidate.publicKey))
    shown.box = candidate.box
    shown.boxSignature = candidate.boxSignature
    return AccountMessages.Awaited(candidate: shown)
  }

  private func confirm(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Description {
    let session = try await session(call)
    let message: AccountMessages.ConfirmRequest = try call.body()
    let code = PairingCode.plain(message.code)
    // The decision is taken here, by whoever comes first. What is written afterwards follows it.
    let decided = try lockingPairings { pairings throws(ServiceError) in
      try pairings.table.decide(
        code, accepts: message.accepts, device: message.device, by: session.device, now: call.now)
    }
    if case .accepting(let candidate) = decided {
      do throws(ServiceError) { try await letIn(candidate, session, call) } catch {
        pairings.withLock { $0.table.settle(code, as: .asked(candidate), now: authenticator.now()) }
        bell.ring()
        throw error
      }
      pairings.withLock { $0.table.settle(code, as: .accepted(candidate), now: authenticator.now()) }
    }
    bell.ring()
    return try await describe(session)
  }

  private func letIn(
    _ candidate: PairingTable.Candidate, _ session: Authenticator.Session, _ call: Incoming
  ) async throws(ServiceError) {
    let device = Device(
      id: candidate.id, account: session.account, name: candidate.name, publicKey: candidate.publicKey,
      enrolled: call.now)
    try await authenticator.write { [accounts] transaction in
      try accounts.checkIsIn(session.device, in: transaction)
      try accounts.add(device, in: transaction)
    }
  }

  private func join(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Ticket {
    let message: AccountMessages.JoinRequest = try call.body()
    let key = try checkedKey(message.publicKey)
    let name = try checkedName(message.name)
    var candidate = PairingTable.Candidate(id: DeviceID(of: key), name: name, publicKey: key.der)
    candidate.box = message.box
    candidate.boxSignature = message.boxSignature
    let drawn = CanonicalBase64.encodeForURL(SystemRandom.bytes(32))
    let ticket = try await guessing(call) { () throws(ServiceError) in
      try check(
        message.signature, by: key, challenge: message.challenge,
        over: SignedText.joining(
          server: authenticator.secrets.serverID, challenge: message.challenge, code: message.code, name: name), call)
      return try lockingPairings { pairings throws(ServiceError) in
        try pairings.table.join(
          code: PairingCode.plain(message.code), candidate: candidate, ticket: drawn, now: call.now,
          isEqual: equalsInConstantTime)
      }
    }
    bell.ring()
    return AccountMessages.Ticket(ticket: ticket)
  }

  private func awaitOutcome(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Outcome {
    let message: AccountMessages.Ticket = try call.body()
    let (state, account) = try await bell.wait(
      atMost: pollAge,
      while: { (outcome: (state: PairingTable.State, account: AccountID)) in
        switch outcome.state {
        case .asked, .accepting: true
        case .waiting, .accepted, .refused: false
        }
      },
      for: { () throws(ServiceError) in
        try lockingPairings { pairings throws(ServiceError) in
          try pairings.table.outcome(for: message.ticket, now: authenticator.now())
        }
      })
    guard case .accepted(let candidate) = state else {
      return AccountMessages.Outcome(enrolled: nil, isRefused: state == .refused)
    }
    return AccountMessages.Outcome(
      enrolled: AccountMessages.Enrolled(account: account, device: candidate.id), isRefused: false)
  }

  private func lockingPairings<Value: Sendable>(
    _ body: (inout Pairings) throws(ServiceError) -> Value
  ) throws(ServiceError) -> Value {
    let result: Result<Value, ServiceError> = pairings.withLock { pairings in
      do throws(ServiceError) { return .success(try body(&pairings)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  // MARK: Checks

  func session(_ call: Incoming) async throws(ServiceError) -> Authenticator.Session {
    let session = try await authenticator.session(of: call.request)
    do { try admit(session.account) } catch { throw ServiceError(accountsError: error) }
    return session
  }

  private func checkedKey(_ text: String) throws(ServiceError) -> VerifyingKey {
    guard let der = CanonicalBase64.decode(text) else { throw .badRequest("publicKey is not Base64") }
    do { return try VerifyingKey(der: der) } catch { throw .badRequest("publicKey is not a P-256 key in DER form") }
  }

  func checkedName(_ name: String) throws(ServiceError) -> String {
    if let objection = Device.objection(toName: name) { throw .badRequest("name \(objection)") }
    return name
  }

  /// Checks that the holder of `key` answered a challenge of this server, for the first time.
  private func check(
    _ signature: String, by key: VerifyingKey, challenge: String, over text: [UInt8], _ call: Incoming
  ) throws(ServiceError) {
    guard challenges.isFresh(challenge, now: call.now) else {
      throw ServiceError(.authenticationFailed, AccountReason.wrongChallenge)
    }
    guard let bytes = CanonicalBase64.decode(signature), key.verifies(bytes, of: text) else {
      throw ServiceError(.authenticationFailed, AccountReason.wrongSignature)
    }
    guard challenges.use(challenge, now: call.now) else {
      throw ServiceError(.authenticationFailed, AccountReason.wrongChallenge)
    }
  }

  /// Counts a guess at a code or a signature against the address that makes it, before it is judged: of many that are made
  /// at once no more are judged than one after the other.
  private func guessing<Value>(
    _ call: Incoming, _ body: () async throws(ServiceError) -> Value
  ) async throws(ServiceError) -> Value {
    try guesses.withLock { $0.begin(from: call.address, now: call.now) }.check()
    do {
      let value = try await body()
      guesses.withLock { $0.end(from: call.address, wasWrong: false, now: call.now) }
      return value
    } catch {
      let wasWrong = error == .wrongCode || error.reason == AccountReason.wrongSignature
      guesses.withLock { $0.end(from: call.address, wasWrong: wasWrong, now: call.now) }
      throw error
    }
  }
}

/// A request on its way through a route.
struct Incoming: Sendable {
  var request: HTTPRequest
  var address: String
  var now: Timestamp

  func body<Message: Decodable>() throws(ServiceError) -> Message { try request.message() }
}
