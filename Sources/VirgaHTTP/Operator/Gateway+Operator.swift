import VirgaAuth
import VirgaModel
import VirgaWire

extension Gateway {
  /// Lets the server's operator through: who shows its token, or the one that the server's key makes. Where a request
  /// comes from, and whose session it bears, proves nothing. See `docs/decisions/operator.md`.
  /// - Throws: `ACCESS_DENIED` without a token, `AUTHENTICATION_FAILED` for a wrong one.
  func checkOperator(_ head: HTTPRequestHead) throws(ServiceError) {
    guard let given = head.headers["X-Virga-Operator"] else {
      throw ServiceError(
        .accessDenied, "only the operator may do this: send the operator's token in X-Virga-Operator")
    }
    guard isOperatorToken(given) else {
      throw ServiceError(.authenticationFailed, "the operator's token is wrong")
    }
  }

  /// Lets a monitor through that reads the metrics: it may show the token as a bearer's.
  /// - Throws: as `checkOperator`.
  func checkMonitor(_ head: HTTPRequestHead) throws(ServiceError) {
    let scheme = "Bearer "
    if let given = head.headers["Authorization"], given.hasPrefix(scheme),
      isOperatorToken(String(given.dropFirst(scheme.count)))
    {
      return
    }
    try checkOperator(head)
  }

  /// Who can read the key in the data folder can read all that lies there, so the token that it makes always counts.
  private func isOperatorToken(_ given: String) -> Bool {
    let isKeyToken = equalsInConstantTime(given, secrets.operatorToken)
    guard let token = configuration.operatorToken else { return isKeyToken }
    return equalsInConstantTime(given, token) || isKeyToken
  }
}
