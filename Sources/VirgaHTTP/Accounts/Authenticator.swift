import Synchronization
package import VirgaAuth
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
    var containers: [String: ContainerID] = [:]
    var users: [UserKey: UserName] = [:]

    static let entriesMax = 20_000
  }

  let store: any Store
  let secrets: ServerSecrets
  let policy: EnrolmentPolicy
  let baseURL: String
  let now: @Sendable () -> Timestamp
  private let accounts = Accounts()
  private let memory = Mutex(Memory())

  /// - Parameter baseURL: Where clients reach the server, without a slash at the end.
  package init(
    store: any Store, secrets: ServerSecrets, policy: EnrolmentPolicy, baseURL: String = "http://127.0.0.1:8787",
    now: @escaping @Sendable () -> Timestamp
  ) {
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
    if let token = request.head.headers["X-Virga-Session"] {
      let session = try await session(of: token)
      let user = user(of: session.account, in: endpoint.container)
      return Authentication(principal: Principal(user: user, account: session.account, device: session.device))
    }
    let query = QueryItems(target: request.head.target)
    guard let apiToken = query.tokens(named: "ckAPIToken").first else {
      throw ServiceError(.authenticationFailed, AccountReason.noCredentials)
    }
    guard try await container(ofAPIToken: apiToken) == endpoint.container else {
      throw ServiceError(.authenticationFailed, "ckAPIToken is not one of container \(endpoint.container)")
    }
    var spellings = query.tokens(named: "ckWebAuthToken")
    if spellings.isEmpty { spellings = query.tokens(named: "ckSession") }
    if spellings.isEmpty {
      // The schema may grant reading the public database to the world; all else needs a user.
      guard endpoint.scope == .public, endpoint.operation != .usersCaller, endpoint.operation != .usersCurrent else {
        throw signInRequired("request needs authorization", container: endpoint.container)
      }
      return Authentication(principal: .world)
    }
    for spelling in spellings {
      guard let token = try await webToken(spelling), token.container == endpoint.container else { continue }
      let user = user(of: token.account, in: endpoint.container)
      let principal = Principal(user: user, account: token.account, device: nil)
      return Authentication(principal: principal, webToken: spelling)
    }
    throw signInRequired("ckWebAuthToken is not valid or has ended", container: endpoint.container)
  }

  // MARK: Sessions

  /// Makes a session's token. It is signed, not stored: it ends with its time or its device.
  func makeSession(account: AccountID, device: DeviceID) -> (token: String, session: Session) {
    let session = Session(account: account, device: device, expires: now() + Limits.sessionAge)
    let text = "\(device).\(account).\(session.expires.milliseconds)"
    return ("\(text).\(secrets.signature(of: text, for: .session))", session)
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

  // MARK: Tokens of the web service

  private func container(ofAPIToken token: String) async throws(ServiceError) -> ContainerID? {
    let (known, removals) = memory.withLock { ($0.containers[token], $0.removals) }
    if let known { return known }
    let digest = SHA256.hexDigest(of: token)
    guard let found = try await read({ [accounts] in try accounts.apiToken(digest: digest, in: $0) }) else {
      return nil
    }
    remember(removals) { $0.containers[token] = found.container }
    return found.container
  }

  private func webToken(_ token: String) async throws(ServiceError) -> WebToken? {
    let (known, removals) = memory.withLock { ($0.webTokens[token], $0.removals) }
    if let known { return now() < known.expires ? known : nil }
    let digest = SHA256.hexDigest(of: token)
    guard let found = try await read({ [accounts] in try accounts.webToken(digest: digest, in: $0) }),
      now() < found.expires
    else { return nil }
    remember(removals) { $0.webTokens[token] = found }
    return found
  }

  private func signInRequired(_ reason: String, container: ContainerID) -> ServiceError {
    var error = ServiceError(.authenticationRequired, reason)
    error.redirectURL = "\(baseURL)/virga/1/sign-in?container=\(container.rawValue.percentEncodedPathSegment)"
    return error
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
      let entries = memory.sessions.count + memory.webTokens.count + memory.containers.count
      if entries >= Memory.entriesMax {
        memory.sessions.removeAll()
        memory.webTokens.removeAll()
        memory.containers.removeAll()
      }
      change(&memory)
    }
  }

  private func read<Value: Sendable>(
    _ body: @escaping @Sendable (any ReadTransaction) throws -> Value
  ) async throws(ServiceError) -> Value {
    do { return try await store.read(body) } catch { throw ServiceError(accountsError: error) }
  }
}

extension ServiceError {
  /// The answer to whatever a transaction of the accounts threw.
  init(accountsError error: any Error) {
    switch error {
    case let error as ServiceError: self = error
    case StoreError.full: self.init(.quotaExceeded, "the server's disk is full")
    case StoreError.closed: self.init(.tryAgainLater, "the server is stopping", retryAfterSeconds: 5)
    default: self.init(.internalError, "the server cannot reach its accounts")
    }
  }
}

/// The query of a request's target.
private struct QueryItems {
  private var items: [(name: Substring, value: Substring)] = []

  init(target: String) {
    guard let mark = target.firstIndex(of: "?") else { return }
    for item in target[target.index(after: mark)...].split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      items.append((name: parts[0], value: parts.count > 1 ? parts[1] : ""))
    }
  }

  /// The spellings that a token may have been meant as, the likeliest first: some clients encode it twice, some not at
  /// all, and some turn `+` into a space.
  func tokens(named name: String) -> [String] {
    guard let value = items.first(where: { $0.name == name })?.value, !value.isEmpty else { return [] }
    let once = percentDecoded(value)
    let twice = percentDecoded(once[...])
    return (once == twice ? [once] : [once, twice]).map { $0.replacing(" ", with: "+") }
  }

  /// What is not a valid escape stays as it is: it then matches no token.
  private func percentDecoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let escaped = Hex.decode(String(decoding: rest.prefix(2), as: UTF8.self))
      {
        bytes += escaped
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
