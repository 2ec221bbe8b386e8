import Glibc

/// Why a server cannot start.
package enum HTTPServerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Another process listens there.
  case addressInUse(host: String, port: UInt16)
  /// Ports below 1024 take a privilege.
  case permissionDenied(host: String, port: UInt16)
  /// The name is unknown or is not an address of this machine.
  case badHost(String)
  /// The process may open too few files to serve even a handful of clients.
  case tooFewDescriptors(limit: Int)
  case system(call: String, code: Int32)

  package var description: String {
    switch self {
    case .addressInUse(let host, let port): "port \(port) of \(host) is in use"
    case .permissionDenied(_, let port): "port \(port) needs a privilege"
    case .badHost(let host): "\(host) is not an address of this machine"
    case .tooFewDescriptors(let limit): "this process may open only \(limit) files"
    case .system(let call, let code): "\(call) failed: \(String(cString: strerror(code)))"
    }
  }
}
