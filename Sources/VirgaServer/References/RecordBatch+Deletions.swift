import VirgaModel
import VirgaWire

extension RecordBatch {
  /// Finds what goes with the deleted records, and fails the deletions that would leave a guarded reference dangling.
  ///
  /// `DELETE_SELF` takes its holder along, over any number of steps. `VALIDATE` guards its target, and so does a
  /// parent: its children must go first or with it. A refused deletion keeps its own references alive, so the check
  /// is repeated until nothing more fails.
  mutating func checkDeletions() throws {
    guard entries.contains(where: \.isDeletion) else { return }
    var zone = ZoneReferences(row: zone.row, transaction: transaction)
    var mayFail = true
    while mayFail {
      mayFail = false
      let plan = try DeletionPlan(self, &zone)
      for (index, error) in plan.refused {
        entries[index].outcome = .failure(RecordFailure(entries[index].name, error))
        mayFail = true
      }
      cascaded = plan.cascaded
    }
  }
}

/// The deletions of a batch carried to their end.
private struct DeletionPlan {
  private(set) var refused: [(index: Int, error: ServiceError)] = []
  private(set) var cascaded: [RecordName] = []
  private let batch: RecordBatch
  /// Who of the batch will refer to a record.
  private var batchSources: [StoredReference: [RecordName]] = [:]

  init(_ batch: RecordBatch, _ zone: inout ZoneReferences) throws {
    self.batch = batch
    let roots = batch.entries.indices.filter { batch.entries[$0].isDeletion }
    if roots.isEmpty { return }
    for case (let name, .save(let save)) in batch.entries.lazy.map({ ($0.name, $0.outcome) }) {
      for reference in save.record.references { batchSources[reference, default: []].append(name) }
    }
    var doomed = Set(roots.map { batch.entries[$0].name })
    var closures: [[RecordName]] = []
    for root in roots { closures.append(try closure(of: batch.entries[root].name, doomed: &doomed, &zone)) }
    if cascaded.count > Limits.cascadedDeletionsMax {
      refused = roots.map {
        ($0, .limitExceeded("records deleted together", observed: cascaded.count, limit: Limits.cascadedDeletionsMax))
      }
      return
    }
    for (root, closure) in zip(roots, closures) {
      if let error = try guardError(closure, doomed: doomed, &zone) { refused.append((root, error)) }
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
      for source in try sources(of: closure[next], .deleteSelf, &zone) where doomed.insert(source).inserted {
        closure.append(source)
        cascaded.append(source)
      }
      next += 1
    }
    return closure
  }

  private func guardError(
    _ closure: [RecordName], doomed: Set<RecordName>, _ zone: inout ZoneReferences
  ) throws -> ServiceError? {
    for name in closure {
      for kind in [StoredReference.Kind.validate, .parent] {
        guard let holder = try sources(of: name, kind, &zone).first(where: { !doomed.contains($0) }) else { continue }
        let what = kind == .parent ? "is the parent of" : "is referred to with the action VALIDATE by"
        return ServiceError(.validatingReferenceError, "record '\(name)' \(what) record '\(holder)'")
      }
    }
    return nil
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
