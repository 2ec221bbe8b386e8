/// An answer. The connection adds `Content-Length`, `Date` and `HTTPConnection`.
public struct HTTPResponse: Sendable {
  public enum Body: Sendable {
    case bytes([UInt8])
    /// A part of a file, which is sent without passing through memory. The file is opened when the answer starts.
    case file(path: String, offset: Int64, length: Int64)
  }

  public var status: Int
  public var headers: HTTPHeaders
  public var body: Body
  /// Whether the connection is to be closed after the answer.
  public var closesConnection = false
  /// Whether the connection is broken off after the answer's head, so that the client never has the answer.
  public var isBrokenOff = false
  /// Called once the answer is with the system for sending, or with `false` once that cannot be done any more, the
  /// client being gone. May run on the connection's loop and must not block.
  public var whenDone: (@Sendable (_ isSent: Bool) -> Void)?

  public init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: Body = .bytes([])) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}
