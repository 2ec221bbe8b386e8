import CloudKit
import CloudKitMerge
import Foundation
import Testing

@testable import VirgaCloudKit

/// Merges of what a device knows by more than its values: files of assets, and values that it cannot read.
@Suite struct ConflictAssetTests {
  let server: TestServer
  let phone: TestDevice
  let zone = CKRecordZone(zoneName: "Notes")
  var id: CKRecord.ID { CKRecord.ID(recordName: "a", zoneID: zone.zoneID) }

  init() async throws {
    server = try TestServer()
    phone = try server.device()
    _ = try await phone.database.save(zone)
  }

  private func asset(_ content: String) throws -> CKAsset {
    CKAsset(fileURL: try server.folder.file("\(content) \(UUID().uuidString)", Array(content.utf8)))
  }

  private func content(_ record: CKRecord, _ key: String = "photo") throws -> String? {
    try (record[key] as? CKAsset)?.fileURL.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
  }

  /// A record that the phone has saved, and what another device has made of it.
  private func conflict(
    on record: CKRecord, _ others: (CKRecord) throws -> Void, mine: (CKRecord) throws -> Void
  ) async throws -> CKRecord {
    _ = try await phone.database.save(record)
    let other = try await phone.joined(as: "tablet").database
    let theirs = try await other.record(for: id)
    try others(theirs)
    _ = try await other.save(theirs)
    try mine(record)
    return record
  }

  private func note(_ values: [String: any CKRecordValue]) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: id)
    for (key, value) in values { record[key] = value }
    return record
  }

  @Test func undoLeavesAPhotoAloneWhoseOldFileIsNotAtHand() async throws {
    let mine = try asset("mine")
    let record = try await conflict(on: note(["photo": try asset("first"), "title": "a"])) {
      $0["photo"] = try asset("theirs")
      $0["title"] = "theirs"
    } mine: {
      $0["photo"] = mine
      $0["title"] = "mine"
    }
    var journal = ConflictJournal()
    let merger = ConflictMerger(policy: try MergePolicy(default: .preferServer), device: "phone")
    let before = record.snapshot().record
    let saved = try await merger.save(record, in: phone.database) { journal.note($0.outcome, at: Date()) }
    let entry = try #require(journal.entries.first).id
    #expect(journal.undo(entry, in: saved) == ["photo"])
    #expect(saved["title"] as? String == "mine" && saved.changedKeys() == ["title"] && !journal.entries[0].isUndone)
    _ = try await phone.database.save(saved)
    #expect(try content(try await phone.database.record(for: id)) == "theirs")
    // With the record of before the merge its photo comes back.
    #expect(journal.undo(entry, in: saved, assetsFrom: [before]) == [] && journal.entries[0].isUndone)
    _ = try await phone.database.save(saved)
    #expect(try content(try await phone.database.record(for: id)) == "mine")
  }

  /// What was encrypted comes back encrypted, though the field was gone.
  @Test func undoPutsNoEncryptedValueInTheClear() async throws {
    let first = note([:])
    first.encryptedValues["secret"] = "first"
    let record = try await conflict(on: first) {
      $0.encryptedValues["secret"] = nil
    } mine: {
      $0.encryptedValues["secret"] = "mine"
    }
    var journal = ConflictJournal()
    let merger = ConflictMerger(policy: try MergePolicy(default: .preferServer), device: "phone")
    let saved = try await merger.save(record, in: phone.database) { journal.note($0.outcome, at: Date()) }
    #expect(saved.encryptedValues["secret"] == nil)
    #expect(journal.undo(try #require(journal.entries.first).id, in: saved) == [])
    #expect(saved["secret"] == nil && saved.encryptedValues["secret"] as? String == "mine")
  }

  @Test func undoPutsTheParentBack() async throws {
    let parents = ["one", "two", "three"].map { name in
      CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
    }
    _ = try await phone.database.modifyRecords(saving: parents, deleting: [])
    let first = note([:])
    first.setParent(parents[0])
    let record = try await conflict(on: first) {
      $0.setParent(parents[1])
    } mine: {
      $0.setParent(parents[2])
    }
    var journal = ConflictJournal()
    let merger = ConflictMerger(policy: try MergePolicy(default: .preferServer), device: "phone")
    let saved = try await merger.save(record, in: phone.database) { journal.note($0.outcome, at: Date()) }
    #expect(saved.parent?.recordID.recordName == "two")
    #expect(journal.undo(try #require(journal.entries.first).id, in: saved) == [])
    #expect(saved.parent?.recordID.recordName == "three" && saved.changedKeys().isEmpty)
    _ = try await phone.database.save(saved)
    #expect(try await phone.database.record(for: id).parent?.recordID.recordName == "three")
  }

  @Test(arguments: [true, false]) func forkHasThePhotoOrSaysThatItLacksIt(isFileThere: Bool) async throws {
    let photo = try asset("photo")
    let record = try await conflict(on: note(["photo": photo, "text": "one"])) {
      $0["text"] = "uno"
    } mine: {
      $0["text"] = "eins"
    }
    if !isFileThere {
      try FileManager.default.removeItem(at: try #require(photo.fileURL))
      try phone.emptyCache()
    }
    let policy = try MergePolicy(default: .preferServer) { Field("text").text(orElse: .fork) }
    var forks: [CKRecord] = []
    var missing: [CKRecord.ID: [String]] = [:]
    _ = try await ConflictMerger(policy: policy, device: "phone").save(record, in: phone.database) {
      forks = $0.forks
      missing = $0.fieldsLeftOut
    }
    let fork = try await phone.database.record(for: try #require(forks.first).recordID)
    #expect(fork["text"] as? String == "eins")
    #expect(try content(fork) == (isFileThere ? "photo" : nil))
    #expect(missing == (isFileThere ? [:] : [fork.recordID: ["photo"]]))
    #expect(try content(try await phone.database.record(for: id)) == "photo")
  }

  /// Values that move together, of which one side has changed the text alone.
  @Test(arguments: [true, false]) func unchangedPhotoIsNotSentAgain(isWholeRecord: Bool) async throws {
    let record = try await conflict(on: note(["photo": try asset("photo"), "text": "one", "other": 1])) {
      $0["other"] = 2
      if isWholeRecord { $0["text"] = "uno" }
    } mine: {
      $0["text"] = "eins"
    }
    try FileManager.default.removeItem(at: try #require((record["photo"] as? CKAsset)?.fileURL))
    try phone.emptyCache()
    let policy = try MergePolicy(default: .preferServer) {
      if isWholeRecord { WholeRecord().preferMine() } else { Field("photo", "text").preferMine() }
    }
    phone.network.forget()
    let saved = try await ConflictMerger(policy: policy, device: "phone").save(record, in: phone.database)
    #expect(saved["text"] as? String == "eins" && saved.changedKeys().isEmpty)
    #expect(phone.network.count("assets/upload") == 0)
    #expect(try content(try await phone.database.record(for: id)) == "photo")
  }

  /// The other device has put another photo in, and mine wins as a whole: the server still has the one of before.
  @Test func photoThatIsGoneFromThisDeviceComesBackFromTheServersVersions() async throws {
    let record = try await conflict(on: note(["photo": try asset("photo"), "text": "one"])) {
      $0["photo"] = try asset("theirs")
      $0["text"] = "uno"
    } mine: {
      $0["text"] = "eins"
    }
    try FileManager.default.removeItem(at: try #require((record["photo"] as? CKAsset)?.fileURL))
    try phone.emptyCache()
    let policy = try MergePolicy(default: .preferServer) { WholeRecord().preferMine() }
    _ = try await ConflictMerger(policy: policy, device: "phone").save(record, in: phone.database)
    let found = try await phone.database.record(for: id)
    #expect(try content(found) == "photo" && found["text"] as? String == "eins")
  }

  /// Photos that wait for their upload are different ones, though nothing is known of their bytes yet.
  @Test func newPhotosOfBothSidesAreInTheSet() async throws {
    let record = try await conflict(on: note(["title": "a"])) {
      $0["photos"] = [try asset("theirs")]
    } mine: {
      $0["photos"] = [try asset("one"), try asset("two")]
    }
    let policy = try MergePolicy(default: .preferServer) { Field("photos").set() }
    _ = try await ConflictMerger(policy: policy, device: "phone").save(record, in: phone.database)
    let photos = try await phone.database.record(for: id)["photos"] as? [CKAsset]
    let contents = try photos?.compactMap(\.fileURL).map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
    #expect(contents?.sorted() == ["one", "theirs", "two"])
  }

  /// A device without the key carries what it cannot read.
  @Test func valueWithoutItsKeyIsNeitherDeletedNorForked() async throws {
    let first = note(["text": "one"])
    first.encryptedValues["secret"] = "first"
    _ = try await phone.database.save(first)
    let tablet = try await phone.joined(as: "tablet")
    try tablet.forgetKeys()
    try await server.forgetKeys("grant")
    let poor = tablet.restarted()
    let mine = try await poor.database.record(for: id)
    #expect(mine.encryptedValueState(forKey: "secret") == .keyMissing)
    let theirs = try await phone.database.record(for: id)
    theirs["text"] = "uno"
    theirs["other"] = 2
    _ = try await phone.database.save(theirs)
    mine["text"] = "eins"
    let policy = try MergePolicy(default: .preferServer) { Field("text", "secret").preferMine() }
    _ = try await ConflictMerger(policy: policy, device: "tablet").save(mine, in: poor.database)
    let merged = try await phone.database.record(for: id)
    #expect(merged.encryptedValues["secret"] as? String == "first" && merged["text"] as? String == "eins")
    // A fork is another record, in which the value would not open.
    let old = mine.snapshot().record
    merged["text"] = "dos"
    _ = try await phone.database.save(merged)
    old["text"] = "zwei"
    let forking = try MergePolicy(default: .preferServer) { Field("text").fork() }
    var forks: [MergedRecord] = []
    _ = try await ConflictMerger(policy: forking, device: "tablet").save(old, in: poor.database) { forks.append($0) }
    let fork = try #require(forks.first?.forks.first)
    #expect(forks.first?.fieldsLeftOut == [fork.recordID: ["secret"]])
    #expect(try await phone.database.record(for: fork.recordID)["text"] as? String == "zwei")
    #expect(try await phone.database.record(for: id).encryptedValues["secret"] as? String == "first")
  }
}
