import CloudKit
import Foundation
import Testing
import VirgaCloudKit
import VirgaModel
import VirgaServer
import VirgaWire

/// What happens without anyone calling.
@Suite struct SyncAutomaticTests {
  @Test func anEditReachesAnotherDeviceByAPush() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(automatic: true), world.device(automatic: true, seed: 2))
    world.time.pass(.seconds(5))
    #expect(laptop.engine.status.receivesPushes)
    phone.edit("a", ["text": "1"])
    world.time.pass(.seconds(1))
    #expect(laptop.rows == ["a": ["text": "1"]])
    #expect(phone.engine.status.isUpToDate)
    #expect(laptop.engine.status.isUpToDate)
    world.time.pass(.seconds(600))
    #expect(laptop.link.batches.isEmpty)
  }

  /// C31: no push ever comes; the poll finds the edit.
  @Test func withoutPushesThePollFindsTheEdit() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(automatic: true), world.device(automatic: true, seed: 2))
    laptop.link.dropsPushes = true
    world.time.pass(.seconds(5))
    phone.edit("a", ["text": "1"])
    world.time.pass(.seconds(10))
    #expect(laptop.rows.isEmpty)
    world.time.pass(.seconds(301))
    #expect(laptop.rows == ["a": ["text": "1"]])
  }

  /// C31: pushes that come twice or late change nothing.
  @Test func superfluousPushesAreHarmless() throws {
    let world = SyncWorld()
    let phone = world.device(automatic: true)
    world.time.pass(.seconds(5))
    phone.edit("a", ["text": "1"])
    world.time.pass(.seconds(5))
    let sent = phone.link.batches
    let fetched = phone.link.count(of: "changes/database")
    for _ in 0..<20 { phone.engine.receivePush() }
    world.time.pass(.seconds(5))
    #expect(phone.link.batches == sent)
    #expect(phone.link.count(of: "changes/database") == fetched + 1)
  }

  /// C32: the device that made a change is not told of it.
  @Test func theOriginatorGetsNoPush() throws {
    let world = SyncWorld()
    let (a, b) = (world.device(automatic: true), world.device(automatic: true, seed: 2))
    world.time.pass(.seconds(5))
    a.edit("r", ["text": "1"])
    world.time.pass(.seconds(10))
    let before = (a.link.pushes, b.link.pushes)
    #expect(before.0 == 0)
    a.edit("r", ["text": "2"])
    world.time.pass(.seconds(10))
    #expect(a.link.pushes == 0)
    #expect(b.link.pushes == before.1 + 1)
    a.delete("r")
    world.time.pass(.seconds(10))
    #expect(a.link.pushes == 0)
    #expect(b.link.pushes == before.1 + 2)
    #expect(b.rows.isEmpty)
  }

  /// C123: 200 edits of 20 records in ten seconds are at most three requests, and the last values arrive.
  @Test func edit200TimesInTenSeconds() throws {
    let world = SyncWorld()
    let phone = world.device(automatic: true)
    world.time.pass(.seconds(5))
    for edit in 0..<200 {
      phone.edit("r\(edit % 20)", ["text": "\(edit)"])
      world.time.pass(.milliseconds(50))
    }
    world.time.pass(.seconds(10))
    let times = phone.link.log.filter { $0.operation == "records/modify" }.map { "\(world.time.now - $0.time)" }
    #expect(phone.link.batches.count <= 3, "\(times)")
    #expect(try world.serverRows()["r19"] == ["text": "199"])
  }

  /// C123: without a network attempts become rare, and all is sent once it is back.
  @Test func offlineAttemptsBecomeRare() throws {
    let world = SyncWorld()
    let phone = world.device(automatic: true)
    world.time.pass(.seconds(5))
    phone.link.isCut = true
    let before = phone.link.log.count
    for number in 0..<60 {
      phone.edit("r\(number)", ["text": "x"])
      world.time.pass(.seconds(60))
    }
    #expect(phone.link.log.count - before < 120)
    #expect(phone.pending.count == 60)
    #expect(phone.engine.status.sendError?.code == .networkUnavailable)
    #expect(phone.engine.status.nextSend != nil)
    phone.link.isCut = false
    world.time.pass(.seconds(301))
    #expect(phone.pending == [])
    #expect(phone.engine.status.sendError == nil)
    #expect(try world.serverRows().count == 60)
  }

  /// C22: the account changed while the app was not running.
  @Test func anotherAccountGetsNothingOfTheFirst() throws {
    let world = SyncWorld()
    let first = world.device(account: "u1")
    first.edit("synced", ["text": "0"])
    try first.sync()
    for number in 0..<3 { first.edit("r\(number)", ["text": "\(number)"]) }
    let second = world.device(account: "u2", disk: first.kill())
    try second.sync()
    #expect(second.events.contains("switch"))
    #expect(second.rows.isEmpty)
    #expect(try world.serverRows(account: "u2").isEmpty)
    second.edit("other", ["text": "2"])
    try second.sync()
    let back = world.device(account: "u1", disk: second.kill())
    try back.sync()
    #expect(back.events.contains("switch"))
    #expect(try world.serverRows(account: "u1").keys.sorted() == ["r0", "r1", "r2", "synced"])
    #expect(try world.serverRows(account: "u2").keys.sorted() == ["other"])
  }

  /// C22: the account of the device is replaced while the app runs and its session is still good for a while.
  @Test(arguments: [false, true])
  func anAccountThatIsReplacedUnderARunningAppGetsNothingOfTheFirst(appAsksToo: Bool) throws {
    let world = SyncWorld()
    let (phone, other) = (world.device(account: "u1"), world.device(account: "u2"))
    phone.edit("synced", ["text": "0"])
    try phone.sync()
    other.edit("other", ["text": "2"])
    try other.sync()
    let database = phone.engine.database
    phone.edit("waiting", ["text": "of u1"])
    try world.replaceAccount(of: "u1", by: "u2")
    world.time.pass(.seconds(86_400))
    if appAsksToo {
      // The app's own request is the one that finds the other account, while the engine has begun to send.
      phone.onEvent { [time = world.time] event, _ in
        guard case .willSendChanges = event else { return }
        Task(executorPreference: time) { _ = try? await database.allRecordZones() }
      }
    }
    #expect(throws: CKError.self) { try phone.send() }
    phone.onEvent(nil)
    #expect(try world.serverRows(account: "u2").keys.sorted() == ["other"])
    try phone.sync()
    #expect(phone.events.filter { $0 == "switch" }.count == 1)
    #expect(phone.rows == ["other": ["text": "2"]])
    #expect(try world.serverRows(account: "u2").keys.sorted() == ["other"])
  }

  /// An app that makes another engine for another account lets go of this one while it is told.
  @Test func anEngineThatIsDroppedInTheMiddleOfASwitchListensNoMore() throws {
    let world = SyncWorld()
    let (phone, other) = (world.device(account: "u1", automatic: true), world.device(account: "u2"))
    try other.fetch()
    world.time.pass(.seconds(5))
    let count = Holder<Int>()
    phone.onEvent { [weak phone] event, _ in
      guard case .accountChange(let change) = event, case .switchAccounts = change.changeType else { return }
      count.value = phone?.link.log.count
      phone?.drop()
    }
    try world.replaceAccount(of: "u1", by: "u2")
    world.time.pass(.seconds(2 * 86_400))
    #expect(phone.events.last == "switch")
    #expect(phone.link.log.count == count.value)
  }

  /// C112: without an account the status says so, and an account that comes later is used.
  @Test func withoutAnAccountNothingIsSentAndTheStatusSaysSo() throws {
    let world = SyncWorld(policy: .closed)
    let phone = world.device(automatic: true)
    phone.edit("a", ["text": "a"])
    world.time.pass(.seconds(5))
    #expect(phone.engine.status.activity == .noAccount)
    #expect(!phone.engine.status.isUpToDate)
    #expect(phone.pending == ["save a in diary"])
    #expect(throws: CKError.self) { try phone.send() }
    #expect(!phone.events.contains("willSend"))
  }

  @Test func anEngineThatIsDroppedStops() throws {
    let world = SyncWorld()
    weak var engine: CKSyncEngine?
    do {
      let phone = world.device(automatic: true)
      world.time.pass(.seconds(5))
      engine = phone.engine
      #expect(engine != nil)
    }
    world.time.pass(.milliseconds(1))
    #expect(engine == nil)
  }
}
