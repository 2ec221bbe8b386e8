import VirgaServer

/// A memory store in which a test changes one thing: what is not changed is passed on.
protocol StoreOverMemory: Store {
  var store: MemoryStore { get }
}

extension StoreOverMemory {
  func read<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    store.read(body, completion: completion)
  }

  func write<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    store.write(body, completion: completion)
  }
}
