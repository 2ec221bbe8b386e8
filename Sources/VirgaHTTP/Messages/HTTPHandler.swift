/// What the connection does with a request's body, decided from the head alone, before a byte of it is read.
public enum BodyPlan: Sendable {
  /// Reads it into memory; more than `limit` bytes are answered with 413.
  case buffer(limit: Int)
  /// The same, but no more than `HTTPRequest.strangersBodyBytesMax` before the handler has nothing against the caller.
  case bufferOnceAdmitted(limit: Int)
  /// Streams it into a new file in `directory`; more than `limit` bytes are answered with 413 and the file is removed.
  /// - Parameter digests: Whether the bytes' digest is wanted, which is worked out as they come.
  case stream(directory: String, limit: Int64, digests: Bool = false)
  /// Answers at once without reading it, and closes the connection if there is one to come.
  case refuse(HTTPResponse)
}

/// What a server does with requests.
public protocol HTTPHandler: Sendable {
  /// Called on the connection's loop; must not block.
  func bodyPlan(for head: HTTPRequestHead) -> BodyPlan
  /// What a caller is answered who may not send a large body; `nil` lets the body come. Asked once of a body planned so,
  /// when more is announced or there than anybody may send. The request has no body yet. Called as `respond` is.
  func refusal(ofCaller request: HTTPRequest) async -> HTTPResponse?
  /// Called on the connection's loop, which is the task's preferred executor; must not block. The task is cancelled
  /// when the client goes away or the server drains: a parked request then answers at once with what it has.
  func respond(to request: HTTPRequest) async -> HTTPResponse
  /// The answer to a request that never gets as far as `respond`, being malformed, too large or too slow. The connection
  /// is closed after it. Called on the connection's loop; must not block.
  func response(to refusal: HTTPRefusal) -> HTTPResponse
}

extension HTTPHandler {
  /// Everybody may send what a body plan allows.
  public func refusal(ofCaller request: HTTPRequest) async -> HTTPResponse? { nil }

  public func response(to refusal: HTTPRefusal) -> HTTPResponse {
    HTTPResponse(
      status: refusal.status, headers: HTTPHeaders([("Content-Type", "text/plain; charset=utf-8")]),
      body: .bytes(Array("\(refusal.reason)\n".utf8)))
  }
}
