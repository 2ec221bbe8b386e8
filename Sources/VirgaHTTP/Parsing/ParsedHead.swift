/// What a request head says, and where the request's body ends.
struct ParsedHead: Sendable, Hashable {
  enum Framing: Sendable, Hashable {
    case none
    case length(Int64)
    case chunked
  }

  var head: HTTPRequestHead
  var framing: Framing
  /// HTTP/1.0, which knows neither chunks nor interim answers, and closes unless asked not to.
  var isVersion10: Bool
  var keepsAlive: Bool
  var expectsContinue: Bool
}
