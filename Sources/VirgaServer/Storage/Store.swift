import VirgaModel

/// Where the rows lie. A store knows rows, not rules; two exist (memory, SQLite), and one contract suite runs on both.
public protocol Store: AnyObject, Sendable {
  /// Runs `body` on a consistent snapshot, beside other reads and writes; `completion` is called on any thread.
  func read<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void)

  /// Runs `body` alone, after all writes that came before. If it throws, its writes are undone; otherwise `completion`
  /// is called once they are durable. Several bodies may share one commit. `body` has no effect but its writes, since
  /// it may run again.
  func write<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void)
}

/// How long the body of a read or a write takes.
public enum BodySize: Sendable {
  /// No longer than a change of thread or two, if what it needs is in memory. A store may run it and its completion on the
  /// calling thread, which then waits for the disk.
  case small
  /// The calling thread never waits.
  case any
}

extension Store {
  public func read<Value: Sendable>(
    _ body: @escaping @Sendable (any ReadTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    read(size: .any, body, completion: completion)
  }

  public func write<Value: Sendable>(
    _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    write(size: .any, body, completion: completion)
  }
}

/// A record was to be put as new, and there is a version of it, maybe a deleted one.
public struct RecordExists: Error, CustomStringConvertible {
  public init() {}

  public var description: String { "the record is there already" }
}
