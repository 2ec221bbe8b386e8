import CloudKit
import Foundation

/// The engine as apps for Apple's systems use it: an actor that is the delegate, with nothing but Apple's names.
final actor NotesStore: CKSyncEngineDelegate {
  private struct AppData: Codable {
    var notes: [String: String] = [:]
    var stateSerialization: CKSyncEngine.State.Serialization?
  }

  private var appData = AppData()
  private var lastKnownRecords: [CKRecord.ID: CKRecord] = [:]
  private var configure: (@Sendable (NotesStore) -> CKSyncEngine)?

  private var _syncEngine: CKSyncEngine?
  var syncEngine: CKSyncEngine {
    if let engine = _syncEngine { return engine }
    let engine: CKSyncEngine
    if let configure {
      engine = configure(self)
    } else {
      var configuration = CKSyncEngine.Configuration(
        database: CKContainer.default().privateCloudDatabase,
        stateSerialization: appData.stateSerialization, delegate: self)
      configuration.automaticallySync = true
      engine = CKSyncEngine(configuration)
    }
    _syncEngine = engine
    return engine
  }

  /// Tests decide how the engine is made.
  func set(_ configure: @escaping @Sendable (NotesStore) -> CKSyncEngine) { self.configure = configure }

  var notes: [String: String] { appData.notes }

  static let zone = CKRecordZone(zoneName: "Notes")

  func save(_ text: String, named name: String) {
    appData.notes[name] = text
    let recordID = CKRecord.ID(recordName: name, zoneID: Self.zone.zoneID)
    syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
    syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
  }

  func delete(named name: String) {
    appData.notes[name] = nil
    let recordID = CKRecord.ID(recordName: name, zoneID: Self.zone.zoneID)
    syncEngine.state.add(pendingRecordZoneChanges: [.deleteRecord(recordID)])
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    switch event {
    case .stateUpdate(let event): appData.stateSerialization = event.stateSerialization
    case .accountChange(let event): handleAccountChange(event)
    case .fetchedDatabaseChanges(let event):
      for deletion in event.deletions where deletion.zoneID.zoneName == Self.zone.zoneID.zoneName {
        appData.notes = [:]
      }
    case .fetchedRecordZoneChanges(let event):
      for modification in event.modifications {
        let record = modification.record
        lastKnownRecords[record.recordID] = record
        appData.notes[record.recordID.recordName] = record["text"] as? String
      }
      for deletion in event.deletions { appData.notes[deletion.recordID.recordName] = nil }
    case .sentRecordZoneChanges(let event): handleSentRecordZoneChanges(event)
    case .sentDatabaseChanges, .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges,
      .didFetchChanges, .willSendChanges, .didSendChanges:
      break
    @unknown default: break
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let scope = context.options.scope
    let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
    let notes = appData.notes
    let known = lastKnownRecords
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
      guard let text = notes[recordID.recordName] else {
        syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
        return nil
      }
      let record = known[recordID] ?? CKRecord(recordType: "Note", recordID: recordID)
      record["text"] = text
      return record
    }
  }

  func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions {
    var options = context.options
    options.prioritizedZoneIDs = [Self.zone.zoneID]
    return options
  }

  private func handleAccountChange(_ event: CKSyncEngine.Event.AccountChange) {
    switch event.changeType {
    case .signIn:
      let zoneID = Self.zone.zoneID
      let names = appData.notes.keys.sorted()
      syncEngine.state.add(
        pendingRecordZoneChanges: names.map { .saveRecord(CKRecord.ID(recordName: $0, zoneID: zoneID)) })
    case .signOut, .switchAccounts: appData = AppData()
    @unknown default: break
    }
  }

  private func handleSentRecordZoneChanges(_ event: CKSyncEngine.Event.SentRecordZoneChanges) {
    var newChanges: [CKSyncEngine.PendingRecordZoneChange] = []
    var newZones: [CKSyncEngine.PendingDatabaseChange] = []
    for record in event.savedRecords { lastKnownRecords[record.recordID] = record }
    for failure in event.failedRecordSaves {
      let recordID = failure.record.recordID
      switch failure.error.code {
      case .serverRecordChanged:
        guard let serverRecord = failure.error.serverRecord else { continue }
        lastKnownRecords[recordID] = serverRecord
        newChanges.append(.saveRecord(recordID))
      case .zoneNotFound:
        newZones.append(.saveZone(CKRecordZone(zoneID: recordID.zoneID)))
        newChanges.append(.saveRecord(recordID))
        lastKnownRecords[recordID] = nil
      case .unknownItem:
        newChanges.append(.saveRecord(recordID))
        lastKnownRecords[recordID] = nil
      case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated,
        .operationCancelled:
        break
      default: break
      }
    }
    syncEngine.state.add(pendingDatabaseChanges: newZones)
    syncEngine.state.add(pendingRecordZoneChanges: newChanges)
  }
}
