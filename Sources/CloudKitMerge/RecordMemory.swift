import VirgaCloudKit

/// Versions of records, the last ones of all that were put in: the oldest go where they would have too many bytes.
struct RecordMemory {
  private struct Entry {
    var versions: [CKRecord]
    var bytes: Int
    var turn: Int
  }

  private let bytesMax: Int
  private var entries: [CKRecord.ID: Entry] = [:]
  /// In the order in which they were put in, with what was put in again or taken out since.
  private var order: [(id: CKRecord.ID, turn: Int)] = []
  private var turn = 0
  private(set) var bytes = 0

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  var count: Int { entries.count }

  /// Oldest first; empty for a record that is not here.
  subscript(id: CKRecord.ID) -> [CKRecord] {
    get { entries[id]?.versions ?? [] }
    set {
      remove(id)
      if newValue.isEmpty { return }
      turn += 1
      let size = newValue.reduce(0) { $0 + Self.objectBytes + $1.sizeBytes }
      entries[id] = Entry(versions: newValue, bytes: size, turn: turn)
      order.append((id, turn))
      bytes += size
      trim()
    }
  }

  /// About what an object takes besides its values.
  private static let objectBytes = 1_000

  private mutating func remove(_ id: CKRecord.ID) {
    if let entry = entries.removeValue(forKey: id) { bytes -= entry.bytes }
  }

  private mutating func trim() {
    if order.count > 2 * entries.count + 100 { order.removeAll { entries[$0.id]?.turn != $0.turn } }
    guard bytes > bytesMax else { return }
    var gone = 0
    for (id, turn) in order {
      // What is too large by itself goes as well.
      guard bytes > bytesMax else { break }
      gone += 1
      if entries[id]?.turn == turn { remove(id) }
    }
    order.removeFirst(gone)
  }
}
