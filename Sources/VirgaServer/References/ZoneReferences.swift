import VirgaModel
import VirgaWire

/// What the zone's records refer to, as stored, each question asked once.
struct ZoneReferences {
  let row: ZoneRow?
  let transaction: any ReadTransaction
  private var live: [RecordName: Bool] = [:]
  private var sources: [StoredReference: [RecordName]] = [:]

  init(row: ZoneRow?, transaction: any ReadTransaction) {
    self.row = row
    self.transaction = transaction
  }

  mutating func isLive(_ name: RecordName) throws -> Bool {
    if let known = live[name] { return known }
    let isLive = try row.flatMap { try transaction.record(name, in: $0) }?.isDeleted == false
    live[name] = isLive
    return isLive
  }

  /// The records that refer to `target`, by name.
  mutating func sources(of target: RecordName, _ kind: StoredReference.Kind) throws -> [RecordName] {
    let reference = StoredReference(target: target, kind: kind)
    if let known = sources[reference] { return known }
    let found = try row.map { try transaction.references(to: target, kind: kind, in: $0, limit: .max) } ?? []
    sources[reference] = found
    return found
  }
}
