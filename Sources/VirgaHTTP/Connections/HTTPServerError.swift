/// Why a server cannot start.
package enum HTTPServerError: Error, Sendable, Hashable {
  /// Another process listens there.
  case addressInUse(host: String, port: UInt16)
  /// Ports below 1024 take a privilege.
  case permissionDenied(host: String, port: UInt16)
  /// The name is unknown or is not an address of this machine.
  case badHost(String)
  /// The process may open too few files to serve even a handful of clients.
  case tooFewDescriptors(limit: Int)
  case system(call: String, code: Int32)
}
