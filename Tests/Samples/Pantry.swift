import CloudKit

// The shape of a private database with a zone of its own and a subscription, over operations and change tokens.

struct PantryState: Codable {
  var items: [String: String] = [:]
  var isZoneCreated = false
  var isSubscribed = false
  var token: Data?
}

enum Pantry {
  static let zone = CKRecordZone(zoneName: "Pantry")
  static let database = CKContainer.default().privateCloudDatabase
}

func pantryApp(_ folder: URL, _ action: String, _ words: [String]) async throws {
  let file = folder.appendingPathComponent("pantry.json")
  var state = (try? JSONDecoder().decode(PantryState.self, from: Data(contentsOf: file))) ?? PantryState()
  try await createZone(&state)
  try await subscribe(&state)
  switch action {
  case "add":
    let record = CKRecord(
      recordType: "Item", recordID: CKRecord.ID(recordName: words[0], zoneID: Pantry.zone.zoneID))
    record["label"] = words[1]
    let (saves, _) = try await Pantry.database.modifyRecords(saving: [record], deleting: [])
    let saved = try saves[record.recordID]!.get()
    state.items[words[0]] = saved["label"] as? String
    print("saved: \(saved.recordChangeTag != nil)")
  case "delete":
    let id = CKRecord.ID(recordName: words[0], zoneID: Pantry.zone.zoneID)
    let (_, deletions) = try await Pantry.database.modifyRecords(saving: [], deleting: [id])
    if case .success? = deletions[id] { state.items[words[0]] = nil }
  default: break
  }
  try await fetchLastChanges(&state)
  try JSONEncoder().encode(state).write(to: file)
  for (name, label) in state.items.sorted(by: { $0.key < $1.key }) { print("item: \(name) \(label)") }
}

private func createZone(_ state: inout PantryState) async throws {
  guard !state.isZoneCreated else { return }
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
    let operation = CKModifyRecordZonesOperation(recordZonesToSave: [Pantry.zone], recordZoneIDsToDelete: nil)
    operation.modifyRecordZonesResultBlock = { continuation.resume(with: $0) }
    Pantry.database.add(operation)
  }
  state.isZoneCreated = true
}

private func subscribe(_ state: inout PantryState) async throws {
  guard !state.isSubscribed else { return }
  let subscription = CKDatabaseSubscription(subscriptionID: "pantry-changes")
  let info = CKSubscription.NotificationInfo()
  info.shouldSendContentAvailable = true
  subscription.notificationInfo = info
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
    let operation = CKModifySubscriptionsOperation(
      subscriptionsToSave: [subscription], subscriptionIDsToDelete: nil)
    operation.modifySubscriptionsResultBlock = { continuation.resume(with: $0) }
    operation.qualityOfService = .userInitiated
    Pantry.database.add(operation)
  }
  state.isSubscribed = true
  print("subscribed")
}

/// Collects what the blocks of one operation are told; they run one after another.
private final class Changes: @unchecked Sendable {
  var changed: [(String, String)] = []
  var deleted: [String] = []
  var token: CKServerChangeToken?
}

private func fetchLastChanges(_ state: inout PantryState) async throws {
  let changes = Changes()
  let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
  if let token = state.token {
    configuration.previousServerChangeToken = try NSKeyedUnarchiver.unarchivedObject(
      ofClass: CKServerChangeToken.self, from: token)
  }
  let zoneID = Pantry.zone.zoneID
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
    let operation = CKFetchRecordZoneChangesOperation(
      recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration])
    operation.recordWasChangedBlock = { recordID, result in
      if case .success(let record) = result {
        changes.changed.append((recordID.recordName, record["label"] as? String ?? ""))
      }
    }
    operation.recordWithIDWasDeletedBlock = { recordID, _ in changes.deleted.append(recordID.recordName) }
    operation.recordZoneChangeTokensUpdatedBlock = { _, token, _ in changes.token = token ?? changes.token }
    operation.recordZoneFetchResultBlock = { _, result in
      if case .success(let end) = result { changes.token = end.serverChangeToken }
    }
    operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
    Pantry.database.add(operation)
  }
  for (name, label) in changes.changed { state.items[name] = label }
  for name in changes.deleted { state.items[name] = nil }
  print("fetched: \(changes.changed.count) changed, \(changes.deleted.count) deleted")
  if let token = changes.token {
    state.token = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
  }
}
