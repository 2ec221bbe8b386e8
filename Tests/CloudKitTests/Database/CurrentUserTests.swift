import CloudKit
import Testing
import VirgaHTTP
import VirgaModel
import VirgaSchema

@testable import VirgaCloudKit
@testable import VirgaServer

/// Records of the user's own bear the placeholder for the user's name, and the placeholder means the user.
@Suite struct CurrentUserTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  private let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)

  init() throws {
    server = try TestServer()
    alice = try server.device("alice")
    bob = try server.device("bob")
  }

  private func note(_ name: String, in zone: CKRecordZone.ID = .default) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["text"] = name
    return record
  }

  @Test func ownRecordsSayThatTheyAreInEveryWayOfReading() async throws {
    let zone = CKRecordZone(zoneName: "Notes")
    _ = try await alice.database.save(zone)
    let record = note("a", in: zone.zoneID)
    _ = try await alice.database.save(record)
    #expect(record.creatorUserRecordID == me && record.lastModifiedUserRecordID == me)
    let other = alice.restarted().database
    let fetched = try await other.record(for: record.recordID)
    #expect(fetched.creatorUserRecordID == me && fetched.lastModifiedUserRecordID == me)
    let page = try await alice.restarted().database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
    #expect(try page.modificationResultsByID[record.recordID]?.get().record.creatorUserRecordID == me)
    fetched["text"] = "theirs"
    _ = try await other.save(fetched)
    record["text"] = "mine"
    let error = await #expect(throws: CKError.self) { try await alice.database.save(record) }
    #expect(error?.serverRecord?.lastModifiedUserRecordID == me && error?.ancestorRecord?.creatorUserRecordID == me)
    let copy = try archivedCopy(of: fetched)
    #expect(copy.creatorUserRecordID == me)
    #expect(NSPredicate(format: "creatorUserRecordID == %@", me).evaluate(with: copy))
  }

  @Test func ownRecordIsFoundUnderTheNamesThatItWasAskedForBy() async throws {
    let database = alice.container.publicCloudDatabase
    let name = try await alice.container.userRecordID()
    #expect(Set(try await database.records(for: [me]).keys) == [me])
    #expect(Set(try await database.records(for: [me, name]).keys) == [me, name])
    #expect(Set(try await database.records(for: [name]).keys) == [name])
  }

  @Test func inThePublicDatabaseOthersRecordsNameTheOther() async throws {
    let database = alice.container.publicCloudDatabase
    _ = try await database.save(note("of alice"))
    _ = try await bob.container.publicCloudDatabase.save(note("of bob"))
    let names = try await (alice.container.userRecordID(), bob.container.userRecordID())
    #expect(names.0 != me && names.1 != me && names.0 != names.1)
    // The first request of a launch already knows.
    let seen = try await alice.restarted().container.publicCloudDatabase.records(
      for: [note("of alice").recordID, note("of bob").recordID])
    #expect(try seen[note("of alice").recordID]?.get().creatorUserRecordID == me)
    #expect(try seen[note("of bob").recordID]?.get().creatorUserRecordID == names.1)
  }

  /// Lets records be found by who made or changed them.
  private func indexUsers() async throws {
    let schema = try Schema(
      """
      DEFINE SCHEMA
      RECORD TYPE Note (
        "___createdBy" REFERENCE QUERYABLE, "___modifiedBy" REFERENCE QUERYABLE, text STRING,
        GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
      );
      """)
    try await server.store.write { transaction in
      try transaction.put(schema.completed(), of: "iCloud.test", in: .development)
    }
  }

  @Test func aPredicateWithThePlaceholderAsksForOwnRecords() async throws {
    try await indexUsers()
    _ = try await alice.container.publicCloudDatabase.save(note("of alice"))
    let database = bob.container.publicCloudDatabase
    _ = try await database.save(note("of bob"))
    let formats: [NSPredicate] = [
      NSPredicate(format: "creatorUserRecordID == %@", me),
      NSPredicate(format: "%K IN %@", "creatorUserRecordID", [me]),
      NSPredicate(format: "lastModifiedUserRecordID == %@", CKRecord.Reference(recordID: me, action: .none)),
    ]
    for predicate in formats {
      let found = try await bob.restarted().container.publicCloudDatabase.records(
        matching: CKQuery(recordType: "Note", predicate: predicate))
      #expect(found.matchResults.map(\.0.recordName) == ["of bob"], "\(predicate)")
    }
    let others = try await database.records(
      matching: CKQuery(recordType: "Note", predicate: NSPredicate(format: "creatorUserRecordID != %@", me)))
    #expect(others.matchResults.map(\.0.recordName) == ["of alice"])
  }

  @Test func aSubscriptionWithThePlaceholderIsAboutOwnRecords() async throws {
    try await indexUsers()
    let database = alice.container.publicCloudDatabase
    let name = try await alice.container.userRecordID()
    let predicate = NSPredicate(format: "creatorUserRecordID == %@", me)
    _ = try await database.save(CKQuerySubscription(recordType: "Note", predicate: predicate, subscriptionID: "s"))
    let saved = try #require(try await database.subscription(for: "s") as? CKQuerySubscription)
    #expect("\(saved.predicate)".contains(name.recordName))
  }

  @Test func aFetchOfThePlaceholderBringsTheUsersOwnRecord() async throws {
    let database = alice.container.publicCloudDatabase
    let record = try await database.record(for: me)
    #expect(record.recordType == CKRecord.SystemType.userRecord)
    let name = try await alice.container.userRecordID()
    #expect(record.recordID == name)
    let both = try await database.records(for: [me, name, note("none").recordID])
    #expect(try both[me]?.get().recordID == name && both[name]?.get().recordID == name)
    #expect(throws: CKError.self) { try both[note("none").recordID]?.get() }
    // It can be changed by what was fetched.
    record["motto"] = "rain"
    _ = try await database.save(record)
    #expect(try await database.record(for: me)["motto"] as? String == "rain")
    // Whoever looks at it from elsewhere needs the name.
    #expect(try await bob.container.publicCloudDatabase.record(for: me).recordID != name)
  }

  @Test func aReferenceToThePlaceholderLeadsOthersToTheUser() async throws {
    let record = note("a")
    record["author"] = CKRecord.Reference(recordID: me, action: .none)
    record["readers"] = [CKRecord.Reference(recordID: me, action: .none)]
    let name = try await alice.container.userRecordID()
    _ = try await alice.container.publicCloudDatabase.save(record)
    let seen = try await bob.container.publicCloudDatabase.record(for: record.recordID)
    #expect((seen["author"] as? CKRecord.Reference)?.recordID == name)
    #expect((seen["readers"] as? [CKRecord.Reference])?.map(\.recordID) == [name])
  }

  @Test func theUserIsAskedForOnlyWhereThatIsNeeded() async throws {
    _ = try await alice.container.publicCloudDatabase.save(note("a"))
    _ = try await alice.container.publicCloudDatabase.record(for: note("a").recordID)
    #expect(alice.network.count("users/caller") == 0)
    for _ in 0..<2 {
      _ = try await alice.container.userRecordID()
      _ = try await alice.container.publicCloudDatabase.record(for: me)
    }
    #expect(alice.network.count("users/caller") == 1)
  }

  @Test func anotherAccountIsSomebodyElse() async throws {
    let record = note("a")
    _ = try await bob.container.publicCloudDatabase.save(record)
    let before = try await bob.container.userRecordID()
    try await alice.letIn(bob, replacing: true)
    // The next session is one of the other account, and the first call that meets it says so.
    server.advance(by: .seconds(86_400))
    await #expect(throws: CKError.self) { try await bob.container.publicCloudDatabase.record(for: record.recordID) }
    let after = try await bob.container.userRecordID()
    #expect(after != before)
    #expect(try await bob.container.publicCloudDatabase.record(for: record.recordID).creatorUserRecordID == before)
  }
}
