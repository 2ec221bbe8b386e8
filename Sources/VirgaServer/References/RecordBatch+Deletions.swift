import VirgaModel
import VirgaWire

extension RecordBatch {
  /// Finds what goes with the deleted records, and fails the deletions that would leave a guarded reference dangling.
  ///
  /// `DELETE_SELF` takes its holder along, over any number of steps. `VALIDATE` guards its target, and so does a
  /// parent: its children must go first or with it. A refused deletion keeps its own references alive, so the check
  /// is repeated until nothing more fails, or until that has become too much: what is left is refused then.
  mutating func checkDeletions() throws {
    guard entries.contains(where: \.isDeletion) else { return }
    var zone = ZoneReferences(row: zone.row, transaction: transaction)
    var sources: [StoredReference: [RecordName]] = [:]
    for case (let name, .save(let save)) in entries.lazy.map({ ($0.name, $0.outcome) }) {
      for reference in save.record.references { sources[reference, default: []].append(name) }
    }
    var judged = 0
    while true {
      let plan = try DeletionPlan(self, sources, &zone)
      for (index, error) in plan.refused {
        entries[index].outcome = .failure(RecordFailure(entries[index].name, error))
      }
      if plan.refused.isEmpty { return takeAlong(plan.cascaded) }
      // Of an atomic batch nothing is written any more.
      if isAtomic { return }
      judged += plan.count
      if judged > Limits.deletionsJudgedMax { return refuseDeletions(judged) }
    }
  }

  private func refuseDeletions(_ judged: Int) {
    for entry in entries where entry.isDeletion {
      let error = ServiceError.limitExceeded(
        "records looked at for deletions that depend on each other", observed: judged, limit: Limits.deletionsJudgedMax)
      entry.outcome = .failure(RecordFailure(entry.name, error))
    }
  }

  /// What the request saves and what goes all the same is deleted by the request.
  private mutating func takeAlong(_ names: [RecordName]) {
    cascaded = names.filter { name in
      guard let index = indexByName[name], case .save(let save) = entries[index].outcome else { return true }
      let live = save.previous.flatMap { $0.isDeleted ? nil : $0 }
      entries[index].outcome = live.map { .delete($0) } ?? .nothing
      return false
    }
  }
}

/// The deletions of a batch carried to their end.
private struct DeletionPlan {
  private(set) var refused: [(index: Int, error: ServiceError)] = []
  private(set) var cascaded: [RecordName] = []
  /// How many records it deletes.
  private(set) var count = 0
  private let batch: RecordBatch
  /// Who of the batch will refer to a record.
  private let batchSources: [StoredReference: [RecordName]]

  init(
    _ batch: RecordBatch, _ batchSources: [StoredReference: [RecordName]], _ zone: inout ZoneReferences
  ) throws {
    self.batch = batch
    self.batchSources = batchSources
    let roots = batch.entries.indices.filter { batch.entries[$0].isDeletion }
    var doomed = Set(roots.map { batch.entries[$0].name })
    var closures: [[RecordName]] = []
    for root in roots { closures.append(try closure(of: batch.entries[root].name, doomed: &doomed, &zone)) }
    count = roots.count + cascaded.count
    if cascaded.count > Limits.cascadedDeletionsMax {
      // How many records hang together there is not for participants to know.
      let isOwn = batch.zone.reach == nil && batch.zone.grants == nil
      let observed = isOwn ? cascaded.count : Limits.cascadedDeletionsMax + 1
      refused = roots.map {
        ($0, .limitExceeded("records deleted together", observed: observed, limit: Limits.cascadedDeletionsMax))
      }
      return
    }
    for (root, closure) in zip(roots, closures) {
      if let error = try accessError(closure) ?? guardError(closure, doomed: doomed, &zone) {
        refused.append((root, error))
      }
    }
  }

  /// The record and all that goes with it. Records that another deletion takes along are not followed again: that
  /// deletion answers for their guards.
  private mutating func closure(
    of name: RecordName, doomed: inout Set<RecordName>, _ zone: inout ZoneReferences
  ) throws -> [RecordName] {
    var closure = [name]
    var next = 0
    while next < closure.count && cascaded.count <= Limits.cascadedDeletionsMax {
      for source in try sources(of: closure[next], .deleteSelf, &zone)
      where !isUser(source) && doomed.insert(source).inserted {
        closure.append(source)
        cascaded.append(source)
      }
      next += 1
    }
    return closure
  }

  /// Whether the record is a user's, which nobody but the service removes. In the public database no other name begins so.
  private func isUser(_ name: RecordName) -> Bool {
    batch.access.scope == .public && name.rawValue.hasPrefix("_")
  }

  /// Nothing goes along that the caller, a participant, may not delete.
  private func accessError(_ closure: [RecordName]) throws -> ServiceError? {
    guard let reach = batch.zone.reach, let row = batch.zone.row else { return nil }
    for name in closure.dropFirst() {
      guard let record = try batch.transaction.record(name, in: row), !record.isDeleted else { continue }
      if try reach.refusal(of: .delete, of: nil, on: record) != nil {
        return ServiceError(.accessDenied, "\(Reason.writeNotPermitted): another record would be deleted with it")
      }
    }
    return nil
  }

  private func guardError(
    _ closure: [RecordName], doomed: Set<RecordName>, _ zone: inout ZoneReferences
  ) throws -> ServiceError? {
    for name in closure {
      for kind in [StoredReference.Kind.validate, .parent] {
        guard let holder = try sources(of: name, kind, &zone).first(where: { !doomed.contains($0) }) else { continue }
        let what = kind == .parent ? "is the parent of" : "is referred to with the action VALIDATE by"
        let who = try mayBeNamed(holder) ? "record '\(holder)'" : "another record"
        return ServiceError(.validatingReferenceError, "record '\(name)' \(what) \(who)")
      }
    }
    return nil
  }

  /// Participants are not told of records that are not shared with them.
  private func mayBeNamed(_ name: RecordName) throws -> Bool {
    if batch.zone.reach == nil { return true }
    if let index = batch.indexByName[name], case .save = batch.entries[index].outcome { return true }
    return try batch.zone.visibleRecord(name, in: batch.transaction) != nil
  }

  /// Who will refer to the record once the batch is done.
  private func sources(
    of target: RecordName, _ kind: StoredReference.Kind, _ zone: inout ZoneReferences
  ) throws -> [RecordName] {
    let stored = try zone.sources(of: target, kind).filter { name in
      guard let index = batch.indexByName[name] else { return true }
      if case .save = batch.entries[index].outcome { return false }
      return true
    }
    return stored + (batchSources[StoredReference(target: target, kind: kind)] ?? [])
  }
}

extension RecordBatch.Entry {
  fileprivate var isDeletion: Bool {
    if case .delete = outcome { true } else { false }
  }
}
