import FoundationEssentials
import VirgaModel
import VirgaSchema
import VirgaServer
import VirgaWire

extension Gateway {
  /// Performs a call on a container's schemas for the server's operator. All but an export answer a `SchemaReport`.
  func schema(_ call: SchemaCall, _ request: HTTPRequest) async -> HTTPResponse {
    let uuid = makeUUID()
    do {
      try checkOperator(request.head)
      let query = QueryParameters(of: request.head)
      let container = ContainerID(query["container"] ?? "")
      if let objection = NameRule.container.objection(to: container.rawValue) {
        throw ServiceError.badRequest("container \(objection)")
      }
      guard configuration.serves(container) else {
        throw ServiceError(.notFound, "there is no container \(container) on this server")
      }
      if call == .export { return try await exportSchema(of: container, query["environment"], uuid: uuid) }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      let report = try await report(on: call, container, request)
      return .json(Array(try encoder.encode(report)), status: 200, uuid: uuid)
    } catch {
      return failure(serviceError(error, uuid: uuid, during: "schema/\(call.rawValue)"), uuid: uuid)
    }
  }

  private func exportSchema(of container: ContainerID, _ name: String?, uuid: String) async throws -> HTTPResponse {
    guard let environment = Environment(rawValue: name ?? Environment.development.rawValue) else {
      throw ServiceError.badRequest("unknown environment")
    }
    let text = try await store.read { [service] transaction in
      try service.schema(of: container, in: environment, transaction: transaction).text
    }
    let headers = HTTPHeaders([("Content-Type", "text/plain; charset=UTF-8"), ("X-Apple-Request-UUID", uuid)])
    return HTTPResponse(status: 200, headers: headers, body: .bytes(Array(text.utf8)))
  }

  private func report(
    on call: SchemaCall, _ container: ContainerID, _ request: HTTPRequest
  ) async throws -> SchemaReport {
    let endpoint = Endpoint(container: container, environment: .development, scope: .private, operation: .zonesModify)
    let start = context(for: endpoint, .world, request.head, QueryParameters(of: request.head))
    switch call {
    case .export, .diff:
      return try await store.read { [service] in
        var report = try service.schemaDifference(of: container, transaction: $0)
        report.isContainerKnown = try service.hasAnything(of: container, transaction: $0)
        return report
      }
    case .validate, .import:
      let schema: Schema
      switch try self.schema(in: request) {
      case .success(let read): schema = read
      case .failure(let errors): return SchemaReport(errors)
      }
      if call == .validate {
        return try await store.read { [service] in
          var report = try service.checkImport(of: schema, into: container, transaction: $0)
          report.isContainerKnown = try service.hasAnything(of: container, transaction: $0)
          return report
        }
      }
      return try await write(start) { [service] transaction, context in
        try service.importSchema(schema, into: container, in: transaction, context: &context)
      }
    case .deploy:
      return try await write(start) { [service] transaction, _ in
        try service.deploySchema(of: container, in: transaction)
      }
    case .reset:
      return try await write(start) { [service] transaction, context in
        try service.resetSchema(of: container, in: transaction, context: &context)
      }
    }
  }

  private func write(
    _ start: CallContext,
    _ body: @escaping @Sendable (any WriteTransaction, inout CallContext) throws -> SchemaReport
  ) async throws -> SchemaReport {
    let (report, wakes) = try await store.write { transaction in
      var context = start
      return (try body(transaction, &context), context.wakes)
    }
    removals.ring()
    wake(wakes)
    return report
  }

  private func schema(in request: HTTPRequest) throws -> Result<Schema, SchemaErrors> {
    let text = try text(of: request)
    do throws(SchemaErrors) { return .success(try Schema(text)) } catch { return .failure(error) }
  }

  private func text(of request: HTTPRequest) throws(ServiceError) -> String {
    guard case .bytes(let bytes) = request.body, let text = String(validating: bytes, as: UTF8.self) else {
      throw .badRequest("the body is not text in UTF-8")
    }
    return text
  }
}
