import CloudKit
import VirgaModel

@testable import VirgaAuth
@testable import VirgaCloudKit

/// A phone's diary with encrypted texts.
struct SealedDiary {
  let server: TestServer
  let phone: TestDevice
  let zone = CKRecordZone(zoneName: "Diary")

  init() async throws {
    server = try TestServer()
    phone = try server.device("phone")
    _ = try await phone.database.save(zone)
  }

  func entry(_ name: String, secret: String) -> CKRecord {
    let record = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
    record["title"] = "plain"
    record.encryptedValues["text"] = secret
    return record
  }

  func text(of name: String, on device: TestDevice) async throws -> String? {
    try await device.database.record(for: entry(name, secret: "").recordID).encryptedValues["text"] as? String
  }

  func zoneKey(of name: String) async throws -> KeyID? {
    SealedValueHead(try await phone.sealed("text", of: name, in: zone))?.key
  }
}
