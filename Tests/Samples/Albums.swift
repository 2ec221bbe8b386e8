import CloudKit

// The shape of a sharing app: the owner shares a root record with its children, another user joins by the address.

private let container = CKContainer.default()
private let zone = CKRecordZone(zoneName: "Albums")

func albumsApp(_ folder: URL, _ action: String, _ words: [String]) async throws {
  switch action {
  case "whoami": print("user: \(try await container.userRecordID().recordName)")
  case "create":
    _ = try await container.privateCloudDatabase.modifyRecordZones(saving: [zone], deleting: [])
    let album = CKRecord(recordType: "Album", recordID: CKRecord.ID(recordName: words[0], zoneID: zone.zoneID))
    album["title"] = words[1]
    let page = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "\(words[0])-1", zoneID: zone.zoneID))
    page["text"] = "first page"
    page.setParent(album)
    let (saves, _) = try await container.privateCloudDatabase.modifyRecords(saving: [album, page], deleting: [])
    for result in saves.values { _ = try result.get() }
  case "share": try await share(words[0], with: words[1])
  case "join": try await join(URL(string: words[0])!)
  case "edit":
    let page = try await sharedPage()
    page["text"] = words[0]
    _ = try await container.sharedCloudDatabase.save(page)
  case "leave":
    let zones = try await container.sharedCloudDatabase.allRecordZones()
    for zone in zones { try await container.sharedCloudDatabase.deleteRecordZone(withID: zone.zoneID) }
  default: break
  }
  await list(container.privateCloudDatabase, "mine")
  await list(container.sharedCloudDatabase, "shared")
}

private func share(_ name: String, with user: String) async throws {
  let database = container.privateCloudDatabase
  let album = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
  let share = CKShare(rootRecord: album)
  share[CKShare.SystemFieldKey.title] = album["title"] as? String
  share.publicPermission = .none
  let participant = try await container.shareParticipant(forUserRecordID: CKRecord.ID(recordName: user))
  participant.permission = .readWrite
  share.addParticipant(participant)
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
    let operation = CKModifyRecordsOperation(recordsToSave: [album, share], recordIDsToDelete: nil)
    operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
    operation.perRecordSaveBlock = { recordID, result in
      if case .failure(let error) = result { print("failed: \(recordID.recordName) \(error)") }
    }
    database.add(operation)
  }
  print("url: \(share.url?.absoluteString ?? "none")")
}

private final class Found: @unchecked Sendable { var metadata: [CKShare.Metadata] = [] }

private func join(_ url: URL) async throws {
  let found = Found()
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
    let operation = CKFetchShareMetadataOperation(shareURLs: [url])
    operation.shouldFetchRootRecord = true
    operation.perShareMetadataResultBlock = { _, result in
      if case .success(let metadata) = result { found.metadata.append(metadata) }
    }
    operation.fetchShareMetadataResultBlock = { continuation.resume(with: $0) }
    container.add(operation)
  }
  for metadata in found.metadata {
    print(
      "invited to: \(metadata.rootRecord?["title"] as? String ?? "?") as \(metadata.participantPermission == .readWrite ? "writer" : "reader")"
    )
  }
  let metadatas = found.metadata
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
    let operation = CKAcceptSharesOperation(shareMetadatas: metadatas)
    operation.acceptSharesResultBlock = { continuation.resume(with: $0) }
    CKContainer(identifier: metadatas[0].containerIdentifier).add(operation)
  }
}

private func sharedPage() async throws -> CKRecord {
  let zones = try await container.sharedCloudDatabase.allRecordZones()
  let id = CKRecord.ID(recordName: "a1-1", zoneID: zones[0].zoneID)
  return try await container.sharedCloudDatabase.record(for: id)
}

private func list(_ database: CKDatabase, _ label: String) async {
  guard let zones = try? await database.allRecordZones() else { return }
  for zone in zones where zone.zoneID.zoneName == "Albums" {
    var token: CKServerChangeToken?
    var isMore = true
    while isMore {
      guard let page = try? await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token) else { return }
      let records = page.modificationResultsByID.values.compactMap { try? $0.get().record }
      for record in records.sorted(by: { $0.recordID.recordName < $1.recordID.recordName }) where !(record is CKShare) {
        print("\(label): \(record.recordID.recordName) \(record["title"] ?? record["text"] ?? "")")
      }
      (token, isMore) = (page.changeToken, page.moreComing)
    }
  }
}
