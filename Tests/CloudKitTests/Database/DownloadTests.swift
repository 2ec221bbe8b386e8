import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaCloudKit

/// Downloads that do not go well.
struct DownloadTests {
  let server: TestServer
  let device: TestDevice
  let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
  let recordID = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Photos"))
  var database: CKDatabase { device.database }
  var network: TestNetwork { device.network }
  var cache: String { device.home.path + "/cache/iCloud.test" }

  init() async throws {
    server = try TestServer()
    device = try server.device()
    _ = try await device.database.save(CKRecordZone(zoneID: recordID.zoneID))
    let record = CKRecord(recordType: "Photo", recordID: recordID)
    record["file"] = CKAsset(fileURL: try server.folder.file("a", bytes))
    _ = try await device.database.save(record)
    try device.emptyCache()
    device.network.forget()
  }

  private func fetched() async throws -> [UInt8] {
    let asset = try await database.record(for: recordID)["file"] as? CKAsset
    return [UInt8](try Data(contentsOf: try #require(asset?.fileURL)))
  }

  private var ranges: [String?] { network.requests(to: "/download/").map(\.range) }
  /// The files of the cache, without the names that assets have for them.
  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: cache).sorted().filter {
      !$0.contains(#/^[0-9a-f]{64}\.[0-9a-f]{32}$/#)
    }
  }

  @Test func brokenTransferGoesOnWhereItStopped() async throws {
    network.cutDownloads(afterBytes: 30_000, 20_000)
    #expect(try await fetched() == bytes)
    #expect(ranges == [nil, "bytes=30000-", "bytes=50000-"])
    #expect(try names().count == 1)
  }

  /// Each asset's file is its own to move or delete, though others have the same bytes.
  @Test func fileThatIsMovedAwayIsMissedByNoOtherAsset() async throws {
    let other = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "b", zoneID: recordID.zoneID))
    other["file"] = CKAsset(fileURL: try server.folder.file("b", bytes))
    other["list"] = [
      CKAsset(fileURL: try server.folder.file("c", bytes)), CKAsset(fileURL: try server.folder.file("d", bytes)),
    ]
    _ = try await database.save(other)
    let found = try await database.records(for: [recordID, other.recordID])
    let (first, second) = (try #require(try found[recordID]?.get()), try #require(try found[other.recordID]?.get()))
    let assets = [first["file"] as? CKAsset, second["file"] as? CKAsset] + (second["list"] as? [CKAsset] ?? [])
    let urls = assets.compactMap { $0?.fileURL }
    #expect(Set(urls).count == 4)
    #expect(network.count("/download/") <= 4)
    let kept = server.folder.path + "/kept"
    for (number, url) in urls.enumerated() {
      #expect([UInt8](try Data(contentsOf: url)) == bytes)
      try FileManager.default.moveItem(atPath: url.path, toPath: kept + "\(number)")
    }
    network.forget()
    #expect(try await fetched() == bytes)
    #expect(network.count("/download/") == 0)
    #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: kept + "0"))) == bytes)
    // The name stays the same, and with it what is in the cache.
    let again = try await database.record(for: recordID)["file"] as? CKAsset
    #expect(again?.fileURL == urls[0])
  }

  @Test func transferThatBringsNothingIsNotTriedAgain() async throws {
    network.cutDownloads(afterBytes: 30_000, 0)
    #expect(await code { _ = try await fetched() } == .networkFailure)
    #expect(ranges == [nil, "bytes=30000-"])
  }

  @Test func nextFetchGoesOnWhenTheNetworkIsBack() async throws {
    network.cutDownloads(afterBytes: 30_000, 0)
    _ = await code { _ = try await fetched() }
    #expect(try names().allSatisfy { $0.hasSuffix(".part") })
    network.forget()
    #expect(try await fetched() == bytes)
    #expect(ranges == ["bytes=30000-"])
    #expect(try names().allSatisfy { !$0.hasSuffix(".part") })
  }

  @Test func damagedBeginningIsFoundByTheChecksumAndFetchedAnew() async throws {
    network.cutDownloads(afterBytes: 30_000, 0)
    _ = await code { _ = try await fetched() }
    let part = try #require(try names().first)
    try Data(repeating: 0, count: 500).write(to: URL(fileURLWithPath: "\(cache)/\(part)"))
    network.forget()
    #expect(try await fetched() == bytes)
    #expect(ranges == ["bytes=500-", nil])
  }

  @Test func beginningThatIsTooLongIsNotUsed() async throws {
    network.cutDownloads(afterBytes: 30_000, 0)
    _ = await code { _ = try await fetched() }
    let part = try #require(try names().first)
    try Data(repeating: 0, count: bytes.count + 1).write(to: URL(fileURLWithPath: "\(cache)/\(part)"))
    network.forget()
    #expect(try await fetched() == bytes)
    #expect(ranges == [nil])
  }

  /// Or every further fetch would fail in the same way.
  @Test func beginningIsGivenUpWhenTheServiceSendsAnotherPart() async throws {
    network.cutDownloads(afterBytes: 30_000, 0)
    _ = await code { _ = try await fetched() }
    network.replaceAnswers { _, answer in
      guard answer.status == 206 else { return answer }
      return TransportResponse(status: 206, headers: [("Content-Range", "bytes 0-9/100000")], body: answer.body)
    }
    #expect(await code { _ = try await fetched() } == .networkFailure)
    #expect(try names() == [])
    #expect(try await fetched() == bytes)
  }

  @Test func fewTransfersOfOneCallRunAtOnce() async throws {
    let running = Mutex((now: 0, most: 0))
    let records = try (0..<30).map { number in
      let id = CKRecord.ID(recordName: "many\(number)", zoneID: recordID.zoneID)
      let record = CKRecord(recordType: "Photo", recordID: id)
      record["file"] = CKAsset(fileURL: try server.folder.file("many\(number)", Array("number \(number)".utf8)))
      return record
    }
    network.before { request in
      guard request.url.contains("/assets/1/") else { return }
      running.withLock { running in
        running.now += 1
        running.most = max(running.most, running.now)
      }
      for _ in 0..<10 { await Task.yield() }
    }
    network.replaceAnswers { path, answer in
      if path.contains("/assets/1/") { running.withLock { $0.now -= 1 } }
      return answer
    }
    _ = try await database.modifyRecords(saving: records, deleting: [])
    let atOnce = 2...AssetStore.parallelTransfers
    #expect(atOnce.contains(running.withLock { $0.most }))
    running.withLock { $0.most = 0 }
    try device.emptyCache()
    let found = try await database.records(for: records.map(\.recordID))
    #expect(found.values.allSatisfy { (try? $0.get()) != nil })
    #expect(atOnce.contains(running.withLock { $0.most }))
    #expect(running.withLock { $0.now } == 0)
  }

  @Test func serviceThatSendsMoreThanTheAssetHasIsStopped() async throws {
    network.replaceAnswers { path, answer in
      var answer = answer
      if path.contains("/download/") { answer.body += [1, 2, 3] }
      return answer
    }
    #expect(await code { _ = try await fetched() } == .networkFailure)
    #expect(try names() == [])
  }

  @Test func expiredAddressIsAskedForAnew() async throws {
    network.before { [network, server] request in
      guard request.url.contains("/download/") else { return }
      network.before(nil)
      server.advance(by: Limits.downloadURLAge + .seconds(1))
    }
    #expect(try await fetched() == bytes)
    #expect(ranges.count == 2)
    #expect(network.count("records/lookup") == 2)
  }

  @Test(arguments: [(429, CKError.Code.requestRateLimited), (503, .serviceUnavailable)])
  func serviceThatIsBusyIsNotAnAssetThatIsGone(status: Int, expected: CKError.Code) async throws {
    network.replaceAnswers { path, answer in
      path.contains("/download/") ? TransportResponse(status: status, headers: [("Retry-After", "7")]) : answer
    }
    #expect(await code { _ = try await fetched() } == expected)
  }

  @Test(arguments: [412, 416])
  func serviceThatRefusesEvenTheWholeFileIsNotAskedAgain(status: Int) async throws {
    network.cutDownloads(afterBytes: 30_000, 0)
    _ = await code { _ = try await fetched() }
    network.forget()
    network.replaceAnswers { [network] path, answer in
      guard path.contains("/download/") else { return answer }
      return TransportResponse(status: network.count("/download/") < 20 ? status : 404)
    }
    #expect(await code { _ = try await fetched() } == .assetNotAvailable)
    #expect(ranges == ["bytes=30000-", nil])
  }

  /// Otherwise the engine's token would pass the record by.
  @Test(arguments: [(ServerErrorCode.tryAgainLater, CKError.Code.zoneBusy), (.internalError, .internalError)])
  func pageWhoseRecordCannotBeLookedUpNowFailsForTheEngine(error: ServerErrorCode, expected: CKError.Code) async throws
  {
    let isBusy = Flag(true)
    network.replaceAnswers { path, answer in
      if path.contains("/download/") { return TransportResponse(status: 404) }
      guard path.contains("records/lookup"), isBusy.value else { return answer }
      let failure = RecordFailure("a", ServiceError(error, "not now"))
      let reply = Reply.records(RecordsReply(records: [.failure(failure)]))
      return TransportResponse(status: 200, body: reply.encoded(extensions: true, uuid: "u"))
    }
    let service = SyncService(database, subscriptionID: nil)
    let failure = await code { _ = try await service.zoneChanges(in: recordID.zoneID.model, since: nil) }
    #expect(failure == expected)
    isBusy.value = false
    let page = try await service.zoneChanges(in: recordID.zoneID.model, since: nil)
    #expect(page.fetched.map(\.recordID) == [recordID])
  }

  @Test func assetThatCannotFitIsNotBegun() async throws {
    let asset = AssetValue(fileChecksum: "AAAA", size: 1 << 60, downloadURL: TestServer.url + "/assets/1/download/x")
    do {
      _ = try await database.assets.file(for: asset)
      Issue.record("there is no such disk")
    } catch let error as CKError {
      #expect(error.code == .internalError)
      #expect(error.localizedDescription.contains("disk of this device is full"))
      #expect((error.userInfo[NSUnderlyingErrorKey] as? CocoaError)?.code == .fileWriteOutOfSpace)
    }
    #expect(network.count("/download/") == 0)
    #expect(try names() == [])
  }

  /// Lets every write of the download fail as on a full disk.
  private func fillDisk() async throws {
    network.cutDownloads(afterBytes: 1, 0)
    _ = await code { _ = try await fetched() }
    let part = try #require(try names().first)
    unlink("\(cache)/\(part)")
    symlink("/dev/full", "\(cache)/\(part)")
  }

  @Test func diskThatFillsUpDuringTheTransferIsToldAndLeavesNothing() async throws {
    try await fillDisk()
    do {
      _ = try await fetched()
      Issue.record("the disk is full")
    } catch let error as CKError {
      #expect((error.userInfo[NSUnderlyingErrorKey] as? CocoaError)?.code == .fileWriteOutOfSpace)
    }
    #expect(try names() == [])
    #expect(try await fetched() == bytes)
  }

  /// Otherwise the engine's token would pass the record by, and nobody would ever fetch the file.
  @Test func pageWhoseAssetFindsNoSpaceFailsForTheEngine() async throws {
    try await fillDisk()
    let service = SyncService(database, subscriptionID: nil)
    #expect(await code { _ = try await service.zoneChanges(in: recordID.zoneID.model, since: nil) } == .internalError)
    let page = try await service.zoneChanges(in: recordID.zoneID.model, since: nil)
    #expect((page.fetched.first?["file"] as? CKAsset)?.fileURL != nil)
  }

  @Test func sameBytesFetchedTwiceAtOnceArriveTwice() async throws {
    async let first = fetched()
    async let second = fetched()
    #expect(try await (first, second) == (bytes, bytes))
    #expect(try names().count == 1)
  }
}

struct FileSinkTests {
  let folder: TemporaryFolder
  var path: String { folder.path + "/a" }

  init() throws { folder = try TemporaryFolder() }

  private func write(_ bytes: [UInt8], _ sink: FileSink) -> Bool { bytes.withUnsafeBytes { sink.write($0) } }

  @Test func fileIsTakenByOneAtATime() throws {
    let first = try #require(try FileSink.taking(path: path))
    #expect(try FileSink.taking(path: path) == nil)
    #expect(write([1, 2], first))
    try first.place(at: path + "-placed")
    // The name is free again, and the placed file is not written to.
    let second = try #require(try FileSink.taking(path: path))
    #expect(write([3], second))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-placed")) == Data([1, 2]))
  }

  @Test(
    arguments: [
      (200, nil, [UInt8]([9])), (206, "bytes 2-2/3", [1, 2, 9]), (206, "bytes 0-0/3", nil), (206, nil, nil),
      (404, nil, nil),
    ] as [(Int, String?, [UInt8]?)])
  func answersThatFitAreTaken(status: Int, range: String?, expected: [UInt8]?) throws {
    let sink = try FileSink(path: path)
    #expect(write([1, 2], sink))
    let begins = sink.begin(status: status, contentRange: range, version: "\"v\"")
    #expect(begins == (expected != nil))
    guard let expected else { return }
    #expect(write([9], sink))
    #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) == expected)
    #expect(sink.size == Int64(expected.count))
    #expect(sink.version == "\"v\"")
  }

  @Test func digestIsThatOfTheWholeFileWhetherResumedOrNot() throws {
    let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
    let whole = try FileSink(path: path + "-whole")
    #expect(write(bytes, whole))
    do {
      let sink = try FileSink(path: path)
      #expect(write(Array(bytes.prefix(400_000)), sink))
    }
    let resumed = try #require(try FileSink.taking(path: path))
    resumed.resume()
    #expect(resumed.size == 400_000)
    #expect(write(Array(bytes.dropFirst(400_000)), resumed))
    #expect(resumed.finish() == whole.finish())
  }
}

struct TransferMeterTests {
  @Test func valuesOfEachRecordRiseAndStayBelowOne() async {
    let journal = Journal()
    let ids = ["a", "b", "empty"].map { CKRecord.ID(recordName: $0) }
    let meter = TransferMeter([ids[0]: 1_000, ids[1]: 50, ids[2]: 0]) { id, done in
      journal.note("\(id.recordName) \(done)")
    }
    await withTaskGroup(of: Void.self) { group in
      for asset in 0..<2 {
        group.addTask { for step in 1...50 { meter.note(Int64(step * 10), ofAsset: asset, of: ids[0]) } }
      }
      group.addTask { for step in 0...50 { meter.note(Int64(step), ofAsset: 0, of: ids[1]) } }
      group.addTask { meter.note(0, ofAsset: 0, of: ids[2]) }
    }
    for name in ["a ", "b "] {
      let values = journal.all.filter { $0.hasPrefix(name) }.compactMap { Double($0.dropFirst(2)) }
      #expect(values == values.sorted())
      #expect(Set(values).count == values.count)
      #expect(values.allSatisfy { $0 > 0 && $0 < 1 })
      #expect(values.count >= 49)
    }
    #expect(!journal.all.contains { $0.hasPrefix("empty") })
  }

  /// A transfer that begins anew tells nothing until it is past where it was.
  @Test func beginningAnewDoesNotFallBack() {
    let journal = Journal()
    let id = CKRecord.ID(recordName: "a")
    let meter = TransferMeter([id: 100]) { _, done in journal.note("\(done)") }
    for bytes in [10, 40, 5, 40, 60] { meter.note(Int64(bytes), ofAsset: 0, of: id) }
    #expect(journal.all == ["0.1", "0.4", "0.6"])
  }
}
