import Dispatch
import Synchronization

/// Lets many in together, or one alone; in the order they come.
final class SharedGate: Sendable {
  private enum Visitor { case shared, alone }

  private struct State {
    var shared = 0
    var isAlone = false
    var queue: [(Visitor, CheckedContinuation<Void, Never>)] = []

    mutating func admit() -> [CheckedContinuation<Void, Never>] {
      var admitted: [CheckedContinuation<Void, Never>] = []
      while let (visitor, continuation) = queue.first, mayEnter(visitor) {
        queue.removeFirst()
        enter(visitor)
        admitted.append(continuation)
      }
      return admitted
    }

    func mayEnter(_ visitor: Visitor) -> Bool { !isAlone && (visitor == .shared || shared == 0) }

    mutating func enter(_ visitor: Visitor) {
      if visitor == .shared { shared += 1 } else { isAlone = true }
    }
  }

  private let state = Mutex(State())

  func shared<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    await enter(.shared)
    defer { leave { $0.shared -= 1 } }
    return try await body()
  }

  func alone<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    await enter(.alone)
    defer { leave { $0.isAlone = false } }
    return try await body()
  }

  private func enter(_ visitor: Visitor) async {
    await withCheckedContinuation { continuation in
      let isIn = state.withLock { state in
        if state.queue.isEmpty, state.mayEnter(visitor) {
          state.enter(visitor)
          return true
        }
        state.queue.append((visitor, continuation))
        return false
      }
      if isIn { continuation.resume() }
    }
  }

  private func leave(_ change: (inout sending State) -> Void) {
    let admitted = state.withLock { state in
      change(&state)
      return state.admit()
    }
    for continuation in admitted { continuation.resume() }
  }
}
