package import VirgaServer

extension Store {
  /// Runs `body` on a consistent snapshot and suspends until it has answered.
  package func read<Value: Sendable>(
    _ body: @escaping @Sendable (any ReadTransaction) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      read(body) { continuation.resume(with: $0) }
    }
  }

  /// Runs `body` alone and suspends until its writes are durable.
  package func write<Value: Sendable>(
    _ body: @escaping @Sendable (any WriteTransaction) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      write(body) { continuation.resume(with: $0) }
    }
  }
}
