import VirgaModel
import VirgaWire

extension Gateway {
  /// Whether what follows `/virga/1/` is a call of the operator's, or lies below the name of one.
  static func isManagement(_ name: Substring) -> Bool {
    OwnCall.managementMethods[String(name.prefix { $0 != "/" })] != nil
  }

  /// Answers a call of the operator. Nothing is told to anybody else, not even which calls there are.
  func manage(_ name: String, _ request: HTTPRequest) async -> HTTPResponse {
    let uuid = makeUUID()
    do {
      try checkOperator(request.head)
      if let methods = OwnCall.managementMethods[name], !methods.contains(request.head.method) {
        return refusal(ofMethod: request.head.method, allowed: methods.joined(separator: ", "))
      }
      guard case .bytes(let body) = request.body else { throw ServiceError.badRequest("the body is not in memory") }
      let answer = try await manage(name, request.head, body: body, uuid: uuid)
      return .json(answer, status: 200, uuid: uuid)
    } catch {
      return failure(serviceError(error, uuid: uuid, during: name), uuid: uuid)
    }
  }

  private func manage(_ name: String, _ head: HTTPRequestHead, body: [UInt8], uuid: String) async throws -> [UInt8] {
    switch (head.method, name) {
    case ("GET", "faults"): return faults.encoded()
    case ("PUT", "faults"):
      do throws(FaultPlan.Objection) { try faults.set(FaultPlan(json: body)) } catch {
        throw ServiceError.badRequest(error.description)
      }
      return faults.encoded()
    case ("DELETE", "faults"):
      faults.clear()
      return faults.encoded()
    case ("POST", "operate"): return try await operate(head, body: body, uuid: uuid)
    case ("GET", "history"): return try await history(head, uuid: uuid)
    case ("POST", "leave-shares"): return try await leaveShares(head)
    case ("GET", "roles"): return try await roles(head)
    case ("PUT", "roles"): return try await setRoles(head, body: body)
    case ("GET", "account-copy"): return try await accountCopy(head)
    case ("POST", "account-copy"): return try await restoreAccount(body)
    case ("GET", "zone-keys"): return try await zoneKeys(head)
    case ("POST", "zone-keys"): return try await addZoneKeys(head, body: body)
    case ("GET", "zone-records"): return try await zoneRecords(head, uuid: uuid)
    default: throw ServiceError(.notFound, "\(head.method) /virga/1/\(name) is not a call of this server")
    }
  }
}
