import CloudKit
import Foundation
import Testing

@testable import LanternlyCore

/// What `watch` does from more than one task, and for long. In processes of their own: one process has one client.
struct SyncTasksTests {
  /// A device in this process.
  private struct Watcher {
    let store: DiaryStore
    let sync: DiarySync
    let engine: CKSyncEngine

    init(_ fleet: Fleet) throws {
      for (name, value) in fleet.environment("phone") { setenv(name, value, 1) }
      store = try fleet.store("phone")
      sync = try DiarySync(store: store, now: { Moment(seconds: 1000) }, telling: { _ in })
      engine = try sync.makeEngine(isAutomatic: false)
    }
  }

  private static func write(_ name: String, in store: DiaryStore) throws {
    let moment = Moment(seconds: 1000)
    let entry = Entry(text: name, written: Written(moment: moment, zone: "GMT"), edited: EditTimes(all: moment))
    try store.save(EntryID(name), base: nil, edited: entry, at: moment)
  }

  @Test func whatWaitsIsListedHoweverManyTasksLook() async {
    await #expect(processExitsWith: .success) {
      let fleet = try Fleet()
      let watcher = try Watcher(fleet)
      for number in 1...100 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<3 { group.addTask { try watcher.sync.refill(watcher.engine) } }
          group.addTask {
            try SyncTasksTests.write("entry-\(number)", in: watcher.store)
            try watcher.sync.refill(watcher.engine)
          }
          try await group.waitForAll()
        }
        precondition(watcher.engine.state.pendingRecordZoneChanges.count == number, "one of \(number) is not listed")
      }
    }
  }

  @Test func whatWasRefusedHasAllItsAttemptsAgain() async {
    await #expect(processExitsWith: .success) {
      let fleet = try Fleet()
      let plan = #"{"when": {"record": "one"}, "do": {"error": "CONFLICT", "reach": "items"}}"#
      let faults = try fleet.folder.write(#"{"faults": [\#(plan)]}"#, to: "faults.json")
      fleet.stopServer(SIGTERM)
      try fleet.startServer("--faults", faults)
      let watcher = try Watcher(fleet)
      try SyncTasksTests.write("one", in: watcher.store)
      for _ in 0...DiarySync.attemptsMax {
        try watcher.sync.retryRefused(watcher.engine)
        try? await watcher.engine.sendChanges()
        precondition(watcher.sync.takeProgress().attempts["one"] == 1)
      }
    }
  }
}
