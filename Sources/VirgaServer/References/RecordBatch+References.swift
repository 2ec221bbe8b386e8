import VirgaModel
import VirgaWire

extension RecordBatch {
  /// Fails the saves whose references lead nowhere or are too many. In a batch that is not atomic, what a failed save
  /// would have made is then missing for others, so those that refer to it are asked again, until nothing more fails.
  func checkReferences() throws {
    guard entries.contains(where: { !$0.newReferences.isEmpty }) else { return }
    var zone = ZoneReferences(row: zone.row, transaction: transaction)
    for entry in entries {
      if let error = try missingTarget(of: entry, &zone) { entry.outcome = .failure(RecordFailure(entry.name, error)) }
    }
    if !isAtomic {
      let failed = entries.indices.filter { if case .failure = entries[$0].outcome { true } else { false } }
      try failSources(of: failed, &zone)
    }
    let holders = try TargetHolders(self, &zone)
    while true {
      let failed = failOverfullTargets(holders)
      if failed.isEmpty || isAtomic { return }
      try failSources(of: failed, &zone)
    }
  }

  /// Fails the saves that refer to what failed and is not there without it, over any number of steps.
  private func failSources(of failed: [Int], _ zone: inout ZoneReferences) throws {
    var sources: [RecordName: [Int]] = [:]
    for (index, entry) in entries.enumerated() {
      for reference in entry.newReferences where indexByName[reference.target] != nil {
        sources[reference.target, default: []].append(index)
      }
    }
    var queue = failed
    while let index = queue.popLast() {
      let target = entries[index].name
      guard let indices = sources[target], try !exists(target, &zone) else { continue }
      for source in indices {
        guard case .save = entries[source].outcome else { continue }
        entries[source].outcome = .failure(
          RecordFailure(entries[source].name, missing(target, in: entries[source].name)))
        queue.append(source)
      }
    }
  }

  private func missingTarget(of entry: Entry, _ zone: inout ZoneReferences) throws -> ServiceError? {
    let target = try entry.newReferences.first { try !exists($0.target, &zone) }?.target
    return target.map { missing($0, in: entry.name) }
  }

  private func missing(_ target: RecordName, in name: RecordName) -> ServiceError {
    ServiceError(.validatingReferenceError, "record '\(name)' refers to record '\(target)', which does not exist")
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
  /// - Returns: The entries that fail.
  private func failOverfullTargets(_ stored: TargetHolders) -> [Int] {
    var counts = stored.counts
    var failed: [Int] = []
    for (index, entry) in entries.enumerated() {
      let held = stored.held[entry.name] ?? []
      switch entry.outcome {
      case .delete: for target in held { counts[target]? -= 1 }
      case .save(let save):
        let targets = save.record.references.filter { $0.kind == .deleteSelf && counts[$0.target] != nil }
        for target in held { counts[target]? -= 1 }
        for reference in targets { counts[reference.target]? += 1 }
        guard let overfull = overfullTarget(of: save, counts) else { continue }
        for reference in targets { counts[reference.target]? -= 1 }
        for target in held { counts[target]? += 1 }
        entry.outcome = .failure(RecordFailure(entry.name, overfull))
        failed.append(index)
      case .leave, .nothing, .failure: break
      }
    }
    return failed
  }

  private func overfullTarget(of save: PlannedSave, _ counts: [RecordName: Int]) -> ServiceError? {
    for reference in save.newReferences where reference.kind == .deleteSelf {
      let count = counts[reference.target] ?? 0
      if count > Limits.deleteSelfReferencesMax {
        return .limitExceeded(
          "references with the action DELETE_SELF to record '\(reference.target)'", observed: told(count),
          limit: Limits.deleteSelfReferencesMax)
      }
    }
    return nil
  }

  /// A number that records count in which a participant may not see: to them it is told as just too many.
  private func told(_ count: Int) -> Int {
    zone.reach == nil && zone.grants == nil ? count : Limits.deleteSelfReferencesMax + 1
  }
}

/// Who holds `DELETE_SELF` references to the targets that a batch's saves newly refer to, as stored.
private struct TargetHolders {
  /// How many hold one to each target.
  private(set) var counts: [RecordName: Int] = [:]
  /// To which of the targets each of the batch's records holds one.
  private(set) var held: [RecordName: [RecordName]] = [:]

  init(_ batch: RecordBatch, _ zone: inout ZoneReferences) throws {
    for entry in batch.entries {
      for reference in entry.newReferences where reference.kind == .deleteSelf && counts[reference.target] == nil {
        let sources = try zone.sources(of: reference.target, .deleteSelf)
        counts[reference.target] = sources.count
        for source in sources where batch.indexByName[source] != nil {
          held[source, default: []].append(reference.target)
        }
      }
    }
  }
}

extension RecordBatch.Entry {
  fileprivate var newReferences: [StoredReference] {
    if case .save(let save) = outcome { save.newReferences } else { [] }
  }
}
