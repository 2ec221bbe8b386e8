import CloudKit

// The shape of a lesson on conflicts: the three records of the error, a merge field by field, and a bounded retry.

func mergeApp(_ folder: URL, _ action: String, _ words: [String]) async throws {
  let db = CKContainer.default().privateCloudDatabase
  let zoneID = CKRecordZone.ID(zoneName: "Merge")
  let id = CKRecord.ID(recordName: "note", zoneID: zoneID)
  _ = try await db.modifyRecordZones(saving: [CKRecordZone(zoneID: zoneID)], deleting: [])
  switch action {
  case "start":
    let note = CKRecord(recordType: "Note", recordID: id)
    note["title"] = "title"
    note["text"] = "text"
    note["tags"] = ["a"]
    _ = try await db.save(note)
  case "race":
    let mine = try await db.record(for: id)
    let theirs = try await db.record(for: id)
    theirs["text"] = "theirs"
    theirs["tags"] = ["a", "b"]
    _ = try await db.save(theirs)
    mine["title"] = "mine"
    mine["tags"] = ["a", "c"]
    let merged = try await save(mine, in: db)
    let tags = merged["tags"] as? [String] ?? []
    print(
      "merged: \(merged["title"] as? String ?? "") \(merged["text"] as? String ?? "") \(tags.joined(separator: "+"))")
  default: break
  }
}

private func save(_ record: CKRecord, in db: CKDatabase) async throws -> CKRecord {
  var record = record
  for _ in 0..<3 {
    do {
      let (saved, _) = try await db.modifyRecords(
        saving: [record], deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true)
      return try saved[record.recordID]!.get()
    } catch let error as CKError where error.code == .serverRecordChanged {
      guard
        let server = error.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord,
        let client = error.userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord,
        let ancestor = error.userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord
      else { throw error }
      record = merge(server: server, client: client, ancestor: ancestor)
    }
  }
  throw CKError(.serverRecordChanged)
}

private func merge(server: CKRecord, client: CKRecord, ancestor: CKRecord) -> CKRecord {
  let result = server
  for key in client.allKeys() {
    let base = ancestor[key] as? NSObject
    let mine = client[key] as? NSObject
    let theirs = server[key] as? NSObject
    if mine != base && theirs == base {
      result[key] = client[key]
    } else if mine != base && theirs != base && mine != theirs {
      let all = Set(client[key] as? [String] ?? []).union(server[key] as? [String] ?? [])
      result[key] = all.sorted()
    }
  }
  return result
}
