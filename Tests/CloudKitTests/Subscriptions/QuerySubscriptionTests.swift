import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

/// Subscriptions to queries, from the call that saves one to the push that it brings.
@Suite(.timeLimit(.minutes(1))) struct QuerySubscriptionTests {
  let phone: TestDevice
  let laptop: TestDevice
  let zone = CKRecordZone(zoneName: "Tickets")

  init() async throws {
    phone = try TestServer().device()
    _ = try await phone.database.save(zone)
    for database in [phone.database, phone.container.publicCloudDatabase] {
      let record = CKRecord(recordType: "Ticket", recordID: Self.id("first", in: database))
      record["title"] = "First"
      record["status"] = "closed"
      record["votes"] = 1
      record["rating"] = 2.5
      record["tags"] = ["x"]
      record["due"] = Date(timeIntervalSince1970: 1_700_000_000)
      record["place"] = CLLocation(latitude: 52.5, longitude: 13.4)
      record["prior"] = CKRecord.Reference(recordID: record.recordID, action: .none)
      _ = try await database.save(record)
    }
    laptop = try await phone.joined(as: "laptop")
  }

  private static func id(_ name: String, in database: CKDatabase) -> CKRecord.ID {
    let zone = CKRecordZone.ID(zoneName: "Tickets")
    return CKRecord.ID(recordName: name, zoneID: database.databaseScope == .public ? .default : zone)
  }

  @discardableResult
  private func save(_ name: String, status: String, as device: TestDevice, in scope: CKDatabase.Scope = .private)
    async throws -> CKRecord
  {
    let database = device.container.database(with: scope)
    let record = CKRecord(recordType: "Ticket", recordID: Self.id(name, in: database))
    record["title"] = "About \(name)"
    record["status"] = status
    record["votes"] = 7
    return try await database.save(record)
  }

  /// The first pushes that a device hears of while others do something. It listens before they begin.
  private func pushes(_ count: Int, to device: TestDevice, while body: () async throws -> Void) async throws
    -> [CKNotification]
  {
    let (listening, continuation) = AsyncStream.makeStream(of: Void.self)
    device.network.before { if $0.url.contains("/push/") { continuation.yield() } }
    let container = device.container
    async let heard = container.notifications.prefix(count).reduce(into: [CKNotification]()) { $0.append($1) }
    for await _ in listening { break }
    try await body()
    return await heard
  }

  private static func predicates() -> [NSPredicate] {
    [
      NSPredicate(value: true), NSPredicate(format: "status == 'open'"),
      NSPredicate(format: "votes > 3 AND rating < 3"),
      NSPredicate(format: "status IN {'open', 'new'} AND title BEGINSWITH 'A' AND NOT (status IN {'old'})"),
      NSPredicate(format: "tags CONTAINS 'x'"), NSPredicate(format: "ANY tags IN {'x', 'y'}"),
      NSPredicate(format: "self CONTAINS 'rain today'"), NSPredicate(format: "title TOKENMATCHES[cdl] 'rain'"),
      NSPredicate(format: "due <= %@", Date(timeIntervalSince1970: 1.5) as NSDate),
      NSPredicate(
        format: "prior == %@", CKRecord.ID(recordName: "first", zoneID: CKRecordZone.ID(zoneName: "Tickets"))),
      NSPredicate(
        format: "distanceToLocation:fromLocation:(place, %@) < %f", CLLocation(latitude: 52.5, longitude: 13.4), 500.0),
    ]
  }

  @Test(arguments: predicates().indices)
  func aSubscriptionComesBackAsItWasSaved(number: Int) async throws {
    let predicate = Self.predicates()[number]
    let subscription = CKQuerySubscription(
      recordType: "Ticket", predicate: predicate, subscriptionID: "tickets",
      options: [.firesOnRecordUpdate, .firesOnRecordDeletion, .firesOnce])
    subscription.zoneID = zone.zoneID
    subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "Look", desiredKeys: ["title"])
    #expect(try await phone.database.save(subscription) === subscription)
    _ = try await phone.database.save(subscription)
    let found = try #require(try await laptop.database.subscription(for: "tickets") as? CKQuerySubscription)
    #expect(found.predicate == predicate, "\(found.predicate)")
    #expect(found.recordType == "Ticket" && found.zoneID == zone.zoneID)
    #expect(found.querySubscriptionOptions == subscription.querySubscriptionOptions)
    #expect(found.notificationInfo == subscription.notificationInfo)
    #expect(try await laptop.database.allSubscriptions().map(\.subscriptionID) == ["tickets"])
    _ = try await laptop.database.deleteSubscription(withID: "tickets")
    #expect(try await phone.database.allSubscriptions().isEmpty)
  }

  @Test(arguments: [CKDatabase.Scope.private, .public])
  func aPushTellsOfTheRecord(scope: CKDatabase.Scope) async throws {
    let database = phone.container.database(with: scope)
    let watcher = TicketWatcher(database: database)
    try await watcher.subscribe(to: "open")
    let heard = try await pushes(3, to: laptop) {
      try await save("closed", status: "closed", as: phone, in: scope)
      let record = try await save("t", status: "open", as: phone, in: scope)
      record["votes"] = 8
      _ = try await database.save(record)
      _ = try await database.deleteRecord(withID: record.recordID)
    }.compactMap { $0 as? CKQueryNotification }
    #expect(heard.map(\.queryNotificationReason) == [.recordCreated, .recordUpdated, .recordDeleted])
    #expect(heard.map { $0.recordFields?["votes"] as? Int } == [7, 8, 8])
    for push in heard {
      #expect(push.recordID == Self.id("t", in: database))
      #expect(push.subscriptionID == "tickets-open")
      #expect(push.databaseScope == scope)
      #expect(push.containerIdentifier == "iCloud.test")
      #expect(push.recordFields?["title"] as? String == "About t")
      #expect(push.alertBody == "A ticket changed." && push.titleLocalizationArgs == ["About t"])
      #expect(push.badge == 1 && push.soundName == "default" && push.category == "TICKET")
      #expect(!push.isPruned)
    }
  }

  /// C32
  @Test func theDeviceThatChangesARecordHearsNothingOfIt() async throws {
    try await TicketWatcher(database: phone.database).subscribe(to: "open")
    let heard = try await pushes(1, to: phone) {
      try await save("mine", status: "open", as: phone)
      try await save("theirs", status: "open", as: laptop)
    }
    #expect(heard.compactMap { ($0 as? CKQueryNotification)?.recordID?.recordName } == ["theirs"])
  }

  @Test func whatCannotBeWatchedIsRefused() async throws {
    func refusal(
      _ predicate: NSPredicate, options: CKQuerySubscription.Options = .firesOnRecordCreation,
      in database: CKDatabase? = nil
    ) async -> CKError? {
      let subscription = CKQuerySubscription(
        recordType: "Ticket", predicate: predicate, subscriptionID: "s", options: options)
      do {
        _ = try await (database ?? phone.database).save(subscription)
        return nil
      } catch {
        return error as? CKError
      }
    }
    phone.network.forget()
    #expect(await refusal(NSPredicate(value: false))?.code == .invalidArguments)
    let or = await refusal(NSPredicate(format: "votes == 1 OR votes == 2"))
    #expect(or?.code == .invalidArguments && or?.localizedDescription.contains("OR") == true)
    #expect(phone.network.count("subscriptions/modify") == 0)
    let index = await refusal(NSPredicate(format: "creationDate > %@", Date() as NSDate))
    #expect(index?.code == .invalidArguments && "\(index?.userInfo ?? [:])".contains("is not marked queryable"))
    #expect(await refusal(NSPredicate(value: true), options: .firesOnce)?.code == .invalidArguments)
    #expect(
      await refusal(NSPredicate(value: true), in: phone.container.sharedCloudDatabase)?.code == .invalidArguments)
    #expect(try await phone.database.allSubscriptions().isEmpty)
  }

  @Test func operationsSaveFetchAndDeleteThem() async throws {
    let journal = Journal()
    let good = CKQuerySubscription(
      recordType: "Ticket", predicate: NSPredicate(format: "votes > 1"), subscriptionID: "good")
    let bad = CKQuerySubscription(
      recordType: "Nothing", predicate: NSPredicate(format: "votes > 1"), subscriptionID: "bad")
    let save = CKModifySubscriptionsOperation(subscriptionsToSave: [good, bad])
    save.perSubscriptionSaveBlock = { id, result in journal.note("save \(id) \(result.word)") }
    save.modifySubscriptionsResultBlock = { journal.note("result \($0.word)") }
    await save.run(in: phone.database)
    let fetch = CKFetchSubscriptionsOperation(subscriptionIDs: ["good", "bad"])
    fetch.perSubscriptionResultBlock = { id, result in
      let query = (try? result.get()) as? CKQuerySubscription
      journal.note("fetch \(id) \(result.word) \(query?.predicate.description ?? "")")
    }
    await fetch.run(in: phone.database)
    let delete = CKModifySubscriptionsOperation(subscriptionIDsToDelete: ["good"])
    delete.perSubscriptionDeleteBlock = { id, result in journal.note("delete \(id) \(result.word)") }
    await delete.run(in: phone.database)
    #expect(
      journal.all == [
        "save good ok", "save bad unknownItem", "result ok", "fetch good ok votes > 1",
        "fetch bad unknownItem ", "delete good ok",
      ])
  }

  @Test func listeningEndsWithItsTask() async throws {
    let container = laptop.container
    let task = Task { await container.notifications.reduce(0) { count, _ in count + 1 } }
    task.cancel()
    #expect(await task.value == 0)
  }
}
