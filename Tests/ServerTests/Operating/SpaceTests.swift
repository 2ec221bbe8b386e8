import Foundation
import Testing
import VirgaModel
import VirgaSQLite
import VirgaServer

@testable import VirgaServerSQLite

/// The store's file gives space back after large deletions, a little at a time.
struct SpaceTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path + "/virga.sqlite" }

  private func fill(_ store: SQLiteStore, records: Int64 = 2_000) async throws -> ZoneRow {
    let filler = String(repeating: "x", count: 8_000)
    return try await store.writing { transaction in
      let zone = try transaction.zone("Notes", in: diary) ?? transaction.makeZone()
      for number in 1...records {
        try transaction.save(
          stored(RecordName("r\(number)"), number, fields: #"{"t":{"value":"\#(filler)","type":"STRING"}}"#), in: zone)
      }
      return zone
    }
  }

  private func pages() throws -> (all: Int, free: Int) {
    let connection = try Connection(path: path, access: .readOnly)
    return (
      try connection.first("PRAGMA page_count") { $0.int(0) } ?? 0,
      try connection.first("PRAGMA freelist_count") { $0.int(0) } ?? 0
    )
  }

  /// - Returns: How many steps there were.
  private func release(_ store: SQLiteStore) async throws -> Int {
    var steps = 1
    while try await store.writing({ try Service().perform(.space, in: $0, now: Timestamp(milliseconds: 1)) }) {
      steps += 1
      #expect(steps < 1_000)
    }
    return steps
  }

  private func clear(_ zone: ZoneRow, in store: SQLiteStore) async throws {
    try await store.writing { transaction in
      var zone = zone
      try transaction.removeRecords(of: &zone)
      while try transaction.clearRemovedRecords(limit: 500, bytes: 1 << 20) {}
    }
  }

  @Test func whatADeletionLeavesIsGivenBackInSteps() async throws {
    let store = try SQLiteStore(folder: folder.path)
    let zone = try await fill(store)
    let full = try pages()
    #expect(try await release(store) == 1, "nothing is free")
    try await clear(zone, in: store)
    #expect(try pages().free > 3_000)
    #expect(try await store.writing { try $0.releaseSpace(bytes: 1 << 20) })
    #expect(try pages().all >= full.all - 256, "a step gives back no more than it is asked for")
    #expect(try await release(store) > 10)
    let less = try pages()
    #expect(less.free <= 1_024 && less.all < full.all / 2, "\(full) \(less)")
    _ = try await fill(store, records: 3)
    store.close()
    let bytes = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    #expect(bytes < full.all * 4_096 / 2)
    #expect(try Connection(path: path).first("PRAGMA integrity_check") { $0.text(0) } == "ok")
  }

  /// A file that an earlier version made is written anew once, with everything in it.
  @Test func aFileMadeBeforeGivesSpaceBackToo() async throws {
    let first = try SQLiteStore(folder: folder.path)
    let zone = try await fill(first)
    first.close()
    do {
      let before = try Connection(path: path)
      try before.execute("PRAGMA auto_vacuum = NONE; VACUUM")
      #expect(try before.first("PRAGMA auto_vacuum") { $0.int(0) } == 0)
    }
    let store = try SQLiteStore(folder: folder.path)
    #expect(try await store.reading { try $0.changes(in: zone).count } == 2_000)
    try await clear(zone, in: store)
    let full = try pages()
    #expect(try await release(store) > 10)
    #expect(try pages().all < full.all / 2)
    store.close()
    #expect(try Connection(path: path).first("PRAGMA auto_vacuum") { $0.int(0) } == 2)
  }

  @Test func aMemoryStoreHasNothingToGive() async throws {
    #expect(try await !MemoryStore().writing { try $0.releaseSpace(bytes: 1 << 20) })
  }
}
