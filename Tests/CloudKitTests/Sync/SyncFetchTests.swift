import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaCloudKit
import VirgaModel

/// What changed elsewhere comes, also after a long time, a kill, or a loss on the server.
@Suite struct SyncFetchTests {
  /// C09: the history that the token points into is gone.
  @Test func anExpiredTokenIsMetOnceAndDeletionsAreFound() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    for name in ["a", "b", "c"] { phone.edit(name, ["text": name]) }
    try world.converge(phone, laptop)
    phone.delete("c")
    try phone.sync()
    world.time.pass(.seconds(181 * 86_400))
    try world.server.compact()
    laptop.edit("a", ["text": "edited"])
    laptop.edit("d", ["text": "new"])
    try laptop.fetch()
    #expect(laptop.failures == [.changeTokenExpired])
    #expect(laptop.pending == ["save a in diary", "save d in diary"])
    #expect(laptop.rows.keys.sorted() == ["a", "b", "d"])
    try world.converge(phone, laptop)
    #expect(laptop.failures == [.changeTokenExpired])
    #expect(try world.serverRows()["a"] == ["text": "edited"])
  }

  /// C09: killed in the middle of the second reading.
  @Test func aSecondReadingThatWasCutOffStillFindsDeletions() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    for name in ["a", "b", "c", "d"] { phone.edit(name, ["text": name]) }
    try world.converge(phone, laptop)
    phone.delete("b")
    try phone.sync()
    world.time.pass(.seconds(181 * 86_400))
    try world.server.compact()
    laptop.link.pageLimit = 1
    let pages = Counter()
    laptop.onEvent { event, _ in
      if case .fetchedRecordZoneChanges = event, pages.next() == 1 { laptop.kill() }
    }
    _ = try? laptop.fetch()
    let again = world.device(disk: laptop.kill())
    #expect(again.rows.keys.contains("b"))
    try again.fetch()
    #expect(again.rows.keys.sorted() == ["a", "c", "d"])
  }

  @Test func theNextPageComesWhileTheAppStoresOne() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    for name in ["a", "b", "c"] { phone.edit(name, ["text": name]) }
    try phone.sync()
    laptop.link.pageLimit = 1
    let (asked, time) = (Counts(), world.time)
    laptop.onEvent { event, _ in
      guard case .fetchedRecordZoneChanges = event else { return }
      // A cancelled sleep shows as a number too low.
      try? await time.sleep(until: time.now + .milliseconds(10))
      asked.append(laptop.link.count(of: "changes/zone"))
    }
    try laptop.fetch()
    #expect(asked.all == [2, 3, 3])
    #expect(laptop.link.count(of: "changes/zone") == 3)
    #expect(laptop.rows.keys.sorted() == ["a", "b", "c"])
  }

  /// C11: the user erased the data in the settings.
  @Test(arguments: [DiaryDevice.DeletePolicy.deleteWins, .editWins], [true, false])
  func aPurgedZoneIsNotAnErrorForEver(policy: DiaryDevice.DeletePolicy, sendsFirst: Bool) throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.set(purgePolicy: policy)
    for name in ["a", "b"] { phone.edit(name, ["text": name]) }
    try phone.sync()
    try world.server.purgeZone()
    if sendsFirst {
      phone.edit("a", ["text": "later"])
      #expect(try phone.sendFailing() == ["a": .userDeletedZone])
    }
    try phone.sync()
    #expect(phone.failures.filter { $0 == .userDeletedZone }.count == (sendsFirst ? 1 : 0))
    #expect(phone.pending == [])
    if policy == .editWins {
      #expect(try world.serverRows() == ["a": ["text": sendsFirst ? "later" : "a"], "b": ["text": "b"]])
    } else {
      #expect(phone.rows.isEmpty)
      // The zone comes back with the next entry.
      phone.edit("c", ["text": "c"])
      try phone.sync()
      #expect(try world.serverRows() == ["c": ["text": "c"]])
    }
  }

  /// C11: the data went, and a new device has made the zone again before the laptop asks.
  @Test(arguments: [ZoneDeletionReason.encryptedDataReset, .purged])
  func whyAZoneWentIsToldThoughItIsThereAgain(reason: ZoneDeletionReason) throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    laptop.set(purgePolicy: .deleteWins)
    for name in ["a", "b"] { phone.edit(name, ["text": name]) }
    try world.converge(phone, laptop)
    try world.server.purgeZone(reason)
    let tablet = world.device()
    tablet.edit("c", ["text": "c"])
    try tablet.sync()
    try world.converge(laptop, tablet)
    #expect(laptop.failures == [])
    #expect(laptop.rows.keys.sorted() == (reason == .purged ? ["c"] : ["a", "b", "c"]))
  }

  /// C15: the child comes in an earlier page than its parent, with a kill in between.
  @Test(arguments: [["child", "parent"], ["3", "2", "1"], ["parent", "child"]])
  func theOrderOfRecordsDoesNotMatter(order: [String]) throws {
    let world = SyncWorld()
    let phone = world.device()
    for (number, name) in order.enumerated() {
      phone.edit(name, ["parent": order.dropFirst(number + 1).first ?? ""])
      try phone.send()
    }
    let laptop = world.device()
    laptop.link.pageLimit = 1
    laptop.onEvent { event, _ in
      if case .didFetchRecordZoneChanges = event { return }
      if case .stateUpdate = event, laptop.disk.rows.count == 1 { laptop.kill() }
    }
    _ = try? laptop.fetch()
    let again = world.device(disk: laptop.kill())
    #expect(again.disk.rows.count == 1)
    try again.fetch()
    #expect(again.rows == phone.rows)
    for name in order.reversed() {
      phone.delete(name)
      try phone.send()
    }
    try again.fetch()
    #expect(again.rows.isEmpty)
  }

  /// C24: a restored backup of a device lives beside the device.
  @Test func aRestoredDeviceLosesNothingAndBringsNothingBack() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("old", ["text": "1"])
    phone.edit("gone", ["text": "1"])
    try phone.sync()
    let snapshot = phone.disk
    for number in 0..<5 { phone.edit("r\(number)", ["text": "\(number)"]) }
    phone.delete("gone")
    try phone.sync()
    let copy = world.device(disk: snapshot)
    phone.edit("phone", ["text": "p"])
    copy.edit("copy", ["text": "c"])
    copy.edit("old", ["other": "2"])
    try world.converge(phone, copy)
    #expect(Set(phone.rows.keys) == ["old", "phone", "copy", "r0", "r1", "r2", "r3", "r4"])
    #expect(copy.rows["old"] == ["text": "1", "other": "2"])
  }

  /// C27: rows from before sync was switched on, against a server that has others.
  @Test func rowsFromBeforeSyncAreUploadedOnce() throws {
    let world = SyncWorld()
    let phone = world.device()
    for number in 0..<100 { phone.edit("server\(number)", ["text": "s"]) }
    try phone.sync()
    var disk = DiaryDevice.Disk()
    for number in 0..<500 {
      disk.rows[DiaryDevice.id("local\(number)")] = DiaryDevice.Row(values: ["text": "l"], isDirty: true)
    }
    let laptop = world.device(disk: disk)
    try laptop.sync()
    #expect(laptop.rows.count == 600)
    #expect(try world.serverRows().count == 600)
    var off = laptop.kill()
    for number in 0..<10 {
      off.rows[DiaryDevice.id("local\(number)")]?.values["text"] = "edited"
      off.rows[DiaryDevice.id("local\(number)")]?.isDirty = true
    }
    let again = world.device(disk: off)
    try again.sync()
    #expect(again.link.batches == [10])
    #expect(try world.serverRows().count == 600)
  }

  /// C29: the server's data were replaced by a backup that lacks what was synced.
  @Test(arguments: [DiaryDevice.DeletePolicy.deleteWins, .editWins])
  func aRestoredServerIsNoticed(policy: DiaryDevice.DeletePolicy) throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    for device in [phone, laptop] { device.set(lossPolicy: policy) }
    for name in ["a", "b", "c"] { phone.edit(name, ["text": name]) }
    try world.converge(phone, laptop)
    try world.server.restoreBackupWithoutRecords()
    try phone.fetch()
    #expect(phone.failures == [.changeTokenExpired])
    try world.converge(phone, laptop)
    #expect(phone.rows.count == (policy == .editWins ? 3 : 0))
  }

  /// C30: reading everything again throws no edit away.
  @Test func readingEverythingAgainKeepsWhatWaits() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("a", ["text": "a"])
    try phone.sync()
    for number in 0..<5 { phone.edit("r\(number)", ["text": "\(number)"]) }
    phone.engine.forgetChangeTokens()
    #expect(phone.pending.count == 5)
    try phone.fetch()
    #expect(phone.pending.count == 5)
    #expect(phone.rows.count == 6)
    try phone.send()
    #expect(phone.pending == [])
    #expect(try world.serverRows().count == 6)
  }

  /// C118: a first sync that was killed half-way fetches only the rest. C120: few notices, and memory for one page.
  @Test func aFirstSyncGoesOnWhereItWasKilled() throws {
    let world = SyncWorld()
    let phone = world.device()
    for number in 0..<2_000 { phone.edit("r\(number)", ["text": "\(number)"]) }
    try phone.send()
    let laptop = world.device()
    laptop.link.pageLimit = 100
    let pages = Counter()
    laptop.onEvent { event, engine in
      if case .fetchedRecordZoneChanges = event, pages.next() == 9 { laptop.kill() }
      // C112: what is half there is not done.
      #expect(!engine.status.isUpToDate)
    }
    _ = try? laptop.fetch()
    let again = world.device(disk: laptop.kill())
    again.link.pageLimit = 100
    try again.fetch()
    #expect(again.rows.count == 2_000)
    #expect(again.link.count(of: "changes/zone") <= 12)
    #expect(again.largestPage <= 100)
    #expect(again.engine.status.recordsFetched <= 1_200)
  }

  /// C120: many changes are few events.
  @Test func manyChangesAreFewEvents() throws {
    let world = SyncWorld()
    let phone = world.device()
    for number in 0..<5_000 { phone.edit("r\(number)", ["text": "\(number)"]) }
    try phone.send()
    let laptop = world.device()
    try laptop.fetch()
    #expect(laptop.rows.count == 5_000)
    #expect(laptop.events.count <= 50)
  }

  @Test func deletionsAndZoneDeletionsAreTold() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    phone.edit("a", ["text": "a"])
    phone.edit("b", ["text": "b"])
    try world.converge(phone, laptop)
    phone.delete("a")
    try phone.sync()
    try laptop.fetch()
    #expect(laptop.rows.keys.sorted() == ["b"])
    phone.engine.state.add(pendingDatabaseChanges: [.deleteZone(DiaryDevice.zoneID)])
    try phone.send()
    try laptop.fetch()
    #expect(laptop.rows.isEmpty)
    #expect(laptop.events.contains("database(+0-1)"))
  }
}

private final class Counts: Sendable {
  private let values = Mutex<[Int]>([])
  var all: [Int] { values.withLock { $0 } }
  func append(_ value: Int) { values.withLock { $0.append(value) } }
}
