import CloudKit

// The shape of an app with encrypted fields: a second set of values on the same record.

struct Secret {
  static let zoneID = CKRecordZone.ID(zoneName: "Vault", ownerName: CKCurrentUserDefaultName)
  let record: CKRecord

  init(named name: String) {
    record = CKRecord(recordType: "Secret", recordID: CKRecord.ID(recordName: name, zoneID: Secret.zoneID))
  }

  init(_ record: CKRecord) { self.record = record }

  var phone: String? {
    get { record.encryptedValues["phone"] }
    nonmutating set { record.encryptedValues["phone"] = newValue }
  }

  var label: String? {
    get { record["label"] as? String }
    nonmutating set { record["label"] = newValue as CKRecordValue? }
  }
}

func vaultApp(_ action: String, _ words: [String]) async throws {
  let database = CKContainer.default().privateCloudDatabase
  switch action {
  case "put":
    _ = try await database.modifyRecordZones(saving: [CKRecordZone(zoneID: Secret.zoneID)], deleting: [])
    let secret = Secret(named: words[0])
    secret.label = words[1]
    secret.phone = words[2]
    let saved = try await database.modifyRecords(saving: [secret.record], deleting: [], savePolicy: .allKeys)
    _ = try saved.saveResults[secret.record.recordID]?.get()
  case "get":
    let secret = Secret(try await database.record(for: Secret(named: words[0]).record.recordID))
    print("secret: \(secret.label ?? "") \(secret.phone ?? "")")
    print("plain value: \(secret.record["phone"] == nil ? "none" : "there")")
  case "share":
    // The whole vault, for whoever has the address.
    let share = CKShare(recordZoneID: Secret.zoneID)
    share.publicPermission = .readOnly
    _ = try await database.save(share)
    print(share.url?.absoluteString ?? "no address")
  case "shared":
    let shared = CKContainer.default().sharedCloudDatabase
    guard let zoneID = try await shared.allRecordZones().first?.zoneID else { return print("nothing is shared") }
    let secret = Secret(try await shared.record(for: CKRecord.ID(recordName: words[0], zoneID: zoneID)))
    print("secret: \(secret.label ?? "") \(secret.phone ?? "")")
  case "search":
    do {
      let query = CKQuery(recordType: "Secret", predicate: NSPredicate(format: "phone == %@", words[0]))
      let (found, _) = try await database.records(matching: query, inZoneWith: Secret.zoneID)
      print("found: \(found.count)")
    } catch let error as CKError {
      print("refused: \(error.code == .invalidArguments || error.code == .serverRejectedRequest)")
    }
  default: break
  }
}
