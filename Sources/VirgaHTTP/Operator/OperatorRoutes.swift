import FoundationEssentials
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

/// The calls under `/virga/1/operator/`, by which whoever runs the server hands out and takes back credentials.
package final class OperatorRoutes: Sendable {
  package static let prefix = "/virga/1/operator/"

  private let authenticator: Authenticator
  private let credentials = Credentials()
  private let accounts = Accounts()

  package init(authenticator: Authenticator) { self.authenticator = authenticator }

  /// Answers a request of the operator's whose path begins with `prefix`.
  /// - Precondition: The caller has checked that it is the operator's.
  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    let name = request.head.path.dropFirst(Self.prefix.count)
    do throws(ServiceError) {
      switch (request.head.method, name) {
      case ("GET", "tokens"): return try .message(await tokens(request))
      case ("POST", "tokens/create"): return try .message(await createToken(request))
      case ("POST", "tokens/revoke"): return try .message(await revokeToken(request))
      case ("GET", "keys"): return try .message(await keys(request))
      case ("POST", "keys/add"): return try .message(await addKey(request))
      case ("POST", "keys/remove"): return try .message(await removeKey(request))
      case ("GET", "containers"): return try .message(await containers())
      case ("GET", "users"): return try .message(await users(request))
      default: throw ServiceError(.notFound, "\(request.head.method) \(request.head.path) is not a call of this server")
      }
    } catch {
      return .failure(error)
    }
  }

  // MARK: API tokens

  private func tokens(_ request: HTTPRequest) async throws(ServiceError) -> [OperatorMessages.Token] {
    let container = container(of: request)
    return try await authenticator.read { [credentials] in
      try credentials.tokens(of: container, in: $0).map { OperatorMessages.Token(digest: $0.digest, $0.token) }
    }
  }

  private func createToken(_ request: HTTPRequest) async throws(ServiceError) -> OperatorMessages.Token {
    let message: OperatorMessages.TokenRequest = try request.message()
    try check(message.container)
    var token = APIToken(container: message.container, environment: message.environment ?? .development)
    token.created = authenticator.now()
    token.name = try message.name.map(checkedName)
    token.origins = try checkedOrigins(message.origins)
    if let callback = message.callback {
      if let objection = APIToken.objection(toCallback: callback, of: message.container) {
        throw .badRequest("callback \(objection)")
      }
      token.callback = callback
    }
    let text = Hex.encode(SystemRandom.bytes(32))
    let digest = SHA256.hexDigest(of: text)
    try await authenticator.write { [credentials, token] in try credentials.add(token, digest: digest, in: $0) }
    var answer = OperatorMessages.Token(digest: digest, token)
    answer.token = text
    return answer
  }

  private func checkedOrigins(_ texts: [String]?) throws(ServiceError) -> [String]? {
    guard let texts, !texts.isEmpty else { return nil }
    guard texts.count <= Limits.originsPerTokenMax else {
      throw ServiceError.limitExceeded("origins", observed: texts.count, limit: Limits.originsPerTokenMax)
    }
    var origins: [String] = []
    for text in texts {
      guard let origin = APIToken.origin(text) else {
        throw .badRequest("an origin must be http:// or https:// and a host, with or without a port, and nothing else")
      }
      origins.append(origin)
    }
    return origins
  }

  private func revokeToken(_ request: HTTPRequest) async throws(ServiceError) -> OperatorMessages.Done {
    let message: OperatorMessages.Identified = try request.message()
    let now = authenticator.now()
    try await authenticator.write { [credentials] in try credentials.revokeToken(message.id, in: $0, now: now) }
    authenticator.forgetCredentials()
    return OperatorMessages.Done()
  }

  // MARK: Server-to-server keys

  private func keys(_ request: HTTPRequest) async throws(ServiceError) -> [OperatorMessages.Key] {
    let container = container(of: request)
    let keys = try await authenticator.read { [credentials] in try credentials.keys(of: container, in: $0) }
    return keys.map(described)
  }

  private func addKey(_ request: HTTPRequest) async throws(ServiceError) -> OperatorMessages.Key {
    let message: OperatorMessages.KeyRequest = try request.message()
    try check(message.container)
    let name = try checkedName(message.name)
    let key: VerifyingKey
    do { key = try VerifyingKey(pem: message.publicKey) } catch {
      throw .badRequest("publicKey is not a public key on the curve P-256 in PEM form")
    }
    // Container and environment go in, so that one key pair registered for two of them is two users. Development's ids are
    // those that keys had before they belonged to an environment.
    let environment = message.environment ?? .development
    let place = environment == .development ? "" : "\(environment.rawValue)\n"
    let id = SHA256.hexDigest(of: "\(message.container)\n\(place)\(CanonicalBase64.encode(key.der))")
    let new = ServerKey(
      id: id, container: message.container, environment: environment, name: name, publicKey: key.der,
      created: authenticator.now())
    return described(try await authenticator.write { [credentials] in try credentials.add(new, in: $0) })
  }

  private func removeKey(_ request: HTTPRequest) async throws(ServiceError) -> OperatorMessages.Done {
    let message: OperatorMessages.Identified = try request.message()
    try await authenticator.write { [credentials] in try credentials.removeKey(message.id, in: $0) }
    authenticator.forgetCredentials()
    return OperatorMessages.Done()
  }

  private func described(_ key: ServerKey) -> OperatorMessages.Key {
    OperatorMessages.Key(
      id: key.id, container: key.container, environment: key.environment, name: key.name, created: key.created,
      user: authenticator.user(of: key.account, in: key.container))
  }

  // MARK: Containers

  /// All containers of which something is kept, by name.
  private func containers() async throws(ServiceError) -> [OperatorMessages.Container] {
    let (databases, named) = try await authenticator.read { [credentials] transaction in
      let tokens = try credentials.tokens(of: nil, in: transaction).map(\.token.container)
      let keys = try credentials.keys(of: nil, in: transaction).map(\.container)
      return (try transaction.databases().map(\.key), tokens + keys)
    }
    return Set(databases.map(\.container) + named).sorted().map { container in
      let parts = VirgaModel.Environment.allCases.compactMap { environment -> OperatorMessages.Container.Part? in
        let own = databases.filter { $0.container == container && $0.environment == environment }
        guard !own.isEmpty else { return nil }
        return .init(
          environment: environment, users: own.count { $0.owner != nil },
          hasPublicData: own.contains { $0.owner == nil })
      }
      return OperatorMessages.Container(container: container, environments: parts)
    }
  }

  // MARK: Users

  /// All accounts with their devices, and who each is in the containers where it has data, or in the one that is named;
  /// last, in one entry, everybody else who has a database.
  private func users(_ request: HTTPRequest) async throws(ServiceError) -> [OperatorMessages.Account] {
    let wanted = container(of: request)
    let (found, databases) = try await authenticator.read { [accounts] transaction in
      let found = try accounts.all(in: transaction).map { account in
        (account: account, devices: try accounts.devices(of: account.id, in: transaction))
      }
      return (found, try transaction.databases().map(\.key))
    }
    let containers = Set(databases.map(\.container)).sorted()
    let owners = Set(databases.compactMap { key in key.owner.map { Owner(container: key.container, user: $0) } })
    var listed: Set<Owner> = []
    var accounts = found.map { account, devices in
      let users = (wanted.map { [$0] } ?? containers).map { container in
        Owner(container: container, user: authenticator.user(of: account.id, in: container))
      }
      listed.formUnion(users)
      return OperatorMessages.Account(
        account: account.id, created: account.created,
        devices: devices.map { OperatorMessages.Account.Device(id: $0.id, name: $0.name, enrolled: $0.enrolled) },
        users: users.filter { wanted != nil || owners.contains($0) }
          .map { OperatorMessages.Account.User(container: $0.container, user: $0.user) })
    }
    let others = owners.subtracting(listed).filter { wanted == nil || $0.container == wanted }
      .sorted { ($0.container, $0.user) < ($1.container, $1.user) }
    if !others.isEmpty {
      accounts.append(
        OperatorMessages.Account(
          account: nil, created: nil, devices: [],
          users: others.map { OperatorMessages.Account.User(container: $0.container, user: $0.user) }))
    }
    return accounts
  }

  private struct Owner: Hashable {
    var container: ContainerID
    var user: UserName
  }

  // MARK: Checks

  private func container(of request: HTTPRequest) -> ContainerID? {
    QueryParameters(of: request.head)["container"].map { ContainerID($0) }
  }

  private func check(_ container: ContainerID) throws(ServiceError) {
    if let objection = NameRule.container.objection(to: container.rawValue) {
      throw .badRequest("container \(objection)")
    }
    try authenticator.checkServed(container)
  }

  /// Names are shown in terminals, as those of devices are.
  private func checkedName(_ name: String) throws(ServiceError) -> String {
    if let objection = Device.objection(toName: name) { throw .badRequest("name \(objection)") }
    return name
  }
}

extension OperatorMessages.Token {
  fileprivate init(digest: String, _ token: APIToken) {
    self.init(id: String(digest.prefix(16)), container: token.container)
    environment = token.environment
    name = token.name
    created = token.created
    origins = token.origins
    callback = token.callback
  }
}
