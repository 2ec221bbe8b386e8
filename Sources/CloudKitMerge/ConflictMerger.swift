import Synchronization
public import VirgaCloudKit
public import VirgaMerge
import VirgaModel

/// Merges conflicts of an app's records by policies.
///
/// In the delegate of a `CKSyncEngine`:
/// ```swift
/// case .sentRecordZoneChanges(let sent):
///   for merged in merger.merge(sent, current: { store.record($0) }) {
///     store.keep(merged)
///     engine.state.add(pendingRecordZoneChanges: merged.pendingChanges)
///   }
/// ```
/// By hand, `save(_:in:)` saves a record and merges as often as it takes, up to a limit.
///
/// The ancestor is the one that the server sent (`CKRecordChangedErrorAncestorRecordKey`: Virga's does, Apple's service may), else the last
/// version that `remember(_:)` was given, as long as it is among the last 8 MB of such versions.
///
/// Shares are not merged: who takes part in one is no field. Their errors stay with the app.
public final class ConflictMerger: Sendable {
  private struct State {
    /// Failed attempts of each record since it was last saved.
    var attempts: [CKRecord.ID: Int] = [:]
    var ancestors = RecordMemory(bytesMax: 8 << 20)
    /// What was sent from the present ancestor, as long as no answer came. Of a version that is not here any more the merge knows
    /// by its mark that it exists, and guesses nothing.
    var sent = RecordMemory(bytesMax: 8 << 20)
  }

  /// Versions without an answer that are kept for each record.
  private static let sentMax = 32

  private let merger: RecordMerger
  private let attemptsMax: Int
  private let container: CKContainer?
  private let state = Mutex(State())

  /// Makes a merger with a policy for each type of record.
  /// - Parameter device: A name that no other device has and that stays from run to run: it stands in the marks of records.
  /// - Parameter container: By its service's clock `prepare(_:)` caps the dates that `newest(by:)` compares.
  /// - Parameter attemptsMax: How many conflicts in a row a record may meet, 1...100, before it is given up.
  public init(policies: MergePolicies, device: String, container: CKContainer? = nil, attemptsMax: Int = 8) {
    precondition((1...100).contains(attemptsMax), "1 to 100 attempts")
    merger = RecordMerger(policies: policies, device: device)
    self.container = container
    self.attemptsMax = attemptsMax
  }

  /// Makes a merger that follows one policy for all records; see the other initialiser.
  public convenience init(
    policy: MergePolicy, device: String, container: CKContainer? = nil, attemptsMax: Int = 8
  ) {
    self.init(policies: MergePolicies(default: policy), device: device, container: container, attemptsMax: attemptsMax)
  }

  /// Notes a version that the server is known to have, as the ancestor of what is edited from now on.
  public func remember(_ record: CKRecord) {
    let id = record.recordID
    state.withLock { state in
      // What was edited while a save was under way is in the object, and not with the server.
      let isEdited = record.hasEdits
      state.ancestors[id] = [isEdited ? state.sent[id].last ?? record.withoutEdits() : record.snapshot().record]
      state.sent[id] = []
      state.attempts[id] = nil
    }
  }

  // MARK: Before a save

  /// Makes a record ready for a save: marks it as this device's next write, if its policy has marks, and caps changed dates that decide at
  /// the service's time. Call it where the record is handed to a save; the version is kept until its answer comes.
  @discardableResult
  public func prepare(_ record: CKRecord) -> CKRecord { prepare(record, at: container?.serviceTime) }

  private func prepare(_ record: CKRecord, at time: Timestamp?) -> CKRecord {
    let model = record.mergedModel
    let earlier = state.withLock { $0.sent[record.recordID] }
    // A version that is not the first one from this ancestor has a number of its own, whichever object it was made from.
    let write = ([model] + earlier.map(\.mergedModel)).map(merger.nextWrite).max() ?? 1
    var prepared = merger.marked(model, write: write)
    if let time { prepared = merger.capped(prepared, at: time, fields: record.editedFields) }
    _ = record.takeFields(prepared.fields, inPlaceOf: model.fields, AssetObjects([]))
    let sent = Array(earlier.suffix(Self.sentMax - 1)) + [record.snapshot().record]
    state.withLock { $0.sent[record.recordID] = sent }
    return record
  }

  // MARK: Conflicts

  /// Merges what a conflict brought.
  /// - Parameter current: The record as it is now. It may have been edited since it was sent.
  /// - Parameter answered: Fields whose value in my version answers a question.
  /// - Throws: The error itself, if it is no conflict of a record or does not bring the server's record.
  public func merge(
    _ error: any Error, current: CKRecord, answered: Set<String> = []
  ) throws -> MergedRecord {
    guard let conflict = error as? CKError, conflict.code == .serverRecordChanged, let server = conflict.serverRecord,
      server.recordType != CKRecord.SystemType.share
    else { throw error }
    return merge(
      server: server, mine: current, ancestor: conflict.ancestorRecord, answered: answered, sent: conflict.clientRecord,
      at: conflict.serviceTime ?? container?.serviceTime)
  }

  /// Merges three versions, as an app has them in its hands.
  /// - Parameter ancestor: `nil` for the last version that `remember(_:)` was given.
  public func merge(
    server: CKRecord, mine: CKRecord, ancestor: CKRecord?, answered: Set<String> = []
  ) -> MergedRecord {
    merge(
      server: server, mine: mine, ancestor: ancestor, answered: answered, sent: nil, at: container?.serviceTime)
  }

  /// - Parameter refused: What was sent, and met the conflict.
  private func merge(
    server: CKRecord, mine: CKRecord, ancestor: CKRecord?, answered: Set<String>, sent refused: CKRecord?,
    at time: Timestamp?
  ) -> MergedRecord {
    let id = server.recordID
    let (known, sent, attempts) = state.withLock { state in
      state.attempts[id, default: 0] += 1
      return (state.ancestors[id].last, state.sent[id], state.attempts[id] ?? 1)
    }
    let ancestor = ancestor ?? known
    let versions = RecordVersions(
      ancestor: ancestor?.mergedModel, server: server.mergedModel, mine: mine.mergedModel,
      sent: (sent + [refused].compactMap(\.self)).map(\.mergedModel))
    let outcome = merger.merge(versions, serverTime: time, answered: answered)
    state.withLock { state in
      state.ancestors[id] = [server.snapshot().record]
      state.sent[id] = []
      if !outcome.isSaveNeeded { state.attempts[id] = nil }
    }
    let assets = AssetObjects([mine, server, ancestor].compactMap(\.self))
    return merged(outcome, over: server, versions.server, assets, attempts)
  }

  /// The records of a merge's outcome.
  private func merged(
    _ outcome: MergeOutcome, over server: CKRecord, _ current: Record, _ assets: AssetObjects, _ attempts: Int
  ) -> MergedRecord {
    let record = server.snapshot().record
    var missing: [CKRecord.ID: [String]] = [:]
    func note(_ names: [FieldName], of id: CKRecord.ID) {
      if !names.isEmpty { missing[id] = names.map(\.rawValue) }
    }
    note(record.takeFields(outcome.record.fields, inPlaceOf: current.fields, assets), of: record.recordID)
    if current.parent != outcome.record.parent { record.setParent(toModel: outcome.record.parent) }
    let forks = outcome.forks.map { model in
      let fork = CKRecord.new(model, assets)
      note(fork.missing, of: fork.record.recordID)
      return fork.record
    }
    let isGivenUp = outcome.isSaveNeeded && attempts > attemptsMax
    return MergedRecord(
      record: record, forks: forks, isSaveNeeded: outcome.isSaveNeeded && !isGivenUp, isGivenUp: isGivenUp,
      fieldsLeftOut: missing, outcome: outcome)
  }

  /// Merges all conflicts of an engine's event, and remembers what was saved.
  /// - Parameter current: The app's record of that name as it is now, with what was edited since it was sent: the merge is made with
  ///   this one. An app that keeps the objects that it gave to the engine returns those; one that keeps its values elsewhere makes
  ///   the record from them once more. `nil` if the app has deleted it: then nothing is merged.
  /// - Returns: What to keep. Between this call and that there must be no `await`, or an edit made in between is lost.
  public func merge(
    _ event: CKSyncEngine.Event.SentRecordZoneChanges, current: (CKRecord.ID) -> CKRecord?
  ) -> [MergedRecord] {
    for record in event.savedRecords { remember(record) }
    return event.failedRecordSaves.compactMap { failure in
      guard let mine = current(failure.record.recordID) else { return nil }
      return try? merge(failure.error, current: mine)
    }
  }

  // MARK: Saving

  /// Saves a record and, where it meets a conflict, the merged one, until it is saved or the limit of attempts is reached.
  /// - Parameter note: Is told of each merge, such as for a journal.
  /// - Returns: What the server has at the end. What was edited in the record meanwhile is in it as a change that is not saved. Forks are
  ///   saved before it.
  /// - Throws: `CKError.serverRecordChanged` with the last three versions if it was given up; any other error as it came.
  @discardableResult
  public func save(
    _ record: CKRecord, in database: CKDatabase, answered: Set<String> = [],
    note: (MergedRecord) -> Void = { _ in }
  ) async throws -> CKRecord {
    let original = record
    var edits: UInt64?
    var record = record
    while true {
      do {
        let saved = try await database.save(prepare(record, at: database.serviceTime))
        remember(saved)
        if let edits { _ = saved.takeEdits(of: original, since: edits) }
        return saved
      } catch {
        if let seen = edits { edits = record.takeEdits(of: original, since: seen) }
        let mine = record.snapshot()
        let merged = try merge(error, current: mine.record, answered: answered)
        edits = edits ?? mine.edits
        note(merged)
        for fork in merged.forks { try await saveNew(fork, in: database) }
        if merged.isGivenUp { throw error }
        record = merged.record
        if merged.isSaveNeeded { continue }
        if let edits { _ = record.takeEdits(of: original, since: edits) }
        return record
      }
    }
  }

  /// A fork that is there already was made by another device, or by an attempt whose answer was lost.
  private func saveNew(_ record: CKRecord, in database: CKDatabase) async throws {
    do {
      try await database.save(record)
    } catch let error as CKError where error.code == .serverRecordChanged {
      return
    }
  }
}
