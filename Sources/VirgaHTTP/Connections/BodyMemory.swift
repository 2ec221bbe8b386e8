import Synchronization

/// The memory that bodies of requests take, overall and for each address: a request is only looked at once its body is
/// there, so whoever has no credentials can make the server keep as much as one who has.
final class BodyMemory: Sendable {
  /// What each body has for nothing, however large it gets; the limits of connections bound it.
  static let freeBytes = 65_536

  private struct State {
    var total = 0
    var byAddress: [String: Int] = [:]
  }

  private let max: Int
  private let perAddressMax: Int
  private let countsLoopback: Bool
  private let state = Mutex(State())

  init(max: Int, perAddressMax: Int, countsLoopback: Bool) {
    self.max = max
    self.perAddressMax = perAddressMax
    self.countsLoopback = countsLoopback
  }

  var total: Int { state.withLock { $0.total } }

  fileprivate func take(_ count: Int, for address: String) -> Bool {
    state.withLock { state in
      let ofAddress = state.byAddress[address, default: 0] + count
      let isExempt = !countsLoopback && SocketAddress.isLoopback(address)
      guard state.total + count <= max, isExempt || ofAddress <= perAddressMax else { return false }
      state.total += count
      state.byAddress[address] = ofAddress
      return true
    }
  }

  fileprivate func giveBack(_ count: Int, of address: String) {
    state.withLock { state in
      state.total -= count
      let rest = state.byAddress[address, default: 0] - count
      state.byAddress[address] = rest > 0 ? rest : nil
    }
  }
}

/// What one body has taken: at first its connection's, then that of the request's task. It is given back with the last
/// reference, or before.
final class BodyShare: Sendable {
  private let memory: BodyMemory
  private let address: String
  private let taken = Atomic<Int>(0)

  init(of memory: BodyMemory, for address: String) {
    self.memory = memory
    self.address = address
  }

  deinit { giveBack() }

  /// - Precondition: Called by the connection alone.
  /// - Throws: 503 if there is no room for so many bytes.
  func grow(to count: Int) throws(HTTPRefusal) {
    let missing = count - BodyMemory.freeBytes - taken.load(ordering: .relaxed)
    guard missing > 0 else { return }
    guard memory.take(missing, for: address) else { throw .crowded }
    taken.add(missing, ordering: .relaxed)
  }

  func giveBack() { memory.giveBack(taken.exchange(0, ordering: .relaxed), of: address) }
}
