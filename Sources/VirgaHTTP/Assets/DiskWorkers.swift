import Dispatch
import Synchronization

/// Threads for calls that wait for the disk, so that neither a connection's loop nor the cooperative pool does.
final class DiskWorkers: Sendable {
  private let queues: [DispatchQueue]
  private let next = Atomic<Int>(0)

  init(count: Int) { queues = (0..<count).map { DispatchQueue(label: "virga.disk.\($0)") } }

  func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let queue = queues[next.wrappingAdd(1, ordering: .relaxed).oldValue & Int.max % queues.count]
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }
}
