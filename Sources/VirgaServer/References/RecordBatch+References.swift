import VirgaModel
import VirgaWire

extension RecordBatch {
  /// Fails the saves whose references lead nowhere or are too many. In a batch that is not atomic, what a failed save
  /// would have made is then missing for others, so the check is repeated until nothing more fails.
  func checkReferences() throws {
    var mayFail = entries.contains { !$0.newReferences.isEmpty }
    var zone = ZoneReferences(row: zone.row, transaction: transaction)
    while mayFail {
      mayFail = false
      for entry in entries {
        guard let error = try missingTarget(of: entry, &zone) else { continue }
        entry.outcome = .failure(RecordFailure(entry.name, error))
        mayFail = !isAtomic
      }
      if try failOverfullTargets(&zone) { mayFail = !isAtomic }
    }
  }

  private func missingTarget(of entry: Entry, _ zone: inout ZoneReferences) throws -> ServiceError? {
    let missing = try entry.newReferences.first { try !exists($0.target, &zone) }
    return missing.map {
      ServiceError(
        .validatingReferenceError, "record '\(entry.name)' refers to record '\($0.target)', which does not exist")
    }
  }

  private func exists(_ target: RecordName, _ zone: inout ZoneReferences) throws -> Bool {
    guard let index = indexByName[target] else { return try isThere(target, &zone) }
    switch entries[index].outcome {
    case .save: return true
    case .delete, .leave, .nothing: return false
    case .failure:
      // Of an atomic batch nothing is written anyway; who only refers to a failed record is not to blame.
      return try isAtomic || isThere(target, &zone)
    }
  }

  /// Whether the stored record is there, as far as the caller may know.
  private func isThere(_ target: RecordName, _ zone: inout ZoneReferences) throws -> Bool {
    guard try zone.isLive(target) else { return false }
    return try self.zone.reach == nil || self.zone.visibleRecord(target, in: transaction) != nil
  }

  /// Counts the holders of `DELETE_SELF` references to each target that gets new ones, operation after operation.
  private func failOverfullTargets(_ zone: inout ZoneReferences) throws -> Bool {
    var sources: [RecordName: Set<RecordName>] = [:]
    for reference in entries.lazy.flatMap(\.newReferences) where reference.kind == .deleteSelf {
      guard sources[reference.target] == nil else { continue }
      sources[reference.target] = Set(try zone.sources(of: reference.target, .deleteSelf))
    }
    if sources.isEmpty { return false }
    let targets = sources.keys.sorted()
    var hasFailed = false
    for entry in entries {
      switch entry.outcome {
      case .delete: for target in targets { sources[target]?.remove(entry.name) }
      case .save(let save):
        for target in targets {
          let refers = save.record.references.contains(StoredReference(target: target, kind: .deleteSelf))
          if refers { sources[target]?.insert(entry.name) } else { sources[target]?.remove(entry.name) }
        }
        guard let overfull = overfullTarget(of: save, sources) else { continue }
        for target in targets { sources[target]?.remove(entry.name) }
        entry.outcome = .failure(RecordFailure(entry.name, overfull))
        hasFailed = true
      case .leave, .nothing, .failure: break
      }
    }
    return hasFailed
  }

  private func overfullTarget(of save: PlannedSave, _ sources: [RecordName: Set<RecordName>]) -> ServiceError? {
    for reference in save.newReferences where reference.kind == .deleteSelf {
      let count = sources[reference.target]?.count ?? 0
      if count > Limits.deleteSelfReferencesMax {
        return .limitExceeded(
          "references with the action DELETE_SELF to record '\(reference.target)'", observed: count,
          limit: Limits.deleteSelfReferencesMax)
      }
    }
    return nil
  }
}

extension RecordBatch.Entry {
  fileprivate var newReferences: [StoredReference] {
    if case .save(let save) = outcome { save.newReferences } else { [] }
  }
}

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
