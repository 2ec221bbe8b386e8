import Testing
import VirgaModel
import VirgaServer

/// What every store promises. A new store begins by passing this.
struct StoreContractTests {
  struct Stop: Error, Equatable {}

  // MARK: Databases and zones

  @Test(arguments: StoreKind.allCases)
  func anEmptyStoreHasNothing(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.read { (transaction) throws in
      #expect(try transaction.database(diary) == nil)
      #expect(try transaction.databases() == [])
      #expect(try transaction.zone("Notes", in: diary) == nil)
      #expect(try transaction.zones(in: diary, after: 0, limit: 10) == [])
      #expect(try transaction.entity(.account, key: "a") == nil)
      #expect(try transaction.entities(.account, owner: "a") == [])
      #expect(try transaction.asset("a") == nil)
      #expect(try transaction.notifications(for: "a", limit: 10) == [])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func databasesAreReplacedAndListed(kind: StoreKind) async throws {
    let store = try kind.open()
    var rows = [
      DatabaseRow(key: publicDiary, incarnation: .max, sequence: 3),
      DatabaseRow(key: diary, incarnation: 1, sequence: .max),
    ]
    rows[1].usedBytes = 5_000_000_000
    try await store.write { [rows] (transaction) throws in
      try transaction.put(DatabaseRow(key: diary, incarnation: 5))
      for row in rows { try transaction.put(row) }
    }
    try await store.read { [rows] (transaction) throws in
      #expect(try transaction.database(diary) == rows[1])
      #expect(try transaction.database(publicDiary) == rows[0])
      #expect(try transaction.databases() == rows)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aZoneIsGivenANumberAndKeepsIt(kind: StoreKind) async throws {
    let store = try kind.open()
    let zone = try await store.write { (transaction) throws in
      var zone = try transaction.makeZone("Notes")
      let other = try transaction.makeZone("Photos")
      #expect(zone.id != 0 && other.id != 0 && zone.id != other.id)
      zone.sequence = 9
      zone.lowWaterMark = 4
      zone.databaseSequence = 2
      zone.incarnation = .max
      zone.isDeleted = true
      zone.deletionReason = .encryptedDataReset
      zone.deletionSequence = 1
      zone.sharing = .wholeZone
      zone.usedBytes = 7_000_000_000
      try transaction.put(&zone)
      #expect(try transaction.zone("Notes", in: diary) == zone)
      return zone
    }
    #expect(try await store.read { try $0.zone("Notes", in: diary) } == zone)
    #expect(try await store.read { try $0.zone("Notes", in: publicDiary) } == nil)
  }

  /// Two spellings that `String` takes for one are two zones, records, entities, owners and notifications.
  @Test(arguments: StoreKind.allCases)
  func namesCompareByTheirBytes(kind: StoreKind) async throws {
    let store = try kind.open()
    let spellings = ["caf\u{e9}", "cafe\u{301}", "\u{212A}", "K"]
    try await store.write { (transaction) throws in
      for (number, text) in spellings.enumerated() {
        let zone = try transaction.makeZone(ZoneName(text))
        for (place, name) in spellings.enumerated() {
          try transaction.put(
            Entity(.subscription, key: "\(text)/\(name)", owner: text, value: [UInt8(number), UInt8(place)]))
        }
        try transaction.append(NotificationRow(pushToken: "p", coalescingKey: text, payload: [UInt8(number)]))
        #expect(zone.name.rawValue.utf8.elementsEqual(text.utf8))
      }
    }
    try await store.read { (transaction) throws in
      #expect(try transaction.notifications(for: "p", limit: 10).map(\.payload) == [[0], [1], [2], [3]])
      for (number, text) in spellings.enumerated() {
        let zone = try transaction.zone(ZoneName(text), in: diary)
        #expect(zone.map { Array($0.name.rawValue.utf8) } == Array(text.utf8))
        for (place, name) in spellings.enumerated() {
          let entity = try transaction.entity(.subscription, key: "\(text)/\(name)")
          #expect(entity?.value == [UInt8(number), UInt8(place)])
        }
        let owned = try transaction.entities(.subscription, owner: text)
        #expect(owned.count == spellings.count && owned.allSatisfy { $0.value[0] == UInt8(number) })
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func zonesComeInTheOrderOfTheirLastChange(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      for (offset, name) in ["a", "b", "c"].enumerated() {
        var zone = try transaction.makeZone(ZoneName(name))
        zone.databaseSequence = Int64(offset + 1)
        try transaction.put(&zone)
      }
      var changed = try #require(try transaction.zone("a", in: diary))
      changed.databaseSequence = 4
      changed.isDeleted = true
      try transaction.put(&changed)
    }
    try await store.read { (transaction) throws in
      func names(after position: Int64, limit: Int) throws -> [ZoneName] {
        try transaction.zones(in: diary, after: position, limit: limit).map(\.name)
      }
      #expect(try names(after: 0, limit: 10) == ["b", "c", "a"])
      #expect(try names(after: 2, limit: 10) == ["c", "a"])
      #expect(try names(after: 0, limit: 2) == ["b", "c"])
      #expect(try names(after: 4, limit: 10) == [])
      #expect(try names(after: 0, limit: 0) == [])
      #expect(try transaction.zones(in: publicDiary, after: 0, limit: 10) == [])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aZoneWithoutItsDatabaseAndASecondRowForAZoneAreRefused(kind: StoreKind) async throws {
    let store = try kind.open()
    await #expect(throws: StoreError.self) {
      try await store.write { (transaction) throws in
        var zone = ZoneRow(database: diary, name: "Notes", incarnation: 1)
        try transaction.put(&zone)
      }
    }
    try await store.write { _ = try $0.makeZone("Notes") }
    await #expect(throws: StoreError.self) { try await store.write { _ = try $0.makeZone("Notes") } }
    #expect(try await store.read { try $0.zones(in: diary, after: -1, limit: 9).count } == 1)
  }

  // MARK: Records

  @Test(arguments: StoreKind.allCases)
  func aRecordComesBackWhole(kind: StoreKind) async throws {
    let store = try kind.open()
    let (saved, zone) = try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      var record = StoredRecord(
        name: "a \"quoted\"/name", type: "Entry.v2", sequence: 1,
        created: stamp(-5, user: "_bob", device: "tablet"), modified: stamp(.max, user: "_ann", device: "iCloud"),
        fieldsJSON: Array(#"{"t":{"value":"ä\u0000","type":"STRING"}}"#.utf8) + [0, 255])
      record.parent = Reference(recordName: "p", action: .validate)
      record.share = Reference(
        recordName: "s", action: .deleteSelf, zone: ZoneID("Other zone", owner: "_0123456789abcdef"))
      record.shortGUID = "0abc"
      record.unknownMembers = Array(#""x":1"#.utf8)
      try transaction.put(record, in: zone, replacing: nil, keepsVersion: true)
      return (record, zone)
    }
    try await store.read { (transaction) throws in
      #expect(try transaction.record(saved.name, in: zone) == saved)
      #expect(try transaction.version(1, of: saved.name, in: zone) == saved)
      #expect(try transaction.changes(in: zone) == [saved])
      #expect(try transaction.record("A \"QUOTED\"/NAME", in: zone) == nil)
      #expect(try transaction.versions(of: saved.name, in: zone) == [])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func changesComeOldestFirstAndOnceForEachRecord(kind: StoreKind) async throws {
    let store = try kind.open()
    let zone = try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      let other = try transaction.makeZone("Other")
      for (offset, name) in ["e", "d", "c", "b", "a"].enumerated() {
        try transaction.save(stored(RecordName(name), Int64(offset + 1)), in: zone)
        try transaction.save(stored(RecordName(name + "x"), Int64(offset + 1)), in: other)
      }
      try transaction.save(stored("d", 6), in: zone)
      try transaction.save(tombstone("b", 7), in: zone)
      return zone
    }
    try await store.read { (transaction) throws in
      #expect(try transaction.changes(in: zone).map(\.name) == ["e", "c", "a", "d", "b"])
      #expect(try transaction.changes(in: zone).map(\.sequence) == [1, 3, 5, 6, 7])
      #expect(try transaction.changes(in: zone).map(\.isDeleted) == [false, false, false, false, true])
      #expect(try transaction.changes(in: zone, after: 3).map(\.name) == ["a", "d", "b"])
      #expect(try transaction.changes(in: zone, after: 4, limit: 2).map(\.name) == ["a", "d"])
      #expect(try transaction.changes(in: zone, after: 7) == [])
      #expect(try transaction.changes(in: zone, limit: 0) == [])
      #expect(try transaction.changes(in: zone, before: .max).map(\.name) == ["b", "d", "a", "c", "e"])
      #expect(try transaction.changes(in: zone, before: 6, limit: 2).map(\.name) == ["a", "c"])
      #expect(try transaction.changes(in: zone, before: 1) == [])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aReaderOfChangesMayStopAndMayReadMeanwhile(kind: StoreKind) async throws {
    let store = try kind.open()
    let zone = try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      for number in 1...5 { try transaction.save(stored(RecordName("r\(number)"), Int64(number)), in: zone) }
      return zone
    }
    try await store.read { (transaction) throws in
      var seen: [RecordName] = []
      try transaction.changes(in: zone, after: 0, limit: 10) { (record) throws in
        seen.append(record.name)
        #expect(try transaction.changes(in: zone, after: 3).map(\.name) == ["r4", "r5"])
        #expect(try transaction.record("r1", in: zone)?.sequence == 1)
        return seen.count < 2
      }
      #expect(seen == ["r1", "r2"])
      #expect(throws: Stop.self) { try transaction.changes(in: zone, after: 0, limit: 10) { _ in throw Stop() } }
      #expect(try transaction.changes(in: zone).count == 5)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aRecordReplacesOnlyItsNewestVersion(kind: StoreKind) async throws {
    let store = try kind.open()
    let zone = try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      try transaction.save(stored("a", 1), in: zone)
      try transaction.save(stored("a", 2), in: zone)
      return zone
    }
    await #expect(throws: StoreError.self) {
      try await store.write {
        try $0.put(stored("a", 3), in: zone, replacing: stored("a", 1), keepsVersion: false)
      }
    }
    await #expect(throws: RecordExists.self) {
      try await store.write { try $0.put(stored("a", 3), in: zone, replacing: nil, keepsVersion: false) }
    }
    await #expect(throws: StoreError.self) {
      try await store.write {
        try $0.put(stored("b", 3), in: zone, replacing: stored("b", 1), keepsVersion: false)
      }
    }
    #expect(try await store.read { try $0.changes(in: zone) } == [stored("a", 2)])
  }

  /// A part that throws is undone alone, with the parts in it, whatever the body does before and after.
  @Test(arguments: StoreKind.allCases)
  func aPartOfABodyIsUndoneAlone(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      try transaction.save(stored("a", 1), in: zone)
    }
    @Sendable func isStopped(_ part: () throws -> Void) throws -> Bool {
      do {
        try part()
        return false
      } catch is Stop {
        return true
      }
    }
    // Twice: rows that were read from the file, and rows that the writer knows.
    for round in 1...2 as ClosedRange<Int64> {
      let (before, after) = try await store.write { (transaction) throws -> (StoreContents, StoreContents) in
        func contents() throws -> StoreContents {
          try StoreContents(transaction, names: ["a", "b", "c"], owners: ["o"])
        }
        var zone = try #require(try transaction.zone("Notes", in: diary))
        zone.sequence = 10 * round
        try transaction.put(&zone)
        try transaction.put(Entity(.account, key: "k\(round)", owner: "o", value: [1]))
        let before = try contents()
        let isOuterStopped = try isStopped {
          try transaction.attempt {
            var zone = zone
            zone.sequence += 1
            zone.sharing = .hierarchies
            try transaction.put(&zone)
            try transaction.save(stored("a", zone.sequence), in: zone)
            try transaction.attempt {
              try transaction.save(stored("b", zone.sequence + 1), in: zone)
              var database = try #require(try transaction.database(diary))
              database.sequence += 1
              try transaction.put(database)
            }
            let isInnerStopped = try isStopped {
              try transaction.attempt {
                var gone = zone
                try transaction.removeRecords(of: &gone)
                throw Stop()
              }
            }
            #expect(isInnerStopped)
            #expect(try transaction.record("b", in: zone)?.sequence == zone.sequence + 1)
            try transaction.removeEntity(.account, key: "k\(round)")
            _ = try transaction.makeZone("Other")
            throw Stop()
          }
        }
        #expect(isOuterStopped)
        #expect(try contents() == before)
        #expect(try transaction.zone("Notes", in: diary) == zone)
        let value = try transaction.attempt {
          try transaction.save(stored("c", zone.sequence), in: zone)
          return 7
        }
        #expect(value == 7)
        return (before, try contents())
      }
      #expect(before != after)
      let kept = try await store.read { try StoreContents($0, names: ["a", "b", "c"], owners: ["o"]) }
      #expect(kept == after)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aNameIsTakenAlsoByADeletedRecordAndNothingOfThePutStays(kind: StoreKind) async throws {
    let store = try kind.open()
    let zone = try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      try transaction.save(stored("a", 1), in: zone)
      try transaction.save(tombstone("a", 2), in: zone)
      return zone
    }
    await #expect(throws: RecordExists.self) {
      try await store.write {
        try $0.put(stored("b", 3), in: zone, replacing: nil, keepsVersion: true)
        try $0.put(stored("a", 4), in: zone, replacing: nil, keepsVersion: true)
      }
    }
    #expect(try await store.read { try $0.changes(in: zone) } == [tombstone("a", 2)])
  }

  @Test(arguments: StoreKind.allCases)
  func tombstonesOlderThanAMomentAreDropped(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      let other = try transaction.makeZone("Other")
      for number in 1...6 { try transaction.save(stored(RecordName("r\(number)"), Int64(number)), in: zone) }
      for number in 2...4 { try transaction.save(tombstone(RecordName("r\(number)"), Int64(number + 10)), in: zone) }
      try transaction.save(tombstone("x", 1), in: other)
      func drop(_ moment: Int64, _ limit: Int) throws -> [Int64] {
        try transaction.dropTombstones(in: zone, before: Timestamp(milliseconds: moment), limit: limit)
      }
      func past(_ moment: Int64) throws -> [ZoneName] {
        let (moment, start) = (Timestamp(milliseconds: moment), Timestamp(milliseconds: 0))
        return try transaction.zonesToCompact(tombstonesBefore: moment, versionsBefore: start).map(\.name)
      }
      #expect(try past(12) == ["Other"])
      #expect(try past(13) == ["Notes", "Other"])
      #expect(try drop(12, 10) == [])
      #expect(try drop(14, 0) == [])
      #expect(try drop(14, 1) == [12])
      #expect(try drop(14, 10) == [13])
      #expect(try past(14) == ["Other"])
      var shared = zone
      shared.sharing = .hierarchies
      try transaction.put(&shared)
      #expect(try past(0) == ["Notes"])
      #expect(try transaction.changes(in: zone).map(\.name) == ["r1", "r5", "r6", "r4"])
      #expect(try transaction.record("r2", in: zone) == nil)
      #expect(try transaction.changes(in: other).count == 1)
      try transaction.put(stored("r2", 20), in: zone, replacing: nil, keepsVersion: true)
      #expect(try transaction.changes(in: zone, after: 14) == [stored("r2", 20)])
    }
  }

  // MARK: Versions, claims, references

  @Test(arguments: StoreKind.allCases)
  func replacedVersionsAreKeptIfAskedFor(kind: StoreKind) async throws {
    let store = try kind.open()
    let zone = try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      try transaction.save(stored("a", 1, fields: #"{"v":1}"#), in: zone)
      try transaction.save(stored("a", 2, fields: #"{"v":2}"#), in: zone)
      try transaction.save(stored("a", 3, fields: #"{"v":3}"#), in: zone, keepsVersion: false)
      try transaction.save(tombstone("a", 4), in: zone)
      try transaction.save(stored("a", 5, fields: #"{"v":5}"#), in: zone)
      try transaction.save(stored("b", 6), in: zone)
      return zone
    }
    try await store.read { (transaction) throws in
      // 2 was replaced without keeping it, 4 was a tombstone.
      #expect(try transaction.versions(of: "a", in: zone).map(\.sequence) == [3, 1])
      #expect(try transaction.version(1, of: "a", in: zone) == stored("a", 1, fields: #"{"v":1}"#))
      #expect(try transaction.version(2, of: "a", in: zone) == nil)
      #expect(try transaction.version(5, of: "a", in: zone)?.fieldsJSON == Array(#"{"v":5}"#.utf8))
      #expect(try transaction.version(6, of: "a", in: zone) == nil)
      #expect(try transaction.version(1, of: "b", in: zone) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aRecordKeepsItsNewestVersionsAlone(kind: StoreKind) async throws {
    let store = try kind.open()
    let last = Int64(Limits.versionsPerRecordMax + 3)
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      for number in 1...last { try transaction.save(stored("a", number), in: zone) }
      #expect(try transaction.versions(of: "a", in: zone).map(\.sequence) == (3..<last).reversed())
    }
  }

  /// A version that is not kept, a deletion and a new life interrupt no history; what was forgotten for good does.
  @Test(arguments: StoreKind.allCases)
  func aHistoryGoesOnOverWhatIsNotKept(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      func history() throws -> [Int64] { try transaction.versions(of: "a", in: zone).map(\.sequence) }
      try transaction.save(stored("a", 1), in: zone)
      try transaction.save(stored("a", 2), in: zone)
      for number in 3...5 { try transaction.save(stored("a", Int64(number)), in: zone, keepsVersion: false) }
      #expect(try history() == [1])
      try transaction.save(stored("a", 6), in: zone)
      try transaction.save(tombstone("a", 7), in: zone)
      #expect(try history() == [6, 5, 1])
      try transaction.save(stored("a", 8), in: zone)
      try transaction.save(stored("a", 9), in: zone)
      #expect(try history() == [8, 6, 5, 1])
      for sequence in [1, 5, 6, 8, 9] as [Int64] {
        #expect(try transaction.version(sequence, of: "a", in: zone)?.sequence == sequence)
      }
      for sequence in [2, 3, 4, 7, 10] as [Int64] {
        #expect(try transaction.version(sequence, of: "a", in: zone) == nil)
      }
      #expect(try transaction.dropVersions(in: zone, before: Timestamp(milliseconds: 7), limit: 9) == 2)
      #expect(try history() == [8, 6])
      try transaction.save(tombstone("a", 11), in: zone)
      #expect(try transaction.dropTombstones(in: zone, before: Timestamp(milliseconds: 20), limit: 9) == [11])
      #expect(try transaction.tally(of: diary).historyBytes == 0, "a tombstone takes its record's history along")
      try transaction.put(stored("a", 12), in: zone, replacing: nil, keepsVersion: true)
      #expect(try history() == [])
    }
  }

  /// Saves only append; now and then one of them drops what is beyond the limit.
  @Test(arguments: StoreKind.allCases)
  func whatIsBeyondTheLimitIsDroppedInTime(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      // Records that are saved in turn all get numbers of one kind.
      for number in 1...Int64(1_600) {
        try transaction.save(stored(RecordName("r\(number % 8)"), number, fields: "{}"), in: zone)
      }
      let kept = try transaction.tally(of: diary).historyBytes / 2
      #expect((80...240).contains(kept), "\(kept) versions of 8 records are kept")
      for number in 0..<8 {
        let shown = try transaction.versions(of: RecordName("r\(number)"), in: zone)
        #expect(shown.count == Limits.versionsPerRecordMax)
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func versionsGoByAge(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      let other = try transaction.makeZone("Other")
      for number in 1...6 {
        try transaction.save(stored("a", Int64(number)), in: zone)
        try transaction.save(stored("b", Int64(number)), in: other)
      }
      // Version n was replaced at the moment n + 1.
      func drop(_ moment: Int64, _ limit: Int) throws -> Int {
        try transaction.dropVersions(in: zone, before: Timestamp(milliseconds: moment), limit: limit)
      }
      func past(_ moment: Int64) throws -> [ZoneName] {
        let moment = Timestamp(milliseconds: moment)
        return try transaction.zonesToCompact(tombstonesBefore: moment, versionsBefore: moment).map(\.name)
      }
      #expect(try past(2) == [])
      #expect(try past(3) == ["Notes", "Other"])
      #expect(try drop(4, 10) == 2)
      #expect(try past(4) == ["Other"])
      #expect(try transaction.versions(of: "a", in: zone).map(\.sequence) == [5, 4, 3])
      #expect(try drop(4, 10) == 0)
      #expect(try drop(6, 1) == 1)
      #expect(try drop(6, 3) == 1)
      #expect(try transaction.versions(of: "a", in: zone).map(\.sequence) == [5])
      #expect(try transaction.versions(of: "b", in: other).map(\.sequence) == [5, 4, 3, 2, 1])
      #expect(try drop(.max, .max) == 1)
      #expect(try transaction.versions(of: "a", in: zone) == [])
      #expect(try transaction.record("a", in: zone) == stored("a", 6))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func bytesAreClaimedWhileAVersionThatNamesThemIsKept(kind: StoreKind) async throws {
    let store = try kind.open()
    let later = Timestamp(milliseconds: 1_000)
    @Sendable func photo(_ sequence: Int64, _ checksums: [String]) -> StoredRecord {
      var record = stored("a", sequence)
      record.assetChecksums = checksums
      return record
    }
    try await store.write { (transaction) throws in
      let zone = try transaction.makeZone()
      func unclaimed() throws -> [String] {
        try transaction.unreferencedAssets(before: later, limit: 10).map(\.checksum)
      }
      for (checksum, moment) in [("x", 1), ("y", 2), ("z", 1_000)] {
        try transaction.put(AssetRow(checksum: checksum, size: 5, uploaded: Timestamp(milliseconds: Int64(moment))))
      }
      #expect(try unclaimed() == ["x", "y"], "z arrived too late")
      #expect(try transaction.unreferencedAssets(before: later, limit: 1).map(\.checksum) == ["x"])
      try transaction.save(photo(1, ["x", "y", "x"]), in: zone)
      #expect(try transaction.record("a", in: zone)?.hasAssets == true)
      #expect(try transaction.record("a", in: zone)?.assetChecksums == [])
      #expect(try unclaimed() == [])
      try transaction.save(photo(2, ["y"]), in: zone)
      #expect(try unclaimed() == [], "the first version is still kept")
      #expect(try transaction.versions(of: "a", in: zone).map(\.hasAssets) == [true])
      #expect(try transaction.dropVersions(in: zone, before: later, limit: 10) == 1)
      #expect(try unclaimed() == ["x"])
      try transaction.save(photo(3, []), in: zone, keepsVersion: false)
      #expect(try transaction.record("a", in: zone)?.hasAssets == false)
      #expect(try unclaimed() == ["x", "y"])
      try transaction.save(photo(4, ["x"]), in: zone)
      try transaction.save(tombstone("a", 5), in: zone)
      #expect(try unclaimed() == ["y"], "the deleted version is kept")
      var gone = zone
      try transaction.removeRecords(of: &gone)
      #expect(try unclaimed() == ["y"], "until the records are cleared away")
      while try transaction.clearRemovedRecords(limit: 1, bytes: .max) {}
      #expect(try unclaimed() == ["x", "y"])
      try transaction.removeAsset("x")
      #expect(try transaction.asset("x") == nil)
      #expect(try unclaimed() == ["y"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func anAssetArrivesAgain(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      try transaction.put(AssetRow(checksum: "x", size: 5, uploaded: Timestamp(milliseconds: 1)))
      try transaction.put(AssetRow(checksum: "x", size: 5, uploaded: Timestamp(milliseconds: 9)))
      #expect(try transaction.asset("x") == AssetRow(checksum: "x", size: 5, uploaded: Timestamp(milliseconds: 9)))
      #expect(try transaction.unreferencedAssets(before: Timestamp(milliseconds: 9), limit: 10) == [])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func referencesAreFoundByTheirTarget(kind: StoreKind) async throws {
    let store = try kind.open()
    @Sendable func child(_ name: RecordName, _ sequence: Int64, _ references: [(RecordName, StoredReference.Kind)])
      -> StoredRecord
    {
      var record = stored(name, sequence)
      record.references = references.map { StoredReference(target: $0.0, kind: $0.1) }
      return record
    }
    try await store.write { (transaction) throws in
      var zone = try transaction.makeZone()
      let other = try transaction.makeZone("Other")
      func sources(_ target: RecordName, _ kind: StoredReference.Kind, limit: Int = 10) throws -> [RecordName] {
        try transaction.references(to: target, kind: kind, in: zone, limit: limit)
      }
      try transaction.save(child("c", 1, [("p", .deleteSelf), ("p", .parent), ("p", .parent)]), in: zone)
      try transaction.save(child("b", 2, [("p", .deleteSelf), ("q", .validate)]), in: zone)
      try transaction.save(child("a", 1, [("p", .deleteSelf)]), in: other)
      #expect(try transaction.record("c", in: zone)?.hasReferences == true)
      #expect(try sources("p", .deleteSelf) == ["b", "c"])
      #expect(try sources("p", .deleteSelf, limit: 1) == ["b"])
      #expect(try sources("p", .parent) == ["c"])
      #expect(try sources("p", .validate) == [])
      #expect(try sources("q", .validate) == ["b"])
      try transaction.save(child("b", 3, [("p", .parent)]), in: zone)
      #expect(try sources("p", .deleteSelf) == ["c"])
      #expect(try sources("p", .parent) == ["b", "c"])
      #expect(try sources("q", .validate) == [])
      #expect(try transaction.versions(of: "b", in: zone).map(\.hasReferences) == [true])
      var deletion = child("c", 4, [("p", .parent)])
      deletion.isDeleted = true
      try transaction.save(deletion, in: zone)
      #expect(try sources("p", .parent) == ["b"], "a tombstone refers to nothing")
      #expect(try sources("p", .deleteSelf) == [])
      try transaction.removeRecords(of: &zone)
      #expect(try sources("p", .parent) == [])
      #expect(try transaction.references(to: "p", kind: .deleteSelf, in: other, limit: 10) == ["a"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func removingTheRecordsOfAZoneLeavesItsRowAndItsNeighbours(kind: StoreKind) async throws {
    let store = try kind.open()
    try await store.write { (transaction) throws in
      var zone = try transaction.makeZone()
      let other = try transaction.makeZone("Other")
      for number in 1...3 {
        try transaction.save(stored("a", Int64(number)), in: zone)
        try transaction.save(stored("a", Int64(number)), in: other)
      }
      try transaction.removeRecords(of: &zone)
      #expect(try transaction.changes(in: zone) == [])
      #expect(try transaction.record("a", in: zone) == nil)
      #expect(try transaction.versions(of: "a", in: zone) == [])
      #expect(try transaction.zone("Notes", in: diary) == zone)
      #expect(try transaction.versions(of: "a", in: other).count == 2)
      try transaction.save(stored("a", 4), in: zone)
      #expect(try transaction.changes(in: zone) == [stored("a", 4)])
    }
  }

  // MARK: Entities and notifications

  @Test(arguments: StoreKind.allCases)
  func entitiesAreFoundByKeyAndByOwner(kind: StoreKind) async throws {
    let store = try kind.open()
    let entities = [
      Entity(.device, key: "b", owner: "ann", value: [1]), Entity(.device, key: "B", owner: "ann", value: []),
      Entity(.device, key: "c", owner: "bob", value: [3]), Entity(.account, key: "b", owner: "ann", value: [4]),
      Entity(.device, key: "d", value: [0, 255]), Entity(.recordType, key: "b", value: [6]),
    ]
    try await store.write { (transaction) throws in
      #expect(try transaction.entity(.recordType, key: "b") == nil)
      for entity in entities { try transaction.put(entity) }
      #expect(try transaction.entity(.recordType, key: "b") == entities[5])
    }
    try await store.read { (transaction) throws in
      for entity in entities { #expect(try transaction.entity(entity.kind, key: entity.key) == entity) }
      #expect(try transaction.entities(.device, owner: "ann") == [entities[1], entities[0]])
      #expect(try transaction.entities(.device, owner: "ann", from: entities[0].key) == [entities[0]])
      #expect(try transaction.entities(.device, owner: "ann", from: entities[1].key) == [entities[1], entities[0]])
      #expect(try transaction.entities(.device, owner: "ann", from: entities[0].key + "!") == [])
      #expect(try transaction.entities(.device, owner: "") == [], "an entity without an owner is not listed")
    }
    try await store.write { (transaction) throws in
      try transaction.put(Entity(.device, key: "b", owner: "bob", value: [9]))
      try transaction.removeEntity(.device, key: "c")
      try transaction.removeEntity(.device, key: "none")
      try transaction.removeEntity(.recordType, key: "b")
      #expect(try transaction.entity(.recordType, key: "b") == nil)
      #expect(try transaction.entities(.device, owner: "ann").map(\.key) == ["B"])
      #expect(try transaction.entities(.device, owner: "bob").map(\.value) == [[9]])
      #expect(try transaction.entity(.device, key: "c") == nil)
      #expect(try transaction.entity(.account, key: "b") == entities[3])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aLaterNotificationReplacesAnEarlierOneOfItsKey(kind: StoreKind) async throws {
    let store = try kind.open()
    @Sendable func notification(_ token: String, _ key: String, _ byte: UInt8) -> NotificationRow {
      NotificationRow(pushToken: token, coalescingKey: key, payload: [byte])
    }
    let first = try await store.write { (transaction) throws in
      try transaction.append(notification("t", "a", 1))
      try transaction.append(notification("t", "b", 2))
      try transaction.append(notification("u", "a", 3))
      return try transaction.notifications(for: "t", limit: 10)
    }
    #expect(first.map(\.payload) == [[1], [2]])
    try await store.write { (transaction) throws in
      try transaction.append(notification("t", "a", 4))
      // What was delivered is removed by its number, which the newer one does not have.
      try transaction.removeNotifications(first.map(\.id) + [99_999], of: "t")
      let waiting = try transaction.notifications(for: "t", limit: 10)
      #expect(waiting.map(\.payload) == [[4]])
      #expect(waiting.allSatisfy { row in row.id > first.map(\.id).max() ?? 0 })
      #expect(try transaction.notifications(for: "u", limit: 10).map(\.payload) == [[3]])
      try transaction.removeNotifications(waiting.map(\.id), of: "t")
      try transaction.append(notification("t", "a", 5))
      let next = try transaction.notifications(for: "t", limit: 10)
      #expect(next.map(\.id).min() ?? 0 > waiting.map(\.id).max() ?? 0, "a number is not given twice")
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aPartThatIsUndoneLeavesQueuesAsTheyWere(kind: StoreKind) async throws {
    let store = try kind.open()
    struct Undone: Error {}
    @Sendable func put(_ byte: UInt8, in transaction: any WriteTransaction) throws -> Int64 {
      try transaction.append(NotificationRow(pushToken: "t", coalescingKey: "a", payload: [byte]))
    }
    _ = try await store.write { try put(1, in: $0) }
    let kept = try await store.write { (transaction) throws in
      let kept = try put(2, in: transaction)
      #expect(throws: Undone.self) {
        try transaction.attempt {
          try transaction.removeNotifications([kept], of: "t")
          #expect(try transaction.notifications(for: "t", limit: 9).isEmpty)
          _ = try put(3, in: transaction)
          throw Undone()
        }
      }
      return kept
    }
    let waiting = try await store.read { try $0.notifications(for: "t", limit: 9) }
    #expect(waiting.map(\.payload) == [[2]])
    #expect(waiting.map(\.id) == [kept])
    try await store.write { (transaction) throws in
      let next = try put(4, in: transaction)
      try transaction.removeNotifications([next], of: "t")
      #expect(try transaction.notifications(for: "t", limit: 9).isEmpty, "what it took the place of is gone too")
    }
    #expect(try await store.read { try $0.notifications(for: "t", limit: 9) }.isEmpty)
  }

  @Test(
    arguments: StoreKind.allCases,
    [Limits.notificationsPerTokenMax - 1, Limits.notificationsPerTokenMax, Limits.notificationsPerTokenMax + 1])
  func theOldestNotificationsBeyondTheLimitAreDropped(kind: StoreKind, count: Int) async throws {
    let store = try kind.open()
    let kept = min(count, Limits.notificationsPerTokenMax)
    try await store.write { (transaction) throws in
      for number in 1...count {
        try transaction.append(NotificationRow(pushToken: "t", coalescingKey: "\(number)", payload: []))
      }
      try transaction.append(NotificationRow(pushToken: "u", coalescingKey: "1", payload: []))
      let waiting = try transaction.notifications(for: "t", limit: .max)
      #expect(waiting.map(\.coalescingKey) == (1...count).suffix(kept).map(String.init))
      #expect(try transaction.notifications(for: "t", limit: 3) == Array(waiting.prefix(3)))
      #expect(try transaction.notifications(for: "u", limit: 3).count == 1)
    }
  }

  // MARK: Transactions

  @Test(arguments: StoreKind.allCases)
  func aBodyThatThrowsLeavesNoTrace(kind: StoreKind) async throws {
    let store = try kind.open()
    let names: [RecordName] = ["a", "b", "c", "p"]
    @Sendable func contents(_ transaction: any ReadTransaction) throws -> StoreContents {
      try StoreContents(transaction, names: names, owners: ["ann"], assets: ["x", "y"], tokens: ["t"])
    }
    @Sendable func busy(_ transaction: any WriteTransaction, from sequence: Int64) throws {
      var zone = try transaction.zone("Notes", in: diary) ?? transaction.makeZone()
      for (offset, name) in names.enumerated() {
        var record = stored(name, sequence + Int64(offset))
        record.assetChecksums = ["x"]
        record.references = [StoredReference(target: "p", kind: .parent)]
        try transaction.save(record, in: zone)
      }
      try transaction.save(tombstone("b", sequence + 10), in: zone)
      zone.sequence = sequence + 10
      zone.databaseSequence += 1
      try transaction.put(&zone)
      try transaction.put(DatabaseRow(key: publicDiary, incarnation: UInt64(sequence)))
      try transaction.put(Entity(.device, key: "k\(sequence)", owner: "ann", value: [1]))
      try transaction.put(Entity(.recordType, key: "T", owner: "ann", value: [UInt8(sequence)]))
      try transaction.put(AssetRow(checksum: "x", size: sequence, uploaded: Timestamp(milliseconds: sequence)))
      try transaction.put(AssetRow(checksum: "y", size: sequence, uploaded: Timestamp(milliseconds: sequence)))
      try transaction.append(NotificationRow(pushToken: "t", coalescingKey: "k", payload: [UInt8(sequence)]))
    }
    let before = try await store.write { (transaction) throws in
      try busy(transaction, from: 1)
      return try contents(transaction)
    }
    await #expect(throws: Stop.self) {
      try await store.write { (transaction) throws in
        try busy(transaction, from: 21)
        var zone = try #require(try transaction.zone("Notes", in: diary))
        _ = try transaction.dropTombstones(in: zone, before: Timestamp(milliseconds: .max), limit: .max)
        _ = try transaction.dropVersions(in: zone, before: Timestamp(milliseconds: .max), limit: .max)
        _ = try transaction.makeZone("Other")
        try transaction.removeEntity(.device, key: "k1")
        try transaction.removeAsset("y")
        try transaction.removeNotifications(try transaction.notifications(for: "t", limit: 9).map(\.id), of: "t")
        try transaction.removeRecords(of: &zone)
        _ = try transaction.clearRemovedRecords(limit: 2, bytes: .max)
        try busy(transaction, from: 41)
        throw Stop()
      }
    }
    #expect(try await store.read(contents) == before)
    #expect(try await store.write(contents) == before, "nor in what the writer remembers")
    #expect(try await store.write { try $0.entity(.recordType, key: "T")?.value } == [1])
    // And the store goes on as if nothing had been.
    try await store.write { try busy($0, from: 21) }
    let zone = try #require(try await store.read { try $0.zone("Notes", in: diary) })
    #expect(try await store.read { try $0.changes(in: zone).map(\.sequence) } == [21, 23, 24, 31])
  }

  @Test(arguments: StoreKind.allCases)
  func whatABodyThrowsReachesItsCaller(kind: StoreKind) async throws {
    let store = try kind.open()
    await #expect(throws: Stop()) { try await store.read { _ in throw Stop() } }
    await #expect(throws: Stop()) { try await store.write { _ in throw Stop() } }
    #expect(try await store.write { _ in 5 } == 5)
  }

  @Test(arguments: StoreKind.allCases)
  func writersAtTheSameTimeNeverShareANumber(kind: StoreKind) async throws {
    let store = try kind.open()
    let id = try await store.write { try $0.makeZone() }.name
    let (writers, saves) = (16, 25)
    let acknowledged = try await withThrowingTaskGroup(of: [Int64].self) { group in
      for writer in 0..<writers {
        group.addTask {
          var numbers: [Int64] = []
          for save in 0..<saves {
            let number = try? await store.write { transaction -> Int64 in
              var zone = try #require(try transaction.zone(id, in: diary))
              zone.sequence += 1
              try transaction.put(&zone)
              try transaction.save(stored(RecordName("w\(writer)-\(save)"), zone.sequence), in: zone)
              // Every fifth body gives up after it wrote.
              if save % 5 == 4 { throw Stop() }
              return zone.sequence
            }
            if let number { numbers.append(number) }
          }
          return numbers
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(acknowledged.count == writers * saves * 4 / 5)
    #expect(acknowledged.sorted() == Array(1...Int64(acknowledged.count)), "undone bodies leave no gap")
    try await store.read { (transaction) throws in
      let zone = try #require(try transaction.zone(id, in: diary))
      #expect(zone.sequence == Int64(acknowledged.count))
      #expect(try transaction.changes(in: zone).map(\.sequence) == acknowledged.sorted())
    }
  }
}
