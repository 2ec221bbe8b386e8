import VirgaModel
import VirgaWire

/// The records of a page as they are found: the first ones in the query's order, as many as fit.
struct QueryPage {
  struct Entry {
    var position: QueryPosition
    var record: StoredRecord
    var zone: OpenZone
  }

  let limit: Int
  private(set) var entries: [Entry] = []
  /// Whether there are records after the last.
  private(set) var isCut = false
  private var bytes = 0

  init(limit: Int) { self.limit = limit }

  /// Whether a record at this position would have no place: it and all after it belong to later pages.
  func excludes(_ position: QueryPosition) -> Bool {
    guard let last = entries.last, last.position < position else { return false }
    return entries.count >= limit || bytes >= Limits.pageBytesMax
  }

  mutating func noteMore() { isCut = true }

  mutating func add(_ entry: Entry) {
    if excludes(entry.position) {
      isCut = true
      return
    }
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].position < entry.position { low = middle + 1 } else { high = middle }
    }
    entries.insert(entry, at: low)
    bytes += Self.size(entry)
    while entries.count > limit || bytes > Limits.pageBytesMax && entries.count > 1 {
      bytes -= Self.size(entries.removeLast())
      isCut = true
    }
  }

  /// Drops what lies after a position behind which not everything was read.
  mutating func cut(after position: QueryPosition) {
    while let last = entries.last, position < last.position {
      bytes -= Self.size(last)
      entries.removeLast()
    }
  }

  private static func size(_ entry: Entry) -> Int { entry.record.fieldsJSON.count + Limits.recordOverheadBytes }
}
