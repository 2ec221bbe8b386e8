package import VirgaModel
import VirgaWire

extension Service {
  /// - Returns: `nil` if there is no such token, or its device was removed.
  package func pushQueue(of token: String, in transaction: any ReadTransaction) throws -> PushQueue? {
    guard let entity = try transaction.entity(.pushToken, key: token) else { return nil }
    let stored = try PushToken(entity)
    if let device = stored.endsWith, try Accounts().isRemoved(DeviceID(device), in: transaction) { return nil }
    // A container's name may hold anything but a slash, and an environment and a user hold none either.
    let parts = entity.owner.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let environment = Environment(rawValue: parts[1]) else {
      throw StoreError.damaged("a push token cannot be read")
    }
    return PushQueue(
      container: ContainerID(parts[0]), environment: environment, user: UserName(parts[2]), device: stored.device,
      client: stored.clientID)
  }

  /// Removes the queues of a device that was removed, in one container, with what waits in them.
  /// - Returns: Their tokens.
  package func removePushTokens(
    of device: DeviceID, _ user: UserName, container: ContainerID, in transaction: any WriteTransaction
  ) throws -> [String] {
    try Environment.allCases.flatMap { environment in
      let all = try PushToken.all(of: user, container: container, environment: environment, in: transaction)
      let ended = all.filter { $0.endsWith == device.rawValue }
      for token in ended { try token.remove(in: transaction) }
      return ended.map(\.token)
    }
  }

  func createPushToken(
    _ request: PushTokenRequest, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    let token = context.makeSecret()
    let environment = request.apnsEnvironment ?? context.endpoint.environment.rawValue
    try savePushToken(token, request, environment, in: transaction, context: &context)
    return .pushToken(
      PushTokenReply(
        apnsEnvironment: environment, apnsToken: token, webcourierURL: context.urls.pushURL(token: token)))
  }

  /// Ties a token that `tokens/create` made to the caller, and brings one back that was dropped.
  func registerPushToken(
    _ request: PushTokenRequest, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    let user = try context.principal.requiredUser()
    guard let token = request.apnsToken else { throw ServiceError.badRequest("apnsToken is missing") }
    guard RandomText.isSecret(token) else {
      throw ServiceError.badRequest("this server delivers only to tokens from tokens/create")
    }
    let owner = PushToken.owner(
      user, container: context.endpoint.container, environment: context.endpoint.environment)
    let known = try transaction.entity(.pushToken, key: token)
    if let known, known.owner != owner { throw ServiceError(.accessDenied, "the token belongs to another user") }
    let environment = try request.apnsEnvironment ?? known.map { try PushToken($0).apnsEnvironment }
    try savePushToken(
      token, request, environment ?? context.endpoint.environment.rawValue, in: transaction, context: &context)
    return .empty
  }

  private func savePushToken(
    _ token: String, _ request: PushTokenRequest, _ apnsEnvironment: String, in transaction: any WriteTransaction,
    context: inout CallContext
  ) throws {
    let user = try context.principal.requiredUser()
    // It may have been removed while the call waited.
    if let device = context.principal.endsWith, try Accounts().isRemoved(device, in: transaction) {
      throw ServiceError.deviceRemoved
    }
    guard Environment(rawValue: apnsEnvironment) != nil else {
      throw ServiceError.badRequest(
        "apnsEnvironment must be development or production, not '\(apnsEnvironment.prefix(100))'")
    }
    let texts = [apnsEnvironment, request.clientID ?? context.clientID ?? ""]
    guard texts.allSatisfy({ $0.utf8.count <= Limits.nameLengthMax && !$0.utf8.contains(UInt8(ascii: "\n")) }) else {
      throw ServiceError.badRequest("apnsEnvironment or clientId is too long or has a line break")
    }
    let (container, environment) = (context.endpoint.container, context.endpoint.environment)
    let new = PushToken(
      token: token, apnsEnvironment: apnsEnvironment, context: context, clientID: request.clientID)
    let others = try PushToken.all(of: user, container: container, environment: environment, in: transaction)
      .filter { $0.token != token }
    for old in try Self.crowdedOut(by: new, among: others, in: transaction, isAwaited: context.isAwaited) {
      try old.remove(in: transaction)
      context.wakes.end(old.token)
    }
    try transaction.put(
      new.entity(owner: PushToken.owner(user, container: container, environment: environment)))
  }

  /// The tokens that go when a new one comes: those of devices that were removed; of the same client those that nobody
  /// waits at, but for a few, for each start of a program makes one; and beyond the limit of a user the oldest, first
  /// of those that nobody waits at.
  private static func crowdedOut(
    by new: PushToken, among others: [PushToken], in transaction: any ReadTransaction,
    isAwaited: (_ pushToken: String) -> Bool
  ) throws -> [PushToken] {
    // A device's removal does not find those of a container without any database.
    let devices = Set(others.compactMap(\.endsWith)).sorted()
    let removed = Set(try devices.filter { try Accounts().isRemoved(DeviceID($0), in: transaction) })
    var gone = others.filter { $0.endsWith.map(removed.contains) ?? false }
    let left = others.filter { !($0.endsWith.map(removed.contains) ?? false) }
      .sorted { ($0.created, $0.token) < ($1.created, $1.token) }
    let idle = left.filter { !isAwaited($0.token) }
    let idleOfClient = idle.filter { $0.clientID == new.clientID && $0.device == new.device }
    var surplus = Set(idleOfClient.dropLast(Limits.idlePushTokensPerClientMax - 1))
    let count = left.count - surplus.count - (Limits.pushTokensPerUserMax - 1)
    if count > 0 {
      let rest = left.filter { !surplus.contains($0) }
      let idleRest = idle.filter { !surplus.contains($0) }
      let idleSet = Set(idleRest)
      surplus.formUnion((idleRest + rest.filter { !idleSet.contains($0) }).prefix(count))
    }
    gone += left.filter(surplus.contains)
    return gone
  }
}
