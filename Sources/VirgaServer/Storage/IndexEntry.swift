public import VirgaModel
import VirgaWire

/// A place in an index: entries are in the order of key and name.
public struct IndexEntry: Hashable, Sendable, Comparable {
  public var key: [UInt8]
  public var name: RecordName

  public init(key: [UInt8], name: RecordName) {
    self.key = key
    self.name = name
  }

  public static func < (left: IndexEntry, right: IndexEntry) -> Bool {
    left.key == right.key ? left.name < right.name : left.key.lexicographicallyPrecedes(right.key)
  }
}
