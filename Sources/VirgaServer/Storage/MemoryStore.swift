import Synchronization

/// A store that keeps its rows in memory: for tests, for clients' tests in one process, and for `--ephemeral`.
///
/// Bodies and completions run on the calling thread before the call returns. A body must not call the store.
public final class MemoryStore: Store {
  private let tables: Mutex<MemoryTables>

  public init() { tables = Mutex(MemoryTables()) }

  public func read<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    completion(
      tables.withLock { tables in
        let transaction = MemoryTransaction(tables)
        defer { transaction.end() }
        return Result { try body(transaction) }
      })
  }

  public func write<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    completion(
      tables.withLock { tables in
        let transaction = MemoryTransaction(tables)
        defer { transaction.end() }
        do {
          let value = try body(transaction)
          transaction.commit()
          return .success(value)
        } catch {
          transaction.rollBack()
          return .failure(error)
        }
      })
  }
}
