public import VirgaModel

/// What merges decided on this device, newest last: a list of bounded length that can be stored.
///
/// It holds values that were discarded, so it is as private as the records themselves, and belongs where they are kept.
public struct ConflictJournal: Hashable, Sendable, Codable {
  /// One merge: what met what, and what became of it.
  public struct Entry: Hashable, Sendable, Codable, Identifiable {
    /// Counts up over the journal's life.
    public let id: Int64
    /// When the merge happened, by this device's clock.
    public let time: Timestamp
    /// The name of the record that was merged.
    public let record: RecordName
    /// The zone of that record.
    public let zone: ZoneID
    /// The type of that record.
    public let type: RecordType
    /// The server's version that my change met.
    public let serverTag: ChangeTag?
    /// What was decided, in the order of the policy.
    public let decisions: [MergeDecision]
    /// Records that keep the other version.
    public let forks: [RecordName]
    /// What somebody has to answer; `nil` if nothing is open.
    public let question: MergeQuestion?
    /// Whether somebody took the merge back.
    public fileprivate(set) var isUndone = false
  }

  /// At most this many entries; the oldest go first.
  public let limit: Int
  /// What is kept, oldest first.
  public private(set) var entries: [Entry] = []
  private var lastID: Int64 = 0

  /// Makes an empty journal.
  /// - Parameter limit: The entries that are kept; the oldest go first.
  public init(limit: Int = 1_000) {
    precondition(limit > 0, "a journal keeps at least one entry")
    self.limit = limit
  }

  /// Notes a merge in which both sides differed; one that only joined what one side changed is no conflict and is not noted.
  /// - Returns: The entry, or `nil` if there was nothing to note.
  @discardableResult
  public mutating func note(_ outcome: MergeOutcome, at time: Timestamp) -> Entry? {
    guard !outcome.decisions.isEmpty else { return nil }
    lastID += 1
    let entry = Entry(
      id: lastID, time: time, record: outcome.record.id.name, zone: outcome.record.id.zone, type: outcome.record.type,
      serverTag: outcome.record.tag, decisions: outcome.decisions, forks: outcome.forks.map(\.id.name),
      question: outcome.question)
    entries.append(entry)
    if entries.count > limit { entries.removeFirst(entries.count - limit) }
    return entry
  }

  /// Puts discarded values back into the record as it is now, as a change to be saved.
  ///
  /// A field that somebody changed since the merge is left alone: undoing must not overwrite what came later.
  /// - Parameter isPossible: Whether a field can have that value again. One that cannot is left alone, and the entry can then be
  ///   undone once more.
  /// - Returns: The record and the fields that were left alone; `nil` if there is no such entry, it was undone before, or it is of
  ///   another record.
  public mutating func undo(
    _ id: Entry.ID, in record: Record, where isPossible: (FieldName, FieldValue) -> Bool = { _, _ in true }
  ) -> (record: Record, leftAlone: [FieldName])? {
    guard let index = entries.firstIndex(where: { $0.id == id }), !entries[index].isUndone,
      entries[index].record == record.id.name
    else { return nil }
    var record = record
    var leftAlone: [FieldName] = []
    var isComplete = true
    for discarded in entries[index].decisions.flatMap(\.discarded) {
      let (name, value) = (discarded.field, discarded.value?.fieldValue)
      let isParent = name == MergeDecision.parent
      let current = isParent ? record.parent.map(FieldValue.reference) : record.fields[name]?.value
      // An earlier attempt put it back.
      if areSame(current, value) { continue }
      guard areSame(current, discarded.kept?.fieldValue) else {
        leftAlone.append(name)
        continue
      }
      if let value, !isPossible(name, value) {
        leftAlone.append(name)
        isComplete = false
        continue
      }
      if isParent {
        record.parent = value?.asReference
        continue
      }
      let isEncrypted = discarded.isEncrypted ?? record.fields[name]?.isEncrypted ?? false
      record.fields[name] = value.map { VirgaModel.Field($0, isEncrypted: isEncrypted) }
    }
    entries[index].isUndone = isComplete
    return (record, leftAlone)
  }
}

extension FieldValue {
  fileprivate var asReference: Reference? {
    if case .reference(let reference) = self { reference } else { nil }
  }
}
