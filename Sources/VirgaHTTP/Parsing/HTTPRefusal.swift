/// Why a request is not taken as far as its handler: the status to answer with and a fixed sentence that says why.
///
/// The connection is closed after such an answer, as nobody can tell where the next request would begin.
public struct HTTPRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  public var status: Int
  public var reason: String
  /// Whether it is the body of a file that streams to the disk.
  var isOfFile = false

  public init(status: Int, reason: String) {
    self.status = status
    self.reason = reason
  }

  public var description: String { "\(status) \(reason)" }

  static func badRequest(_ reason: String) -> HTTPRefusal { HTTPRefusal(status: 400, reason: reason) }

  static let requestLine = badRequest(
    "The request line must be METHOD, target and version with one space between them.")
  static let target = badRequest("The target must be a path that begins with a slash.")
  static let lineEnding = badRequest("Lines of a request head must end with CR LF.")
  static let field = badRequest("A header field must be NAME: value.")
  static let host = badRequest("There must be exactly one valid Host field.")
  static let contentLength = badRequest("Content-Length must appear once and be a number.")
  static let framing = badRequest("Transfer-Encoding must appear once, in HTTP/1.1, and without Content-Length.")
  static let chunk = badRequest("The chunked body is malformed.")
  static let timeout = HTTPRefusal(status: 408, reason: "The request took too long to arrive.")
  static let bodyTooLarge = HTTPRefusal(status: 413, reason: "The body is larger than any call accepts.")
  static func bodyTooLarge(limit: Int64) -> HTTPRefusal {
    HTTPRefusal(status: 413, reason: "The body is larger than the \(limit) bytes that this call accepts.")
  }
  static func fileTooLarge(limit: Int64) -> HTTPRefusal {
    var refusal = bodyTooLarge(limit: limit)
    refusal.isOfFile = true
    return refusal
  }
  static let targetTooLong = HTTPRefusal(status: 414, reason: "The target is too long.")
  static let expectation = HTTPRefusal(status: 417, reason: "The only supported expectation is 100-continue.")
  static let headTooLarge = HTTPRefusal(status: 431, reason: "The request head is too large.")
  static let coding = HTTPRefusal(status: 501, reason: "The only supported transfer coding is chunked.")
  static let busy = HTTPRefusal(status: 503, reason: "Too many connections; try again later.")
  static let crowded = HTTPRefusal(status: 503, reason: "Too many large bodies at once; try again later.")
  static let version = HTTPRefusal(status: 505, reason: "The only supported versions are HTTP/1.0 and HTTP/1.1.")
  static let storageFull = HTTPRefusal(status: 507, reason: "There is no space for the body.")
  static let storageFailed = HTTPRefusal(status: 500, reason: "The body could not be stored.")
}
