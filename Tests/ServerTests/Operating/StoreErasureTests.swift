import Foundation
import Testing
import VirgaModel
import VirgaSQLite
import VirgaServer

@testable import VirgaServerSQLite

@Suite struct StoreErasureTests {
  private let folder = TemporaryFolder()
  private static let bob = DatabaseKey(container: diary.container, environment: .development, owner: "_bob")
  private static let indexes = [
    IndexDefinition("Entry", .words, [.init("text")]), IndexDefinition("Entry", .values, [.init("___createdBy")]),
  ]

  /// Ann's own zone, and her records in the public database and in a zone of Bob's; all have indexes.
  private func fill() async throws {
    let store = try SQLiteStore(folder: folder.path)
    try await store.writing { transaction in
      for key in [diary, publicDiary, Self.bob] {
        var zone = try transaction.makeZone(in: key)
        for number in 1...3 as ClosedRange<Int64> {
          let user: UserName = number == 3 && key != diary ? "_bob" : "_ann"
          var record = stored(
            RecordName("r\(number)"), number,
            fields: #"{"text":{"value":"\#(user.rawValue.dropFirst())swords","type":"STRING"}}"#)
          (record.created, record.modified) = (stamp(number, user: user), stamp(number, user: user))
          try transaction.save(record, in: zone)
        }
        for index in Self.indexes { _ = try transaction.makeIndex(index, of: zone) }
        zone.sequence = 3
        zone.databaseSequence = 4
        try transaction.put(&zone)
        var database = try #require(try transaction.database(key))
        database.sequence = 4
        try transaction.put(database)
      }
      // Carol sees both zones, and one that nothing happens to.
      for (owner, name) in [("_ann", "Notes"), ("_bob", "Notes"), ("_bob", "Other")] {
        let view = "\(diary.container)/development/_carol"
        try transaction.put(
          Entity(
            .sharedZone, key: "\(view)/\(owner)/\(name)", owner: view, value: Array("\(owner)\n\(name)\n5\n1\ns".utf8)))
        try transaction.put(Entity(.sharedFeed, key: view, value: Array("5\n17".utf8)))
      }
      for user in ["_dave"] {
        let view = "\(diary.container)/development/\(user)"
        try transaction.put(
          Entity(.sharedZone, key: "\(view)/_bob/Other", owner: view, value: Array("_bob\nOther\n5\n1\ns".utf8)))
        try transaction.put(Entity(.sharedFeed, key: view, value: Array("5\n17".utf8)))
      }
    }
    store.close()
  }

  private func erase(finishes: Bool = true) throws {
    let ann = StoreErasure.Person(users: ["_ann"], account: nil, devices: ["phone"])
    _ = try StoreErasure.erase(ann, folder: folder.path)
    if finishes { try StoreErasure.finish(folder: folder.path) }
  }

  /// Killed after the rows went, and with a database that cannot be rewritten at first.
  @Test func anErasureThatWasCutOffIsFinishedLater() async throws {
    try await fill()
    let checksums = [1, 2].map { Data(repeating: $0, count: 32).base64EncodedString() }
    let store = try SQLiteStore(folder: folder.path)
    try await store.writing { transaction in
      for (checksum, key) in zip(checksums, [diary, Self.bob]) {
        try transaction.put(AssetRow(checksum: checksum, size: 1, uploaded: Timestamp(milliseconds: 0)))
        let zone = try #require(try transaction.zone("Notes", in: key))
        var record = stored("photo", 9)
        record.created.user = key.owner ?? ""
        record.modified.user = key.owner ?? ""
        record.assetChecksums = [checksum]
        try transaction.save(record, in: zone)
      }
    }
    store.close()
    let files = ["01", "02"].map { "\(folder.path)/assets/\($0)/\(String(repeating: $0, count: 32))" }
    for file in files {
      let url = URL(fileURLWithPath: file)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("x".utf8).write(to: url)
    }
    #expect(try !StoreErasure.isUnfinished(folder: folder.path))
    try erase(finishes: false)
    #expect(try StoreErasure.isUnfinished(folder: folder.path))
    // A server may have been started in between.
    try SQLiteStore(folder: folder.path).close()
    let other = try Connection(path: folder.path + "/virga.sqlite")
    try other.execute("BEGIN IMMEDIATE")
    #expect(throws: StoreError.self) { try StoreErasure.finish(folder: folder.path) }
    #expect(try StoreErasure.isUnfinished(folder: folder.path))
    try other.execute("ROLLBACK")
    try StoreErasure.finish(folder: folder.path)
    #expect(try !StoreErasure.isUnfinished(folder: folder.path))
    #expect(files.map(FileManager.default.fileExists(atPath:)) == [false, true])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/virga.sqlite"))
    #expect(bytes.range(of: Data("_ann".utf8)) == nil && bytes.range(of: Data("erasure".utf8)) == nil)
  }

  @Test func indexesForgetWhoIsErased() async throws {
    try await fill()
    try erase()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/virga.sqlite"))
    for text in ["_ann", "annswords"] { #expect(bytes.range(of: Data(text.utf8)) == nil, "\(text) is left") }
    #expect(bytes.range(of: Data("bobswords".utf8)) != nil)
    let store = try SQLiteStore(folder: folder.path)
    try await store.writing { transaction in
      let zone = try #require(try transaction.zone("Notes", in: publicDiary))
      for definition in Self.indexes {
        let index = try transaction.makeIndex(definition, of: zone)
        #expect(try transaction.entries(of: index, in: zone).map(\.name) == ["r3"])
      }
      try transaction.save(stored("r1", 9), in: zone)
      // A zone that takes the place of an erased one has nothing of it.
      let next = try transaction.makeZone("Next", in: Self.bob)
      #expect(try transaction.indexes(of: next).isEmpty)
    }
    store.close()
  }

  @Test func othersAreToldThatTheirZonesChanged() async throws {
    try await fill()
    try erase()
    let store = try SQLiteStore(folder: folder.path)
    try await store.reading { transaction in
      for key in [publicDiary, Self.bob] {
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
    store.close()
  }

  /// A zone that only mentioned the person takes what it takes with another name in their place.
  @Test func whatMentionedThemIsCountedAnew() async throws {
    let store = try SQLiteStore(folder: folder.path)
    try await store.writing { transaction in
      var zone = try transaction.makeZone("Lists", in: Self.bob)
      var record = stored("r1", 1, fields: #"{"text":{"value":"with _ann","type":"STRING"}}"#)
      (record.created, record.modified) = (stamp(1, user: "_bob"), stamp(1, user: "_bob"))
      try transaction.save(record, in: zone)
      (zone.sequence, zone.usedBytes) = (1, Int64(record.fieldsJSON.count + 100))
      try transaction.put(&zone)
      var database = try #require(try transaction.database(Self.bob))
      database.usedBytes = zone.usedBytes
      try transaction.put(database)
    }
    store.close()
    try erase()
    let again = try SQLiteStore(folder: folder.path)
    let (text, zone, database) = try await again.reading { transaction in
      let zone = try #require(try transaction.zone("Lists", in: Self.bob))
      let fields = try #require(try transaction.record("r1", in: zone)).fieldsJSON
      return (String(decoding: fields, as: UTF8.self), zone.usedBytes, try transaction.database(Self.bob)?.usedBytes)
    }
    #expect(text.contains("with _erased"))
    #expect(zone == Int64(text.utf8.count + 100) && database == zone)
    again.close()
  }
}
