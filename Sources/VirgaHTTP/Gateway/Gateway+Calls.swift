import VirgaModel
import VirgaServer
import VirgaWire

extension Gateway {
  /// Checks who asks, reads the call, runs it on the store and writes its answer.
  func call(_ endpoint: Endpoint, _ request: HTTPRequest, _ query: QueryParameters) async -> HTTPResponse {
    guard let threads = configuration.workThreads, case .bytes(let body) = request.body, Self.isLarge(body) else {
      return await callHere(endpoint, request, query)
    }
    // A loop has other connections to look after.
    return await threads.run { await self.callHere(endpoint, request, query) }
  }

  /// Whether a body takes so long to read that no connection of a loop should have to wait for it.
  private static func isLarge(_ body: [UInt8]) -> Bool { body.count >= 32_768 }

  private func callHere(
    _ endpoint: Endpoint, _ request: HTTPRequest, _ query: QueryParameters
  ) async -> HTTPResponse {
    let uuid = makeUUID()
    // A page that loses the token of an answer that failed would have to sign in again.
    var tokenHeaders: [(name: String, value: String)] = []
    do {
      try checkServed(endpoint.container)
      let authentication = try await authenticator.authenticate(request, query, for: endpoint)
      tokenHeaders = authentication.responseHeaders
      try rates.admit(authentication.principal, now: configuration.now())
      guard case .bytes(let body) = request.body else { throw ServiceError.badRequest("the body is not in memory") }
      if Self.isLarge(body) { try await checkMayWrite(authentication.principal, at: endpoint) }
      let context = context(for: endpoint, authentication.principal, request.head, query)
      let encode: @Sendable (Reply) -> [UInt8] = { [metrics] reply in
        metrics.count(reply.failureCodes, of: endpoint.operation)
        return reply.encoded(extensions: context.wantsExtensions, uuid: uuid, owner: context.zoneOwner)
      }
      guard let bytes = try await run(body, context, encode) else { return Self.brokenOff }
      var response = HTTPResponse.json(bytes, status: 200, uuid: uuid).with(tokenHeaders)
      // Records of the caller's own are marked by it: the client does not know what the user is called here.
      if context.wantsExtensions, let user = authentication.principal.user {
        response.headers.append("X-Virga-User", user.rawValue)
      }
      return response
    } catch {
      return await failure(error, of: endpoint, request, uuid: uuid).with(tokenHeaders)
    }
  }

  /// What a call is answered whose caller may not send a large body: the same as with the body. `nil` for all others.
  func refusal(
    ofCaller request: HTTPRequest, _ query: QueryParameters, at endpoint: Endpoint
  ) async -> HTTPResponse? {
    var tokenHeaders: [(name: String, value: String)] = []
    do {
      try checkServed(endpoint.container)
      if let authentication = try await authenticator.authenticateHead(of: request, query, for: endpoint) {
        tokenHeaders = authentication.responseHeaders
        try await checkMayWrite(authentication.principal, at: endpoint)
      }
      return nil
    } catch {
      return await failure(error, of: endpoint, request, uuid: makeUUID()).with(tokenHeaders)
    }
  }

  private func checkServed(_ container: ContainerID) throws(ServiceError) {
    guard configuration.serves(container) else {
      throw ServiceError(.notFound, "there is no container \(container) on this server")
    }
  }

  private func failure(
    _ error: any Error, of endpoint: Endpoint, _ request: HTTPRequest, uuid: String
  ) async -> HTTPResponse {
    var error = serviceError(error, uuid: uuid, during: endpoint.operation.rawValue)
    // Only the rules know of some calls that they need a user.
    if error.code == .authenticationRequired, error.redirectURL == nil {
      error.redirectURL = await authenticator.signInURL(for: request, at: endpoint)
    }
    return failure(error, uuid: uuid)
  }

  /// - Returns: `nil` when a fault on purpose breaks the connection off.
  private func run(
    _ body: [UInt8], _ context: CallContext, _ encode: @escaping @Sendable (Reply) -> [UInt8]
  ) async throws -> [UInt8]? {
    let operation = context.endpoint.operation
    if faults.watches(context.endpoint.environment) {
      let call = try Call(decoding: body, for: operation)
      return try await run(call, context, meeting: faults(for: call, context)).map(encode)
    }
    let call = try Call(decoding: body, for: operation)
    // What is read for participants of the shares of others is counted.
    if case .changesZone(let requests) = call, context.endpoint.scope == .private {
      return try await readChanges(requests, context, encode)
    }
    if call.operation.isReadOnly, !call.isSmallRead { return try await readLarge(call, context, encode) }
    return encode(try await run(call, context, size: Self.isLarge(body) ? .any : .small))
  }

  /// - Parameter size: Whether the loop may perform the call itself if it is a small one.
  func run(_ call: Call, _ context: CallContext, size: BodySize = .any) async throws -> Reply {
    if call.operation.isReadOnly {
      return try await buildingIndexes(for: context) {
        try await store.read(size: call.isSmallRead ? size : .any, reading(call, context))
      }
    }
    // In the databases of others one save may concern many.
    let size = context.endpoint.scope == .private && call.isSmallSave ? size : .any
    let prepared = service.prepare(call)
    if recentVersions.isStale(call, context) {
      let conflict = try await store.read(size: size) { [service] transaction in
        try service.conflict(of: prepared, in: transaction, context: context)
      }
      if let conflict { return conflict }
    }
    let (reply, wakes) = try await store.write(size: size) { [service] transaction in
      var context = context
      let reply = try service.write(prepared, in: transaction, context: &context)
      return (reply, context.wakes)
    }
    if call.operation == .zonesModify { removals.ring() }
    wake(wakes)
    recentVersions.note(reply, to: call, context)
    return reply
  }

  /// Refuses a large save of nobody where no record type lets the world save, before it is read.
  private func checkMayWrite(_ principal: Principal, at endpoint: Endpoint) async throws {
    guard principal.user == nil, endpoint.operation == .recordsModify else { return }
    let worldMayWrite = try await store.read { [service] transaction in
      try service.worldMayWrite(in: endpoint.container, endpoint.environment, transaction)
    }
    guard worldMayWrite else { throw ServiceError(.authenticationRequired, "request needs authorization") }
  }

  /// A call that reads much: the answer is written where it is read, so that no loop is kept from its connections.
  private func readLarge(
    _ call: Call, _ context: CallContext, _ encode: @escaping @Sendable (Reply) -> [UInt8]
  ) async throws -> [UInt8] {
    let reading = reading(call, context)
    return try await buildingIndexes(for: context) {
      try await store.read { transaction in encode(try reading(transaction)) }
    }
  }

  /// The call as a read.
  private func reading(
    _ call: Call, _ context: CallContext
  ) -> @Sendable (any ReadTransaction) throws -> Reply {
    { [service, hiddenReads, now = configuration.now] transaction in
      try hiddenReads.counting(for: context, now: now) { context in
        try service.read(call, in: transaction, context: &context)
      }
    }
  }

  func context(
    for endpoint: Endpoint, _ principal: Principal, _ head: HTTPRequestHead, _ query: QueryParameters
  ) -> CallContext {
    var context = CallContext(
      endpoint: endpoint, principal: principal, now: configuration.now(), random: configuration.makeRandom(),
      urls: urls(for: head))
    context.cipher = fieldKey
    context.tokenCipher = tokenKey
    context.clientID = query["clientId"]
    if endpoint.operation == .tokensCreate || endpoint.operation == .tokensRegister {
      context.isAwaited = { [polls] in polls.isAwaited($0) }
    }
    context.wantsSyncToken = query.isTrue("getCurrentSyncToken")
    context.wantsExtensions = head.headers["X-Virga-Extensions"] == "1"
    // Who comes with a device's session is a client of ours, which may send as much as native ones.
    if principal.device == nil { context.operationsPerRequestMax = Limits.operationsPerWebRequestMax }
    if let page = head.headers["X-Virga-Page"].flatMap(Int.init), page > 0 {
      context.recordsPerPageMax = min(page, Limits.recordsPerLargePageMax)
    }
    return context
  }
}

extension Call {
  /// Whether performing it takes no longer than a change of thread or two. A deletion may take many records along, a new
  /// parent moves all that is below, a share concerns others, and assets are looked for in older versions.
  fileprivate var isSmallSave: Bool {
    guard case .recordsModify(let request) = self, request.operations.count < Self.manyOperations else { return false }
    return request.operations.allSatisfy { operation in
      !operation.kind.isDelete && operation.record.isPlain
    }
  }

  /// The same for reads, if what they need is in memory. Records may be large, so few of them.
  fileprivate var isSmallRead: Bool {
    switch self {
    case .recordsLookup(let request): request.records.count <= 4
    case .zonesLookup(let request): request.zones.count < Self.manyOperations
    case .usersCaller, .usersCurrent, .changesDatabase: true
    default: false
    }
  }

  private static var manyOperations: Int { 32 }
}

extension RecordChange {
  /// Whether it touches no other record, and no file.
  fileprivate var isPlain: Bool {
    type != .share && share == nil && parent == .unchanged && !createShortGUID
      && !fields.contains { change in
        switch change.field?.value {
        case .asset, .assetList: true
        default: false
        }
      }
  }
}
