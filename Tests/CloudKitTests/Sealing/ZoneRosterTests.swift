import CloudKit
import Foundation
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaAccounts
@testable import VirgaAuth
@testable import VirgaCloudKit

/// Whom the next key of a shared zone is for: those whom the owner's devices have put down, whatever the server says.
@Suite struct ZoneRosterTests {
  let diary: SealedDiary
  let bob: TestDevice
  let root: CKRecord
  var server: TestServer { diary.server }
  var phone: TestDevice { diary.phone }
  var zone: CKRecordZone { diary.zone }

  private static let zonePlace = ZonePlace(container: "iCloud.test", environment: .development, zone: "Diary")
  private static let place = KeyMessages.Zone(
    container: "iCloud.test", environment: "development", owner: nil, zone: "Diary")

  init() async throws {
    diary = try await SealedDiary()
    bob = try diary.server.device("bob")
    root = diary.entry("root", secret: "first")
    _ = try await diary.phone.joined(as: "laptop")
    _ = try await diary.phone.database.save(root)
  }

  private func items() async throws -> [KeyMessages.Item] {
    try await phone.accounts.keyItems(of: Self.place, adding: [])
  }

  /// Shares the root with Bob, by name or with everybody, and lets him read it.
  private func share(isOpen: Bool = false) async throws -> CKShare {
    let share = CKShare(rootRecord: root)
    if isOpen {
      share.publicPermission = .readWrite
    } else {
      let guest = try await phone.container.shareParticipant(forUserRecordID: try await bob.container.userRecordID())
      guest.permission = .readWrite
      share.addParticipant(guest)
    }
    for result in try await phone.database.modifyRecords(saving: [root, share], deleting: []).saveResults.values {
      _ = try result.get()
    }
    let url = try #require(share.url)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: url))
    #expect(try await textForBob("root") == "first")
    // Joining made another version of it.
    return try #require(try await phone.database.record(for: share.recordID) as? CKShare)
  }

  private func textForBob(_ name: String) async throws -> String? {
    let shared = bob.restarted().container.sharedCloudDatabase
    let zoneID = try #require(try await shared.allRecordZones().first?.zoneID)
    return try await shared.record(for: CKRecord.ID(recordName: name, zoneID: zoneID)).encryptedValues["text"]
      as? String
  }

  /// The account's key is replaced, and a device of the owner's looks at the zone.
  private func replaceTheKey() async throws {
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    root.encryptedValues["text"] = "second"
    _ = try await phone.database.modifyRecords(saving: [root], deleting: [], savePolicy: .changedKeys)
    server.advance(by: .seconds(60))
  }

  /// A server that has kept what somebody left shows it to the owner's devices again.
  private func show(_ kept: [KeyMessages.Item]) {
    phone.network.replaceKeyItems { items in
      items + kept.filter { kept in !items.contains { $0.name == kept.name } }
    }
  }

  enum End: CaseIterable { case takenOut, closed, shareDeleted, rootDeleted, shareDeletedElsewhere }

  @Test(arguments: End.allCases) func keptIntroductionOfSomebodyWhoIsOutGetsNoLaterKey(end: End) async throws {
    let share = try await share(isOpen: end == .closed)
    let user = try await bob.container.userRecordID().recordName
    let kept = try await items()
    #expect(kept.contains { $0.name.hasPrefix("participant/\(user)/") })
    let keys = try await bob.accounts.accountKeys(makingFirst: false)
    let other = diary.entry("other", secret: "x")
    _ = try await phone.database.save(other)
    show(kept)
    switch end {
    case .takenOut:
      share.removeParticipant(try #require(share.participants.first { $0.role == .privateUser }))
      _ = try await phone.database.save(share)
    case .closed:
      share.publicPermission = .none
      _ = try await phone.database.save(share)
    case .shareDeleted: _ = try await phone.database.deleteRecord(withID: share.recordID)
    case .rootDeleted: _ = try await phone.database.deleteRecord(withID: root.recordID)
    case .shareDeletedElsewhere:
      // By another device of the owner's than the one that looks at the zone later.
      _ = try await phone.restarted().database.deleteRecord(withID: share.recordID)
    }
    // The server shows what it kept to this device from then on, and to no other: it has not been told of that.
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    let device = phone.restarted()
    device.network.replaceKeyItems { items in
      items + kept.filter { kept in !items.contains { $0.name == kept.name } }
    }
    _ = try await device.database.save(diary.entry("later", secret: "later"))
    let list = try await items()
    #expect(!list.contains { $0.name.hasPrefix("handover/\(user)/") }, "\(list.map(\.name))")
    // Nothing that there is leads to the later key.
    let secrets = ZoneHandover.secrets(
      [], of: UserName(user), from: list + kept, holding: keys.keychain)
    let later = try #require(try await diary.zoneKey(of: "later"))
    for secret in secrets.all {
      for item in list where item.name.hasSuffix("/\(later)") {
        #expect(Base64.decode(item.value).flatMap { secret.unwrap($0, id: later) } == nil)
      }
    }
  }

  @Test(arguments: [true, false]) func whoTakesPartIsHandedTheNextKey(isOpen: Bool) async throws {
    _ = try await share(isOpen: isOpen)
    try await replaceTheKey()
    #expect(try await textForBob("root") == "second")
  }

  /// What the server refused to change has not changed.
  @Test func whoStaysBecauseASaveWasRefusedIsHandedTheNextKey() async throws {
    let share = try await share()
    let older = try #require(share.copy() as? CKShare)
    share[CKShare.SystemFieldKey.title] = "Our diary"
    _ = try await phone.database.save(share)
    older.removeParticipant(try #require(older.participants.first { $0.role == .privateUser }))
    let error = await #expect(throws: CKError.self) { try await phone.database.save(older) }
    #expect(error?.code == .serverRecordChanged)
    try await replaceTheKey()
    #expect(try await textForBob("root") == "second")
  }

  /// Whom somebody else has put into the share is not whom the owner's app invited, though the app saves it again.
  @Test func whomTheServerNamesIsHandedNoLaterKey() async throws {
    let share = try await share()
    let user = try await bob.container.userRecordID().recordName
    let kept = try await items().filter { $0.name.contains("/\(user)/") }
    let guest = try #require(share.participants.first { $0.role == .privateUser })
    share.removeParticipant(guest)
    _ = try await phone.database.save(share)
    // As a server does that puts Bob back: his introduction, and his name in the share.
    var change = RecordChange(
      name: share.recordID.model.name, type: .share, tag: share.state.withLock { $0.record.tag })
    change.shareChange = ShareChange(participants: [guest.model])
    _ = try await phone.modify(change, .update, in: zone)
    show(kept)
    let told = try #require(try await phone.database.record(for: share.recordID) as? CKShare)
    #expect(told.participants.count == 2)
    told[CKShare.SystemFieldKey.title] = "Our diary"
    _ = try await phone.database.save(told)
    try await replaceTheKey()
    #expect(try await !items().contains { $0.name.hasPrefix("handover/\(user)/") })
    // The owner's app invites him, and the address of now has the key of now.
    let again = try #require(try await phone.database.record(for: share.recordID) as? CKShare)
    again.addParticipant(try #require(again.participants.first { $0.role == .privateUser }))
    _ = try await phone.database.save(again)
    #expect(try await phone.database.record(for: root.recordID).encryptedValues["text"] as? String == "second")
    let url = try #require(again.url)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: url))
    #expect(try await textForBob("root") == "second")
  }

  // MARK: Shares that are made again

  @Test(arguments: [true, false]) func shareThatIsMadeAgainHasAnotherKey(isByAnotherDevice: Bool) async throws {
    let first = try await share(isOpen: true)
    let (url, before) = (try #require(first.url), try #require(try await diary.zoneKey(of: "root")))
    let old = try #require(url.fragment.flatMap { ZoneSecret(fragment: $0, place: Self.zonePlace) })
    _ = try await phone.database.deleteRecord(withID: first.recordID)
    let device = isByAnotherDevice ? phone.restarted() : phone
    let record = try await device.database.record(for: root.recordID)
    let second = CKShare(rootRecord: record)
    second.publicPermission = .readWrite
    _ = try await device.database.modifyRecords(saving: [record, second], deleting: [])
    let again = try #require(second.url)
    #expect(again.path != url.path && again.fragment != nil && again.fragment != url.fragment)
    // Who has the old link opens nothing that comes from now on, with all that the server has.
    record.encryptedValues["text"] = "second"
    _ = try await device.database.save(record)
    let after = try #require(try await diary.zoneKey(of: "root"))
    #expect(after != before)
    let list = try await items()
    for item in list where item.name.hasSuffix("/\(after)") {
      #expect(Base64.decode(item.value).flatMap { old.unwrap($0, id: after) } == nil)
    }
    #expect(!list.contains { $0.name.hasPrefix("handover/") })
    // The new link opens all of it.
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: again))
    #expect(try await textForBob("root") == "second")
    let carol = try server.device("carol")
    _ = try await carol.container.accept(try await carol.container.shareMetadata(for: again))
    let shared = carol.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.allRecordZones().first?.zoneID)
    let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
    #expect(try await shared.record(for: id).encryptedValues["text"] as? String == "second")
  }

  /// A zone's share that an app makes at each of its starts is refused, and leaves the zone's key and list alone.
  @Test func zoneShareThatIsThereIsNotMadeAgainAndKeepsItsKey() async throws {
    let share = CKShare(recordZoneID: zone.zoneID)
    share.publicPermission = .readOnly
    _ = try await phone.database.save(share)
    let before = try await items().count
    for _ in 0..<3 {
      let again = CKShare(recordZoneID: zone.zoneID)
      again.publicPermission = .readOnly
      await #expect(throws: CKError.self) { try await phone.database.save(again) }
    }
    let found = try #require(try await phone.database.record(for: share.recordID) as? CKShare)
    #expect(found.url == share.url)
    #expect(try await items().count == before)
    // One that a web page ended is another one.
    let deletion = RecordOperation(.forceDelete, RecordChange(name: .zoneShare))
    _ = try await phone.database.perform(
      .recordsModify(RecordsModifyRequest(operations: [deletion], zone: ZoneSelector(zone.zoneID.model))),
      in: zone.zoneID.model)
    let other = CKShare(recordZoneID: zone.zoneID)
    other.publicPermission = .readOnly
    _ = try await phone.database.save(other)
    #expect(other.url?.fragment != nil && other.url?.fragment != share.url?.fragment)
    let bobs = try #require(other.url)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: bobs))
    #expect(try await textForBob("root") == "first")
  }

  /// A second share beside one that is there has the zone's key, unless somebody has it who is out.
  @Test(arguments: [true, false]) func shareBesideAnotherHasItsKeyUnlessSomebodyIsOut(isOneOut: Bool) async throws {
    let first = try await share(isOpen: true)
    let roots = [diary.entry("a", secret: "of a"), diary.entry("b", secret: "of b")]
    _ = try await phone.database.modifyRecords(saving: roots, deleting: [])
    func shareOpenly(_ root: CKRecord) async throws -> CKShare {
      let share = CKShare(rootRecord: root)
      share.publicPermission = .readWrite
      for result in try await phone.database.modifyRecords(saving: [root, share], deleting: []).saveResults.values {
        _ = try result.get()
      }
      return share
    }
    let second = try await shareOpenly(roots[0])
    #expect(second.url?.fragment == first.url?.fragment)
    if isOneOut { _ = try await phone.database.deleteRecord(withID: second.recordID) }
    let third = try await shareOpenly(roots[1])
    #expect((third.url?.fragment == first.url?.fragment) == !isOneOut)
    // Those of the share that stays go on.
    root.encryptedValues["text"] = "second"
    _ = try await phone.database.modifyRecords(saving: [root], deleting: [], savePolicy: .changedKeys)
    server.advance(by: .seconds(60))
    #expect(try await textForBob("root") == "second")
  }

  // MARK: The roster by itself

  private static func roster(_ items: [KeyMessages.Item], _ key: AccountKey, known: ZoneRoster = ZoneRoster())
    -> ZoneRoster
  {
    ZoneRoster(items, of: zonePlace, keys: [key], known: known)
  }

  private static func entries(
    _ roster: ZoneRoster, _ users: Set<UserName>, _ key: AccountKey, isNew: Bool = false, isOpen: Bool = false,
    name: RecordName = "Share-1", root: RecordName? = "root"
  ) -> [KeyMessages.Item] {
    roster.entries(
      for: ZoneRoster.Share(root: root, isOpen: isOpen, users: users), named: name, isNew: isNew,
      round: "round \(roster.rounds.count)", of: zonePlace, key: key)
  }

  @Test func rosterIsReadAsItWasWritten() {
    let key = AccountKey.random()
    var items = Self.entries(ZoneRoster(), ["_bob", "_carol"], key, isNew: true)
    var roster = Self.roster(items, key)
    #expect(items.map(\.name) == ["roster/1"] && roster.rounds == ["round 0"])
    #expect(roster.admits("_bob") && roster.admits("_carol") && !roster.admits("_dave"))
    #expect(Self.entries(roster, ["_bob", "_carol"], key).isEmpty, "what is so is not said again")
    items += Self.entries(roster, ["_carol"], key)
    roster = Self.roster(items, key)
    #expect(!roster.admits("_bob") && roster.admits("_carol") && roster.rounds.count == 1)
    items += Self.entries(roster, [], key, isNew: true, isOpen: true, name: "Share-2", root: "a")
    roster = Self.roster(items, key)
    #expect(roster.admits("_dave") && roster.rounds.count == 2, "somebody was out")
    items += roster.entries(forDeleting: ["a", "Share-1"], of: Self.zonePlace, key: key)
    roster = Self.roster(items, key)
    #expect(roster.shares.isEmpty && !roster.admits("_carol") && items.count == 5)
  }

  @Test func rosterOfSomebodyElseOrWithAGapDoesNotCount() {
    let key = AccountKey.random()
    let first = Self.entries(ZoneRoster(), ["_bob"], key, isNew: true)
    let second = Self.entries(Self.roster(first, key), ["_bob", "_carol"], key)
    #expect(!Self.roster(second, key).admits("_bob"), "one is missing")
    #expect(Self.roster(first, .random()).shares.isEmpty, "another account's")
    let moved = [KeyMessages.Item("roster/1", second[0].value)]
    #expect(Self.roster(moved, key).shares.isEmpty, "another number's")
    let place = ZonePlace(container: "iCloud.test", environment: .development, zone: "Other")
    #expect(ZoneRoster(first, of: place, keys: [key]).shares.isEmpty, "another zone's")
  }

  @Test func rosterThatWasReadIsNotTakenBack() {
    let key = AccountKey.random()
    let first = Self.entries(ZoneRoster(), ["_bob"], key, isNew: true)
    let second = Self.entries(Self.roster(first, key), [], key)
    let known = Self.roster(first + second, key)
    #expect(!known.admits("_bob"))
    // A server shows the older one, another one, or none.
    let other = Self.entries(Self.roster(first, key), ["_bob", "_mallory"], key)
    for shown in [[], first, first + other] {
      let roster = Self.roster(shown, key, known: known)
      #expect(roster == known)
      #expect(roster.missing(in: shown).map(\.name) == Array(["roster/1", "roster/2"].dropFirst(shown.count)))
    }
  }

  @Test func rosterOfAZoneThatWasMadeAgainBeginsAnew() {
    let key = AccountKey.random()
    let known = Self.roster(Self.entries(ZoneRoster(), ["_bob"], key, isNew: true), key)
    let items = Self.entries(ZoneRoster(), ["_carol"], key, isNew: true)
    let roster = Self.roster(items, key, known: known)
    #expect(roster.admits("_carol") && !roster.admits("_bob") && roster.missing(in: items).isEmpty)
  }

  /// A server that shows a device after its start what was there before somebody was taken out.
  @Test func rosterThatWasReadOutlivesTheProgram() async throws {
    let share = try await share()
    let user = try await bob.container.userRecordID().recordName
    let kept = try await items()
    share.removeParticipant(try #require(share.participants.first { $0.role == .privateUser }))
    _ = try await phone.database.save(share)
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    let device = phone.restarted()
    let older = Set(kept.filter { $0.name.hasPrefix("roster/") }.map(\.name))
    device.network.replaceKeyItems { items in
      items.filter { !$0.name.hasPrefix("roster/") || older.contains($0.name) }
        + kept.filter { kept in !items.contains { $0.name == kept.name } }
    }
    _ = try await device.database.save(diary.entry("later", secret: "later"))
    #expect(try await !items().contains { $0.name.hasPrefix("handover/\(user)/") })
    // A zone that this device deletes takes that along.
    device.network.replaceKeyItems(nil)
    _ = try await device.database.deleteRecordZone(withID: zone.zoneID)
    let files = try FileManager.default.contentsOfDirectory(atPath: phone.home.path)
    #expect(!files.contains { $0.hasSuffix(".roster") })
  }

  @Test func rosterIsSetBackWhereNothingWasDone() {
    let key = AccountKey.random()
    var items = Self.entries(ZoneRoster(), ["_bob"], key, isNew: true)
    let before = Self.roster(items, key)
    items += before.entries(forDeleting: ["root"], of: Self.zonePlace, key: key)
    let after = Self.roster(items, key)
    #expect(!after.admits("_bob"))
    items += after.entries(restoring: before, ["Share-1"], of: Self.zonePlace, key: key)
    #expect(Self.roster(items, key).shares == before.shares)
  }
}
