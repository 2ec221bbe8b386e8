package import VirgaServer

// A store answers each body once, so the continuations need no check that costs every request.
extension Store {
  /// Runs `body` on a consistent snapshot and suspends until it has answered.
  package func read<Value: Sendable>(
    size: BodySize = .any, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value
  ) async throws -> Value {
    try await withUnsafeThrowingContinuation { continuation in
      read(size: size, body) { continuation.resume(with: $0) }
    }
  }

  /// Runs `body` alone and suspends until its writes are durable.
  package func write<Value: Sendable>(
    size: BodySize = .any, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value
  ) async throws -> Value {
    try await withUnsafeThrowingContinuation { continuation in
      write(size: size, body) { continuation.resume(with: $0) }
    }
  }
}
