import CloudKit
import Foundation
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaCloudKit

/// Saves with assets that are made again.
struct UploadTests {
  let server: TestServer
  let device: TestDevice
  var database: CKDatabase { device.database }
  var network: TestNetwork { device.network }
  let zone = CKRecordZone.ID(zoneName: "Photos")
  private static let uploads = "/assets/1/upload"

  init() async throws {
    server = try TestServer()
    device = try server.device()
    _ = try await device.database.save(CKRecordZone(zoneID: zone))
  }

  private func photo(_ name: String, files: Int = 1) throws -> CKRecord {
    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["files"] = try (0..<files).map {
      CKAsset(fileURL: try server.folder.file("\(name)\($0)", Array("\(name), number \($0)".utf8)))
    }
    return record
  }

  private func texts(_ name: String) async throws -> [String] {
    let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
    return try (record["files"] as? [CKAsset] ?? []).map {
      try String(contentsOf: try #require($0.fileURL), encoding: .utf8)
    }
  }

  /// The network breaks when so many uploads have ended.
  private func breakUploads(from first: Int) {
    network.before { [network] request in
      if request.url.contains(Self.uploads), network.count(Self.uploads) >= first { network.cut() }
    }
  }

  private func heal() {
    network.before(nil)
    network.heal()
    network.forget()
  }

  @Test func saveThatIsMadeAgainSendsOnlyTheFilesThatDidNotGetThere() async throws {
    let record = try photo("a", files: 12)
    breakUploads(from: 8)
    #expect(await code { _ = try await database.save(record) } == .networkUnavailable)
    let there = network.count(Self.uploads)
    // Up to three others were under way.
    #expect((8..<12).contains(there))
    heal()
    _ = try await database.save(record)
    #expect(network.count(Self.uploads) == 12 - there)
    #expect(try await texts("a") == (0..<12).map { "a, number \($0)" })
    // A saved one is done: the same file in a new save is a new upload.
    heal()
    record["files"] = record["files"]
    _ = try await database.save(record)
    #expect(network.count(Self.uploads) == 12)
  }

  @Test func conflictDoesNotCostAnotherUpload() async throws {
    let first = try photo("a")
    _ = try await database.save(first)
    let late = try await database.record(for: first.recordID)
    first["title"] = "newer"
    _ = try await database.save(first)
    let file = try server.folder.file("film", Array("a long film".utf8))
    late["files"] = [CKAsset(fileURL: file)]
    network.forget()
    do {
      _ = try await database.save(late)
      Issue.record("no conflict")
    } catch let error as CKError {
      let merged = try #require(error.serverRecord)
      merged["files"] = [CKAsset(fileURL: file)]
      _ = try await database.save(merged)
    }
    #expect(network.count(Self.uploads) == 1)
    #expect(try await texts("a") == ["a long film"])
  }

  @Test func changedFileIsSentAnew() async throws {
    let record = try photo("a")
    network.before { [network] request in if request.url.contains("records/modify") { network.cut() } }
    #expect(await code { _ = try await database.save(record) } == .networkUnavailable)
    heal()
    try Data("changed".utf8).write(to: URL(fileURLWithPath: server.folder.path + "/a0"))
    _ = try await database.save(record)
    #expect(network.count(Self.uploads) == 1)
    #expect(try await texts("a") == ["changed"])
  }

  @Test(arguments: [true, false])
  func uploadThatNoLongerCountsIsMadeAgain(isAtomic: Bool) async throws {
    let records = [try photo("a"), try photo("b")]
    network.before { [network] request in if request.url.contains("records/modify") { network.cut() } }
    #expect(await code { _ = try await database.modifyRecords(saving: records, deleting: []) } == .networkUnavailable)
    heal()
    // Another service may end receipts sooner than ours does.
    for record in records {
      for place in 0..<1 {
        let source = try FileSource(path: try #require((record["files"] as? [CKAsset])?[place].fileURL).path)
        let key = FinishedUploads.Key(
          scope: .private, record: record.recordID.model, type: "Photo", field: "files", place: place,
          file: source.version)
        var asset = try #require(database.assets.finishedUploads.asset(for: key, at: server.now))
        if record === records[0] { asset.receipt = String(repeating: "0", count: 64) }
        database.assets.finishedUploads.keep(asset, for: key, at: server.now)
      }
    }
    let results = try await database.modifyRecords(saving: records, deleting: [], atomically: isAtomic)
    #expect(results.saveResults.values.allSatisfy { (try? $0.get()) != nil }, "\(results)")
    #expect(network.count(Self.uploads) == (isAtomic ? 2 : 1))
    #expect(try await texts("a") == ["a, number 0"])
    #expect(try await texts("b") == ["b, number 0"])
  }

  /// A laptop that sleeps in the middle of a batch wakes when the addresses for the rest of it have expired.
  @Test func addressThatHasExpiredIsRenewed() async throws {
    let record = try photo("a", files: 6)
    network.before { [server, network] request in
      if request.url.contains(Self.uploads), network.count(Self.uploads) == 0 { server.advance(by: .seconds(16 * 60)) }
    }
    _ = try await database.save(record)
    #expect(try await texts("a") == (0..<6).map { "a, number \($0)" })
    #expect(network.count("assets/upload") > 1)
  }

  /// That no address counts says nothing of the record, least of all that it is not there.
  @Test(arguments: [403, 404, 410])
  func addressThatNeverCountsIsTheNetworksFault(status: Int) async throws {
    let record = try photo("a")
    let body = Array(#"{"uuid":"u","serverErrorCode":"NOT_FOUND","reason":"this URL has expired"}"#.utf8)
    network.replaceAnswers { path, answer in
      path.contains(Self.uploads) ? TransportResponse(status: status, body: body) : answer
    }
    #expect(await code { _ = try await database.save(record) } == .networkFailure)
    #expect(network.count(Self.uploads) == (status == 404 ? 1 : 2))
    network.replaceAnswers(nil)
    _ = try await database.save(record)
    #expect(try await texts("a") == ["a, number 0"])
  }

  /// What is saved already is told of, though sending anew what was refused fails.
  @Test func whatWasSavedIsToldOfThoughTheRestFails() async throws {
    let records = [try photo("a"), try photo("b")]
    network.before { [network] request in if request.url.contains("records/modify") { network.cut() } }
    #expect(await code { _ = try await database.modifyRecords(saving: records, deleting: []) } == .networkUnavailable)
    heal()
    let source = try FileSource(path: try #require((records[0]["files"] as? [CKAsset])?[0].fileURL).path)
    let key = FinishedUploads.Key(
      scope: .private, record: records[0].recordID.model, type: "Photo", field: "files", place: 0, file: source.version)
    var asset = try #require(database.assets.finishedUploads.asset(for: key, at: server.now))
    asset.receipt = String(repeating: "0", count: 64)
    database.assets.finishedUploads.keep(asset, for: key, at: server.now)
    network.before { [network] request in
      if request.url.contains(Self.uploads), network.count("records/modify") > 0 { network.cut() }
    }
    let results = try await database.modifyRecords(saving: records, deleting: [], atomically: false)
    #expect(code(of: results.saveResults[records[0].recordID]) == .networkUnavailable)
    #expect(code(of: results.saveResults[records[1].recordID]) == nil)
    #expect(records[1].recordChangeTag != nil)
  }

  @Test func uploadsAreForgottenAfterAnHourAndBeyondTheirNumber() {
    let memory = FinishedUploads()
    let now = Timestamp(milliseconds: 0)
    let file = try? FileSource(path: "/proc/self/exe").version
    func key(_ number: Int) -> FinishedUploads.Key? {
      file.map {
        FinishedUploads.Key(
          scope: .private, record: RecordID(RecordName("r\(number)"), in: zone.model), type: "T", field: "f", place: 0,
          file: $0)
      }
    }
    for number in 0..<1_001 {
      if let key = key(number) { memory.keep(AssetValue(fileChecksum: "c", size: 1), for: key, at: now) }
    }
    #expect(key(0).flatMap { memory.asset(for: $0, at: now) } == nil)
    #expect(key(1).flatMap { memory.asset(for: $0, at: now) } != nil)
    #expect(key(1).flatMap { memory.asset(for: $0, at: now + .seconds(3_601)) } == nil)
  }
}
