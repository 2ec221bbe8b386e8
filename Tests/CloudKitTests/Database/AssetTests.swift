import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

struct AssetTests {
  let server: TestServer
  let device: TestDevice
  var database: CKDatabase { device.database }
  let zone = CKRecordZone.ID(zoneName: "Photos")

  init() async throws {
    server = try TestServer()
    device = try server.device()
    _ = try await device.database.save(CKRecordZone(zoneID: zone))
  }

  private func photo(_ name: String, _ files: URL...) -> CKRecord {
    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["title"] = name
    if files.count == 1 { record["file"] = CKAsset(fileURL: files[0]) }
    if files.count > 1 { record["files"] = files.map { CKAsset(fileURL: $0) } }
    return record
  }

  private func bytes(_ asset: CKAsset?) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: try #require(asset?.fileURL)))
  }

  @Test func bytesComeBackAndTheUsersFileStaysWhereItIs() async throws {
    let file = try server.folder.file("a", Array("picture".utf8))
    let record = photo("a", file)
    _ = try await database.save(record)
    #expect((record["file"] as? CKAsset)?.fileURL == file)
    let fetched = try await database.record(for: record.recordID)
    let asset = fetched["file"] as? CKAsset
    #expect(try bytes(asset) == Array("picture".utf8))
    #expect(asset?.fileURL?.path.hasPrefix(device.home.path + "/cache/") == true)
  }

  @Test func listsOfAssetsKeepTheirOrder() async throws {
    let files = try (0..<6).map { try server.folder.file("f\($0)", [UInt8($0), 7]) }
    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "list", zoneID: zone))
    record["files"] = files.map { CKAsset(fileURL: $0) }
    _ = try await database.save(record)
    let fetched = try await database.record(for: record.recordID)
    let assets = try #require(fetched["files"] as? [CKAsset])
    #expect(try assets.map { try bytes($0) } == (0..<6).map { [UInt8($0), 7] })
  }

  @Test func emptyFilesAreAssetsToo() async throws {
    let record = photo("empty", try server.folder.file("empty"))
    _ = try await database.save(record)
    #expect(try bytes(try await database.record(for: record.recordID)["file"] as? CKAsset) == [])
  }

  // C59
  @Test func overlappingSavesEachKeepTheirFiles() async throws {
    func records(_ side: String) throws -> [CKRecord] {
      try (0..<5).map { photo("\(side)\($0)", try server.folder.file("\(side)\($0)", Array("\(side)\($0)".utf8))) }
    }
    let (left, right) = (try records("l"), try records("r"))
    async let first = database.modifyRecords(saving: left, deleting: [])
    async let second = database.modifyRecords(saving: right, deleting: [])
    _ = try await (first, second)
    for record in left + right {
      let fetched = try await database.record(for: record.recordID)
      #expect(try bytes(fetched["file"] as? CKAsset) == Array(record.recordID.recordName.utf8))
    }
  }

  @Test func moreFilesThanMayBeOpenAreSent() async throws {
    let records = try (0..<250).map { photo("p\($0)", try server.folder.file("p\($0)", [UInt8($0 % 256)])) }
    let results = try await database.modifyRecords(saving: records, deleting: [])
    #expect(results.saveResults.values.allSatisfy { (try? $0.get()) != nil })
  }

  // C59
  @Test func fileMayBeMovedAsSoonAsTheCallReturned() async throws {
    let file = try server.folder.file("moved", Array("still here".utf8))
    let record = photo("moved", file)
    let error = await withCheckedContinuation { continuation in
      database.save(record) { _, error in continuation.resume(returning: error) }
      unlink(file.path)
    }
    #expect(error == nil)
    let fetched = try await database.record(for: record.recordID)
    #expect(try bytes(fetched["file"] as? CKAsset) == Array("still here".utf8))
  }

  @Test func missingFileFailsItsRecordAndItsAtomicBatch() async throws {
    let lost = photo("lost", URL(fileURLWithPath: server.folder.path + "/none"))
    let fine = photo("fine")
    var results = try await database.modifyRecords(saving: [lost, fine], deleting: [])
    #expect(code(of: results.saveResults[lost.recordID]) == .assetFileNotFound)
    #expect(code(of: results.saveResults[fine.recordID]) == .batchRequestFailed)
    #expect(device.network.count("records/modify") == 0)
    results = try await database.modifyRecords(saving: [lost, fine], deleting: [], atomically: false)
    #expect(code(of: results.saveResults[lost.recordID]) == .assetFileNotFound)
    #expect(code(of: results.saveResults[fine.recordID]) == nil)
  }

  @Test func fileThatChangesDuringTheUploadFailsItsRecord() async throws {
    let file = try server.folder.file("changing", Array("before".utf8))
    let record = photo("changing", file)
    device.network.before { request in
      // In the same file, after it was opened: another file of the same name would do no harm.
      if request.url.contains("/upload") { try? Data("after, longer".utf8).write(to: file) }
    }
    #expect(await code { _ = try await database.save(record) } == .assetFileModified)
    #expect(device.network.count("records/modify") == 0)
  }

  // C62
  @Test func assetsLeftOutAreNotDownloadedAndThoseHeldAreNotDownloadedAgain() async throws {
    let record = photo("a", try server.folder.file("a", size: 100_000, seed: 1))
    _ = try await database.save(record)
    _ = try await database.save(photo("b", try server.folder.file("b", size: 100_000, seed: 2)))
    let reader = try await device.joined(as: "laptop")

    let changes = try await reader.database.recordZoneChanges(inZoneWith: zone, since: nil, desiredKeys: ["title"])
    #expect(changes.modificationResultsByID.count == 2)
    #expect(reader.network.count("/download/") == 0)

    let one = try await reader.database.record(for: record.recordID)
    #expect(reader.network.count("/download/") == 1)
    let cached = try #require((one["file"] as? CKAsset)?.fileURL)

    // Another field: no bytes of the asset in either direction.
    record["title"] = "renamed"
    device.network.forget()
    _ = try await database.save(record)
    #expect(device.network.count("upload") == 0)
    let again = try await reader.database.record(for: record.recordID)
    #expect(again["title"] as? String == "renamed")
    #expect((again["file"] as? CKAsset)?.fileURL == cached)
    #expect(reader.network.count("/download/") == 1)

    // Taken away by the app: still there under the name that is the cache's own.
    let before = try Data(contentsOf: cached)
    unlink(cached.path)
    _ = try await reader.database.record(for: record.recordID)
    #expect(reader.network.count("/download/") == 1)
    #expect(try Data(contentsOf: cached) == before)

    // Evicted: fetched again, and the same.
    try FileManager.default.removeItem(at: cached.deletingLastPathComponent())
    _ = try await reader.database.record(for: record.recordID)
    #expect(reader.network.count("/download/") == 2)
    #expect(try Data(contentsOf: cached) == before)
  }

  @Test func filesThatNobodyAskedForInAWeekLeaveTheCache() async throws {
    let cache = device.home.path + "/cache/iCloud.test"
    try FileManager.default.createDirectory(atPath: cache, withIntermediateDirectories: true)
    for (name, days) in [("old", 8.0), ("young", 6.0)] {
      let path = cache + "/" + name
      try Data([1]).write(to: URL(fileURLWithPath: path))
      let used = Date().addingTimeInterval(-days * 86_400)
      try FileManager.default.setAttributes([.modificationDate: used], ofItemAtPath: path)
    }
    _ = try await database.save(photo("a", try server.folder.file("a", [1, 2])))
    _ = try await database.record(for: photo("a").recordID)
    let names = try FileManager.default.contentsOfDirectory(atPath: cache)
    #expect(!names.contains("old"))
    #expect(names.contains("young"))
    // The asset's file, once for the cache and once for the record.
    #expect(names.count == 3)
  }

  // C62
  @Test func downloadThatArrivesDamagedIsNotKept() async throws {
    let record = photo("a", try server.folder.file("a", Array("picture".utf8)))
    _ = try await database.save(record)
    try device.emptyCache()
    device.network.replaceAnswers { path, answer in
      var answer = answer
      if path.contains("/download/") { answer.body[0] ^= 1 }
      return answer
    }
    #expect(await code { _ = try await database.record(for: record.recordID) } == .assetNotAvailable)
    device.network.replaceAnswers(nil)
    let fetched = try await database.record(for: record.recordID)
    #expect(try bytes(fetched["file"] as? CKAsset) == Array("picture".utf8))
    let cache = device.home.path + "/cache/iCloud.test"
    #expect(try FileManager.default.contentsOfDirectory(atPath: cache).allSatisfy { !$0.hasSuffix(".part") })
  }

  @Test func oneRecordsFailedDownloadLeavesTheOthersAlone() async throws {
    _ = try await database.save(photo("a", try server.folder.file("a", [1])))
    _ = try await database.save(photo("b"))
    try device.emptyCache()
    device.network.replaceAnswers { path, answer in
      path.contains("/download/") ? TransportResponse(status: 410) : answer
    }
    let changes = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
    #expect(code(of: changes.modificationResultsByID[photo("a").recordID]) == .assetNotAvailable)
    #expect(code(of: changes.modificationResultsByID[photo("b").recordID]) == nil)
  }

  // C64
  @Test func clearedAssetIsGoneForOthersAndNotSentAgain() async throws {
    let record = photo("a", try server.folder.file("a", [1, 2]))
    _ = try await database.save(record)
    let reader = try await device.joined(as: "laptop")
    let theirs = try await reader.database.record(for: record.recordID)
    #expect(theirs["file"] is CKAsset)
    record["file"] = nil
    _ = try await database.save(record)
    let cleared = try await reader.database.record(for: record.recordID)
    #expect(cleared["file"] == nil)
    #expect(cleared.allKeys() == ["title"])
    cleared["title"] = "edited there"
    _ = try await reader.database.save(cleared)
    #expect(reader.network.count("upload") == 0)
    #expect(try await database.record(for: record.recordID)["file"] == nil)
  }

  // C96
  @Test func lostAnswersOfEitherStepLeaveOneAssetAndNoBrokenRecord() async throws {
    let record = photo("a", try server.folder.file("a", [1, 2, 3]))
    for part in ["assets/upload", "/assets/1/upload", "records/modify"] {
      device.network.before { [network = device.network] request in
        if request.url.contains(part) { network.loseAnswers() }
      }
      #expect(await code { _ = try await database.save(record) } != nil, "\(part)")
      device.network.before(nil)
    }
    // The last one took effect: its record points to its bytes.
    let fetched = try await database.record(for: record.recordID)
    #expect(try bytes(fetched["file"] as? CKAsset) == [1, 2, 3])
  }

  @Test func unchangedAssetsAreNotSentAgainByOverwritingSaves() async throws {
    let record = photo("a", try server.folder.file("a", [1, 2, 3]))
    _ = try await database.save(record)
    let fetched = try await database.record(for: record.recordID)
    device.network.forget()
    fetched["title"] = "x"
    _ = try await database.modifyRecords(saving: [fetched], deleting: [], savePolicy: .allKeys)
      .saveResults[fetched.recordID]?.get()
    #expect(device.network.count("upload") == 0)
    #expect(try bytes(try await database.record(for: record.recordID)["file"] as? CKAsset) == [1, 2, 3])
  }
}
