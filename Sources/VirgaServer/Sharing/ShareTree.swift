import VirgaModel
import VirgaWire

/// Which share each record of a zone belongs to: that of the nearest record above it, by `parent`, that has one.
///
/// Answers are remembered, so that the records of a page cost one step each as long as they lie under the same parents.
final class ShareTree {
  private let record: (RecordName) throws -> StoredRecord?
  private var known: [RecordName: RecordName?] = [:]

  /// - Parameter record: Gives the live record of a name.
  init(_ record: @escaping (RecordName) throws -> StoredRecord?) { self.record = record }

  init(of zone: ZoneRow, in transaction: any ReadTransaction) {
    record = { name in
      let found = try transaction.record(name, in: zone)
      return found?.isDeleted == false ? found : nil
    }
  }

  /// The name of the share that a live record belongs to. A share's record belongs to itself.
  func share(of record: StoredRecord) throws -> RecordName? {
    if record.type == .share { return record.name }
    if let share = record.share { return share.recordName }
    guard let parent = record.parent?.recordName else { return nil }
    return try share(ofRecordNamed: parent)
  }

  func share(ofRecordNamed name: RecordName) throws -> RecordName? {
    var path: [RecordName] = []
    var next: RecordName? = name
    var answer: RecordName?
    while let name = next {
      if let known = known[name] {
        answer = known
        break
      }
      // A ring of parents belongs to nothing.
      known.updateValue(nil, forKey: name)
      path.append(name)
      guard let record = try record(name) else { break }
      if let share = record.share, record.type != .share {
        answer = share.recordName
        break
      }
      next = record.parent?.recordName
    }
    for name in path { known.updateValue(answer, forKey: name) }
    return answer
  }
}

extension ReadTransaction {
  /// The records below these by `parent`, without those that have a share of their own and what is below them; `nil` for
  /// more than `limit`, or if as many had to be left out.
  /// - Parameter others: Left out too, with what is below them.
  func descendants(
    of roots: [RecordName], in zone: ZoneRow, atMost limit: Int, stoppingAt others: Set<RecordName> = []
  ) throws -> [RecordName]? {
    var seen = Set(roots)
    var found: [RecordName] = []
    var queue = roots
    while let name = queue.popLast() {
      let children = try references(to: name, kind: .parent, in: zone, limit: limit + 1)
      for child in children where !others.contains(child) && seen.insert(child).inserted {
        guard let record = try record(child, in: zone), record.share == nil else { continue }
        found.append(child)
        queue.append(child)
      }
      if found.count > limit || children.count > limit || seen.count - roots.count > 2 * limit { return nil }
    }
    return found.sorted()
  }
}
