import CloudKit
import Foundation
import TestSupport
import Testing

// The code of the documentation catalogue, Sources/VirgaCloudKit/VirgaCloudKit.docc, run against a server in memory.
// `DocumentCodeTests` compares both.

@available(*, unavailable, message: "compiled, not run")
func catalogueContainer() {
  let database = CKContainer(identifier: "iCloud.com.example.Notes").privateCloudDatabase
  _ = database
}

@Suite(.timeLimit(.minutes(2))) struct CatalogueTests {
  static let identifier = "iCloud.com.example.Notes"
  let server: EphemeralServer
  let phone: CKContainer.Device
  let zone = CKRecordZone(zoneName: "Notes")

  init() async throws {
    server = try EphemeralServer()
    phone = try server.device("phone")
    _ = try await database(of: phone).save(zone)
  }

  private func database(of device: CKContainer.Device) -> CKDatabase {
    CKContainer(identifier: Self.identifier, on: device).privateCloudDatabase
  }

  @Test func gettingStarted() async throws {
    let database = database(of: phone)
    let zone = CKRecordZone(zoneName: "Notes")
    _ = try await database.save(zone)

    let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "first", zoneID: zone.zoneID))
    note["title"] = "Rain"
    note["stars"] = 5
    let saved = try await database.save(note)
    print(saved["title"] as? String ?? "", saved.recordChangeTag ?? "")

    let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "stars >= %d", 4))
    let (matches, _) = try await database.records(matching: query, inZoneWith: zone.zoneID)
    for (_, result) in matches { print(try result.get()["title"] as? String ?? "") }

    let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
    for (_, result) in changes.modificationResultsByID { print(try result.get().record.recordID.recordName) }
    let token = changes.changeToken

    #expect(matches.count == 1 && changes.modificationResultsByID.keys.map(\.recordName) == ["first"])
    let next = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
    #expect(next.modificationResultsByID.isEmpty)
  }

  @Test func sharing() async throws {
    let (friend, guest) = (try server.device("friend"), try server.device("guest"))
    let address = try #require(try await share(with: userRecord(of: friend)))
    #expect(try await join(friend, address) == "Summer")
    // Somebody whom nobody invited.
    await #expect(throws: CKError.self) { try await join(guest, address) }
  }

  private func userRecord(of device: CKContainer.Device) async throws -> CKRecord.ID {
    try await CKContainer(identifier: Self.identifier, on: device).userRecordID()
  }

  /// - Returns: The address with which the friend joins.
  private func share(with friend: CKRecord.ID) async throws -> URL? {
    let database = database(of: phone)
    let album = CKRecord(recordType: "Album", recordID: CKRecord.ID(recordName: "summer", zoneID: zone.zoneID))
    album["title"] = "Summer"
    let share = CKShare(rootRecord: album)
    share[CKShare.SystemFieldKey.title] = "Summer"
    share.publicPermission = .readOnly
    _ = try await database.modifyRecords(saving: [album, share], deleting: [])
    let address = share.url

    // Open to everybody first, and by invitation only from here on.
    let guest = try server.device("early guest")
    let open = try #require(address)
    #expect(try await join(guest, open) == "Summer")
    return try await invite(friend, to: share.recordID)
  }

  private func invite(_ friend: CKRecord.ID, to id: CKRecord.ID) async throws -> URL? {
    let database = database(of: phone)
    let container = CKContainer(identifier: Self.identifier, on: phone)
    // Who joined stands in the share, so it has changed.
    let share = try #require(try await database.record(for: id) as? CKShare)
    share.publicPermission = .none

    let participant = try await container.shareParticipant(forUserRecordID: friend)
    participant.permission = .readWrite
    share.addParticipant(participant)
    _ = try await database.save(share)
    return share.url
  }

  private func join(_ device: CKContainer.Device, _ address: URL) async throws -> String? {
    let container = CKContainer(identifier: Self.identifier, on: device)
    let metadata = try await container.shareMetadata(for: address)
    _ = try await container.accept(metadata)
    let album = try await container.sharedCloudDatabase.record(for: metadata.rootRecordID)
    return album["title"] as? String
  }

  @Test func encryption() async throws {
    let laptop = try server.device("laptop")
    try await phone.letIn(laptop)
    try await save()
    let entry = try await database(of: laptop).record(
      for: CKRecord.ID(recordName: "monday", zoneID: zone.zoneID))
    #expect(entry.encryptedValues["text"] as? String == "Only my devices can read this.")
    #expect(entry["text"] == nil && entry.encryptedValueState(forKey: "text") == .readable)
    show(entry)
  }

  private func save() async throws {
    let database = database(of: phone)
    let entry = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "monday", zoneID: zone.zoneID))
    entry["day"] = "2026-11-30"
    entry.encryptedValues["text"] = "Only my devices can read this."
    _ = try await database.save(entry)
  }

  private func show(_ entry: CKRecord) {
    switch entry.encryptedValueState(forKey: "text") {
    case .readable: print(entry.encryptedValues["text"] as? String ?? "")
    case .keyMissing: print("The key has not reached this device yet.")
    case .damaged: print("Somebody changed this value.")
    case .notEncryptedByDevices: print("A web page or the server wrote this value.")
    case nil: print("There is no such value.")
    }
  }
}
