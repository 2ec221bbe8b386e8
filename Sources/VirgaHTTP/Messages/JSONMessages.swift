import FoundationEssentials
import VirgaAuth
import VirgaServer
import VirgaWire

// Messages of the calls under `/virga/1/`, which are few and small: `Codable` does.

extension HTTPRequest {
  /// The body as a message.
  /// - Throws: `BAD_REQUEST`, saying where it is not one.
  func message<Message: Decodable>() throws(ServiceError) -> Message {
    guard case .bytes(let bytes) = body else { throw .badRequest("body was not buffered") }
    do { return try JSONDecoder().decode(Message.self, from: Data(bytes)) } catch let error as DecodingError {
      throw .badRequest("body does not fit this call: \(error.place)")
    } catch {
      throw .badRequest("body is not JSON")
    }
  }

  /// Whose requests and guesses are counted. A proxy on this machine says for whom it asks; nobody else is believed.
  /// What the proxy adds comes last, in the client's own field or in one after it. What is no address there counts as the
  /// proxy itself, so that nobody chooses whose count they add to.
  var callerAddress: String { SocketAddress.counted(forwardedAddress ?? clientAddress) }

  private var forwardedAddress: String? {
    guard SocketAddress.isLoopback(clientAddress), let field = head.headers.last(named: "X-Forwarded-For") else {
      return nil
    }
    // Bytes: to a `String` a comma and a combining character behind it would be one character, and no comma.
    let bytes = field.utf8
    let last = bytes.lastIndex(of: UInt8(ascii: ",")).map { bytes[bytes.index(after: $0)...] } ?? bytes[...]
    return SocketAddress.canonical(last)
  }
}

extension DecodingError {
  fileprivate var place: String {
    switch self {
    case .keyNotFound(let key, _): "\(key.stringValue) is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      "\(context.codingPath.map(\.stringValue).joined(separator: ".")) has a wrong type"
    default: "it is not JSON"
    }
  }
}

extension HTTPResponse {
  /// An answer with a message.
  static func message(_ message: some Encodable) throws(ServiceError) -> HTTPResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do { return .plainJSON(Array(try encoder.encode(message))) } catch {
      throw ServiceError(.internalError, "the answer cannot be written")
    }
  }

  static func plainJSON(_ bytes: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: 200,
      headers: HTTPHeaders([("Content-Type", "application/json; charset=UTF-8"), ("Cache-Control", "no-store")]),
      body: .bytes(bytes))
  }

  /// The answer to a call that failed. Its header repeats the identifier, under which the log has the request.
  static func failure(_ error: ServiceError) -> HTTPResponse {
    let uuid = Hex.encode(SystemRandom.bytes(16))
    let message = AccountMessages.Failure(
      uuid: uuid, serverErrorCode: error.code.rawValue, reason: error.reason,
      retryAfter: error.retryAfterSeconds)
    guard var answer = try? HTTPResponse.message(message) else { return HTTPResponse(status: 500) }
    answer.status = error.code.httpStatus
    answer.headers.append("X-Apple-Request-UUID", uuid)
    if let seconds = error.retryAfterSeconds { answer.headers.append("Retry-After", String(seconds)) }
    return answer
  }
}
