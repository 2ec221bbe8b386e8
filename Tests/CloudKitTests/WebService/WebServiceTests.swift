import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel

@testable import VirgaCloudKit

/// The client against Apple's service: nothing is sent that section 1 of its reference does not know.
@Suite(.timeLimit(.minutes(2))) struct WebServiceTests {
  let server: TestServer
  let service: StrictService
  let local: LocalServer
  let phone: CKContainer
  let zone = CKRecordZone(zoneName: "Notes")

  init() async throws {
    server = try TestServer(baseURL: nil)
    service = try await StrictService(server)
    local = try LocalServer(service)
    phone = Self.container(
      local.url, server,
      WebTokens(
        apiToken: service.apiToken, webAuthToken: try await service.signIn("alice"),
        home: VirgaHome(path: server.folder.path + "/apple")), home: "apple")
  }

  private static func container(
    _ url: String, _ server: TestServer, _ tokens: WebTokens, home: String
  ) -> CKContainer {
    let service = RemoteService(
      endpoint: url, environment: .development, home: VirgaHome(path: server.folder.path + "/" + home),
      transport: CurlTransport(), tokens: tokens, now: { server.now })
    return CKContainer(StrictService.container, on: service)
  }

  /// Another program of somebody who signs in anew.
  private func container(of name: String) async throws -> CKContainer {
    let token = try await service.signIn(name)
    let home = UUID().uuidString
    let tokens = WebTokens(
      apiToken: service.apiToken, webAuthToken: token, home: VirgaHome(path: server.folder.path + "/" + home))
    return Self.container(local.url, server, tokens, home: home)
  }

  private var database: CKDatabase { phone.privateCloudDatabase }

  private func note(_ name: String, in zone: CKRecordZone? = nil) -> CKRecord {
    CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: (zone ?? self.zone).zoneID))
  }

  private func finish(expecting operations: String..., sourceLocation: SourceLocation = #_sourceLocation) async {
    #expect(service.complaints == [], sourceLocation: sourceLocation)
    #expect(Set(operations).subtracting(service.operations) == [], sourceLocation: sourceLocation)
    await local.stop()
  }

  private func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? CKError)?.code }
  }

  // MARK: Records

  @Test func recordsAreSavedFetchedAndDeleted() async throws {
    _ = try await database.save(zone)
    let parent = note("parent")
    let record = note("n1")
    record["title"] = "Monday"
    record["pages"] = 3
    record["weight"] = 2.5
    record["due"] = Date(timeIntervalSince1970: 1_700_000_000.123)
    record["bytes"] = Data([0, 255])
    record["tags"] = ["a", "b"]
    record["none"] = [String]()
    record["numbers"] = [1, 2]
    record["place"] = CLLocation(latitude: 1.5, longitude: 2)
    record["link"] = CKRecord.Reference(recordID: parent.recordID, action: .deleteSelf)
    record.encryptedValues["secret"] = "plain over TLS"
    record.setParent(parent)
    let saved = try await database.modifyRecords(saving: [parent, record], deleting: [])
    for result in saved.saveResults.values { _ = try result.get() }
    let fetched = try await database.record(for: record.recordID)
    #expect(fetched["tags"] as? [String] == ["a", "b"] && fetched["pages"] as? Int == 3)
    #expect(fetched.encryptedValues["secret"] as? String == "plain over TLS")
    fetched["title"] = nil
    _ = try await database.save(fetched)
    for policy in [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys] {
      fetched["pages"] = 4
      let results = try await database.modifyRecords(saving: [fetched], deleting: [], savePolicy: policy)
      _ = try results.saveResults[fetched.recordID]?.get()
    }
    try await database.deleteRecord(withID: record.recordID)
    #expect(await code { _ = try await database.record(for: record.recordID) } == .unknownItem)
    await finish(expecting: "private zones/modify", "private records/modify", "private records/lookup")
  }

  /// What our own server says in its answer has to be asked for.
  @Test func aConflictStillBringsTheServersRecord() async throws {
    let record = note("n1", in: .default())
    record["title"] = "first"
    _ = try await database.save(record)
    let other = try await database.record(for: record.recordID)
    other["title"] = "second"
    _ = try await database.save(other)
    record["title"] = "third"
    do {
      _ = try await database.save(record)
      Issue.record("the old tag was taken")
    } catch let error as CKError {
      #expect(error.code == .serverRecordChanged && error.serverRecord?["title"] as? String == "second")
    }
    await finish()
  }

  /// Apple's web service takes 200 items where its native one takes 400.
  @Test func largeBatchesAreDivided() async throws {
    _ = try await database.save(zone)
    let records = (0..<250).map { note("n\($0)") }
    let saved = try await database.modifyRecords(saving: records, deleting: [], atomically: false)
    #expect(saved.saveResults.values.allSatisfy { (try? $0.get()) != nil } && saved.saveResults.count == 250)
    #expect(try await database.records(for: records.map(\.recordID)).count == 250)
    let again = (0..<250).map { note("m\($0)") }
    #expect(
      await code { _ = try await database.modifyRecords(saving: again, deleting: []) } == .limitExceeded)
    #expect(service.operations.filter { $0 == "private records/modify" }.count == 2)
    await finish(expecting: "private records/lookup")
  }

  @Test func queriesArePaged() async throws {
    _ = try await database.save(zone)
    let records = (0..<7).map { index in
      let record = note("n\(index)")
      record["number"] = index
      record["title"] = "Note \(index)"
      record["tags"] = ["even", "odd"].filter { ($0 == "even") == (index % 2 == 0) }
      record["place"] = CLLocation(latitude: Double(index), longitude: 0)
      return record
    }
    _ = try await database.modifyRecords(saving: records, deleting: [])
    let predicates: [(NSPredicate, Int)] = [
      (NSPredicate(format: "number >= 0"), 7), (NSPredicate(format: "number > 2 AND number <= 5"), 3),
      (NSPredicate(format: "number IN {1, 2, 9}"), 2), (NSPredicate(format: "title BEGINSWITH %@", "Note"), 7),
      (NSPredicate(format: "tags CONTAINS %@", "even"), 4),
      (
        NSPredicate(
          format: "distanceToLocation:fromLocation:(place, %@) < %f", CLLocation(latitude: 0, longitude: 0), 150_000.0),
        2
      ),
    ]
    defer { #expect(service.complaints == []) }
    for (predicate, count) in predicates {
      let query = CKQuery(recordType: "Note", predicate: predicate)
      query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: false)]
      let found = try await database.records(matching: query, inZoneWith: zone.zoneID, desiredKeys: ["number"])
      #expect(found.matchResults.count == count, "\(predicate)")
    }
    // Whether the system's fields are indexed is the schema's affair.
    for predicate in [
      NSPredicate(format: "recordID == %@", records[0].recordID),
      NSPredicate(format: "creationDate > %@", Date(timeIntervalSince1970: 0) as NSDate),
    ] { _ = try? await database.records(matching: CKQuery(recordType: "Note", predicate: predicate)) }
    // The protocol has no word for this.
    let anywhere = CKQuery(recordType: "Note", predicate: NSPredicate(format: "self CONTAINS %@", "note 3"))
    #expect(await code { _ = try await database.records(matching: anywhere) } == .invalidArguments)
    let all = CKQuery(recordType: "Note", predicate: NSPredicate(format: "number >= 0"))
    let first = try await database.records(matching: all, resultsLimit: 5)
    let rest = try await database.records(continuingMatchFrom: try #require(first.queryCursor), resultsLimit: 1_000)
    #expect(first.matchResults.count == 5 && rest.matchResults.count == 2 && rest.queryCursor == nil)
    await finish(expecting: "private records/query")
  }

  // MARK: Zones, changes, subscriptions

  @Test func zonesAndChangesAreFollowed() async throws {
    _ = try await database.save(zone)
    #expect(try await database.allRecordZones().map(\.zoneID.zoneName).sorted() == ["Notes", "_defaultZone"])
    #expect(try await database.recordZone(for: zone.zoneID).capabilities.contains(.atomic))
    _ = try await database.modifyRecords(saving: [note("a"), note("b")], deleting: [])
    let changes = try await database.databaseChanges(since: nil)
    #expect(changes.modifications.map(\.zoneID) == [zone.zoneID])
    let first = try await database.recordZoneChanges(
      inZoneWith: zone.zoneID, since: nil, desiredKeys: [], resultsLimit: 1_000)
    #expect(first.modificationResultsByID.count == 2)
    try await database.deleteRecord(withID: note("a").recordID)
    let second = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: first.changeToken)
    // Only our own server names the type of what is gone.
    #expect(second.deletions.map(\.recordID.recordName) == ["a"] && second.deletions.map(\.recordType) == [""])
    try await database.deleteRecordZone(withID: zone.zoneID)
    #expect(try await database.databaseChanges(since: changes.changeToken).deletions.map(\.zoneID) == [zone.zoneID])
    await finish(
      expecting: "private zones/list", "private zones/lookup", "private changes/database", "private changes/zone")
  }

  @Test func subscriptionsAreKept() async throws {
    _ = try await database.save(zone)
    let info = CKSubscription.NotificationInfo(
      alertBody: "New", title: "Notes", soundName: "default", desiredKeys: ["title"], shouldBadge: true,
      shouldSendContentAvailable: true, category: "c")
    let query = CKQuerySubscription(
      recordType: "Note", predicate: NSPredicate(format: "pages == 1"), subscriptionID: "q",
      options: [.firesOnRecordCreation, .firesOnce])
    query.notificationInfo = info
    let everything = CKDatabaseSubscription(subscriptionID: "d")
    everything.recordType = "Note"
    let all: [CKSubscription] = [
      everything,
      CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "z"),
    ]
    let results = try await database.modifySubscriptions(saving: all, deleting: []).saveResults
    for id in ["d", "z"] { _ = try results[id]?.get() }
    let first = note("n")
    first["pages"] = 1
    _ = try await database.save(first)
    _ = try await database.save(query)
    #expect(try await database.subscription(for: "q") is CKQuerySubscription)
    #expect(try await database.allSubscriptions().map(\.subscriptionID).contains("z"))
    #expect(try await database.subscription(for: "d") is CKDatabaseSubscription)
    try await database.deleteSubscription(withID: "d")
    await finish(
      expecting: "private subscriptions/modify", "private subscriptions/list", "private subscriptions/lookup")
  }

  // MARK: Assets, shares, users

  @Test func assetsAreUploadedAndDownloaded() async throws {
    _ = try await database.save(zone)
    let record = note("photo")
    record["file"] = CKAsset(fileURL: try server.folder.file("p", size: 200_000))
    record["pages"] = [CKAsset(fileURL: try server.folder.file("q", size: 10))]
    _ = try await database.save(record)
    let fetched = try await container(of: "alice").privateCloudDatabase.record(for: record.recordID)
    let url = try #require((fetched["file"] as? CKAsset)?.fileURL)
    #expect(try Data(contentsOf: url).count == 200_000)
    // What came from the service goes back as it is, without being uploaded.
    fetched["title"] = "Cat"
    let results = try await database.modifyRecords(saving: [fetched], deleting: [], savePolicy: .allKeys)
    _ = try results.saveResults[fetched.recordID]?.get()
    #expect(service.operations.filter { $0.hasSuffix("assets/upload") }.count == 1)
    await finish(expecting: "private assets/upload")
  }

  @Test func sharesAreAcceptedByAnother() async throws {
    let bob = try await container(of: "bob")
    _ = try await database.save(zone)
    let root = note("root")
    let share = CKShare(rootRecord: root)
    share[CKShare.SystemFieldKey.title] = "Ours"
    let participant = try await phone.shareParticipant(forUserRecordID: try await bob.userRecordID())
    participant.permission = .readWrite
    share.addParticipant(participant)
    for result in try await database.modifyRecords(saving: [root, share], deleting: []).saveResults.values {
      _ = try result.get()
    }
    let metadata = try await bob.shareMetadata(for: try #require(share.url))
    _ = try await bob.accept(metadata)
    let shared = bob.sharedCloudDatabase
    let zones = try await shared.allRecordZones()
    #expect(zones.count == 1)
    let found = try await shared.record(for: CKRecord.ID(recordName: "root", zoneID: zones[0].zoneID))
    found["title"] = "by Bob"
    _ = try await shared.save(found)
    #expect(await code { _ = try await phone.shareParticipant(forEmailAddress: "nobody@example.com") } == .unknownItem)
    await finish(
      expecting: "public users/caller", "public users/discover", "public records/resolve", "public records/accept",
      "shared zones/list", "shared records/modify")
  }

  // MARK: The engine

  @Test func enginesSyncAndListen() async throws {
    let (sender, receiver) = (Notebook(), Notebook())
    let laptop = try await engine(container(of: "alice"), receiver, automatic: true)
    try await laptop.fetchChanges()
    await receiver.wait { laptop.status.receivesPushes }
    let mobile = engine(phone, sender, automatic: false)
    let names = (0..<230).map { "n\($0)" }
    mobile.state.add(pendingDatabaseChanges: [.saveZone(zone)])
    mobile.state.add(pendingRecordZoneChanges: names.map { .saveRecord(note($0).recordID) })
    try await mobile.sendChanges()
    await receiver.wait { receiver.records.count == names.count }
    mobile.state.add(pendingRecordZoneChanges: [.deleteRecord(note("n0").recordID)])
    try await mobile.sendChanges()
    await receiver.wait { receiver.records.count == names.count - 1 }
    try await mobile.fetchChanges()
    #expect(mobile.state.pendingRecordZoneChanges.isEmpty)
    await laptop.cancelOperations()
    await finish(
      expecting: "private subscriptions/modify", "device tokens/create", "private changes/zone", "public users/caller")
  }

  private func engine(_ container: CKContainer, _ delegate: Notebook, automatic: Bool) -> CKSyncEngine {
    var configuration = CKSyncEngine.Configuration(
      database: container.privateCloudDatabase, stateSerialization: nil, delegate: delegate)
    configuration.automaticallySync = automatic
    return CKSyncEngine(configuration)
  }

  // MARK: Tokens

  @Test func theNextTokenIsUsedAndOutlivesTheProgram() async throws {
    let home = VirgaHome(path: server.folder.path + "/kept")
    let first = try await service.signIn("carol")
    func launch(_ configured: String) -> CKContainer {
      Self.container(
        local.url, server, WebTokens(apiToken: service.apiToken, webAuthToken: configured, home: home), home: "kept")
    }
    let before = launch(first)
    for _ in 0..<3 { _ = try await before.privateCloudDatabase.allRecordZones() }
    // The token that was configured is void by now.
    let after = launch(first)
    #expect(after.service.tokens?.webAuthToken != first)
    _ = try await after.privateCloudDatabase.allRecordZones()
    #expect(service.issued(1) == 4)
    // Many at once: whatever order their answers come in, the token that is kept is good.
    let names = await withTaskGroup(of: Int?.self) { group in
      for _ in 0..<20 { group.addTask { try? await after.privateCloudDatabase.allRecordZones().count } }
      var counts: [Int?] = []
      for await count in group { counts.append(count) }
      return counts
    }
    #expect(names == [Int?](repeating: 1, count: 20))
    _ = try await after.privateCloudDatabase.allRecordZones()
    // Another sign-in replaces what was kept.
    let second = try await service.signIn("dave")
    let other = launch(second)
    #expect(other.service.tokens?.webAuthToken == second)
    _ = try await other.privateCloudDatabase.allRecordZones()
    #expect(after.service.accountStatus == .available)
    await finish()
  }

  @Test func anEndedTokenIsAnAccountThatHasToSignInAgain() async throws {
    #expect(try await phone.accountStatus() == .available)
    _ = try await database.allRecordZones()
    service.signOutAll()
    do {
      _ = try await database.allRecordZones()
      Issue.record("the token has ended")
    } catch let error as CKError {
      #expect(error.code == .notAuthenticated && error.userInfo[NSURLErrorKey] != nil)
    }
    #expect(try await phone.accountStatus() == .temporarilyUnavailable)
    await finish()
  }

  /// What waits to be sent waits for the next sign-in.
  @Test func anEndedTokenCostsNothingThatWaits() async throws {
    _ = try await database.save(zone)
    let app = RefusedApp([note("a")])
    var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: app)
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration)
    try await engine.fetchChanges()
    app.add(to: engine)
    service.signOutAll()
    for _ in 0..<2 { await #expect(throws: CKError.self) { try await engine.sendChanges() } }
    #expect(app.accountChanges == ["signIn"])
    #expect(engine.state.pendingRecordZoneChanges.count == 1)
    await finish()
  }

  @Test func theAPITokenAloneReadsThePublicDatabase() async throws {
    let record = note("n", in: .default())
    _ = try await phone.publicCloudDatabase.save(record)
    let tokens = WebTokens(
      apiToken: service.apiToken, webAuthToken: nil, home: VirgaHome(path: server.folder.path + "/nobody"))
    let nobody = Self.container(local.url, server, tokens, home: "nobody")
    #expect(try await nobody.accountStatus() == .noAccount)
    #expect(try await nobody.publicCloudDatabase.record(for: record.recordID).recordID == record.recordID)
    #expect(await code { _ = try await nobody.privateCloudDatabase.allRecordZones() } == .notAuthenticated)
    #expect(await code { _ = try await nobody.publicCloudDatabase.save(note("m", in: .default())) } != nil)
    await finish(expecting: "public records/modify", "public records/lookup")
  }

  /// The address of Apple's service itself, which no test reaches.
  @Test func theAddressIsApples() async throws {
    let transport = Recorder()
    let home = VirgaHome(path: server.folder.path + "/recorded")
    func container(_ tokens: WebTokens?) -> CKContainer {
      CKContainer(
        StrictService.container,
        on: RemoteService(
          endpoint: "https://api.apple-cloudkit.com", environment: .production, home: home, transport: transport,
          tokens: tokens))
    }
    // Without an API token nothing is sent at all.
    #expect(await code { _ = try await container(nil).privateCloudDatabase.allRecordZones() } == .missingEntitlement)
    #expect(transport.requests.isEmpty)
    let tokens = WebTokens(apiToken: service.apiToken, webAuthToken: "158__54__a+b/c=", home: home)
    let apple = container(tokens)
    #expect(await code { _ = try await apple.privateCloudDatabase.record(for: note("n").recordID) } != nil)
    let request = try #require(transport.requests.first)
    #expect(
      request.url
        == "https://api.apple-cloudkit.com/database/1/iCloud.com.example.App/production/private/records/lookup"
        + "?clientId=\(apple.service.clientID)&ckAPIToken=\(service.apiToken)&ckWebAuthToken=158__54__a%2Bb%2Fc%3D")
    #expect(request.headers.map(\.name) == ["Content-Type"] && transport.requests.count == 1)
    await finish()
  }
}

/// Answers nothing, and keeps what it was to send.
private final class Recorder: Transport {
  private let sent = Mutex<[TransportRequest]>([])
  var requests: [TransportRequest] { sent.withLock { $0 } }

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    sent.withLock { $0.append(request) }
    throw TransportError.unreachable("no network in tests")
  }
}

/// An app that keeps the names of its records.
private final class Notebook: CKSyncEngineDelegate, Sendable {
  private let names = Mutex<Set<String>>([])
  private let (events, continuation) = AsyncStream.makeStream(of: Void.self)

  var records: Set<String> { names.withLock { $0 } }

  /// Looks again after each event until a condition holds.
  func wait(until condition: () -> Bool) async {
    if condition() { return }
    for await _ in events where condition() { return }
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    if case .fetchedRecordZoneChanges(let changes) = event {
      names.withLock { names in
        names.formUnion(changes.modifications.map(\.record.recordID.recordName))
        names.subtract(changes.deletions.map(\.recordID.recordName))
      }
    }
    continuation.yield()
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
      let record = CKRecord(recordType: "Note", recordID: id)
      record["title"] = id.recordName
      return record
    }
  }
}
