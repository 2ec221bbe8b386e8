import CloudKit
import Foundation
import Synchronization
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit
import VirgaModel
import VirgaSync

/// A small app on one device: rows in its own store, a mark on each row that waits to be sent, a merge for conflicts.
///
/// What it keeps between launches is in `Disk`, as a transaction would write it; killing the device leaves the disk.
final class DiaryDevice: CKSyncEngineDelegate, Sendable {
  struct Row: Sendable, Equatable {
    var values: [String: String] = [:]
    /// When each value was set, by the device's clock.
    var times: [String: Int64] = [:]
    /// The record as the server last acknowledged it, archived with its values.
    var base: Data?
    /// A mark that this row waits to be sent. It is written together with the values.
    var isDirty = false
    var isDeleted = false
  }

  struct Disk: Sendable {
    var rows: [CKRecord.ID: Row] = [:]
    var state: Data?
    var hasZone = false
    var user: String?
    /// The rows of other accounts, by user.
    var setAside: [String: [CKRecord.ID: Row]] = [:]
    /// Versions that lost a conflict, so that nothing is lost unseen.
    var conflicts: [String] = []
    /// While a zone is read for a second time: what came.
    var seen: Set<CKRecord.ID>?
  }

  enum DeletePolicy: Sendable { case deleteWins, editWins }

  private struct Memory {
    var disk: Disk
    var engine: CKSyncEngine?
    var events: [String] = []
    var clockSkew: Duration = .zero
    var deletePolicy = DeletePolicy.editWins
    /// What becomes of rows that a second reading of the zone does not bring.
    var lossPolicy = DeletePolicy.deleteWins
    var purgePolicy = DeletePolicy.deleteWins
    /// Whether the record store fails to be read.
    var isUnreadable = false
    var isAtomic = false
    var failures: [CKError.Code] = []
    var ancestors: [[String: String]] = []
    var onEvent: (@Sendable (CKSyncEngine.Event, CKSyncEngine) async -> Void)?
    /// Runs while a batch is being made, after its records were.
    var onBatch: (@Sendable () -> Void)?
    var resolves = true
    /// What the user was told of.
    var notices: [String] = []
    var largestPage = 0
  }

  static let zoneID = CKRecordZone.ID(zoneName: "diary")

  let link: Link
  let time: VirtualTime
  private let home: String
  private let automatic: Bool
  private let memory: Mutex<Memory>

  init(
    _ server: SyncServer, home: String, disk: Disk = Disk(), automatic: Bool = false, seed: UInt64 = 1,
    engineSkew: Duration = .zero
  ) {
    link = Link(server)
    time = server.time
    self.home = home
    self.automatic = automatic
    memory = Mutex(Memory(disk: disk))
    start(seed: seed, skew: engineSkew)
  }

  private func start(seed: UInt64, skew: Duration) {
    let service = RemoteService(
      endpoint: "http://server", environment: .development, home: VirgaHome(path: home), transport: link,
      deviceName: "test", now: { [time] in time.now })
    let container = CKContainer(link.server.container, on: service)
    let stored = disk.state.flatMap { try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0) }
    var configuration = CKSyncEngine.Configuration(
      database: container.privateCloudDatabase, stateSerialization: stored, delegate: self)
    configuration.automaticallySync = automatic
    let engine = CKSyncEngine(configuration, environment: time.environment(seed: seed, skew: skew))
    memory.withLock { $0.engine = engine }
    // The marks on the rows are the truth; the engine's list may be older.
    engine.state.add(pendingRecordZoneChanges: pendingRows())
  }

  /// Ends the process; what was on disk stays.
  @discardableResult
  func kill() -> Disk {
    let (engine, disk) = memory.withLock { memory in
      defer { memory.engine = nil }
      return (memory.engine, memory.disk)
    }
    engine?.shutDown()
    return disk
  }

  /// Lets go of the engine without ending it, as an app does that makes another one.
  func drop() {
    _ = memory.withLock { memory in
      defer { memory.engine = nil }
      return memory.engine
    }
  }

  var engine: CKSyncEngine {
    guard let engine = memory.withLock({ $0.engine }) else { preconditionFailure("the device was killed") }
    return engine
  }
  var disk: Disk { memory.withLock { $0.disk } }
  var events: [String] { memory.withLock { $0.events } }
  var failures: [CKError.Code] { memory.withLock { $0.failures } }
  var ancestors: [[String: String]] { memory.withLock { $0.ancestors } }
  var notices: [String] { memory.withLock { $0.notices } }
  var largestPage: Int { memory.withLock { $0.largestPage } }
  var pending: [String] { engine.state.pendingRecordZoneChanges.map(\.description) }

  func set(
    clockSkew: Duration? = nil, deletePolicy: DeletePolicy? = nil, purgePolicy: DeletePolicy? = nil,
    lossPolicy: DeletePolicy? = nil,
    isUnreadable: Bool? = nil, isAtomic: Bool? = nil, resolves: Bool? = nil
  ) {
    memory.withLock { memory in
      memory.clockSkew = clockSkew ?? memory.clockSkew
      memory.deletePolicy = deletePolicy ?? memory.deletePolicy
      memory.purgePolicy = purgePolicy ?? memory.purgePolicy
      memory.lossPolicy = lossPolicy ?? memory.lossPolicy
      memory.isUnreadable = isUnreadable ?? memory.isUnreadable
      memory.isAtomic = isAtomic ?? memory.isAtomic
      memory.resolves = resolves ?? memory.resolves
    }
  }

  func onEvent(_ body: (@Sendable (CKSyncEngine.Event, CKSyncEngine) async -> Void)?) {
    memory.withLock { $0.onEvent = body }
  }

  func onBatch(_ body: (@Sendable () -> Void)?) { memory.withLock { $0.onBatch = body } }

  // MARK: The user's edits

  func edit(_ name: String, _ values: [String: String]) {
    let now = (time.now + memory.withLock { $0.clockSkew }).milliseconds
    let id = Self.id(name)
    memory.withLock { memory in
      var row = memory.disk.rows[id] ?? Row()
      for (key, value) in values {
        row.values[key] = value
        row.times[key] = now
      }
      row.isDirty = true
      row.isDeleted = false
      memory.disk.rows[id] = row
    }
    addPending([.saveRecord(id)])
  }

  func delete(_ name: String) {
    let id = Self.id(name)
    memory.withLock { memory in
      memory.disk.rows[id]?.isDeleted = true
      memory.disk.rows[id]?.isDirty = true
    }
    addPending([.deleteRecord(id)])
  }

  private func addPending(_ changes: [CKSyncEngine.PendingRecordZoneChange]) {
    let engine = memory.withLock { $0.engine }
    if !disk.hasZone { engine?.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))]) }
    engine?.state.add(pendingRecordZoneChanges: changes)
  }

  /// Adds what is marked to the engine's list again.
  func addMarked() { addPending(pendingRows()) }

  private func pendingRows() -> [CKSyncEngine.PendingRecordZoneChange] {
    disk.rows.filter(\.value.isDirty).sorted { $0.key.recordName < $1.key.recordName }.map {
      $0.value.isDeleted ? .deleteRecord($0.key) : .saveRecord($0.key)
    }
  }

  /// The rows as the user sees them.
  var rows: [String: [String: String]] {
    Dictionary(
      uniqueKeysWithValues: disk.rows.filter { !$0.value.isDeleted }.map { ($0.key.recordName, $0.value.values) })
  }

  static func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

  // MARK: Runs

  func send(_ options: CKSyncEngine.SendChangesOptions = .init()) throws {
    try time.run { [engine] in try await engine.sendChanges(options) }
  }

  func fetch() throws { try time.run { [engine] in try await engine.fetchChanges() } }

  /// Sends where something is expected to fail; returns what the call threw for each record and zone.
  func sendFailing() throws -> [String: CKError.Code] {
    do { try send() } catch let error as CKError where error.code == .partialFailure {
      var codes: [String: CKError.Code] = [:]
      for (item, error) in error.partialErrorsByItemID ?? [:] {
        let name = (item as? CKRecord.ID)?.recordName ?? (item as? CKRecordZone.ID)?.zoneName ?? "?"
        codes[name] = (error as? CKError)?.code
      }
      return codes
    }
    return [:]
  }

  /// Sends until what failed was resolved, or fails again and again.
  func sendAll() throws {
    for _ in 0..<5 where try sendFailing().isEmpty { return }
  }

  func sync() throws {
    try fetch()
    try sendAll()
    try fetch()
  }

  // MARK: Delegate

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    let isAlive = memory.withLock { memory in
      memory.events.append(event.word)
      return memory.engine === syncEngine
    }
    guard isAlive else { return }
    if let body = memory.withLock({ $0.onEvent }) { await body(event, syncEngine) }
    switch event {
    case .stateUpdate(let update):
      let data = try? JSONEncoder().encode(update.stateSerialization)
      memory.withLock { $0.disk.state = data }
    case .accountChange(let change): handle(change, syncEngine)
    case .fetchedDatabaseChanges(let changes): handle(changes, syncEngine)
    case .fetchedRecordZoneChanges(let changes): handle(changes, syncEngine)
    case .sentDatabaseChanges(let changes):
      if changes.savedZones.contains(where: { $0.zoneID == Self.zoneID }) { memory.withLock { $0.disk.hasZone = true } }
    case .sentRecordZoneChanges(let changes): handle(changes, syncEngine)
    case .didFetchRecordZoneChanges(let event): handle(event, syncEngine)
    default: break
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    var batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in self.record(for: id) }
    batch?.atomicByZone = memory.withLock { $0.isAtomic }
    if batch != nil { memory.withLock { $0.onBatch }?() }
    return batch
  }

  private func record(for id: CKRecord.ID) -> CKRecord? {
    memory.withLock { memory in
      guard !memory.isUnreadable, let row = memory.disk.rows[id], !row.isDeleted else { return nil }
      let record = row.base.flatMap(Self.unarchive) ?? CKRecord(recordType: "Entry", recordID: id)
      Self.write(row, into: record)
      return record
    }
  }

  // MARK: What comes

  private func handle(_ change: CKSyncEngine.Event.AccountChange, _ engine: CKSyncEngine) {
    let user: String? =
      switch change.changeType {
      case .signIn(let user), .switchAccounts(_, let user): user.recordName
      case .signOut: nil
      }
    memory.withLock { memory in
      if let previous = memory.disk.user, previous != user {
        memory.disk.setAside[previous] = memory.disk.rows
        memory.disk.rows = [:]
        memory.disk.hasZone = false
      }
      if let user, memory.disk.user != user, let rows = memory.disk.setAside.removeValue(forKey: user) {
        memory.disk.rows = rows
      }
      memory.disk.user = user
    }
    if !pendingRows().isEmpty { addPending(pendingRows()) }
  }

  private func handle(_ changes: CKSyncEngine.Event.FetchedDatabaseChanges, _ engine: CKSyncEngine) {
    if changes.modifications.contains(where: { $0.zoneID == Self.zoneID }) {
      memory.withLock { $0.disk.hasZone = true }
    }
    guard let deletion = changes.deletions.first(where: { $0.zoneID == Self.zoneID }) else { return }
    loseZone(uploadsAgain: deletion.reason == .encryptedDataReset, engine)
  }

  private func loseZone(uploadsAgain: Bool, _ engine: CKSyncEngine) {
    let uploads = uploadsAgain || memory.withLock { $0.purgePolicy == .editWins }
    memory.withLock { memory in
      memory.disk.hasZone = false
      if uploads {
        for id in memory.disk.rows.keys {
          memory.disk.rows[id]?.base = nil
          memory.disk.rows[id]?.isDirty = true
        }
      } else {
        memory.disk.rows = [:]
      }
    }
    engine.state.remove(pendingRecordZoneChanges: engine.state.pendingRecordZoneChanges)
    if uploads { addPending(pendingRows()) }
  }

  private func handle(_ changes: CKSyncEngine.Event.FetchedRecordZoneChanges, _ engine: CKSyncEngine) {
    memory.withLock { memory in
      memory.largestPage = max(memory.largestPage, changes.modifications.count + changes.deletions.count)
      for change in changes.modifications {
        memory.disk.seen?.insert(change.record.recordID)
        Self.merge(change.record, into: &memory)
      }
      for deletion in changes.deletions {
        guard let row = memory.disk.rows[deletion.recordID] else { continue }
        Self.meetDeletion(of: deletion.recordID, row, &memory)
      }
    }
    addPendingIfDirty(engine)
  }

  private func handle(_ event: CKSyncEngine.Event.DidFetchRecordZoneChanges, _ engine: CKSyncEngine) {
    memory.withLock { memory in
      if event.error?.code == .changeTokenExpired {
        memory.disk.seen = []
      } else if event.error == nil, let seen = memory.disk.seen {
        for (id, row) in memory.disk.rows where !seen.contains(id) && row.base != nil {
          if memory.lossPolicy == .editWins {
            memory.disk.rows[id]?.base = nil
            memory.disk.rows[id]?.isDirty = true
          } else {
            Self.meetDeletion(of: id, row, &memory)
          }
        }
        memory.disk.seen = nil
      }
      if let code = event.error?.code { memory.failures.append(code) }
    }
    addPendingIfDirty(engine)
  }

  private static func meetDeletion(of id: CKRecord.ID, _ row: Row, _ memory: inout Memory) {
    if row.isDirty, !row.isDeleted {
      if memory.deletePolicy == .editWins {
        memory.disk.rows[id]?.base = nil
        return
      }
      memory.disk.conflicts.append("\(id.recordName): \(row.values)")
    }
    memory.disk.rows[id] = nil
  }

  private func addPendingIfDirty(_ engine: CKSyncEngine) {
    let known = Set(engine.state.pendingRecordZoneChanges)
    let missing = pendingRows().filter { !known.contains($0) }
    if !missing.isEmpty { engine.state.add(pendingRecordZoneChanges: missing) }
    let gone = known.filter { memory.withLock { $0.disk.rows }[$0.id]?.isDirty != true }
    if !gone.isEmpty { engine.state.remove(pendingRecordZoneChanges: Array(gone)) }
  }

  private func handle(_ changes: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine) {
    memory.withLock { memory in
      for record in changes.savedRecords { Self.acknowledge(record, &memory) }
      for id in changes.deletedRecordIDs { memory.disk.rows[id] = nil }
      memory.failures += changes.failedRecordSaves.map(\.error.code)
    }
    var again: [CKSyncEngine.PendingRecordZoneChange] = []
    for failure in changes.failedRecordSaves { again += resolve(failure, engine) }
    for (id, error) in changes.failedRecordDeletes.sorted(by: { $0.key.recordName < $1.key.recordName }) {
      if error.code == .unknownItem {
        memory.withLock { $0.disk.rows[id] = nil }
      } else {
        again.append(.deleteRecord(id))
      }
    }
    if !again.isEmpty { engine.state.add(pendingRecordZoneChanges: again) }
  }

  private func resolve(
    _ failure: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ engine: CKSyncEngine
  ) -> [CKSyncEngine.PendingRecordZoneChange] {
    let id = failure.record.recordID
    switch failure.error.code {
    case .serverRecordChanged:
      guard memory.withLock({ $0.resolves }) else { return [.saveRecord(id)] }
      guard let server = failure.error.serverRecord else { return [] }
      let isDirty = memory.withLock { memory in
        if let ancestor = failure.error.ancestorRecord { memory.ancestors.append(Self.values(of: ancestor)) }
        Self.merge(server, into: &memory)
        return memory.disk.rows[id]?.isDirty ?? false
      }
      if isDirty { return [.saveRecord(id)] }
      // Settled by taking what the server has.
      engine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
      return []
    case .zoneNotFound:
      memory.withLock { memory in
        memory.disk.hasZone = false
        memory.disk.rows[id]?.base = nil
      }
      engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))])
      return [.saveRecord(id)]
    case .userDeletedZone:
      loseZone(uploadsAgain: false, engine)
      return []
    case .unknownItem:
      let isKept = memory.withLock { memory in
        if let row = memory.disk.rows[id] { Self.meetDeletion(of: id, row, &memory) }
        return memory.disk.rows[id] != nil
      }
      if isKept { return [.saveRecord(id)] }
      engine.state.remove(pendingRecordZoneChanges: [.saveRecord(id)])
      return []
    // What only a change of the record, or of the schema, can mend.
    case .invalidArguments, .serverRejectedRequest: return []
    case .quotaExceeded, .referenceViolation:
      // The row keeps its mark; sending again at once would change nothing.
      memory.withLock { memory in
        let notice = "no space"
        if !memory.notices.contains(notice) { memory.notices.append(notice) }
      }
      return []
    default: return failure.error.isTransient ? [] : [.saveRecord(id)]
    }
  }

  // MARK: Records and rows

  /// Joins the server's version with the row, field by field against what both came from.
  private static func merge(_ server: CKRecord, into memory: inout Memory) {
    let id = server.recordID
    guard var row = memory.disk.rows[id] else {
      memory.disk.rows[id] = row(of: server)
      return
    }
    let base = row.base.flatMap(unarchive)
    // What is older than the version that was acknowledged last tells nothing.
    let theirs = self.row(of: server)
    guard row.isDirty else {
      memory.disk.rows[id] = theirs
      return
    }
    if row.isDeleted {
      // Whoever edited did not know of the deletion.
      if server.recordChangeTag != base?.recordChangeTag, memory.deletePolicy == .editWins {
        memory.disk.rows[id] = theirs
      }
      memory.disk.rows[id]?.base = theirs.base
      return
    }
    let before = base.map(values) ?? [:]
    for key in Set(row.values.keys).union(theirs.values.keys).sorted() {
      let mine = row.values[key]
      let other = theirs.values[key]
      if mine == other || mine != before[key] && other == before[key] { continue }
      let isMineLater =
        (row.times[key] ?? 0, mine ?? "") > (theirs.times[key] ?? 0, other ?? "")
      if mine == before[key] || !isMineLater {
        if mine != before[key] { memory.disk.conflicts.append("\(id.recordName).\(key): \(mine ?? "nil")") }
        row.values[key] = other
        row.times[key] = theirs.times[key]
      } else {
        memory.disk.conflicts.append("\(id.recordName).\(key): \(other ?? "nil")")
      }
    }
    row.base = theirs.base
    row.isDirty = row.values != theirs.values
    memory.disk.rows[id] = row
  }

  private static func acknowledge(_ record: CKRecord, _ memory: inout Memory) {
    guard var row = memory.disk.rows[record.recordID] else { return }
    row.base = archive(record)
    // The row may have been edited while the request was under way.
    row.isDirty = row.isDeleted || row.values != values(of: record)
    memory.disk.rows[record.recordID] = row
  }

  private static func write(_ row: Row, into record: CKRecord) {
    let known = values(of: record)
    for (key, value) in row.values.sorted(by: { $0.key < $1.key }) where known[key] != value {
      record[key] = value
      record["t_\(key)"] = row.times[key] ?? 0
    }
  }

  private static func row(of record: CKRecord) -> Row {
    var row = Row(values: values(of: record), base: archive(record))
    for key in row.values.keys { row.times[key] = record["t_\(key)"] as? Int64 }
    return row
  }

  static func values(of record: CKRecord) -> [String: String] {
    var values: [String: String] = [:]
    for key in record.allKeys() where !key.hasPrefix("t_") { values[key] = record[key] as? String }
    return values
  }

  private static func archive(_ record: CKRecord) -> Data {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encode(with: archiver)
    archiver.finishEncoding()
    return archiver.encodedData
  }

  private static func unarchive(_ data: Data) -> CKRecord? {
    guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
    return CKRecord(coder: unarchiver)
  }
}

extension CKSyncEngine.PendingRecordZoneChange {
  var id: CKRecord.ID {
    switch self {
    case .saveRecord(let id), .deleteRecord(let id): id
    }
  }
}

extension CKError {
  var isTransient: Bool {
    switch code {
    case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .requestRateLimited, .notAuthenticated,
      .accountTemporarilyUnavailable, .operationCancelled, .serverResponseLost:
      true
    default: false
    }
  }
}

extension CKSyncEngine.Event {
  /// A short name for traces.
  var word: String {
    switch self {
    case .stateUpdate: "state"
    case .accountChange(let change):
      switch change.changeType {
      case .signIn: "signIn"
      case .signOut: "signOut"
      case .switchAccounts: "switch"
      }
    case .fetchedDatabaseChanges(let event): "database(+\(event.modifications.count)-\(event.deletions.count))"
    case .fetchedRecordZoneChanges(let event): "records(+\(event.modifications.count)-\(event.deletions.count))"
    case .sentDatabaseChanges(let event): "sentZones(\(event.savedZones.count))"
    case .sentRecordZoneChanges(let event):
      "sent(\(event.savedRecords.count)-\(event.deletedRecordIDs.count)!\(event.failedRecordSaves.count))"
    case .willFetchChanges: "willFetch"
    case .willFetchRecordZoneChanges(let event): "will \(event.zoneID.zoneName)"
    case .didFetchRecordZoneChanges(let event):
      "did \(event.zoneID.zoneName)\(event.error.map { "!\($0.code)" } ?? "")"
    case .didFetchChanges: "didFetch"
    case .willSendChanges: "willSend"
    case .didSendChanges: "didSend"
    }
  }
}
