import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaServerSQLite
import VirgaWire

@Suite struct ServiceHousekeepingTests {
  private func compact(_ harness: Harness) throws {
    let now = harness.now
    try harness.write { try Service().compact(in: $0, now: now) }
  }

  @Test(arguments: [-1, 0, 1])
  func aTombstonePastItsAgeIsForgottenAndOlderTokensExpire(seconds: Int64) throws {
    let harness = try Harness.withZone()
    let before = try harness.page().syncToken
    _ = try harness.modify([.create("a"), .create("b")])
    let between = try harness.page().syncToken
    _ = try harness.modify(.forceDelete("a"))
    let after = try harness.page().syncToken
    harness.now = harness.now + Limits.tombstoneAge + .seconds(seconds)
    try compact(harness)
    for token in [before, between] {
      let request = ZoneChangesRequest(zone: Harness.diary, syncToken: token)
      #expect(try harness.failure(.recordsChanges(request)) == (seconds > 0 ? .changeTokenExpired : nil))
    }
    #expect(try harness.page(after).records.isEmpty)
    #expect(try harness.page().records.map(\.name) == ["b"])
    #expect(try harness.modify(.update("a", tag: "1")).code == .notFound)
  }

  @Test func aFirstWalkIsNotDisturbedByForgettingWhatDiedBeforeIt() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([.create("a"), .create("b"), .create("c")])
    _ = try harness.modify(.forceDelete("c"))
    harness.now = harness.now + Limits.tombstoneAge + .seconds(1)
    let first = try harness.page(limit: 1)
    try compact(harness)
    #expect(try harness.page(first.syncToken).records.map(\.name) == ["b"])
  }

  @Test func oldVersionsAreForgottenAndConflictsThenCarryNoAncestor() throws {
    let harness = try Harness.withZone()
    let first = try harness.modify(.create("r", ["t": .int64(0)])).record!
    for index in 1...Limits.versionsPerRecordMax { _ = try harness.modify(.force("r", ["t": .int64(Int64(index))])) }
    try compact(harness)
    #expect(try harness.modify(.update("r", tag: first.tag)).failure?.ancestorRecord == first)
    _ = try harness.modify(.force("r"))
    try compact(harness)
    let failure = try harness.modify(.update("r", tag: first.tag)).failure
    #expect(failure?.ancestorRecord == nil && failure?.serverRecord != nil)
    let second = try harness.modify(.update("r", tag: "2")).failure
    #expect(second?.ancestorRecord != nil)
    harness.now = harness.now + Limits.versionAge + .seconds(1)
    try compact(harness)
    #expect(try harness.modify(.update("r", tag: "2")).failure?.ancestorRecord == nil)
  }

  /// Saves wait for the writer, so no write of it looks at more than there is to do, nor does much at once.
  @Test func whatIsPastItsAgeGoesInPortions() async throws {
    let folder = TemporaryFolder()
    let store = try SQLiteStore(folder: folder.path)
    let count: Int64 = 1_200
    try await store.writing { transaction in
      for (zoneName, start) in [("Old", 0), ("New", 1 << 40)] as [(ZoneName, Int64)] {
        var zone = try transaction.makeZone(zoneName)
        for number in 1...count {
          let name = RecordName("r\(number)")
          for (version, step) in [(stored(name, 2 * number), 1), (tombstone(name, 2 * number + 1), 2)]
            as [(StoredRecord, Int64)]
          {
            var record = version
            record.modified = stamp(start + step)
            try transaction.save(record, in: zone)
          }
        }
        zone.sequence = 2 * count + 1
        try transaction.put(&zone)
      }
    }
    let now = Timestamp(milliseconds: 10) + Limits.tombstoneAge + Limits.versionAge
    let steps = try await store.reading { try Service().compactionSteps(in: $0, now: now) }
    var rows: [Int] = []
    for step in steps {
      // What the file gives back is another matter: see SpaceTests.
      if case .space = step { continue }
      var isMoreLikely = true
      while isMoreLikely {
        let before = store.counts.rows
        isMoreLikely = try await store.writing { try Service().perform(step, in: $0, now: now) }
        rows.append(store.counts.rows - before)
      }
    }
    #expect((6...9).contains(rows.count) && rows.allSatisfy { $0 <= 510 }, "\(rows)")
    try await store.reading { transaction in
      let old = try #require(try transaction.zone("Old", in: diary))
      #expect(try transaction.changes(in: old).isEmpty && transaction.versions(of: "r1", in: old).isEmpty)
      #expect(old.lowWaterMark == 2 * count + 1)
      let new = try #require(try transaction.zone("New", in: diary))
      #expect(
        try transaction.changes(in: new).count == Int(count) && transaction.versions(of: "r1", in: new).count == 1)
      #expect(new.lowWaterMark == 0)
    }
    #expect(
      try await store.reading { try Service().compactionSteps(in: $0, now: now) } == [
        .removedRecords, .removedIndexes, .space,
      ])
    store.close()
  }

  @Test func receiptsAreForgottenTheDayAfterTheyExpire() throws {
    let harness = Harness()
    let claim = UploadGrant(
      container: "iCloud.test", environment: .development, user: "_alice", recordName: "r", fieldName: "f",
      expires: harness.now)
    for round in 0..<2 {
      let now = harness.now
      let receipt = try harness.write { transaction in
        var random = SplitMix64(seed: UInt64(round))
        var fresh = claim
        fresh.expires = now
        return try Service().acceptUpload(
          for: fresh, checksum: "s", size: 1, in: transaction, now: now, random: &random)
      }
      func isKept() throws -> Bool { try harness.write { try $0.entity(.receipt, key: receipt.receipt) != nil } }
      try compact(harness)
      #expect(try isKept())
      harness.now = harness.now + Limits.receiptAge + .seconds(86_400)
      try compact(harness)
      #expect(try !isKept())
    }
  }

  @Test func aRestoredStoreExpiresEveryTokenAndGivesNoNumberAgain() throws {
    // C29
    let harness = try Harness.withZone()
    let first = try harness.modify(.create("r")).record!
    let (zone, database) = (try harness.page().syncToken, try harness.databaseChanges().syncToken)
    try restore(harness)
    let request = ZoneChangesRequest(zone: Harness.diary, syncToken: zone)
    #expect(try harness.failure(.recordsChanges(request)) == .changeTokenExpired)
    #expect(
      try harness.failure(.changesDatabase(DatabaseChangesRequest(syncToken: database))) == .changeTokenExpired)
    // The record that the backup holds keeps its tag; tags that came after the backup are never given again.
    #expect(try harness.page().records.map(\.record) == [first])
    let next = try harness.modify(.update("r", tag: first.tag)).record!
    #expect(next.tag.sequence! > 1 << 32)
    #expect(try harness.page(harness.page().syncToken).records.isEmpty)
  }

  private func restore(_ harness: Harness, seed: UInt64 = 99) throws {
    let now = harness.now
    try harness.write { transaction in
      var random = SplitMix64(seed: seed)
      try Service().renewIncarnations(in: transaction, now: now, random: &random)
    }
  }

  /// The same backup is put back, a change is made, and after `pause` the backup is put back once more: tags of the
  /// first time fit nothing of the second.
  @Test(arguments: [.milliseconds(1), .seconds(86_400), .zero, .seconds(-86_400)] as [Duration])
  func aBackupThatIsRestoredAgainGivesNoNumberAgain(pause: Duration) throws {
    func restored(_ round: UInt64) throws -> (harness: Harness, tags: [ChangeTag]) {
      let harness = try Harness.withZone()
      _ = try harness.modify(.create("r"))
      if round == 2 { harness.now = harness.now + pause }
      try restore(harness, seed: round)
      return (harness, try (0..<3).map { _ in try #require(try harness.modify(.force("r")).record).tag })
    }
    let (first, second) = (try restored(1), try restored(2))
    #expect(Set(first.tags).isDisjoint(with: second.tags))
    for tag in first.tags { #expect(try second.harness.modify(.update("r", tag: tag)).code == .conflict) }
    // Numbers are left for many more.
    for round in 3...200 { try restore(second.harness, seed: UInt64(round)) }
    let last = try #require(try second.harness.modify(.force("r")).record).tag.sequence
    #expect(try #require(last) < Int64.max / 2)
  }
}
