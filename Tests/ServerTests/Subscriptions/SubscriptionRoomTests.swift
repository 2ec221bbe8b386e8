import TestSupport
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaServer

/// What one person's subscriptions add to another's save is bounded.
struct SubscriptionRoomTests {
  private static let open = ZoneSelector()

  private static func world() throws -> Harness {
    let harness = Harness()
    for type in ["Entry", "Other"] as [RecordType] {
      let change = RecordChange(
        name: RecordName(type.rawValue), type: type, fields: [FieldChange("text", Field(.string("x")))])
      _ = try harness.modify(RecordOperation(.create, change), zone: open, in: .open)
    }
    return harness
  }

  private static func query(_ number: Int, type: RecordType = "Entry", words: String = "rain") -> Subscription {
    .query(
      SubscriptionID("q\(number)"), [QueryFilter("text", .containsAnyTokens, .string(words))], type: type)
  }

  @Test(arguments: [99, 100, 101])
  func queriesOfOneRecordTypeAreCounted(count: Int) throws {
    let harness = try Self.world()
    var last: ServiceError?
    for number in 1...count { last = try harness.subscribe(Self.query(number), as: .bob, in: .open).error }
    #expect((last == nil) == (count <= Limits.watchedQueriesPerTypeMax), "\(String(describing: last))")
    #expect(try harness.subscribe(Self.query(500, type: "Other"), as: .bob, in: .open).error == nil)
    #expect(try harness.subscribe(Self.query(1), as: .alice, in: .open).error == nil)
    // Those that are there can be changed, and one that goes makes room.
    #expect(try harness.subscribe(Self.query(1, words: "snow"), .update, as: .bob, in: .open).error == nil)
    _ = try harness.subscribe(Self.query(2), .delete, as: .bob, in: .open)
    #expect(try harness.subscribe(Self.query(501), as: .bob, in: .open).error == nil)
  }

  @Test(arguments: [-1, 0, 1])
  func queriesOfOneRecordTypeAreMeasured(extra: Int) throws {
    let harness = try Self.world()
    // What a query takes beside its word.
    _ = try harness.subscribe(Self.query(9, words: "w"), as: .bob, in: .open)
    let owner = StoredSubscription.owner("_bob", container: "iCloud.test", environment: .development, scope: .public)
    let probe = try #require(try harness.write { try $0.entities(.subscription, owner: owner) }.first)
    guard case .query(let query) = try StoredSubscription(probe).watched else { return }
    let frame = query.json.count - 1
    _ = try harness.subscribe(Self.query(9), .delete, as: .bob, in: .open)
    let each = Limits.watchedQueryBytesPerTypeMax / 4
    for number in 1...4 {
      let length = each - frame + (number == 4 ? extra : 0)
      let error = try harness.subscribe(
        Self.query(number, words: String(repeating: "w", count: length)), as: .bob, in: .open
      ).error
      #expect((error == nil) == (number < 4 || extra <= 0), "\(number): \(String(describing: error))")
    }
  }

  /// Three thousand words in a thousand subscriptions of the attack that this is against.
  @Test func manyLongSubscriptionsAreNotTaken() throws {
    let harness = try Self.world()
    let words = (0..<1_500).map { "w\($0)" }.joined(separator: " ")
    let made = try (0..<200).filter {
      try harness.subscribe(Self.query($0, words: words), as: .bob, in: .open).error == nil
    }
    #expect(made.count <= 5)
  }

  @Test func allSubscriptionsOfADatabaseAreMeasured() throws {
    let harness = Harness()
    var info = NotificationInfo()
    info.alertBody = String(repeating: "x", count: 15_000)
    var made = 0
    for number in 0..<100 {
      var subscription = Subscription(id: SubscriptionID("s\(number)"), kind: .database)
      subscription.notificationInfo = info
      if try harness.subscribe(subscription).error == nil { made += 1 }
    }
    #expect((30...40).contains(made), "\(made) of about 30,000 bytes each")
  }

  @Test(arguments: [99, 100, 101])
  func subscriptionsInTheSharedDatabaseAreFewer(count: Int) throws {
    let harness = Harness()
    var last: ServiceError?
    for number in 1...count {
      last = try harness.subscribe(
        Subscription(id: SubscriptionID("s\(number)"), kind: .database), in: .shared
      ).error
    }
    #expect((last == nil) == (count <= Limits.subscriptionsPerSharedDatabaseMax))
  }

  /// A text is divided into words once, and still each query finds its own.
  @Test func everyQueryOfWordsIsStillTold() throws {
    let harness = try Self.world()
    let queue = try harness.queue(as: .bob)
    for (number, words) in ["rain", "snow", "rain wind", "hail"].enumerated() {
      _ = try harness.subscribe(Self.query(number, words: words), as: .bob, in: .open)
    }
    let change = RecordChange(
      name: "r", type: "Entry", fields: [FieldChange("text", Field(.string("Rain, then hail")))])
    _ = try harness.modify(RecordOperation(.create, change), zone: Self.open, in: .open)
    let told = try harness.take(queue).compactMap { $0.query["sid"] as? String }
    #expect(told.sorted() == ["q0", "q2", "q3"])
  }
}
