import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaWire

@testable import VirgaCloudKit

/// The same calls over libcurl and a real socket.
struct SocketTests {
  let server: TestServer
  let local: LocalServer
  let container: CKContainer
  let service: RemoteService
  var database: CKDatabase { container.privateCloudDatabase }
  let zone = CKRecordZone.ID(zoneName: "Photos")

  init() throws {
    let server = try TestServer(baseURL: nil)
    self.server = server
    local = try LocalServer(server.front)
    service = RemoteService(
      endpoint: local.url, environment: .development, home: VirgaHome(path: server.folder.path + "/home"),
      transport: CurlTransport(), deviceName: "phone", now: { server.now })
    container = CKContainer("iCloud.test", on: service)
  }

  @Test func recordsTravelBothWays() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let records = (0..<400).map { number in
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n\(number)", zoneID: zone))
      record["text"] = String(repeating: "\(number) ", count: 100)
      return record
    }
    let results = try await database.modifyRecords(saving: records, deleting: [])
    #expect(results.saveResults.values.allSatisfy { (try? $0.get()) != nil })
    let changes = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
    #expect(changes.modificationResultsByID.count == 400)
    #expect(!changes.moreComing)
    await local.stop()
  }

  // C66
  @Test func manyLargeAssetsPassWithoutGrowingMemory() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let size = 25 << 20
    let records = try (0..<8).map { number in
      let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "p\(number)", zoneID: zone))
      let file = try server.folder.file("p\(number)", size: size, seed: UInt8(number * 30))
      record["file"] = CKAsset(fileURL: file)
      return record
    }
    let memory = try MemoryWatch()
    let results = try await database.modifyRecords(saving: records, deleting: [])
    #expect(results.saveResults.values.allSatisfy { (try? $0.get()) != nil })
    let changes = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
    #expect(try memory.peakGrowthBytes() < 64 << 20)
    for record in records {
      let asset = try changes.modificationResultsByID[record.recordID]?.get().record["file"] as? CKAsset
      let url = try #require(asset?.fileURL)
      let original = try #require((record["file"] as? CKAsset)?.fileURL)
      #expect(FileManager.default.contentsEqual(atPath: url.path, andPath: original.path))
    }
    await local.stop()
  }

  private func largeRecord(_ name: String, size: Int) throws -> CKRecord {
    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["file"] = CKAsset(fileURL: try server.folder.file(name, size: size))
    return record
  }

  /// A large upload that is refused by its head, because the device slept until its address had expired.
  @Test func largeUploadWhoseAddressHasExpiredIsSentToAnother() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let record = try largeRecord("a", size: 8 << 20)
    let sleeper = SleepyTransport { [server] in server.advance(by: .seconds(16 * 60)) }
    let service = RemoteService(
      endpoint: local.url, environment: .development, home: VirgaHome(path: server.folder.path + "/home"),
      transport: sleeper, deviceName: "phone", now: { [server] in server.now })
    let sleepy = CKContainer("iCloud.test", on: service).privateCloudDatabase
    _ = try await sleepy.save(record)
    let asset = try await database.record(for: record.recordID)["file"] as? CKAsset
    let (url, original) = (try #require(asset?.fileURL), server.folder.path + "/a")
    #expect(FileManager.default.contentsEqual(atPath: url.path, andPath: original))
    await local.stop()
  }

  @Test func progressOfTransfersRisesToOne() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let record = try largeRecord("large", size: 24 << 20)
    let (up, down) = (Journal(), Journal())
    let save = CKModifyRecordsOperation(recordsToSave: [record])
    save.perRecordProgressBlock = { _, done in up.note("\(done)") }
    await save.run(in: database)
    try FileManager.default.removeItem(atPath: service.cacheFolder)
    let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
    fetch.perRecordProgressBlock = { _, done in down.note("\(done)") }
    await fetch.run(in: database)
    for journal in [up, down] {
      let values = journal.all.compactMap { Double($0) }
      #expect(values.count >= 10)
      #expect(values == values.sorted() && Set(values).count == values.count, "\(values)")
      #expect(values.last == 1)
      #expect(values.first.map { $0 > 0 && $0 < 0.5 } == true)
    }
    await local.stop()
  }

  @Test(.timeLimit(.minutes(1))) func cancelledTransfersStopAndLeaveNothing() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let uploads = server.folder.path + "/data/uploads"
    let record = try largeRecord("large", size: 64 << 20)
    let journal = Journal()

    let save = CKModifyRecordsOperation(recordsToSave: [record])
    save.perRecordProgressBlock = { [unowned save] _, _ in save.cancel() }
    save.perRecordSaveBlock = { _, result in journal.note("save \(result.word)") }
    await save.run(in: database)
    #expect(journal.all == ["save operationCancelled"])
    // The server notices that the client is gone, and drops what it had.
    while try !FileManager.default.contentsOfDirectory(atPath: uploads).isEmpty { await Task.yield() }
    #expect(await code { _ = try await database.record(for: record.recordID) } == .unknownItem)

    _ = try await database.save(record)
    try FileManager.default.removeItem(atPath: service.cacheFolder)
    let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
    fetch.perRecordProgressBlock = { [unowned fetch] _, _ in fetch.cancel() }
    fetch.perRecordResultBlock = { _, result in journal.note("fetch \(result.word)") }
    await fetch.run(in: database)
    #expect(journal.all.last == "fetch operationCancelled")
    let cache = service.cacheFolder + "/iCloud.test"
    #expect(try FileManager.default.contentsOfDirectory(atPath: cache) == [])
    await local.stop()
  }

  @Test func serverThatIsGoneIsNetworkUnavailable() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    await local.stop()
    #expect(await code { _ = try await database.allRecordZones() } == .networkUnavailable)
    #expect(try await container.accountStatus() == .available)
  }

  @Test func longPollHearsOfAnotherDevicesChange() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let subscription = CKDatabaseSubscription(subscriptionID: "all")
    subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
    _ = try await database.save(subscription)
    let call = Call.tokensCreate(PushTokenRequest(apnsEnvironment: "development", clientID: service.clientID))
    guard case .pushToken(let token) = try await database.perform(call) else {
      Issue.record("no push token")
      return
    }
    // Another process of the same device.
    let other = RemoteService(
      endpoint: local.url, environment: .development, home: VirgaHome(path: server.folder.path + "/home"),
      transport: CurlTransport(), deviceName: "phone", now: { [server] in server.now })
    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "p", zoneID: zone))
    record["title"] = "x"
    _ = try await CKContainer("iCloud.test", on: other).privateCloudDatabase.save(record)
    let answer = try await service.send(TransportRequest(method: "GET", url: token.webcourierURL))
    let push = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
    let notification = CKNotification(fromRemoteNotificationDictionary: try #require(push) as [AnyHashable: Any])
    #expect(notification is CKDatabaseNotification)
    #expect(notification?.subscriptionID == "all")
    #expect(notification?.containerIdentifier == "iCloud.test")
    await local.stop()
  }

  @Test(.timeLimit(.minutes(1))) func pushesOfAQueryComeToWhoListens() async throws {
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let other = RemoteService(
      endpoint: local.url, environment: .development, home: VirgaHome(path: server.folder.path + "/home"),
      transport: CurlTransport(), deviceName: "phone", now: { [server] in server.now })
    let writer = CKContainer("iCloud.test", on: other).privateCloudDatabase
    func save(_ number: Int) async throws {
      let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "p\(number)", zoneID: zone))
      record["title"] = "x"
      _ = try await writer.save(record)
    }
    try await save(0)
    let subscription = CKQuerySubscription(
      recordType: "Photo", predicate: NSPredicate(format: "title == 'x'"), subscriptionID: "photos",
      options: .firesOnRecordCreation)
    _ = try await database.save(subscription)
    // Nobody knows when the listener has its queue, so photos are taken until it has heard of one.
    let hasHeard = Mutex(false)
    let container = container
    async let push = container.notifications.first { _ in
      hasHeard.withLock { $0 = true }
      return true
    }
    var number = 1
    while !hasHeard.withLock({ $0 }) {
      try await save(number)
      number += 1
    }
    let heard = await push as? CKQueryNotification
    #expect(heard?.subscriptionID == "photos" && heard?.queryNotificationReason == .recordCreated)
    await local.stop()
  }
}

/// The way of a device that sleeps before its first upload.
private final class SleepyTransport: Transport {
  private let transport = CurlTransport()
  private let sleep: @Sendable () -> Void
  private let uploads = Counter()

  init(_ sleep: @escaping @Sendable () -> Void) { self.sleep = sleep }

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    if case .file = request.body, uploads.next() == 0 { sleep() }
    return try await transport.send(request)
  }
}
