import Synchronization
import VirgaAuth
package import VirgaModel
package import VirgaServer
package import VirgaWire

/// Finds out who asks.
///
/// What it once read from the store it remembers, so that a request costs no read; whoever removes a device through
/// `forget` makes it read again. Two processes on one store would each remember for themselves.
package final class Authenticator: Sendable {
  /// Who asks, and the web-auth token that says so.
  package struct Authentication: Hashable, Sendable {
    package var principal: Principal
    package var webToken: String?

    /// The headers in which the protocol hands on the next web-auth token. It is the same one: a token is valid until
    /// its lifetime ends, as observed of CloudKit.
    package var responseHeaders: [(name: String, value: String)] {
      guard let webToken else { return [] }
      return [
        (name: "X-Apple-CloudKit-Web-Auth-Token", value: webToken), (name: "X-Apple-CloudKit-Session", value: webToken),
      ]
    }
  }

  /// A device's session.
  package struct Session: Hashable, Sendable {
    package var account: AccountID
    package var device: DeviceID
    package var expires: Timestamp
  }

  private struct KnownToken {
    var digest: String
    var token: APIToken
  }

  private struct KnownKey {
    var key: ServerKey
    var verifying: VerifyingKey
  }

  private struct UserKey: Hashable {
    var account: AccountID
    var container: ContainerID
  }

  /// What was read and checked before, by token.
  private struct Memory {
    /// Counts removals: what was read before one is not remembered after it.
    var removals: UInt64 = 0
    var sessions: [String: Session] = [:]
    var webTokens: [String: WebToken] = [:]
    var apiTokens: [String: KnownToken] = [:]
    var keys: [String: KnownKey] = [:]
    var users: [UserKey: UserName] = [:]

    static let entriesMax = 20_000
  }

  let store: any Store
  let secrets: ServerSecrets
  let policy: EnrolmentPolicy
  let baseURL: String?
  let containers: Set<ContainerID>?
  let now: @Sendable () -> Timestamp
  private let accounts = Accounts()
  private let credentials = Credentials()
  private let memory = Mutex(Memory())

  /// - Parameter baseURL: Where clients reach the server, without a slash at the end; `nil` takes each request's `Host`.
  /// - Parameter containers: The containers that are served; `nil` for any.
  package init(
    store: any Store, secrets: ServerSecrets, policy: EnrolmentPolicy, baseURL: String? = nil,
    containers: Set<ContainerID>? = nil, now: @escaping @Sendable () -> Timestamp
  ) {
    self.containers = containers
    self.store = store
    self.secrets = secrets
    self.policy = policy
    self.baseURL = baseURL
    self.now = now
  }

  /// Who asks for `endpoint`.
  /// - Throws: 401 `AUTHENTICATION_FAILED` without valid credentials, 421 `AUTHENTICATION_REQUIRED` where a user is
  ///   needed and none is signed in.
  package func principal(for request: HTTPRequest, endpoint: Endpoint) async throws(ServiceError) -> Principal {
    try await authenticate(request, for: endpoint).principal
  }

  /// The same, with what the answer's headers need.
  package func authenticate(
    _ request: HTTPRequest, for endpoint: Endpoint
  ) async throws(ServiceError) -> Authentication {
    try await authenticate(request, QueryParameters(of: request.head), for: endpoint)
  }

  func authenticate(
    _ request: HTTPRequest, _ query: QueryParameters, for endpoint: Endpoint
  ) async throws(ServiceError) -> Authentication {
    if let signer = try await signer(of: request.head, query, for: endpoint) {
      return try authenticateKey(signer, of: request, for: endpoint)
    }
    let headers = request.head.headers
    if let token = headers["X-Virga-Session"] {
      let session = try await session(of: token)
      let user = user(of: session.account, in: endpoint.container)
      return Authentication(principal: Principal(user: user, account: session.account, device: session.device))
    }
    guard let apiToken = query["ckAPIToken"] else {
      throw ServiceError(.authenticationFailed, AccountReason.noCredentials)
    }
    // Nearly all are remembered, and a call that might wait costs more than to look first.
    var remembered = memory.withLock { $0.apiTokens[apiToken] }
    if remembered == nil { remembered = try await self.apiToken(apiToken) }
    guard let known = remembered, known.token.belongs(to: endpoint.container, in: endpoint.environment) else {
      throw ServiceError(
        .authenticationFailed,
        "ckAPIToken does not belong to container \(endpoint.container) in \(endpoint.environment.rawValue)")
    }
    guard known.token.allows(origin: request.head.headers["Origin"]) else {
      throw ServiceError(.accessDenied, "ckAPIToken may not be used by pages of this origin")
    }
    guard let spellings = query.webTokenSpellings else {
      // The schema may grant reading the public database to the world; all else needs a user.
      guard endpoint.scope == .public, !endpoint.operation.needsUser else {
        throw signInRequired("request needs authorization", endpoint, request, token: known)
      }
      return Authentication(principal: .world)
    }
    for spelling in spellings {
      var remembered = memory.withLock { $0.webTokens[spelling] }
      if remembered == nil { remembered = try await webToken(spelling) }
      guard let token = remembered, now() < token.expires, token.container == endpoint.container,
        belongs(token, to: known)
      else { continue }
      let user = user(of: token.account, in: endpoint.container)
      var principal = Principal(user: user, account: token.account, device: nil)
      principal.endsWith = token.device
      return Authentication(principal: principal, webToken: spelling)
    }
    throw signInRequired("ckWebAuthToken is not valid or has ended", endpoint, request, token: known)
  }

  /// Who asks, as far as the head of a request shows.
  /// - Returns: `nil` for a request that a known key may have signed: its signature is over its body too.
  /// - Throws: as `authenticate`.
  func authenticateHead(
    of request: HTTPRequest, _ query: QueryParameters, for endpoint: Endpoint
  ) async throws(ServiceError) -> Authentication? {
    guard try await signer(of: request.head, query, for: endpoint) == nil else { return nil }
    return try await authenticate(request, query, for: endpoint)
  }

  /// Whether a web-auth token was made with an API token. It works with no other one: that may be for other pages, or
  /// have been revoked to end the sign-ins that were made with it.
  private func belongs(_ token: WebToken, to known: KnownToken) -> Bool {
    if let made = token.apiToken { return made == known.digest }
    // Those that say nothing are older than the rule, and were made with the token that the container's devices share.
    return known.digest == SHA256.hexDigest(of: secrets.apiToken(for: token.container, in: .development))
  }

  // MARK: Server-to-server keys

  private struct Signer {
    var key: KnownKey
    var date: String
    var signature: String
  }

  /// Whatever is wrong with a signature, the answer is the same.
  private static let badSignature = ServiceError(.authenticationFailed, "the request's signature is not valid")

  /// The key that is said to have signed a request, at a time that counts; `nil` for a request that is not signed.
  private func signer(
    of head: HTTPRequestHead, _ query: QueryParameters, for endpoint: Endpoint
  ) async throws(ServiceError) -> Signer? {
    let headers = head.headers
    guard headers[SignedRequest.keyIDHeader] != nil || headers[SignedRequest.signatureHeader] != nil else { return nil }
    let others = ["ckAPIToken", "ckWebAuthToken", "ckSession"]
    guard headers["X-Virga-Session"] == nil, !others.contains(where: query.has) else {
      throw .badRequest("a signed request must not carry other credentials")
    }
    guard let id = headers[SignedRequest.keyIDHeader], let date = headers[SignedRequest.dateHeader],
      let signature = headers[SignedRequest.signatureHeader],
      let key = try await serverKey(id.lowercased()), key.key.belongs(to: endpoint.container, in: endpoint.environment),
      SignedRequest(date: date, body: [], target: head.target).isTimely(now: now())
    else { throw Self.badSignature }
    return Signer(key: key, date: date, signature: signature)
  }

  private func authenticateKey(
    _ signer: Signer, of request: HTTPRequest, for endpoint: Endpoint
  ) throws(ServiceError) -> Authentication {
    guard case .bytes(let body) = request.body else { throw Self.badSignature }
    let key = signer.key
    let signed = SignedRequest(date: signer.date, body: body, target: request.head.target)
    guard signed.isSigned(by: key.verifying, signature: signer.signature) else { throw Self.badSignature }
    let isAllowed = endpoint.operation.isDeviceOperation || (endpoint.scope == .public && !endpoint.operation.needsUser)
    guard isAllowed else {
      throw ServiceError(.accessDenied, "a server-to-server key works only in the public database, and not for users")
    }
    let user = user(of: key.key.account, in: endpoint.container)
    return Authentication(principal: Principal(user: user, account: key.key.account, device: nil))
  }

  private func serverKey(_ id: String) async throws(ServiceError) -> KnownKey? {
    let (known, removals) = memory.withLock { ($0.keys[id], $0.removals) }
    if let known { return known }
    guard let found = try await read({ [credentials] in try credentials.key(id, in: $0) }) else { return nil }
    let key: KnownKey
    do { key = KnownKey(key: found, verifying: try VerifyingKey(der: Array(found.publicKey))) } catch {
      throw ServiceError(.internalError, "the stored key \(id) cannot be read")
    }
    remember(removals) { $0.keys[id] = key }
    return key
  }

  /// - Throws: `NOT_FOUND` for a container that this server was not started for.
  func checkServed(_ container: ContainerID) throws(ServiceError) {
    guard let containers, !containers.contains(container) else { return }
    throw ServiceError(.notFound, "this server does not serve container \(container)")
  }

  // MARK: Sessions

  /// Makes a session's token. It is signed, not stored: it ends with its time or its device.
  func makeSession(account: AccountID, device: DeviceID) -> (token: String, session: Session) {
    let session = Session(account: account, device: device, expires: now() + Limits.sessionAge)
    let text = "\(device).\(account).\(session.expires.milliseconds)"
    return ("\(text).\(secrets.signature(of: text, for: .session))", session)
  }

  /// The session of a device's request.
  /// - Throws: as `session(of:)` for its token, and where there is none.
  func session(of request: HTTPRequest) async throws(ServiceError) -> Session {
    guard let token = request.head.headers["X-Virga-Session"] else {
      throw ServiceError(.authenticationFailed, AccountReason.noCredentials)
    }
    return try await session(of: token)
  }

  /// The session of a token.
  /// - Throws: `AUTHENTICATION_FAILED` if it is not valid, has ended, or its device was removed.
  package func session(of token: String) async throws(ServiceError) -> Session {
    let (known, removals) = memory.withLock { ($0.sessions[token], $0.removals) }
    if let known, now() < known.expires { return known }
    let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, let milliseconds = Int64(parts[2]),
      secrets.verifies(parts[3], of: parts[0...2].joined(separator: "."), for: .session),
      now() < Timestamp(milliseconds: milliseconds)
    else { throw ServiceError(.authenticationFailed, AccountReason.sessionEnded) }
    let session = Session(
      account: AccountID(parts[1]), device: DeviceID(parts[0]), expires: Timestamp(milliseconds: milliseconds))
    let device = try await read { [accounts] in try accounts.device(session.device, in: $0) }
    guard let device, device.removed == nil, device.account == session.account else {
      throw device?.removed == nil
        ? ServiceError(.authenticationFailed, AccountReason.deviceUnknown) : ServiceError.deviceRemoved
    }
    remember(removals) { $0.sessions[token] = session }
    return session
  }

  /// Forgets all that was remembered of a device. Called once its removal is durable and before it is answered.
  package func forget(_ device: DeviceID) {
    memory.withLock { memory in
      memory.removals += 1
      memory.sessions = memory.sessions.filter { $0.value.device != device }
      memory.webTokens = memory.webTokens.filter { $0.value.device != device }
    }
  }

  /// Forgets all that was remembered of API tokens, of web tokens made with them, and of keys. Called once a revocation is durable.
  package func forgetCredentials() {
    memory.withLock { memory in
      memory.removals += 1
      memory.apiTokens = [:]
      memory.webTokens = [:]
      memory.keys = [:]
    }
  }

  // MARK: Tokens of the web service

  private func apiToken(_ token: String) async throws(ServiceError) -> KnownToken? {
    let (known, removals) = memory.withLock { ($0.apiTokens[token], $0.removals) }
    if let known { return known }
    let digest = SHA256.hexDigest(of: token)
    guard let found = try await read({ [credentials] in try credentials.token(digest: digest, in: $0) }) else {
      return nil
    }
    let new = KnownToken(digest: digest, token: found)
    remember(removals) { $0.apiTokens[token] = new }
    return new
  }

  private func webToken(_ token: String) async throws(ServiceError) -> WebToken? {
    let (known, removals) = memory.withLock { ($0.webTokens[token], $0.removals) }
    if let known { return now() < known.expires ? known : nil }
    let digest = SHA256.hexDigest(of: token)
    let found = try await read { [accounts, credentials] transaction -> WebToken? in
      let token = try accounts.webToken(digest: digest, in: transaction)
      // It ends with the API token that it was made with.
      if let made = token?.apiToken, try credentials.token(digest: made, in: transaction) == nil { return nil }
      return token
    }
    guard let found, now() < found.expires else { return nil }
    remember(removals) { $0.webTokens[token] = found }
    return found
  }

  private func signInRequired(
    _ reason: String, _ endpoint: Endpoint, _ request: HTTPRequest, token: KnownToken
  ) -> ServiceError {
    var error = ServiceError(.authenticationRequired, reason)
    error.redirectURL = signInURL(endpoint, request, token: token)
    return error
  }

  /// Where the user of a page can sign in that made a request with an API token; `nil` if it has none.
  func signInURL(for request: HTTPRequest, at endpoint: Endpoint) async -> String? {
    guard let text = QueryParameters(of: request.head)["ckAPIToken"], let known = try? await apiToken(text),
      known.token.belongs(to: endpoint.container, in: endpoint.environment)
    else { return nil }
    return signInURL(endpoint, request, token: known)
  }

  private func signInURL(_ endpoint: Endpoint, _ request: HTTPRequest, token: KnownToken) -> String {
    let base = baseURL ?? Gateway.base(ofHost: request.head.headers["Host"])
    let container = endpoint.container.rawValue.percentEncodedPathSegment
    var url = "\(base)/virga/1/sign-in?container=\(container)&token=\(token.digest)"
    if let origin = request.head.headers["Origin"].flatMap(APIToken.origin) {
      url += "&origin=\(origin.percentEncodedPathSegment)"
    }
    return url
  }

  /// The user of an account in a container.
  package func user(of account: AccountID, in container: ContainerID) -> UserName {
    let key = UserKey(account: account, container: container)
    if let known = memory.withLock({ $0.users[key] }) { return known }
    let user = secrets.userName(of: account, in: container)
    memory.withLock { memory in
      if memory.users.count >= Memory.entriesMax { memory.users.removeAll() }
      memory.users[key] = user
    }
    return user
  }

  private func remember(_ removals: UInt64, _ change: (inout Memory) -> Void) {
    memory.withLock { memory in
      guard memory.removals == removals else { return }
      let entries = memory.sessions.count + memory.webTokens.count + memory.apiTokens.count + memory.keys.count
      if entries >= Memory.entriesMax {
        memory.sessions.removeAll()
        memory.webTokens.removeAll()
        memory.apiTokens.removeAll()
        memory.keys.removeAll()
      }
      change(&memory)
    }
  }

  // MARK: Store

  func read<Value: Sendable>(
    _ body: @escaping @Sendable (any ReadTransaction) throws -> Value
  ) async throws(ServiceError) -> Value {
    do { return try await store.read(body) } catch { throw ServiceError(accountsError: error) }
  }

  func write<Value: Sendable>(
    _ body: @escaping @Sendable (any WriteTransaction) throws -> Value
  ) async throws(ServiceError) -> Value {
    do { return try await store.write(body) } catch { throw ServiceError(accountsError: error) }
  }
}

extension ServiceError {
  /// The answer to whatever a transaction of the accounts threw.
  init(accountsError error: any Error) {
    switch error {
    case let error as ServiceError: self = error
    case StoreError.full: self.init(.tryAgainLater, "the server's disk is full", retryAfterSeconds: 30)
    case StoreError.diskFailed:
      self.init(.tryAgainLater, "the server's disk fails: nothing was saved", retryAfterSeconds: 60)
    case StoreError.busy: self.init(.tryAgainLater, "the server is busy", retryAfterSeconds: 1)
    case StoreError.closed: self.init(.tryAgainLater, "the server is stopping", retryAfterSeconds: 5)
    default: self.init(.internalError, "the server cannot read its accounts")
    }
  }
}
