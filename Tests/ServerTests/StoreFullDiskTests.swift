import TestSupport
import Testing
import VirgaModel
import VirgaSQLite
import VirgaServer
import VirgaServerSQLite

@Suite(.enabled(if: SmallDisk.isAvailable, "mounting a small disk needs root"))
struct StoreFullDiskTests {
  let disk: SmallDisk

  init() throws { disk = try #require(SmallDisk(megabytes: 8)) }

  func save(_ store: SQLiteStore, _ name: String, bytes: Int = 50_000) async throws {
    try await store.writing { transaction in
      var zone = try transaction.zone("Notes", in: diary) ?? transaction.makeZone()
      zone.sequence += 1
      try transaction.put(&zone)
      try transaction.save(
        stored(RecordName(name), zone.sequence, fields: String(repeating: "z", count: bytes)), in: zone)
    }
  }

  @Test func aFullDiskRefusesWritesAndLosesNothing() async throws {
    let store = try SQLiteStore(folder: disk.path + "/data")
    var saved: [RecordName] = []
    try await save(store, "first")
    saved.append("first")
    disk.fill()
    var refusals: [StoreError] = []
    for number in 1...40 {
      do {
        try await save(store, "r\(number)")
        saved.append(RecordName("r\(number)"))
      } catch let error as StoreError {
        refusals.append(error)
      }
    }
    #expect(!refusals.isEmpty && refusals.allSatisfy { $0 == .full("no space is left for the database") })
    let zone = try #require(try await store.reading { try $0.zone("Notes", in: diary) })
    #expect(try await store.reading { try $0.changes(in: zone).map(\.name) } == saved)

    disk.makeRoom()
    try await save(store, "after")
    saved.append("after")
    #expect(try await store.reading { try $0.changes(in: zone).map(\.name) } == saved)
    #expect(try await store.reading { try $0.changes(in: zone).map(\.sequence) } == Array(1...Int64(saved.count)))
    store.close()

    let connection = try Connection(path: disk.path + "/data/virga.sqlite")
    #expect(try connection.first("PRAGMA integrity_check") { $0.text(0) } == "ok")
    let reopened = try SQLiteStore(folder: disk.path + "/data")
    #expect(try await reopened.reading { try $0.changes(in: zone).map(\.name) } == saved)
    reopened.close()
  }

  @Test func aTransactionGreaterThanTheDiskIsUndoneAndTheNextOneIsKept() async throws {
    let store = try SQLiteStore(folder: disk.path + "/data")
    try await save(store, "first")
    await #expect(throws: StoreError.full("no space is left for the database")) {
      try await store.writing { transaction in
        var zone = try transaction.makeZone("Large")
        for number in 1...60 {
          zone.sequence += 1
          let fields = String(repeating: "z", count: 500_000)
          try transaction.save(stored(RecordName("r\(number)"), zone.sequence, fields: fields), in: zone)
        }
      }
    }
    try await save(store, "second")
    #expect(try await store.reading { try $0.zone("Large", in: diary) } == nil)
    let zone = try #require(try await store.reading { try $0.zone("Notes", in: diary) })
    #expect(try await store.reading { try $0.changes(in: zone).map(\.name) } == ["first", "second"])
    store.close()
  }

  @Test func aStoreOnAFullDiskDoesNotOpenAndSaysWhy() throws {
    disk.fill()
    let error = #expect(throws: StoreError.self) { try SQLiteStore(folder: disk.path + "/data") }
    guard case .full = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    disk.makeRoom()
    try SQLiteStore(folder: disk.path + "/data").close()
  }
}
