import Dispatch
import Synchronization
import VirgaServer

/// Brings operations from the loop that reads them to the writer that performs them meanwhile.
final class OperationPipe: LaterOperations {
  private enum End {
    case complete
    case failed(any Error)
  }

  private struct State {
    /// All parts so far: a body that runs again begins with the first.
    var parts: [OperationPart] = []
    var end: End?
  }

  private let state = Mutex(State())
  /// Signalled after each change of the state. Whoever wakes looks again, so signals that nobody waited for do no harm.
  private let changes = DispatchSemaphore(value: 0)

  func give(_ part: OperationPart) {
    state.withLock { $0.parts.append(part) }
    changes.signal()
  }

  /// No part follows.
  func finish() { end(.complete) }

  /// The rest will not come.
  func fail(_ error: any Error) { end(.failed(error)) }

  private func end(_ end: End) {
    state.withLock { $0.end = end }
    changes.signal()
  }

  func part(_ number: Int) throws -> OperationPart? {
    while true {
      let (part, end) = state.withLock { (number < $0.parts.count ? $0.parts[number] : nil, $0.end) }
      if let part { return part }
      switch end {
      case .complete: return nil
      case .failed(let error): throw error
      case nil: changes.wait()
      }
    }
  }
}
