import VirgaWire

/// Judges answers by what they say, and not by their status alone: an error that came as a success counts as one.
struct JudgedTransport: Transport {
  private let transport: any Transport

  init(_ transport: any Transport) { self.transport = transport }

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    var answer = try await transport.send(request)
    let status = ServiceError.status(answer.status, of: answer.body)
    if status != answer.status { (answer.status, answer.statusOnTheWay) = (status, answer.status) }
    return answer
  }
}

extension TransportResponse {
  var isSuccess: Bool { (200..<300).contains(status) }

  /// Whether the service does not take the session or the token: its own word, and not that of something on the way.
  var refusesAccount: Bool { (status == 401 || status == 421) && ServiceError.isOne(body) }
}
