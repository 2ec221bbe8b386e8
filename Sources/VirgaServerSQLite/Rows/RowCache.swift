/// Rows of one table as the writer knows them: it need not read them again, for nobody else writes, and it writes each
/// that changes once for a group of jobs and not once for each job.
struct RowCache<Key: Hashable & Sendable, Row: Sendable> {
  private static var rowsMax: Int { 4_096 }

  /// As they are in the file.
  private var rows: [Key: Row] = [:]
  /// Newer than in the file.
  private(set) var unwritten: [Key: Row] = [:]
  /// What was unwritten before each change of the job that runs, the last change last.
  private var before: [(key: Key, row: Row?)] = []

  subscript(key: Key) -> Row? { unwritten[key] ?? rows[key] }

  /// Notes a row that was read from the file or written to it. A full cache begins anew.
  mutating func remember(_ row: Row, for key: Key) {
    if rows.count >= Self.rowsMax { rows = [:] }
    rows[key] = row
  }

  /// Notes what is to be written before the commit.
  mutating func change(_ row: Row, for key: Key) {
    before.append((key, unwritten.updateValue(row, forKey: key)))
  }

  /// Notes that a row was removed from the file.
  mutating func forget(_ key: Key) {
    rows[key] = nil
    before.append((key, unwritten.removeValue(forKey: key)))
  }

  mutating func beginJob() { before.removeAll(keepingCapacity: true) }

  /// How many changes the job has made.
  var changeCount: Int { before.count }

  /// What the job changed after its first `count` changes is as it was. If it also wrote to the file, the file's rows are
  /// to be read again.
  mutating func undo(to count: Int, hasWritten: Bool) {
    while before.count > count {
      let (key, row) = before.removeLast()
      unwritten[key] = row
    }
    if hasWritten { rows = [:] }
  }

  /// All changes are in the file.
  mutating func noteWritten() {
    for (key, row) in unwritten { remember(row, for: key) }
    unwritten.removeAll(keepingCapacity: true)
    before.removeAll(keepingCapacity: true)
  }
}
