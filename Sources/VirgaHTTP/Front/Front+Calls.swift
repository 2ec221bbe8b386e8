import VirgaModel
import VirgaServer
import VirgaWire

extension Front {
  /// Checks who asks, reads the call, runs it on the store and writes its answer.
  func call(_ endpoint: Endpoint, _ request: HTTPRequest) async -> HTTPResponse {
    let uuid = makeUUID()
    do {
      guard configuration.serves(endpoint.container) else {
        throw ServiceError(.notFound, "there is no container \(endpoint.container) on this server")
      }
      let authentication = try await authenticator.authenticate(request, for: endpoint)
      try rates.admit(authentication.principal, now: configuration.now())
      guard case .bytes(let body) = request.body else { throw ServiceError.badRequest("the body is not in memory") }
      let call = try Call(decoding: body, for: endpoint.operation)
      let context = context(for: endpoint, authentication.principal, request.head)
      guard let reply = try await runMeetingFaults(call, context) else { return Self.brokenOff }
      var response = HTTPResponse.json(
        reply.encoded(extensions: context.wantsExtensions, uuid: uuid), status: 200, uuid: uuid)
      for header in authentication.responseHeaders { response.headers.append(header.name, header.value) }
      return response
    } catch {
      return failure(serviceError(error, uuid: uuid, during: endpoint.operation.rawValue), uuid: uuid)
    }
  }

  /// - Returns: `nil` when a fault on purpose breaks the connection off.
  private func runMeetingFaults(_ call: Call, _ context: CallContext) async throws -> Reply? {
    guard faults.watches(context.endpoint.environment) else { return try await run(call, context) }
    return try await run(call, context, meeting: faults(for: call, context))
  }

  func run(_ call: Call, _ context: CallContext) async throws -> Reply {
    if call.operation.isReadOnly {
      do {
        return try await store.read { [service] transaction in
          var context = context
          return try service.read(call, in: transaction, context: &context)
        }
      } catch is WriteNeeded {
        // The first query of its kind makes an index.
      }
    }
    let (reply, wakes) = try await store.write { [service] transaction in
      var context = context
      let reply = try service.write(call, in: transaction, context: &context)
      return (reply, context.wakes)
    }
    for token in wakes.sorted() { polls.wake(token) }
    return reply
  }

  func context(for endpoint: Endpoint, _ principal: Principal, _ head: HTTPRequestHead) -> CallContext {
    var context = CallContext(
      endpoint: endpoint, principal: principal, now: configuration.now(), random: configuration.makeRandom(),
      urls: urls(for: head))
    let query = QueryParameters(of: head)
    context.cipher = fieldKey
    context.clientID = query["clientId"]
    context.wantsSyncToken = query.isTrue("getCurrentSyncToken")
    context.wantsExtensions = head.headers["X-Virga-Extensions"] == "1"
    if let page = head.headers["X-Virga-Page"].flatMap(Int.init), page > 0 {
      context.recordsPerPageMax = min(page, Limits.recordsPerLargePageMax)
    }
    return context
  }
}
