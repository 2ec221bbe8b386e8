import Synchronization
public import VirgaCloudKit
public import VirgaMerge
import VirgaModel

/// Merges conflicts of an app's records by policies.
///
/// In the delegate of a `CKSyncEngine`:
/// ```swift
/// case .sentRecordZoneChanges(let sent):
///   for merged in merger.merge(sent) {
///     store.keep(merged)
///     engine.state.add(pendingRecordZoneChanges: merged.pendingChanges)
///   }
/// ```
/// By hand, `save(_:in:)` saves a record and merges as often as it takes, up to a limit.
///
/// The ancestor is the one that the server sent (`CKRecordChangedErrorAncestorRecordKey`: Virga's does, Apple's service may), else the last
/// version that `remember(_:)` was given.
public final class ConflictMerger: Sendable {
  private struct State {
    /// Failed attempts of each record since it was last saved.
    var attempts: [CKRecord.ID: Int] = [:]
    var ancestors: [CKRecord.ID: Record] = [:]
    /// What was sent from the present ancestor, as long as no answer came.
    var sent: [CKRecord.ID: [Record]] = [:]
  }

  /// Versions without an answer that are kept for each record. Of an older one the merge knows that it exists, and guesses nothing.
  private static let sentMax = 32

  private let merger: RecordMerger
  private let attemptsMax: Int
  private let state = Mutex(State())

  /// - Parameter device: A name that no other device has and that stays from run to run: it stands in the marks of records.
  /// - Parameter attemptsMax: How many conflicts in a row a record may meet, 1...100, before it is given up.
  public init(policies: MergePolicies, device: String, attemptsMax: Int = 8) {
    precondition((1...100).contains(attemptsMax), "1 to 100 attempts")
    merger = RecordMerger(policies: policies, device: device)
    self.attemptsMax = attemptsMax
  }

  /// Makes a merger that follows a policy.
  /// - Parameter device: Names this device, in journals and in records that keep a losing side.
  /// - Parameter attemptsMax: How often one record is merged and saved again before its conflict is handed to the app.
  public convenience init(policy: MergePolicy, device: String, attemptsMax: Int = 8) {
    self.init(policies: MergePolicies(default: policy), device: device, attemptsMax: attemptsMax)
  }

  /// Notes a version that the server is known to have, as the ancestor of what is edited from now on.
  public func remember(_ record: CKRecord) {
    state.withLock { state in
      state.ancestors[record.recordID] = record.mergedModel
      state.sent[record.recordID] = nil
      state.attempts[record.recordID] = nil
    }
  }

  /// Marks a record as this device's next write, if its policy has marks. Call it where the record is handed to a save; the
  /// version is kept until its answer comes.
  @discardableResult
  public func prepare(_ record: CKRecord) -> CKRecord {
    let model = record.mergedModel
    let marked = merger.marked(model, write: merger.nextWrite(of: model))
    guard marked.fields != model.fields else { return record }
    for element in marked.fields where model.fields[element.name] != element.field {
      record[element.name.rawValue] = element.field.value.texts
    }
    state.withLock {
      $0.sent[record.recordID, default: []] = ($0.sent[record.recordID] ?? []).suffix(Self.sentMax - 1) + [marked]
    }
    return record
  }

  /// Merges what a conflict brought.
  /// - Parameter answered: Fields whose value in my version answers a question.
  /// - Throws: The error itself, if it is no conflict or does not bring the server's record.
  public func merge(_ error: any Error, answered: Set<String> = []) throws -> MergedRecord {
    guard let conflict = error as? CKError, conflict.code == .serverRecordChanged, let server = conflict.serverRecord,
      let mine = conflict.clientRecord
    else { throw error }
    return merge(server: server, mine: mine, ancestor: conflict.ancestorRecord, answered: answered)
  }

  /// Merges three versions, as an app has them in its hands.
  /// - Parameter ancestor: `nil` for the last version that `remember(_:)` was given.
  public func merge(
    server: CKRecord, mine: CKRecord, ancestor: CKRecord?, answered: Set<String> = []
  ) -> MergedRecord {
    let id = server.recordID
    let (known, sent, attempts) = state.withLock { state in
      state.attempts[id, default: 0] += 1
      return (state.ancestors[id], state.sent[id] ?? [], state.attempts[id] ?? 1)
    }
    let versions = RecordVersions(
      ancestor: ancestor?.mergedModel ?? known, server: server.mergedModel, mine: mine.mergedModel, sent: sent)
    let outcome = merger.merge(versions, answered: answered)
    state.withLock { state in
      state.ancestors[id] = versions.server
      state.sent[id] = nil
      if !outcome.isSaveNeeded { state.attempts[id] = nil }
    }
    let isGivenUp = outcome.isSaveNeeded && attempts > attemptsMax
    return MergedRecord(
      record: server.replacingValues(with: outcome.record, assetsFrom: mine),
      forks: outcome.forks.map { CKRecord(newRecord: $0, assetsFrom: mine) },
      isSaveNeeded: outcome.isSaveNeeded && !isGivenUp, isGivenUp: isGivenUp, outcome: outcome)
  }

  /// Merges all conflicts of an engine's event, and remembers what was saved.
  public func merge(_ event: CKSyncEngine.Event.SentRecordZoneChanges) -> [MergedRecord] {
    for record in event.savedRecords { remember(record) }
    return event.failedRecordSaves.compactMap { failure in try? merge(failure.error) }
  }

  /// Saves a record and, where it meets a conflict, the merged one, until it is saved or the limit of attempts is reached.
  /// - Parameter note: Is told of each merge, such as for a journal.
  /// - Returns: What the server has at the end. Forks are saved before it.
  /// - Throws: `CKError.serverRecordChanged` with the last three versions if it was given up; any other error as it came.
  @discardableResult
  public func save(
    _ record: CKRecord, in database: CKDatabase, answered: Set<String> = [],
    note: (MergedRecord) -> Void = { _ in }
  ) async throws -> CKRecord {
    var record = record
    while true {
      do {
        let saved = try await database.save(prepare(record))
        remember(saved)
        return saved
      } catch {
        let merged = try merge(error, answered: answered)
        note(merged)
        for fork in merged.forks { try await saveNew(fork, in: database) }
        if merged.isGivenUp { throw error }
        guard merged.isSaveNeeded else { return merged.record }
        record = merged.record
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

extension FieldValue {
  /// The texts of a list of marks.
  fileprivate var texts: [String] {
    (listMembers ?? []).compactMap { if case .string(let text) = $0 { text } else { nil } }
  }
}
