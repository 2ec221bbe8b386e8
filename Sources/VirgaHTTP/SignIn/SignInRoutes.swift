import Synchronization
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

/// The sign-in on web pages: nobody types a password, but a page shows a code and a device of the account confirms it.
final class SignInRoutes: Sendable {
  private struct SignIns {
    var table = SignInTable()
    var random = SystemRandom()
  }

  private let authenticator: Authenticator
  private let accounts = Accounts()
  private let credentials = Credentials()
  private let signIns = Mutex(SignIns())
  private let guesses = Mutex(GuessLimiter())
  private let bell = WaitCondition()
  private let pollAge: Duration
  private let age: Duration
  private let keptAge: Duration

  init(authenticator: Authenticator, pollAge: Duration, age: Duration, keptAge: Duration) {
    self.authenticator = authenticator
    self.pollAge = pollAge
    self.age = age
    self.keptAge = keptAge
  }

  /// Answers a request whose path begins with `/virga/1/sign-in`.
  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let name = request.head.path.dropFirst(AccountRoutes.prefix.count)
    do throws(ServiceError) {
      switch (request.head.method, name) {
      case ("GET", "sign-in"): return SignInPage(request.head).response
      case ("POST", "sign-in/start"): return try .message(await start(request))
      case ("POST", "sign-in/wait"): return try .message(await wait(request))
      case ("POST", "sign-in/collect"): return try .message(await collect(request))
      case ("POST", "sign-in/look"): return try .message(await look(request))
      case ("POST", "sign-in/settle"): return try .message(await settle(request))
      default: throw ServiceError(.notFound, "\(request.head.method) \(request.head.path) is not a call of this server")
      }
    } catch {
      return .failure(error)
    }
  }

  // MARK: The page

  private func start(_ request: HTTPRequest) async throws(ServiceError) -> SignInMessages.Started {
    try checkOwnPage(request)
    let message: SignInMessages.Start = try request.message()
    let token = try await authenticator.read { [credentials] in try credentials.token(digest: message.token, in: $0) }
    guard let token, token.container == message.container else {
      throw ServiceError(.notFound, "there is no such API token of container \(message.container)")
    }
    let origin = try origin(for: token, asked: message.origin)
    let signIn = SignInTable.Request(
      container: token.container, tokenDigest: message.token, tokenName: token.name, origin: origin,
      callback: token.callback)
    let ticket = CanonicalBase64.encodeForURL(SystemRandom.bytes(32))
    let now = authenticator.now()
    let (code, expires) = try locking { signIns throws(ServiceError) in
      try signIns.table.begin(
        signIn, ticket: ticket, address: request.callerAddress, now: now, random: &signIns.random)
    }
    return SignInMessages.Started(code: PairingCode.spelled(code), ticket: ticket, expires: expires)
  }

  /// The page that will be given the token.
  private func origin(for token: APIToken, asked: String?) throws(ServiceError) -> String? {
    // A callback is the operator's word; no page is asked for.
    guard token.callback == nil else { return nil }
    guard let asked else { return token.origins?.count == 1 ? token.origins?.first : nil }
    guard let origin = APIToken.origin(asked), token.allows(origin: origin) else {
      throw ServiceError(.accessDenied, "the API token may not be used by pages of this origin")
    }
    return origin
  }

  private func wait(_ request: HTTPRequest) async throws(ServiceError) -> SignInMessages.State {
    try checkOwnPage(request)
    let message: SignInMessages.Ticket = try request.message()
    let state = try await bell.wait(atMost: pollAge, while: { $0 == .waiting }) { () throws(ServiceError) in
      try locking { signIns throws(ServiceError) in
        try signIns.table.state(of: message.ticket, now: authenticator.now())
      }
    }
    return switch state {
    case .waiting: SignInMessages.State(state: .waiting)
    case .accepted: SignInMessages.State(state: .accepted)
    case .refused: SignInMessages.State(state: .refused)
    }
  }

  private func collect(_ request: HTTPRequest) async throws(ServiceError) -> SignInMessages.HandOver {
    try checkOwnPage(request)
    let message: SignInMessages.Collect = try request.message()
    let now = authenticator.now()
    let (signIn, account, device) = try locking { signIns throws(ServiceError) in
      try signIns.table.collect(message.ticket, now: now)
    }
    let text = "158__54__" + CanonicalBase64.encode(SystemRandom.bytes(96))
    let token = WebToken(
      account: account, device: device, container: signIn.container,
      expires: now + (message.keepsSignedIn ? keptAge : age), apiToken: signIn.tokenDigest)
    try await authenticator.write { [accounts, credentials] transaction in
      // Either may have been taken back since the code was confirmed.
      try accounts.checkIsIn(device, in: transaction)
      guard try credentials.token(digest: signIn.tokenDigest, in: transaction) != nil else {
        throw ServiceError(.authenticationFailed, "the API token was revoked")
      }
      try accounts.putWebToken(digest: SHA256.hexDigest(of: text), token, in: transaction, now: now)
    }
    if let callback = signIn.callback {
      let separator = callback.contains("?") ? "&" : "?"
      let encoded = text.percentEncodedPathSegment
      return SignInMessages.HandOver(
        way: .redirect, webAuthToken: text, expires: token.expires,
        url: "\(callback)\(separator)ckWebAuthToken=\(encoded)&ckSession=\(encoded)")
    }
    return SignInMessages.HandOver(
      way: signIn.origin == nil ? .show : .message, webAuthToken: text, expires: token.expires, origin: signIn.origin)
  }

  /// - Throws: `ACCESS_DENIED` for pages other than this server's own.
  private func checkOwnPage(_ request: HTTPRequest) throws(ServiceError) {
    guard let origin = request.head.headers["Origin"] else { return }
    let host = origin.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init)
    guard origin == authenticator.baseURL || host == request.head.headers["Host"] else {
      throw ServiceError(.accessDenied, "this is for the server's own sign-in page")
    }
  }

  // MARK: The device

  private func look(_ request: HTTPRequest) async throws(ServiceError) -> SignInMessages.Asked {
    _ = try await authenticator.session(of: request)
    let message: SignInMessages.Look = try request.message()
    let now = authenticator.now()
    let signIn = try guessing(request) { signIns throws(ServiceError) in
      try signIns.table.request(of: PairingCode.plain(message.code), now: now, isEqual: equalsInConstantTime)
    }
    return SignInMessages.Asked(
      container: signIn.container, name: signIn.tokenName, origin: signIn.origin, callback: signIn.callback)
  }

  private func settle(_ request: HTTPRequest) async throws(ServiceError) -> SignInMessages.State {
    let session = try await authenticator.session(of: request)
    let message: SignInMessages.Settle = try request.message()
    let now = authenticator.now()
    let state: SignInTable.State =
      message.accepts ? .accepted(account: session.account, device: session.device) : .refused
    try guessing(request) { signIns throws(ServiceError) in
      try signIns.table.settle(
        PairingCode.plain(message.code), as: state, now: now, isEqual: equalsInConstantTime)
    }
    bell.ring()
    return SignInMessages.State(state: message.accepts ? .accepted : .refused)
  }

  /// Counts wrong codes against the address that sends them.
  private func guessing<Value: Sendable>(
    _ request: HTTPRequest, _ body: (inout SignIns) throws(ServiceError) -> Value
  ) throws(ServiceError) -> Value {
    let (address, now) = (request.callerAddress, authenticator.now())
    try guesses.withLock { $0.begin(from: address, now: now) }.check()
    do throws(ServiceError) {
      let value = try locking(body)
      guesses.withLock { $0.end(from: address, wasWrong: false, now: now) }
      return value
    } catch {
      guesses.withLock { $0.end(from: address, wasWrong: error == .wrongCode, now: now) }
      throw error
    }
  }

  private func locking<Value: Sendable>(
    _ body: (inout SignIns) throws(ServiceError) -> Value
  ) throws(ServiceError) -> Value {
    let result: Result<Value, ServiceError> = signIns.withLock { signIns in
      do throws(ServiceError) { return .success(try body(&signIns)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
