import VirgaModel
import VirgaWire

/// A query needs an index that is not ready: call `Service.advance` in writes of their own until it is, and read again.
public struct WriteNeeded: Error, Hashable, Sendable, CustomStringConvertible {
  public let zone: ZoneAddress
  public let definition: IndexDefinition
  /// An index that the same query still reads.
  public let besides: Int64?

  public var description: String { "an index has to be made first" }
}
