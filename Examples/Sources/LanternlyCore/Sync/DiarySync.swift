import CloudKit
import Foundation
import Synchronization

/// Keeps the diary and the server in step, as the delegate of a sync engine.
///
/// The outbox is the truth of what must be sent: the engine's list holds what comes next in it, and a row goes only when the server
/// has acknowledged that very change. What a fetch brings is in the diary before the engine's new state is; a crash in
/// between brings it again, which changes nothing.
final class DiarySync: CKSyncEngineDelegate, Sendable {
  static let containerIdentifier = "iCloud.org.virga.lanternly"
  /// Records in one request, so that an upload that is cut off has saved most of what it sent.
  static let batchMax = 40
  /// The most changes in the engine's list. The engine writes the whole list with each state and searches it for each
  /// batch, so with a whole diary in it the work would grow with the square of the diary.
  static let listedMax = 4 * batchMax
  /// Times that a record is tried again after a conflict, until what was refused gets another chance.
  static let attemptsMax = 6

  struct Progress: Sendable {
    var sent: [String] = []
    var changes: [DiaryChange] = []
    /// Changes under way: the outbox row that each stands for.
    var generations: [String: Int64] = [:]
    var attempts: [String: Int] = [:]
    /// What a reading of the whole zone has brought; `nil` outside of one.
    var reading: ZoneReading?
    /// The diary could not take something in: from then on no state of the engine is stored.
    var storeFailure: (any Error)?
    /// A zone was refused.
    var zoneFailure: CKError?
  }

  let store: DiaryStore
  let device: String
  private let now: @Sendable () -> Moment
  private let isTold: @Sendable (DiaryChange) -> Void
  private let isSent: @Sendable () -> Void
  private let progress = Mutex(Progress())
  /// Held while the engine's list is compared with the outbox: with an older look at either, one task would take off the
  /// list what another has just put there.
  private let listing = Mutex(())

  init(
    store: DiaryStore, now: @escaping @Sendable () -> Moment, telling: @escaping @Sendable (DiaryChange) -> Void,
    sending: @escaping @Sendable () -> Void = {}
  ) throws {
    self.store = store
    self.now = now
    isTold = telling
    isSent = sending
    device = try store.deviceName()
  }

  /// What happened since the last call.
  func takeProgress() -> Progress {
    progress.withLock { progress in
      let taken = progress
      (progress.sent, progress.changes) = ([], [])
      return taken
    }
  }

  func makeEngine(isAutomatic: Bool) throws -> CKSyncEngine {
    try noteEnvironment()
    // Without a state that can be read the engine reads all that lives, and what it does not name was lost.
    let state = try store.setting("engine-state").flatMap { bytes in
      try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data(bytes))
    }
    if state == nil { progress.withLock { $0.reading = ZoneReading() } }
    var configuration = CKSyncEngine.Configuration(
      database: CKContainer(identifier: Self.containerIdentifier).privateCloudDatabase, stateSerialization: state,
      delegate: self)
    configuration.automaticallySync = isAutomatic
    return CKSyncEngine(configuration)
  }

  /// Another environment has other databases and the same name for the user: the engine cannot tell it from the first.
  private func noteEnvironment() throws {
    // As the client finds it; this program has no entitlements.
    let variable = ProcessInfo.processInfo.environment["VIRGA_ENVIRONMENT"]?.lowercased()
    let environment = variable == "production" ? "production" : "development"
    let known = try store.notes().environment
    if known == environment { return }
    if known != nil {
      try store.set("engine-state", nil)
      try store.beginElsewhere(at: now())
    }
    try store.updateNotes { $0.environment = environment }
  }

  /// Makes the engine's list what comes next in the outbox.
  func refill(_ engine: CKSyncEngine) throws { try listing.withLock { _ in try list(engine) } }

  /// Gives what the server refused another chance, also what had used up its attempts.
  func retryRefused(_ engine: CKSyncEngine) throws {
    try store.retryRefused()
    progress.withLock { $0.attempts = [:] }
    try refill(engine)
  }

  private func list(_ engine: CKSyncEngine) throws {
    if try store.notes().purged != nil {
      engine.state.remove(pendingDatabaseChanges: engine.state.pendingDatabaseChanges)
      engine.state.remove(pendingRecordZoneChanges: engine.state.pendingRecordZoneChanges)
      return
    }
    if try store.setting("zone-made") == nil {
      engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: DiaryRecord.zoneID))])
    }
    let wanted = try store.nextToSend(limit: Self.listedMax).map { row in
      row.change == .save
        ? CKSyncEngine.PendingRecordZoneChange.saveRecord(DiaryRecord.recordID(row.record))
        : .deleteRecord(DiaryRecord.recordID(row.record))
    }
    let known = engine.state.pendingRecordZoneChanges
    let stale = Set(known).subtracting(wanted)
    if !stale.isEmpty { engine.state.remove(pendingRecordZoneChanges: known.filter(stale.contains)) }
    if !wanted.isEmpty { engine.state.add(pendingRecordZoneChanges: wanted) }
  }

  // MARK: The engine's questions

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    guard progress.withLock({ $0.storeFailure == nil }) else { return nil }
    do {
      if try store.notes().purged != nil { return nil }
      return try listing.withLock { _ in try nextBatch(context, syncEngine) }
    } catch {
      progress.withLock { $0.storeFailure = error }
      return nil
    }
  }

  private func nextBatch(
    _ context: CKSyncEngine.SendChangesContext, _ engine: CKSyncEngine
  ) throws -> CKSyncEngine.RecordZoneChangeBatch? {
    let pending = Set(engine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) })
    var batch = CKSyncEngine.RecordZoneChangeBatch()
    var entries: [(id: EntryID, entry: Entry)] = []
    var generations: [String: Int64] = [:]
    for row in try store.nextToSend(limit: Self.listedMax) {
      if generations.count == Self.batchMax { break }
      let id = DiaryRecord.recordID(row.record)
      if row.change == .delete {
        guard pending.contains(.deleteRecord(id)) else { continue }
        batch.recordIDsToDelete.append(id)
      } else {
        guard pending.contains(.saveRecord(id)), let record = try record(for: row, with: &entries) else { continue }
        batch.recordsToSave.append(record)
      }
      generations[row.record] = row.generation
    }
    if generations.isEmpty {
      let known = engine.state.pendingRecordZoneChanges.filter(pending.contains)
      // Whatever is listed and has no row was settled meanwhile.
      if !known.isEmpty { engine.state.remove(pendingRecordZoneChanges: known) }
      return nil
    }
    try store.willSend(entries)
    progress.withLock { progress in progress.generations.merge(generations) { _, new in new } }
    return batch
  }

  /// `nil` if there is nothing to send for a row now.
  private func record(
    for row: OutboxRow, with entries: inout [(id: EntryID, entry: Entry)]
  ) throws -> CKRecord? {
    if row.kind == .entry {
      guard let stored = try store.stored(EntryID(row.record)) else { return nil }
      entries.append((stored.id, stored.entry))
      return DiaryRecord.record(of: stored)
    }
    guard let stored = try store.attachment(AttachmentID(row.record)), stored.hasFile else { return nil }
    let owner = stored.attachment.entry
    // The server knows the entry, or learns of it with the same request.
    let isOwnerThere = try store.stored(owner)?.systemFields != nil || entries.contains { $0.id == owner }
    return isOwnerThere ? DiaryRecord.record(of: stored, files: store.home.files) : nil
  }

  // MARK: Events

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    do {
      try handle(event, syncEngine)
    } catch {
      progress.withLock { $0.storeFailure = error }
    }
  }

  private func handle(_ event: CKSyncEngine.Event, _ engine: CKSyncEngine) throws {
    switch event {
    case .stateUpdate(let update):
      guard progress.withLock({ $0.storeFailure == nil }) else { return }
      try store.set("engine-state", Array(try JSONEncoder().encode(update.stateSerialization)))
    case .accountChange(let change): try accountChanged(change.changeType, engine)
    case .fetchedDatabaseChanges(let changes):
      for deletion in changes.deletions where deletion.zoneID == DiaryRecord.zoneID {
        if deletion.reason == .purged { try zoneWasPurged(engine) } else { try zoneIsGone(engine) }
      }
    case .fetchedRecordZoneChanges(let changes): try fetched(changes, engine)
    case .sentDatabaseChanges(let sent): try sentZones(sent, engine)
    case .sentRecordZoneChanges(let sent): try self.sent(sent, engine)
    case .didFetchRecordZoneChanges(let fetched): try zoneWasRead(fetched, engine)
    case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchChanges, .willSendChanges, .didSendChanges: break
    }
  }

  private func accountChanged(_ change: CKSyncEngine.Event.AccountChange.ChangeType, _ engine: CKSyncEngine) throws {
    let user: String
    switch change {
    case .signOut: return
    case .signIn(let current), .switchAccounts(_, let current): user = current.recordName
    }
    let known = try store.notes().user
    if let known, known != user {
      // A diary that was begun alone comes along when the device joins another account.
      try store.beginElsewhere(at: now())
    }
    try store.updateNotes { $0.user = user }
    try refill(engine)
  }

  /// The server lost the diary, or somebody removed its zone: a diary does not vanish for that, it is sent again.
  private func zoneIsGone(_ engine: CKSyncEngine) throws {
    guard try store.notes().purged == nil else { return }
    try store.forgetEverything(at: now())
    try refill(engine)
  }

  /// The user had the app's data taken off the server: nothing goes there again without their word.
  private func zoneWasPurged(_ engine: CKSyncEngine) throws {
    try store.stopAfterPurge(at: now())
    try refill(engine)
  }

  private func sentZones(_ sent: CKSyncEngine.Event.SentDatabaseChanges, _ engine: CKSyncEngine) throws {
    if sent.savedZones.contains(where: { $0.zoneID == DiaryRecord.zoneID }) { try store.set("zone-made", [1]) }
    progress.withLock { $0.zoneFailure = sent.failedZoneSaves.first?.error }
  }

  private func zoneWasRead(
    _ event: CKSyncEngine.Event.DidFetchRecordZoneChanges, _ engine: CKSyncEngine
  ) throws {
    guard event.zoneID == DiaryRecord.zoneID else { return }
    if event.error?.code == .userDeletedZone { return try zoneWasPurged(engine) }
    if event.error?.code == .changeTokenExpired {
      progress.withLock { $0.reading = ZoneReading() }
    } else if event.error == nil {
      if let reading = progress.withLock({ $0.reading }) {
        progress.withLock { $0.reading = nil }
        try take(try store.changes(after: reading), engine)
      }
      try store.deleteAttachmentsOfDeletedEntries(at: now())
      try refill(engine)
    }
  }

  // What cannot be read is there all the same, and comes again once this device has the key.
  private func fetched(
    _ event: CKSyncEngine.Event.FetchedRecordZoneChanges, _ engine: CKSyncEngine
  ) throws {
    var changes = RemoteChanges()
    for modification in event.modifications where modification.record.recordID.zoneID == DiaryRecord.zoneID {
      let record = modification.record
      add(record, to: &changes)
    }
    for deletion in event.deletions where deletion.recordID.zoneID == DiaryRecord.zoneID {
      try add(deletion.recordID.recordName, to: &changes)
    }
    changes.mayBeOlder = progress.withLock { $0.reading != nil }
    try take(changes, engine)
  }

  private func add(_ record: CKRecord, to changes: inout RemoteChanges) {
    if DiaryRecord.isNotEncrypted(record) { changes.notEncrypted.insert(record.recordID.recordName) }
    if DiaryRecord.isLocked(record) { return changes.locked.append(record.recordID.recordName) }
    if record.recordType == DiaryRecord.entryType { changes.entries.append(DiaryRecord.entry(of: record)) }
    if record.recordType == DiaryRecord.attachmentType, let attachment = remoteAttachment(record) {
      changes.attachments.append(attachment)
    }
  }

  private func add(_ deleted: String, to changes: inout RemoteChanges) throws {
    if try store.attachment(AttachmentID(deleted)) != nil {
      changes.deletedAttachments.append(AttachmentID(deleted))
    } else {
      changes.deletedEntries.append(EntryID(deleted))
    }
  }

  /// Puts the record's file, if it came along, into the diary.
  private func remoteAttachment(_ record: CKRecord) -> RemoteAttachment? {
    guard let attachment = DiaryRecord.attachment(of: record) else { return nil }
    let systemFields = DiaryRecord.systemFields(of: record)
    let hasFile = (record["file"] as? CKAsset).map { adopt($0, of: attachment) } ?? false
    return RemoteAttachment(attachment: attachment, systemFields: systemFields, hasFile: hasFile)
  }

  /// A file that is not there or not the promised one is asked for again by the next sync.
  private func adopt(_ asset: CKAsset, of attachment: Attachment) -> Bool {
    if store.home.files.contains(sha256: attachment.sha256) { return true }
    guard let path = asset.fileURL?.path, let stored = try? store.home.files.adopt(path) else { return false }
    return stored.sha256 == attachment.sha256
  }

  private func take(_ changes: RemoteChanges, _ engine: CKSyncEngine) throws {
    let done = try store.apply(changes, device: device, at: now())
    if !changes.locked.isEmpty {
      let before = Set(try store.notes().notEncrypted ?? [])
      let after = before.subtracting(changes.locked).union(changes.notEncrypted)
      if after != before { try store.updateNotes { $0.notEncrypted = after.sorted() } }
    }
    progress.withLock { progress in
      progress.changes += done
      progress.reading?.note(changes, done)
    }
    for change in done { isTold(change) }
    try refill(engine)
  }

  // MARK: Answers

  private func sent(_ sent: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) throws {
    for record in sent.savedRecords { try acknowledge(record) }
    for id in sent.deletedRecordIDs { try acknowledgeDeletion(id.recordName) }
    for failure in sent.failedRecordSaves { try saveFailed(failure, engine) }
    for (id, error) in sent.failedRecordDeletes.sorted(by: { $0.key.recordName < $1.key.recordName }) {
      if error.code == .unknownItem {
        try acknowledgeDeletion(id.recordName)
      } else if !error.isPassing {
        try refuse(id.recordName, error)
      }
    }
    try refill(engine)
  }

  private func generation(_ name: String) -> Int64 { progress.withLock { $0.generations[name] ?? -1 } }

  private func acknowledge(_ record: CKRecord) throws {
    let name = record.recordID.recordName
    if record.recordType == DiaryRecord.entryType {
      let remote = DiaryRecord.entry(of: record)
      // The answer holds the fields that were sent; what was sent is known whole.
      let sent = try store.stored(remote.id)?.sent ?? remote.entry
      let saved = RemoteEntry(
        id: remote.id, entry: sent, systemFields: remote.systemFields, changedAt: remote.changedAt)
      try store.acknowledge(saved, generation: generation(name), at: now())
    } else {
      try store.acknowledge(
        AttachmentID(name), systemFields: DiaryRecord.systemFields(of: record), generation: generation(name))
    }
    progress.withLock { progress in
      progress.sent.append(name)
      progress.attempts[name] = nil
    }
    isSent()
  }

  private func acknowledgeDeletion(_ name: String) throws {
    try store.acknowledgeDeletion(of: name, generation: generation(name), at: now())
    progress.withLock { $0.sent.append(name) }
  }

  private func saveFailed(
    _ failure: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ engine: CKSyncEngine
  ) throws {
    let name = failure.record.recordID.recordName
    if failure.error.isPassing || failure.error.code == .batchRequestFailed { return }
    let attempts = progress.withLock { progress in
      progress.attempts[name, default: 0] += 1
      return progress.attempts[name] ?? 0
    }
    if attempts > Self.attemptsMax { return try refuse(name, failure.error) }
    let isEntry = failure.record.recordType == DiaryRecord.entryType
    switch failure.error.code {
    case .serverRecordChanged:
      guard let server = failure.error.serverRecord else { return try refuse(name, failure.error) }
      var changes = RemoteChanges()
      changes.mayBeOlder = true
      add(server, to: &changes)
      try take(changes, engine)
      // There is nothing to merge with before this device has the key; each sync tries again.
      if !changes.locked.isEmpty {
        try store.noteRefusal(of: name, changes.notEncrypted.isEmpty ? Self.keyIsMissing : Self.isNotEncrypted)
      }
    case .zoneNotFound: try zoneIsGone(engine)
    case .userDeletedZone: try zoneWasPurged(engine)
    case .unknownItem:
      if isEntry { try store.forget(EntryID(name), at: now()) } else { try store.forget(AttachmentID(name), at: now()) }
    case .referenceViolation where !isEntry:
      // The entry is not there, whatever was acknowledged: it goes first.
      guard let owner = try store.attachment(AttachmentID(name))?.attachment.entry else { return }
      try store.forget(owner, at: now())
    default: try refuse(name, failure.error)
    }
  }

  /// Why a change waits that the server would take: what another device wrote there is to be read first.
  private static let keyIsMissing = "keyMissing: the other device's change cannot be read here"

  private static let isNotEncrypted = "notEncrypted: what the server has there was not encrypted by your devices"

  private func refuse(_ name: String, _ error: CKError) throws {
    try store.noteRefusal(of: name, "\(SyncNotes.Failure.code(of: error)): \(error.localizedDescription)")
  }
}

extension CKError {
  /// Whether the engine keeps the change and tries it again by itself.
  var isPassing: Bool {
    switch code {
    case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .requestRateLimited, .notAuthenticated,
      .accountTemporarilyUnavailable, .operationCancelled, .serverResponseLost:
      true
    default: false
    }
  }

  var isGoneZone: Bool { code == .zoneNotFound || code == .userDeletedZone }
}

extension DiarySync {
  /// How often what does not come by itself is asked for again.
  private static let retryInterval: Duration = .seconds(600)

  /// Until it is cancelled, gives what the server refused another chance now and then, and asks for files that are missing.
  func retryNowAndThen(_ engine: CKSyncEngine) async {
    var wait = Duration.zero
    do {
      while true {
        try await ContinuousClock().sleep(for: wait)
        wait = Self.retryInterval
        try retryRefused(engine)
        do {
          _ = try await downloadMissing(from: engine.database)
        } catch is CKError {
          // The engine's own requests tell what is wrong with the server.
          continue
        }
        try refill(engine)
      }
    } catch is CancellationError {
      return
    } catch {
      progress.withLock { $0.storeFailure = error }
    }
  }

  /// Asks for files that did not come with their records.
  /// - Returns: Whether any came.
  func downloadMissing(from database: CKDatabase) async throws -> Bool {
    let missing = try store.attachmentsWithoutFile().map { DiaryRecord.recordID($0.attachment.id.name) }
    var rest = missing[...]
    var hasCome = false
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Self.batchMax))
      rest = rest.dropFirst(batch.count)
      let results = try await database.records(for: batch)
      for id in batch {
        if case .success(let record)? = results[id], try take(fileOf: record) { hasCome = true }
      }
    }
    return hasCome
  }

  private func take(fileOf record: CKRecord) throws -> Bool {
    guard let attachment = remoteAttachment(record), attachment.hasFile else { return false }
    let done = try store.take(fileOf: attachment.attachment)
    progress.withLock { $0.changes += done }
    for change in done { isTold(change) }
    return !done.isEmpty
  }
}
