import VirgaAuth

/// The first line and the fields of a request.
public struct HTTPRequestHead: Sendable, Hashable {
  public var method: String
  /// The target as it was sent, always beginning with `/`: path and query, still percent-encoded.
  public var target: String
  public var headers: HTTPHeaders

  public init(method: String, target: String, headers: HTTPHeaders = HTTPHeaders()) {
    self.method = method
    self.target = target
    self.headers = headers
  }

  /// The target without its query, still percent-encoded.
  public var path: Substring { target[...].divided(at: UInt8(ascii: "?"))?.before ?? target[...] }
}
