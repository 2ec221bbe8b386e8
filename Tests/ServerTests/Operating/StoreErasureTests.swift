import Foundation
import Testing
import VirgaModel
import VirgaSQLite
import VirgaServer

@testable import VirgaServerSQLite

/// What an erasure leaves in the files of a store, and how one that was cut off goes on.
@Suite struct StoreErasureTests {
  private let folder = TemporaryFolder()
  private func fill() async throws {
    let store = try SQLiteStore(folder: folder.path)
    try await store.writing(ErasureWorld.fill)
    store.close()
  }

  private func erase(finishes: Bool = true) throws {
    _ = try StoppedStore.write(folder.path) { try ErasureWorld.erase(in: $0) }
    if finishes { try finish() }
  }

  private func finish() throws { try StoppedStore.giveBackBytes(folder.path, finally: Erasure.noteFinished) }

  private func isUnfinished() throws -> Bool { try StoppedStore.read(folder.path, Erasure.isUnfinished) }

  /// Killed after the rows went, and with a database that cannot be rewritten at first.
  @Test func anErasureThatWasCutOffIsFinishedLater() async throws {
    try await fill()
    let checksums = [1, 2].map { Data(repeating: $0, count: 32).base64EncodedString() }
    let store = try SQLiteStore(folder: folder.path)
    try await store.writing { transaction in
      for (checksum, key) in zip(checksums, [diary, ErasureWorld.bob]) {
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
    #expect(try !isUnfinished())
    try erase(finishes: false)
    #expect(try isUnfinished())
    // A server may have been started in between.
    try SQLiteStore(folder: folder.path).close()
    let other = try Connection(path: folder.path + "/virga.sqlite")
    try other.execute("BEGIN IMMEDIATE")
    #expect(throws: StoreError.self) { try finish() }
    #expect(try isUnfinished())
    try other.execute("ROLLBACK")
    try finish()
    #expect(try !isUnfinished())
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
      for definition in ErasureWorld.indexes {
        let index = try transaction.makeIndex(definition, of: zone)
        #expect(try transaction.entries(of: index, in: zone).map(\.name) == ["r3"])
      }
      try transaction.save(stored("r1", 9), in: zone)
      // A zone that takes the place of an erased one has nothing of it.
      let next = try transaction.makeZone("Next", in: ErasureWorld.bob)
      #expect(try transaction.indexes(of: next).isEmpty)
    }
    store.close()
  }
}
