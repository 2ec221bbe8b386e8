import Synchronization

/// Counts the connections that are open, overall and for each address, of IPv6 for each network of 64 bits.
final class ConnectionQuota: Sendable {
  private struct State {
    var total = 0
    var byAddress: [String: Int] = [:]
  }

  private let max: Int
  private let perAddressMax: Int
  private let countsLoopback: Bool
  private let state = Mutex(State())
  let refused = Atomic<Int>(0)

  init(max: Int, perAddressMax: Int, countsLoopback: Bool) {
    self.max = max
    self.perAddressMax = perAddressMax
    self.countsLoopback = countsLoopback
  }

  /// Takes a place, to be given back with `release`; false if there is none.
  func take(_ address: String) -> Bool {
    let isTaken = state.withLock { state in
      guard state.total < max else { return false }
      if counts(address) {
        let key = SocketAddress.counted(address)
        guard state.byAddress[key, default: 0] < perAddressMax else { return false }
        state.byAddress[key, default: 0] += 1
      }
      state.total += 1
      return true
    }
    if !isTaken { refused.add(1, ordering: .relaxed) }
    return isTaken
  }

  func release(_ address: String) {
    state.withLock { state in
      state.total -= 1
      let key = SocketAddress.counted(address)
      guard counts(address), let count = state.byAddress[key] else { return }
      state.byAddress[key] = count > 1 ? count - 1 : nil
    }
  }

  private func counts(_ address: String) -> Bool { countsLoopback || !SocketAddress.isLoopback(address) }
}
