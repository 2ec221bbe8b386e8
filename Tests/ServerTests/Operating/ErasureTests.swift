import TestSupport
import Testing
import VirgaModel

@testable import VirgaServer

/// Ann's own zone, and her records in the public database and in a zone of Bob's; all have indexes.
enum ErasureWorld {
  static let bob = DatabaseKey(container: diary.container, environment: .development, owner: "_bob")
  static let indexes = [
    IndexDefinition("Entry", .words, [.init("text")]), IndexDefinition("Entry", .values, [.init("___createdBy")]),
  ]

  @Sendable static func fill(_ transaction: any WriteTransaction) throws {
    for key in [diary, publicDiary, bob] {
      var zone = try transaction.makeZone(in: key)
      for number in 1...3 as ClosedRange<Int64> {
        let user: UserName = number == 3 && key != diary ? "_bob" : "_ann"
        var record = stored(
          RecordName("r\(number)"), number,
          fields: #"{"text":{"value":"\#(user.rawValue.dropFirst())swords","type":"STRING"}}"#)
        (record.created, record.modified) = (stamp(number, user: user), stamp(number, user: user))
        try transaction.save(record, in: zone)
      }
      for index in indexes { _ = try transaction.makeIndex(index, of: zone) }
      zone.sequence = 3
      zone.databaseSequence = 4
      try transaction.put(&zone)
      var database = try #require(try transaction.database(key))
      database.sequence = 4
      try transaction.put(database)
    }
    // Carol sees both zones, and one that nothing happens to. Dave sees that one alone.
    for (user, owner, name) in [
      ("_carol", "_ann", "Notes"), ("_carol", "_bob", "Notes"), ("_carol", "_bob", "Other"), ("_dave", "_bob", "Other"),
    ] {
      let view = "\(diary.container)/development/\(user)"
      try transaction.put(
        Entity(
          .sharedZone, key: "\(view)/\(owner)/\(name)", owner: view, value: Array("\(owner)\n\(name)\n5\n1\ns".utf8)))
      try transaction.put(Entity(.sharedFeed, key: view, value: Array("5\n17".utf8)))
    }
  }

  static func erase(in transaction: any WriteTransaction) throws -> Int {
    var random = SplitMix64(seed: 1)
    let ann = Erasure.Person(users: ["_ann"], account: "account-ann", devices: ["phone"])
    return try Erasure.erase(ann, in: transaction, random: &random)
  }
}

/// Erasing by the contract of a store alone, so that each store does it.
@Suite struct ErasureTests {
  private func erased(_ kind: StoreKind) async throws -> StoreUnderTest {
    let store = try kind.open()
    try await store.write(ErasureWorld.fill)
    try await store.write { _ = try ErasureWorld.erase(in: $0) }
    return store
  }

  @Test(arguments: StoreKind.allCases)
  func whatTheyOwnAndMadeGoesAndOthersWorkStays(kind: StoreKind) async throws {
    let store = try await erased(kind)
    try await store.read { transaction in
      #expect(try transaction.database(diary) == nil)
      #expect(try transaction.zone("Notes", in: diary) == nil)
      #expect(try transaction.databases().map(\.key) == [publicDiary, ErasureWorld.bob])
      for key in [publicDiary, ErasureWorld.bob] {
        let zone = try #require(try transaction.zone("Notes", in: key))
        #expect(try transaction.changes(in: zone).map(\.name) == ["r3"])
        #expect(try transaction.record("r1", in: zone) == nil)
        #expect(try transaction.indexes(of: zone).isEmpty)
      }
      #expect(try !transaction.knows(user: "_ann"))
      #expect(try transaction.knows(user: "_bob"))
      #expect(try Erasure.isUnfinished(in: transaction))
    }
  }

  /// Records that somebody else goes on with, and versions between others'.
  @Test(arguments: StoreKind.allCases)
  func aHistoryHoldsTogetherWithoutTheirVersions(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { transaction in
      for checksum in ["x", "y"] {
        try transaction.put(AssetRow(checksum: checksum, size: 5, uploaded: Timestamp(milliseconds: 0)))
      }
      let zone = try transaction.makeZone(in: ErasureWorld.bob)
      for number in 1...14 as ClosedRange<Int64> {
        var record = stored("a", number, fields: #"{"by":"_ann \#(number)"}"#)
        record.created = stamp(1, user: "_ann")
        record.modified = stamp(number, user: number % 3 == 0 ? "_ann" : "_bob")
        record.assetChecksums = number == 3 ? ["x"] : number == 14 ? ["y"] : []
        try transaction.save(record, in: zone)
      }
    }
    #expect(try await store.write { try ErasureWorld.erase(in: $0) } == 1)
    try await store.read { transaction in
      let zone = try #require(try transaction.zone("Notes", in: ErasureWorld.bob))
      let record = try #require(try transaction.record("a", in: zone))
      #expect(String(decoding: record.fieldsJSON, as: UTF8.self) == #"{"by":"_erased 14"}"#)
      #expect(record.created.user == "_erased" && record.modified.user == "_bob" && record.hasAssets)
      #expect(try transaction.versions(of: "a", in: zone).map(\.sequence) == [13, 11, 10, 8, 7, 5, 4])
      #expect(
        try transaction.version(13, of: "a", in: zone).map { String(decoding: $0.fieldsJSON, as: UTF8.self) }
          == #"{"by":"_erased 13"}"#)
      #expect(try transaction.asset("x") == nil && transaction.asset("y") != nil)
      // Those beyond the limit are erased too, wherever they are still kept.
      try transaction.forEachReplacedVersion(of: zone) { version, _ in
        #expect(version.modified.user == "_bob" && version.created.user == "_erased")
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func othersAreToldThatTheirZonesChanged(kind: StoreKind) async throws {
    let store = try await erased(kind)
    try await store.read { transaction in
      for key in [publicDiary, ErasureWorld.bob] {
        let changed = try transaction.zones(in: key, after: 4, limit: 10)
        #expect(changed.map(\.name) == ["Notes"] && changed.allSatisfy { $0.incarnation != 11 })
        #expect(try transaction.database(key)?.sequence == changed.first?.databaseSequence)
      }
      func feed(_ user: String) throws -> [Substring] {
        let entity = try transaction.entity(.sharedFeed, key: "\(diary.container)/development/\(user)")
        return String(decoding: try #require(entity).value, as: UTF8.self).split(separator: "\n")
      }
      #expect(try feed("_carol")[1] == "17" && UInt64(try feed("_carol")[0]) ?? 5 != 5)
      #expect(try feed("_dave") == ["5", "17"])
    }
  }

  /// A zone that only mentioned the person takes what it takes with another name in their place.
  @Test(arguments: StoreKind.allCases)
  func whatMentionedThemIsCountedAnew(kind: StoreKind) async throws {
    let store = try kind.open()
    let (text, zone, database) = try await store.write { transaction in
      var zone = try transaction.makeZone("Lists", in: ErasureWorld.bob)
      var record = stored("r1", 1, fields: #"{"text":{"value":"with _ann","type":"STRING"}}"#)
      (record.created, record.modified) = (stamp(1, user: "_bob"), stamp(1, user: "_bob"))
      try transaction.save(record, in: zone)
      (zone.sequence, zone.usedBytes) = (1, Int64(record.fieldsJSON.count + 100))
      try transaction.put(&zone)
      var database = try #require(try transaction.database(ErasureWorld.bob))
      database.usedBytes = zone.usedBytes
      try transaction.put(database)
      _ = try ErasureWorld.erase(in: transaction)
      let changed = try #require(try transaction.zone("Lists", in: ErasureWorld.bob))
      let fields = try #require(try transaction.record("r1", in: changed)).fieldsJSON
      let used = try transaction.database(ErasureWorld.bob)?.usedBytes
      return (String(decoding: fields, as: UTF8.self), changed.usedBytes, used)
    }
    #expect(text.contains("with _erased"))
    #expect(zone == Int64(text.utf8.count + 100) && database == zone)
  }

  @Test(arguments: StoreKind.allCases)
  func entitiesAndNotificationsThatNameThemGo(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { transaction in
      let owner = "\(diary.container)/development"
      for (token, user) in [("t1", "_ann"), ("t2", "_bob")] {
        try transaction.put(Entity(.pushToken, key: token, owner: "\(owner)/\(user)", value: []))
        for (key, text) in [("a", "of _ann"), ("b", "of nobody")] {
          try transaction.append(NotificationRow(pushToken: token, coalescingKey: key, payload: Array(text.utf8)))
        }
      }
      for number in 0..<600 {
        try transaction.put(Entity(.subscription, key: "\(owner)/private/_ann/s\(number)", owner: "x", value: []))
        try transaction.put(Entity(.subscription, key: "\(owner)/private/_bob/s\(number)", owner: "x", value: []))
      }
      try transaction.put(Entity(.account, key: "account-ann", value: []))
      try transaction.put(Entity(.device, key: "phone", owner: "account-ann", value: []))
      let census = try Census(of: transaction)
      #expect(census.accounts == ["account-ann": ["phone"]] && census.containers == [diary.container])
      _ = try ErasureWorld.erase(in: transaction)
      #expect(try transaction.notifications(for: "t1", limit: 9).isEmpty)
      #expect(try transaction.notifications(for: "t2", limit: 9).map(\.coalescingKey) == ["b"])
      #expect(try transaction.entities(.subscription, owner: "x").count == 600)
      #expect(try Census(of: transaction).accounts.isEmpty)
      #expect(try transaction.allEntities(.pushToken, after: "", limit: 9).map(\.key) == ["t2"])
      try Erasure.noteFinished(in: transaction)
      #expect(try !Erasure.isUnfinished(in: transaction))
    }
  }
}
