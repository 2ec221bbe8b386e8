import TestSupport
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaServer

/// What one request asks of the store: there is one writer, for which all others wait meanwhile.
struct StoreReadTests {
  @Test(arguments: StoreKind.allCases)
  func earlierVersionsAreReadOnceForAListOfAssets(kind: StoreKind) async throws {
    let world = try await QueryWorld(kind)
    let now = Timestamp(milliseconds: 1_700_000_000_000)
    let receipt = try await world.under.write { transaction in
      let claim = UploadGrant(
        container: "iCloud.test", environment: .development, user: "_alice", recordName: "r", fieldName: "files",
        expires: now + Limits.uploadURLAge)
      var random = SplitMix64(seed: 1)
      return try Service().acceptUpload(
        for: claim, checksum: "sum", size: 5, in: transaction, now: now, random: &random)
    }
    var asset = AssetValue(fileChecksum: "sum", size: 5, receipt: receipt.receipt)
    try await world.save([.create("r", ["files": .assetList([asset])])])
    asset.receipt = nil
    let copies = Array(repeating: asset, count: 500)
    let held = try await world.counting([.force("r", ["files": .assetList(copies)])])
    #expect(held.results[0].code == nil && held.reads.versions == 0 && held.reads.assets == 0)
    #expect(try await world.save([.force("r", ["files": .assetList([])])])[0].code == nil)
    let kept = try await world.counting([.force("r", ["files": .assetList(copies)])])
    #expect(kept.results[0].code == nil && kept.reads.versions == 1 && kept.reads.assets == 1)
  }

  /// Records below each other that leave a share together: what is below them is looked at once.
  @Test(arguments: StoreKind.allCases)
  func whatIsBelowMovedRecordsIsReadOnce(kind: StoreKind) async throws {
    let world = try await QueryWorld(kind)
    func link(_ number: Int) -> RecordOperation {
      .create(RecordName("c\(number)")).with {
        $0.record.parent = .set(RecordName(number == 0 ? "root" : "c\(number - 1)"))
      }
    }
    let leaves = (0..<100).map { number in
      RecordOperation.create(RecordName("l\(number)")).with { $0.record.parent = .set("c39") }
    }
    try await world.save([.create("root")] + (0..<40).map(link) + leaves)
    let share = ShareWorld.shareOperation(of: "root", name: "Share-1", invited: [ShareWorld.invitation("_bob")])
    let guid = try #require(try await world.save([share])[0].record?.shortGUID)
    _ = try await world.call(
      .recordsAccept(.init(shortGUIDs: [.init(guid)])), user: "_bob", scope: .public)
    func page(_ token: String?) async throws -> ZoneChangesPage? {
      let call = Call.recordsChanges(ZoneChangesRequest(zone: ShareWorld.zone, syncToken: token))
      guard case .recordChanges(let page) = try await world.call(call, user: "_bob", scope: .shared) else { return nil }
      return page
    }
    let token = try await page(nil)?.syncToken
    let moves = (0..<40).map { number in
      RecordOperation.force(RecordName("c\(number)"), .text("x")).with {
        if number == 0 { $0.record.parent = .cleared }
      }
    }
    let (results, reads) = try await world.counting(moves)
    #expect(results.allSatisfy { $0.code == nil })
    #expect(reads.references <= 40 + 100 + 40, "\(reads)")
    let told = try #require(try await page(token)).records
    #expect(told.count == 140 && told.allSatisfy(\.isDeleted))
  }

  /// Each deletion that is refused guards the next. With much below the last, that is not gone through for each.
  @Test(arguments: [true, false])
  func refusalsThatFollowFromEachOtherEnd(atomic: Bool) throws {
    let harness = try Harness.withZone()
    let count = 50
    try harness.write { transaction in
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
      var zone = try transaction.zone("Diary", in: key)!
      let stamp = RecordStamp(time: Timestamp(milliseconds: 0), user: "_alice", device: "phone")
      func put(_ name: RecordName, _ reference: StoredReference?) throws {
        zone.sequence += 1
        var record = StoredRecord(
          name: name, type: "Entry", sequence: zone.sequence, created: stamp, modified: stamp,
          fieldsJSON: Array("{}".utf8))
        record.references = reference.map { [$0] } ?? []
        try transaction.put(record, in: zone, replacing: nil, keepsVersion: true)
      }
      for number in 0..<count {
        try put(RecordName("r\(number)"), .init(target: RecordName("r\(number + 1)"), kind: .validate))
      }
      try put(RecordName("r\(count)"), nil)
      try put("guard", .init(target: "r0", kind: .validate))
      for number in 0..<Limits.cascadedDeletionsMax - 1 {
        try put(RecordName("s\(number)"), .init(target: RecordName("r\(count)"), kind: .deleteSelf))
      }
      try transaction.put(&zone)
    }
    let deletions = (0...count).map { RecordOperation.forceDelete(RecordName("r\($0)")) }
    let results = try harness.modify(deletions, atomic: atomic)
    #expect(results[0].code == .validatingReferenceError)
    if atomic {
      #expect(results.dropFirst().allSatisfy { $0.code == .atomicError })
    } else {
      #expect(results[1].code == .validatingReferenceError)
      #expect(results[count].failure?.error.reason.hasPrefix(Reason.limitExceeded) == true)
      #expect(results.allSatisfy { $0.failure != nil })
    }
    #expect(try harness.record("s7") != nil && harness.record(RecordName("r\(count)")) != nil)
  }

  /// An index that the query is about to read does not go for another that it makes.
  @Test(arguments: StoreKind.allCases)
  func aQueryKeepsTheIndexThatItReads(kind: StoreKind) async throws {
    let world = try await QueryWorld(kind)
    try await world.save([
      .create("r1", ["a": .string("x"), "b": .string("y")]), .create("r2", ["a": .string("z"), "b": .string("y")]),
    ])
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
    try await world.under.write { transaction in
      let zone = try transaction.zone("Diary", in: key)!
      _ = try transaction.makeIndex(IndexDefinition("Entry", .values, [.init("a")]), of: zone)
      for number in 1..<Limits.indexesPerZoneMax {
        let field = QueryField.field(FieldName("f\(number)"))
        _ = try transaction.makeIndex(IndexDefinition("Entry", .values, [.init(field)]), of: zone)
      }
    }
    let filters = [QueryFilter("a", .equals, .string("x")), QueryFilter("b", .equals, .string("y"))]
    #expect(try await world.names(Query("Entry", filters: filters)) == ["r1"])
    let indexes = try await world.under.read { try $0.indexes(of: try $0.zone("Diary", in: key)!) }
    #expect(indexes.count == Limits.indexesPerZoneMax)
    #expect(indexes.first?.definition.components == [.init("a")])
  }

  /// A participant's notes are given from any position on as if all were read.
  @Test func notesAreReadFromAPositionOn() throws {
    let notes = [
      VisibilityChange(zoneKey: "k", first: 3, names: ["a", "b"]),
      VisibilityChange(zoneKey: "k", first: 5, names: ["c"]),
      VisibilityChange(zoneKey: "k", first: 20, names: ["d", "e", "f"]),
    ]
    let all = notes.flatMap { note in note.names.enumerated().map { (note.first + Int64($0.offset), $0.element) } }
    for position in 0...24 as ClosedRange<Int64> {
      var reader = try VisibilityChanges(notes.map(\.entity), after: position)
      var found: [RecordName] = []
      while let next = try reader.next() {
        #expect(all.contains { $0 == next })
        found.append(next.name)
      }
      #expect(found == all.filter { $0.0 > position }.map(\.1))
    }
    var none = try VisibilityChanges([], after: 0)
    #expect(try none.next() == nil)
  }

  @Test(arguments: StoreKind.allCases)
  func aLongNoteIsFoundFromItsLastNameToo(kind: StoreKind) async throws {
    let store = try kind.open()
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
    let zone = SharedZone(of: "Diary", in: key, for: "_bob", incarnation: 1)
    let (first, count) = (100 as Int64, Limits.shareNotesMax)
    let last = first + Int64(count) - 1
    let found = try await store.write { transaction in
      let long = VisibilityChange(zoneKey: zone.key, first: first, names: (1...count).map { RecordName("n\($0)") })
      try transaction.put(long.entity)
      try transaction.put(VisibilityChange(zoneKey: zone.key, first: last + 10, names: ["next"]).entity)
      return try [first - 1, last - 1, last].map { position in
        var notes = try transaction.visibilityChanges(of: zone, after: position)
        return try notes.next()?.name
      }
    }
    #expect(found == ["n1", RecordName("n\(count)"), "next"])
  }
}
