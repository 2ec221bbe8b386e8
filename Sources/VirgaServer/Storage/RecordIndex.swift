import VirgaModel
import VirgaWire

/// An index that a zone has.
public struct RecordIndex: Hashable, Sendable {
  /// Given by the store, ascending.
  public var id: Int64
  public var definition: IndexDefinition
  /// Whose query made it; empty if that is not known.
  public var maker: String
  /// Whether it has an entry for every record. Before that nothing can be found by it.
  public var isReady: Bool

  public init(id: Int64, definition: IndexDefinition, maker: String = "", isReady: Bool = true) {
    self.id = id
    self.definition = definition
    self.maker = maker
    self.isReady = isReady
  }
}

/// How much of an index is filled at once, so that nobody waits long for the writer. One record is taken in any case.
public struct IndexPortion: Hashable, Sendable {
  /// Records to look at.
  public var records: Int
  /// Entries to write.
  public var entries: Int
  /// Bytes of fields to read.
  public var bytes: Int

  public init(records: Int, entries: Int, bytes: Int) {
    self.records = records
    self.entries = entries
    self.bytes = bytes
  }

  /// As queries have it done.
  public static let usual = IndexPortion(
    records: Limits.recordsPerIndexStepMax, entries: Limits.entriesPerIndexStepMax, bytes: Limits.bytesPerIndexStepMax)
  public static let all = IndexPortion(records: .max, entries: .max, bytes: .max)
}
