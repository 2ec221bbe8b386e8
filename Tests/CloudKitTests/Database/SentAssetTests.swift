import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

/// A device's own assets come back to it from its own disk.
struct SentAssetTests {
  let server: TestServer
  let device: TestDevice
  let picture = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
  let recordID = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Photos"))
  let file: URL
  private var cache: String { device.home.path + "/cache/iCloud.test" }

  init() async throws {
    server = try TestServer()
    device = try server.device()
    file = try server.folder.file("a", picture)
    // Older than what the cache keeps: the app's file is as old as the app's photo is.
    let old = Date().addingTimeInterval(-1_000 * 86_400)
    try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: file.path)
    _ = try await device.database.save(CKRecordZone(zoneID: recordID.zoneID))
    let record = CKRecord(recordType: "Photo", recordID: recordID)
    record["file"] = CKAsset(fileURL: file)
    _ = try await device.database.save(record)
    device.network.forget()
  }

  /// What the device's change feed brings, as a sync engine reads it.
  private func fetched(_ device: TestDevice) async throws -> CKAsset {
    let changes = try await device.database.recordZoneChanges(inZoneWith: recordID.zoneID, since: nil)
    let record = try #require(try changes.modificationResultsByID[recordID]?.get().record)
    return try #require(record["file"] as? CKAsset)
  }

  private func bytes(_ asset: CKAsset) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: try #require(asset.fileURL)))
  }

  private func inode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int)
  }

  enum Fate: CaseIterable { case stays, isDeleted, isMoved, isReplaced, isOverwritten, isCutShort }

  /// Whatever the app has done to its file since, the asset has the bytes that were sent.
  @Test(arguments: Fate.allCases, [false, true])
  func whatWasSentIsNotFetched(fate: Fate, afterALaunch: Bool) async throws {
    switch fate {
    case .stays: break
    case .isDeleted: try FileManager.default.removeItem(at: file)
    case .isMoved: try FileManager.default.moveItem(at: file, to: file.appendingPathExtension("kept"))
    case .isReplaced: try Data(repeating: 9, count: picture.count).write(to: file, options: .atomic)
    case .isOverwritten, .isCutShort:
      let handle = try FileHandle(forWritingTo: file)
      try handle.write(contentsOf: Data([255, 254, 253]))
      if fate == .isCutShort { try handle.truncate(atOffset: 3) }
      try handle.close()
    }
    let reader = afterALaunch ? device.restarted() : device
    for _ in 0..<2 { #expect(try bytes(try await fetched(reader)) == picture) }
    // The network is asked only where the bytes are on this disk no more.
    let isGone = fate == .isOverwritten || fate == .isCutShort
    #expect(reader.network.count("/download/") == (isGone ? 1 : 0))
    let names = try FileManager.default.contentsOfDirectory(atPath: cache)
    #expect(names.allSatisfy { !$0.hasSuffix(".part") && !$0.hasSuffix(".sent") } && names.count == 2)
  }

  /// Until it is fetched back the file lies on the disk once, and an app that removes its own never pays for another.
  @Test func theBytesLieOnTheDiskOnce() async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: cache)
    #expect(try names.map { try inode(cache + "/" + $0) } == [try inode(file.path)])
    let number = try inode(file.path)
    try FileManager.default.removeItem(at: file)
    let asset = try await fetched(device)
    #expect(try inode(try #require(asset.fileURL).path) == number)
  }

  /// The app's file and the fetched one are two: what is written into one is not in the other.
  @Test func theFetchedFileIsNotTheApps() async throws {
    let asset = try await fetched(device)
    let handle = try FileHandle(forWritingTo: file)
    try handle.write(contentsOf: Data([255]))
    try handle.close()
    #expect(try bytes(asset) == picture)
    #expect(try Data(contentsOf: file).first == 255)
    let times = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(times[.size] as? Int == picture.count)
  }

  /// Where the cache cannot take a name of the app's file, it takes a copy.
  @Test func aFileOnAnotherDiskIsCopied() async throws {
    let memory = "/dev/shm/virga-\(UUID().uuidString)"
    guard FileManager.default.createFile(atPath: memory, contents: Data([1, 2, 3])) else { return }
    defer { try? FileManager.default.removeItem(atPath: memory) }
    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "b", zoneID: recordID.zoneID))
    record["file"] = CKAsset(fileURL: URL(fileURLWithPath: memory))
    _ = try await device.database.save(record)
    let back = try await device.database.record(for: record.recordID)["file"] as? CKAsset
    #expect(try bytes(try #require(back)) == [1, 2, 3])
    #expect(device.network.count("/download/") == 0)
  }

  /// Records in one page with the same bytes all get theirs.
  @Test func manyAssetsWithTheSameBytesAreServedByOneFile() async throws {
    var ids: [CKRecord.ID] = []
    for number in 0..<12 {
      let record = CKRecord(
        recordType: "Photo", recordID: CKRecord.ID(recordName: "n\(number)", zoneID: recordID.zoneID))
      record["file"] = CKAsset(fileURL: file)
      _ = try await device.database.save(record)
      ids.append(record.recordID)
    }
    try FileManager.default.removeItem(at: file)
    for (_, result) in try await device.database.records(for: ids) {
      #expect(try bytes(try #require(try result.get()["file"] as? CKAsset)) == picture)
    }
    #expect(device.network.count("/download/") == 0)
  }
}

/// What leaves the cache of assets, and when.
struct CacheTrimmingTests {
  private let folder: TemporaryFolder
  private let now = Date()

  init() throws { folder = try TemporaryFolder() }

  private func file(_ name: String, kilobytes: Int, hoursAgo: Double) throws {
    let url = try folder.file(name, [UInt8](repeating: 1, count: kilobytes << 10))
    let used = now.addingTimeInterval(-hoursAgo * 3_600)
    try FileManager.default.setAttributes([.modificationDate: used], ofItemAtPath: url.path)
  }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
  }

  @Test func theOldestLeaveWhenAllAreTooLarge() throws {
    for (name, hours) in [("a", 4.0), ("b", 2), ("c", 3), ("d", 0.5)] {
      try file(name, kilobytes: 100, hoursAgo: hours)
    }
    // A second name takes no space, and goes with the first.
    link(folder.path + "/a", folder.path + "/a.own")
    var trimming = CacheTrimming()
    trimming.trim(folder.path, at: now)
    #expect(try names == ["a", "a.own", "b", "c", "d"])
    trimming.bytesMax = 300 << 10
    trimming.trim(folder.path, at: now)
    #expect(try names == ["b", "c", "d"])
    // What was asked for lately stays, however little there may be.
    trimming.bytesMax = 1
    trimming.trim(folder.path, at: now)
    #expect(try names == ["d"])
  }

  @Test(arguments: [(167.0, true), (169.0, false)])
  func whatNobodyAskedForInAWeekLeaves(hours: Double, stays: Bool) throws {
    try file("a", kilobytes: 1, hoursAgo: hours)
    CacheTrimming().trim(folder.path, at: now)
    #expect(try names == (stays ? ["a"] : []))
  }

  /// A program that runs for weeks looks again and again, and not with each file.
  @Test func theCacheIsTrimmedWhileItIsUsed() throws {
    let trimming = CacheTrimming()
    trimming.trimIfDue(folder.path, at: now)
    try file("old", kilobytes: 1, hoursAgo: 200)
    trimming.trimIfDue(folder.path, at: now.addingTimeInterval(599))
    #expect(try names == ["old"])
    trimming.trimIfDue(folder.path, at: now.addingTimeInterval(601))
    #expect(try names == [])
    // A clock that was set back.
    try file("old", kilobytes: 1, hoursAgo: 400)
    trimming.trimIfDue(folder.path, at: now.addingTimeInterval(-7_200))
    #expect(try names == [])
  }

  /// A file of the app's is not the cache's to weigh, and its age is not that of the photo.
  @Test func filesOfTheAppWeighNothing() throws {
    let photos = try TemporaryFolder()
    let photo = try photos.file("photo", [UInt8](repeating: 1, count: 100 << 10))
    let taken = now.addingTimeInterval(-9_000 * 3_600)
    try FileManager.default.setAttributes([.modificationDate: taken], ofItemAtPath: photo.path)
    link(photo.path, folder.path + "/x" + CacheTrimming.sentSuffix)
    var trimming = CacheTrimming()
    trimming.bytesMax = 1
    trimming.trim(folder.path, at: Date())
    #expect(try names == ["x.sent"])
    trimming.trim(folder.path, at: Date().addingTimeInterval(8 * 86_400))
    #expect(try names == [] && FileManager.default.fileExists(atPath: photo.path))
  }
}
