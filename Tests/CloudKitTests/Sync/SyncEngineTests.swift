import CloudKit
import Testing
import VirgaModel
import VirgaWire

@Suite struct SyncEngineTests {
  @Test func anEditReachesAnotherDevice() throws {
    let world = SyncWorld()
    let phone = world.device()
    let laptop = world.device()
    phone.edit("a", ["text": "hello"])
    try phone.send()
    #expect(
      phone.events.filter { $0 != "state" } == [
        "signIn", "willSend", "sentZones(1)", "sent(1-0!0)", "didSend",
      ])
    try laptop.fetch()
    #expect(laptop.rows == ["a": ["text": "hello"]])
    #expect(
      laptop.events.filter { $0 != "state" } == [
        "signIn", "willFetch", "database(+1-0)", "will diary", "records(+1-0)", "did diary", "didFetch",
      ])
    #expect(phone.pending.isEmpty)
    #expect(phone.engine.status.pendingSaves == 0)
  }
}
