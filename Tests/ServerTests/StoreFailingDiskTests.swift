import Synchronization
import Testing
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// A disk that gives errors (EIO): what it did not keep is not acknowledged, and what it kept before is not lost.
@Suite(.serialized, .timeLimit(.minutes(1))) struct StoreFailingDiskTests {
  let folder = TemporaryFolder()
  var path: String { "\(folder.path)/\(FailingDisk.mark)" }

  init() throws { try #require(FailingDisk.isInstalled) }

  private func save(_ store: SQLiteStore, _ name: String) async throws {
    try await store.writing { transaction in
      var zone = try transaction.zone("Notes", in: diary) ?? transaction.makeZone()
      zone.sequence += 1
      try transaction.put(&zone)
      try transaction.save(stored(RecordName(name), zone.sequence), in: zone)
    }
  }

  private func names(_ store: SQLiteStore) async throws -> [RecordName] {
    let zone = try #require(try await store.reading { try $0.zone("Notes", in: diary) })
    return try await store.reading { try $0.changes(in: zone).map(\.name) }
  }

  @Test func whatIsNotMadeDurableIsNotAcknowledgedAndNothingMoreIsTaken() async throws {
    let store = try SQLiteStore(folder: path)
    try await save(store, "first")
    FailingDisk.failsAtSync.store(true, ordering: .sequentiallyConsistent)
    defer { FailingDisk.failsAtSync.store(false, ordering: .sequentiallyConsistent) }
    // Those that share the commit share its fate.
    let outcomes = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<20 {
        group.addTask {
          do { try await save(store, "r\(number)") } catch StoreError.diskFailed { return true } catch { return false }
          return false
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes == Array(repeating: true, count: 20))
    FailingDisk.failsAtSync.store(false, ordering: .sequentiallyConsistent)
    // What a disk holds after such a failure is unknown to whoever goes on: reads yes, writes after a restart.
    let sound = "the disk did not keep what was written; check the disk, then restart the server"
    await #expect(throws: StoreError.diskFailed(sound)) { try await save(store, "late") }
    #expect(try await names(store) == ["first"])
    store.close()
    let reopened = try SQLiteStore(folder: path)
    #expect(try await names(reopened) == ["first"])
    try await save(reopened, "second")
    #expect(try await names(reopened) == ["first", "second"])
    reopened.close()
  }

  @Test func aWriteThatFailsIsUndoneAndTheNextOneMayPass() async throws {
    let store = try SQLiteStore(folder: path)
    try await save(store, "first")
    FailingDisk.failsAtWrite.store(true, ordering: .sequentiallyConsistent)
    defer { FailingDisk.failsAtWrite.store(false, ordering: .sequentiallyConsistent) }
    for name in ["a", "b"] {
      let error = await #expect(throws: StoreError.self) { try await save(store, name) }
      guard case .diskFailed = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
    }
    FailingDisk.failsAtWrite.store(false, ordering: .sequentiallyConsistent)
    try await save(store, "second")
    #expect(try await names(store) == ["first", "second"])
    store.close()
  }
}
