import Foundation
import Testing
import VirgaModel
import VirgaServer

@testable import VirgaServerSQLite

@Suite struct StoreCopyTests {
  private let folder = TemporaryFolder()
  private var data: String { folder.path + "/data" }
  private var target: String { folder.path + "/copy" }

  /// Saves a record with an asset of bytes that all are `byte`, and puts the asset's file where it belongs.
  private func save(_ byte: UInt8, in store: SQLiteStore) async throws {
    let checksum = Data(repeating: byte, count: 32).base64EncodedString()
    try await store.writing { transaction in
      try transaction.put(AssetRow(checksum: checksum, size: 3, uploaded: Timestamp(milliseconds: 0)))
      var zone = try transaction.zone("Notes", in: diary) ?? transaction.makeZone()
      zone.sequence += 1
      var record = stored(RecordName("r\(byte)"), zone.sequence)
      record.assetChecksums = [checksum]
      try transaction.save(record, in: zone)
      try transaction.put(&zone)
    }
    let place = path(byte, in: data)
    try FileManager.default.createDirectory(
      at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data([byte, byte, byte]).write(to: place)
  }

  private func path(_ byte: UInt8, in folder: String) -> URL {
    let digits = (byte < 16 ? "0" : "") + String(byte, radix: 16)
    return URL(fileURLWithPath: "\(folder)/assets/\(digits)/\(String(repeating: digits, count: 32))")
  }

  private func removeAll(from store: SQLiteStore) async throws {
    let gone = try await store.writing { transaction in
      var zone = try #require(try transaction.zone("Notes", in: diary))
      try transaction.removeRecords(of: &zone)
      while try transaction.clearRemovedRecords(limit: 100, bytes: 1 << 20) {}
      let rows = try transaction.unreferencedAssets(before: Timestamp(milliseconds: .max), limit: 10)
      for row in rows { try transaction.removeAsset(row.checksum) }
      return rows.count
    }
    #expect(gone > 0)
    for byte in [1, 2, 3] as [UInt8] { try? FileManager.default.removeItem(at: path(byte, in: data)) }
  }

  /// C29
  @Test func assetsThatGoWhileACopyIsMadeAreInIt() async throws {
    let store = try SQLiteStore(folder: data)
    try await save(1, in: store)
    let copy = try StoreCopy(from: data, to: target)
    try copy.copyFiles()
    try await save(2, in: store)
    try copy.copyDatabase()
    try FileManager.default.removeItem(at: path(1, in: data))
    try await save(3, in: store)
    #expect(try copy.completeFiles() == 2)
    store.close()
    for byte in [1, 2] as [UInt8] {
      #expect(try Data(contentsOf: path(byte, in: target)) == Data([byte, byte, byte]))
    }
    #expect(!FileManager.default.fileExists(atPath: path(3, in: target).path))
  }

  @Test func assetsThatTheDatabaseNoLongerKnowsAreNotInACopy() async throws {
    let store = try SQLiteStore(folder: data)
    try await save(1, in: store)
    let copy = try StoreCopy(from: data, to: target)
    try copy.copyFiles()
    try await removeAll(from: store)
    try copy.copyDatabase()
    #expect(try copy.completeFiles() == 0)
    store.close()
    #expect(!FileManager.default.fileExists(atPath: path(1, in: target).path))
  }

  @Test func bytesThatAreMissingAreReported() async throws {
    let store = try SQLiteStore(folder: data)
    try await save(1, in: store)
    try FileManager.default.removeItem(at: path(1, in: data))
    let copy = try StoreCopy(from: data, to: target)
    try copy.copyFiles()
    try copy.copyDatabase()
    #expect(throws: StoreError.self) { try copy.completeFiles() }
    store.close()
    #expect(throws: StoreError.self) { try StoreCopy(from: data, to: target) }
  }

  /// A server on a copy whose change tokens were not renewed would take old tokens for its own.
  @Test func aRestoreThatWasCutOffIsNoServersFolder() async throws {
    let store = try SQLiteStore(folder: data)
    try await save(1, in: store)
    store.close()
    let copy = try StoreCopy(from: data, to: target, isRestored: true)
    func expectRefusal() {
      let refusal = #expect(throws: StoreError.self) { try SQLiteStore(folder: target) }
      #expect(
        refusal
          == .damaged("the restore into \(target) was cut off: empty the folder, then run virga restore again"))
    }
    expectRefusal()
    try copy.copyFiles()
    try copy.copyDatabase()
    _ = try copy.completeFiles()
    expectRefusal()
    let restored = try SQLiteStore(folder: StoreCopy.restoringFolder(in: target))
    try await restored.writing { transaction in
      var zone = try #require(try transaction.zone("Notes", in: diary))
      zone.incarnation = 99
      try transaction.put(&zone)
    }
    restored.close()
    expectRefusal()
    try StoreCopy.finishRestoring(target)
    let served = try SQLiteStore(folder: target)
    #expect(try await served.reading { try $0.zone("Notes", in: diary)?.incarnation } == 99)
    served.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).sorted() == ["assets", "lock", "virga.sqlite"])
  }
}
