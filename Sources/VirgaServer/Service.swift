public import VirgaWire

/// The rules of the service. A value without state: everything it knows is in the transaction and the context.
public struct Service: Sendable {
  public init() {}

  /// Performs a call that only reads.
  /// - Throws: `ServiceError` when the call fails as a whole, `StoreError` when the store does.
  public func read(_ call: Call, in transaction: any ReadTransaction, context: inout CallContext) throws -> Reply {
    throw ServiceError(.internalError, "not built yet")
  }

  /// Performs any call. Nothing is written if it throws; the caller wakes `context.wakes` after the commit.
  /// - Throws: as `read`.
  public func write(_ call: Call, in transaction: any WriteTransaction, context: inout CallContext) throws -> Reply {
    throw ServiceError(.internalError, "not built yet")
  }
}
