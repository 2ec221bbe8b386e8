import Synchronization

/// Requests that the server sends to itself through the address that clients use, and how they came in.
final class Probes: Sendable {
  private let seen = Mutex<[String: AccountRoutes.Probe?]>([:])

  func expect(_ nonce: String) { seen.withLock { $0[nonce] = .some(nil) } }
  func forget(_ nonce: String) { seen.withLock { $0[nonce] = nil } }
  func result(_ nonce: String) -> AccountRoutes.Probe? { seen.withLock { $0[nonce] ?? nil } }

  /// Only what is expected is noted, so that nobody fills the table.
  func see(_ nonce: String, _ request: HTTPRequest) {
    seen.withLock { seen in
      guard seen[nonce] != nil else { return }
      seen[nonce] = AccountRoutes.Probe(
        peer: request.clientAddress, isPeerLoopback: SocketAddress.isLoopback(request.clientAddress),
        isForwarded: request.head.headers["X-Forwarded-For"] != nil, countedAddress: request.callerAddress)
    }
  }
}

extension AccountRoutes {
  /// How a request of the server to itself came in.
  package struct Probe: Hashable, Sendable {
    package var peer: String
    package var isPeerLoopback: Bool
    package var isForwarded: Bool
    /// Whose requests it was counted among.
    package var countedAddress: String

    package init(peer: String, isPeerLoopback: Bool, isForwarded: Bool, countedAddress: String) {
      self.peer = peer
      self.isPeerLoopback = isPeerLoopback
      self.isForwarded = isForwarded
      self.countedAddress = countedAddress
    }
  }

  /// Notes how the `identity` call with this nonce comes in.
  package func expect(probe nonce: String) { probes.expect(nonce) }
  package func seen(probe nonce: String) -> Probe? { probes.result(nonce) }
  package func forget(probe nonce: String) { probes.forget(nonce) }
}
