import CloudKit
import Foundation
import Testing

@testable import LanternlyCore

/// What of the outbox a sync looks at: as much as the next request needs, however much waits.
struct OutboxTests {
  private static let moment = Moment(seconds: 1000)

  private static func entry(_ name: String, in store: DiaryStore) throws -> EntryID {
    let entry = Entry(text: name, written: Written(moment: moment, zone: "GMT"), edited: EditTimes(all: moment))
    try store.save(EntryID(name), base: nil, edited: entry, at: moment)
    return EntryID(name)
  }

  @Test func whatComesNextIsWhatCanBeSentInItsOrder() async throws {
    let program = ProgramUnderTest()
    let picture = try program.folder.write("picture", to: "p.png")
    for text in ["one", "two", "three"] { await program.run("new", "--text", text, "--attach", picture) }
    let store = try program.store()
    let all = try store.outbox()
    #expect(all.map(\.kind) == [.entry, .entry, .entry, .attachment, .attachment, .attachment])
    #expect(try store.nextToSend(limit: 10) == all)
    #expect(try store.nextToSend(limit: 2) == Array(all.prefix(2)))
    // An entry that was refused stays, and so does what belongs to it.
    try store.noteRefusal(of: all[1].record, "quotaExceeded: it is too much")
    let refused = try #require(try store.attachments(of: EntryID(all[1].record)).first).attachment.id.name
    let rest = all.filter { ![all[1].record, refused].contains($0.record) }
    #expect(try store.nextToSend(limit: 10) == rest)
    #expect(try store.count(ofOutbox: .all) == 6 && store.count(ofOutbox: .waiting) == 5)
    // What goes away goes last.
    try store.write { try $0.enqueue("gone", .attachment, .delete, at: Self.moment) }
    _ = try Self.entry("later", in: store)
    #expect(try store.nextToSend(limit: 10).suffix(1).map(\.record) == ["gone"])
    let whole = try store.outbox().filter { ![all[1].record, refused].contains($0.record) }
    #expect(try store.nextToSend(limit: 10) == whole)
  }

  /// The rows come in the order of an index: neither all are read nor are they sorted.
  @Test func theOutboxIsReadInOrderAndNotWhole() throws {
    let program = ProgramUnderTest()
    let store = try program.store()
    let plan = try store.read { rows in
      try rows.connection.query("EXPLAIN QUERY PLAN \(DiaryRows.nextToSend)", 5) { $0.text(3) }
    }
    #expect(plan.contains { $0.contains("outbox_order") }, "\(plan)")
    #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
  }

  /// The engine's list, which it keeps with each of its states, does not grow with what waits.
  @Test func theEngineIsToldOfAFewAtATimeAndSendsAll() async {
    await #expect(processExitsWith: .success) {
      let fleet = try Fleet()
      for (name, value) in fleet.environment("phone") { setenv(name, value, 1) }
      let store = try fleet.store("phone")
      let count = 2 * DiarySync.listedMax + 7
      for number in 0..<count { _ = try OutboxTests.entry("entry-\(number)", in: store) }
      let sync = try DiarySync(store: store, now: { OutboxTests.moment }, telling: { _ in })
      let engine = try sync.makeEngine(isAutomatic: false)
      try sync.refill(engine)
      precondition(engine.state.pendingRecordZoneChanges.count == DiarySync.listedMax)
      try await engine.sendChanges()
      precondition(sync.takeProgress().sent.count == count, "one send sends all")
      let rest = try store.outbox()
      precondition(rest.isEmpty && engine.state.pendingRecordZoneChanges.isEmpty)
    }
  }
}
