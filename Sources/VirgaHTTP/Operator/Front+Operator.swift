import VirgaAuth
import VirgaModel
import VirgaWire

extension Front {
  /// Lets the server's operator through: whoever has its token, or the one that the server's key makes, or, on a server without one, a device that asks from the
  /// server's own machine. See `docs/decisions/operator.md`.
  /// - Throws: `ACCESS_DENIED` for everybody else, `AUTHENTICATION_FAILED` for wrong credentials.
  func checkOperator(_ request: HTTPRequest) async throws(ServiceError) {
    let headers = request.head.headers
    if showsKeyToken(request.head) { return }
    if let token = configuration.operatorToken {
      guard let given = headers["X-Virga-Operator"] else {
        throw ServiceError(
          .accessDenied, "this is for the server's operator: it needs the operator's token in X-Virga-Operator")
      }
      guard equalsInConstantTime(given, token) else {
        throw ServiceError(.authenticationFailed, "the operator's token is wrong")
      }
      return
    }
    guard headers["X-Virga-Operator"] == nil else {
      throw ServiceError(
        .authenticationFailed, "this server has no operator's token; start it with VIRGA_OPERATOR_TOKEN")
    }
    guard request.isFromThisMachine else {
      throw ServiceError(
        .accessDenied,
        "this is for the server's operator: ask on its own machine, or start it with VIRGA_OPERATOR_TOKEN")
    }
    guard let session = headers["X-Virga-Session"] else {
      throw ServiceError(
        .authenticationFailed,
        "this is for the server's operator: it needs the operator's token in X-Virga-Operator, or a device's session in "
          + "X-Virga-Session")
    }
    _ = try await authenticator.session(of: session)
  }

  /// Lets through who has the operator's token or the one that the server's key makes, and no device.
  /// - Throws: as `checkOperator`.
  func checkOperatorToken(_ head: HTTPRequestHead) throws(ServiceError) {
    if showsKeyToken(head) { return }
    guard let given = head.headers["X-Virga-Operator"] else {
      throw ServiceError(
        .accessDenied, "this is for the server's operator: it needs the operator's token in X-Virga-Operator")
    }
    guard let token = configuration.operatorToken, equalsInConstantTime(given, token) else {
      throw ServiceError(.authenticationFailed, "the operator's token is wrong")
    }
  }

  /// Lets a monitor through that reads the metrics: with the operator's token, as a bearer's too, or from the server's
  /// own machine if the server has no token.
  func checkMonitor(_ request: HTTPRequest) throws(ServiceError) {
    if configuration.operatorToken == nil, request.isFromThisMachine { return }
    if let token = configuration.operatorToken, let given = request.head.headers["Authorization"],
      equalsInConstantTime(given, "Bearer \(token)")
    {
      return
    }
    try checkOperatorToken(request.head)
  }

  /// Who can read the key in the data folder can read all that lies there.
  private func showsKeyToken(_ head: HTTPRequestHead) -> Bool {
    head.headers["X-Virga-Operator"].map { equalsInConstantTime($0, secrets.operatorToken) } ?? false
  }
}

extension HTTPRequest {
  /// Whether a program on the server's machine sent it, to the server itself. A proxy on that machine asks for somebody
  /// else, and a web page may have been given a name of its own that leads here.
  fileprivate var isFromThisMachine: Bool {
    let peer = clientAddress.hasPrefix("::ffff:") ? String(clientAddress.dropFirst(7)) : clientAddress
    guard peer == "::1" || peer.hasPrefix("127.") else { return false }
    let signs = ["X-Forwarded-For", "Forwarded", "Via", "Origin"]
    guard signs.allSatisfy({ head.headers[$0] == nil }), let host = head.headers["Host"] else { return false }
    let name = host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
    return name == "localhost" || name == "::1" || name.isLoopbackAddress
  }
}

extension Substring {
  /// Whether it is an address of the network 127, not a name that begins like one.
  fileprivate var isLoopbackAddress: Bool {
    let parts = split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
