import CloudKit

// The shape of a health app: CKSyncEngine with a class as its delegate, a conflict decided by when something was
// measured, a silent push that starts a fetch.

final class PulseSync: NSObject, CKSyncEngineDelegate, @unchecked Sendable {
  private var syncEngine: CKSyncEngine!
  private let zoneID = CKRecordZone.ID(zoneName: "Pulse")
  private let stateFile: URL
  private var store: [CKRecord.ID: CKRecord] = [:]

  init(folder: URL) { stateFile = folder.appendingPathComponent("pulse.state") }

  func configure() {
    let state = (try? Data(contentsOf: stateFile)).flatMap {
      try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0)
    }
    var configuration = CKSyncEngine.Configuration(
      database: CKContainer.default().privateCloudDatabase, stateSerialization: state, delegate: self)
    configuration.automaticallySync = false
    syncEngine = CKSyncEngine(configuration)
  }

  func measure(_ name: String, value: Int, at time: Double) {
    let record = CKRecord(recordType: "Beat", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    record["value"] = value
    record["recordedAt"] = Date(timeIntervalSince1970: time)
    store[record.recordID] = record
    syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
    syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(record.recordID)])
  }

  func send() async throws {
    do { try await syncEngine.sendChanges() } catch let error as CKError where error.code == .partialFailure {
      try await syncEngine.sendChanges()
    }
  }

  /// What the system would hand to the app when a push comes.
  func didReceive(_ userInfo: [AnyHashable: Any]) async throws -> Bool {
    guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo),
      notification.notificationType == .database
    else { return false }
    try await syncEngine.fetchChanges()
    return true
  }

  var values: [String] {
    store.values.sorted { $0.recordID.recordName < $1.recordID.recordName }
      .map { "\($0.recordID.recordName) \($0["value"] as? Int ?? 0)" }
  }

  // A method that does not wait fulfils one that may.
  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {
    switch event {
    case .stateUpdate(let update):
      try? JSONEncoder().encode(update.stateSerialization).write(to: stateFile)
    case .fetchedRecordZoneChanges(let event):
      event.modifications.forEach { store[$0.record.recordID] = $0.record }
      event.deletions.forEach { store[$0.recordID] = nil }
    case .sentRecordZoneChanges(let event):
      for failure in event.failedRecordSaves {
        guard failure.error.code == .serverRecordChanged, let server = failure.error.serverRecord else { continue }
        let resolved = merge(local: failure.record, server: server)
        store[resolved.recordID] = resolved
        syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(resolved.recordID)])
      }
    default: break
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let changes = syncEngine.state.pendingRecordZoneChanges.filter(context.options.scope.contains)
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in self.store[recordID] }
  }

  /// Starts from the server's copy, which has the tag that the next save needs.
  private func merge(local: CKRecord, server: CKRecord) -> CKRecord {
    let merged = server.copy() as! CKRecord
    let mine = local["recordedAt"] as? Date ?? .distantPast
    let theirs = server["recordedAt"] as? Date ?? .distantPast
    if mine > theirs {
      merged["value"] = local["value"]
      merged["recordedAt"] = local["recordedAt"]
    }
    return merged
  }
}

func pulseApp(_ folder: URL, _ action: String, _ words: [String]) async throws {
  let subscription = CKDatabaseSubscription(subscriptionID: "pulse")
  let info = CKSubscription.NotificationInfo()
  info.shouldSendContentAvailable = true
  subscription.notificationInfo = info
  _ = try await CKContainer.default().privateCloudDatabase.save(subscription)
  let app = PulseSync(folder: folder)
  app.configure()
  switch action {
  case "measure":
    app.measure(words[0], value: Int(words[1])!, at: Double(words[2])!)
    try await app.send()
  case "push":
    let push: [AnyHashable: Any] = [
      "aps": ["content-available": 1],
      "ck": [
        "cid": "iCloud.samples", "nid": "6E1B5E0E-0000-4000-8000-000000000001", "ce": 2,
        "met": ["sid": "pulse", "dbs": 1, "zid": "Pulse", "zoid": "_defaultOwner"],
      ],
    ]
    print("handled: \(try await app.didReceive(push)), another's: \(try await app.didReceive(["aps": ["badge": 1]]))")
  default: break
  }
  for value in app.values { print("beat: \(value)") }
}
