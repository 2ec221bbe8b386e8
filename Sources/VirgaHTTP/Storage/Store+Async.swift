import Synchronization
package import VirgaServer

// A store answers each body once, so the continuations need no check that costs every request.
extension Store {
  /// Runs `body` on a consistent snapshot and suspends until it has answered.
  /// - Parameter mayBlock: Whether the loop may wait for `body`, because it is small.
  package func read<Value: Sendable>(
    mayBlock: Bool = false, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value
  ) async throws -> Value {
    try await withUnsafeThrowingContinuation { continuation in
      read(mayBlock: mayBlock, body) { continuation.resume(with: $0) }
    }
  }

  /// Runs `body` alone and suspends until its writes are durable.
  /// - Parameter mayBlock: Whether the loop may wait for `body` and the disk.
  package func write<Value: Sendable>(
    mayBlock: Bool = false, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value
  ) async throws -> Value {
    try await withUnsafeThrowingContinuation { continuation in
      write(mayBlock: mayBlock, body) { continuation.resume(with: $0) }
    }
  }

  /// The same, and has `prepare` make something of what `body` made while the writes become durable. Nothing of it is
  /// given out if they do not.
  package func write<Value: Sendable, Prepared>(
    _ body: @escaping @Sendable (any WriteTransaction) throws -> Value, whileCommitting prepare: (Value) -> Prepared
  ) async throws -> Prepared {
    try await beginWrite(body).finish(whileCommitting: prepare)
  }

  /// Hands `body` to the writer and goes on; the write is awaited with `finish`.
  func beginWrite<Value: Sendable>(
    _ body: @escaping @Sendable (any WriteTransaction) throws -> Value
  ) -> WriteUnderWay<Value> {
    let underWay = WriteUnderWay<Value>()
    write { [run = Runs()] transaction in
      let result = Made(run: run.next(), value: try body(transaction))
      underWay.made.give(.success(result))
      return result
    } completion: { result in
      // A body that threw has made nothing.
      underWay.made.give(result)
      underWay.durable.give(result)
    }
    return underWay
  }
}

/// A write that the writer was given.
struct WriteUnderWay<Value: Sendable>: Sendable {
  fileprivate let made = Handoff<Made<Value>>()
  fileprivate let durable = Handoff<Made<Value>>()

  /// Suspends until the writes are durable, and has `prepare` make something of what the body made before that.
  func finish<Prepared>(whileCommitting prepare: (Value) -> Prepared) async throws -> Prepared {
    let first = try await made.take()
    let prepared = prepare(first.value)
    let last = try await durable.take()
    // A store may run a body again; what counts is what the last run made.
    return last.run == first.run ? prepared : prepare(last.value)
  }
}

/// What a run of a body made.
private struct Made<Value: Sendable>: Sendable {
  let run: Int
  let value: Value
}

/// Counts the runs of a body.
private final class Runs: Sendable {
  private let count = Atomic(0)

  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// Brings one result from a thread to a task. What is given after the first is dropped.
private final class Handoff<Value: Sendable>: Sendable {
  private enum State {
    case nothing
    case given(Result<Value, any Error>)
    case awaited(UnsafeContinuation<Value, any Error>)
    case done
  }

  private let state = Mutex(State.nothing)

  func give(_ result: Result<Value, any Error>) {
    let waiting = state.withLock { state -> UnsafeContinuation<Value, any Error>? in
      switch state {
      case .nothing: state = .given(result)
      case .awaited(let continuation):
        state = .done
        return continuation
      case .given, .done: break
      }
      return nil
    }
    waiting?.resume(with: result)
  }

  func take() async throws -> Value {
    try await withUnsafeThrowingContinuation { continuation in
      let given = state.withLock { state -> Result<Value, any Error>? in
        if case .given(let result) = state {
          state = .done
          return result
        }
        state = .awaited(continuation)
        return nil
      }
      if let given { continuation.resume(with: given) }
    }
  }
}
