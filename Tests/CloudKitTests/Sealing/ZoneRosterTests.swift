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
        #expect(CanonicalBase64.decode(item.value).flatMap { secret.unwrap($0, id: later) } == nil)
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

  enum Loss: CaseIterable { case shareDeleted, takenOut }

  /// A request that is lost after it was noted: the server says so by and by, or the next save of the share finds out.
  @Test(arguments: Loss.allCases, [true, false])
  func whoStaysBecauseARequestWasLostIsHandedTheNextKey(loss: Loss, isNetworkBack: Bool) async throws {
    let share = try await share()
    let network = phone.network
    network.before { request in
      if request.url.contains("records/modify") { network.cut() } else if isNetworkBack { network.heal() }
    }
    let error = await #expect(throws: CKError.self) {
      switch loss {
      case .shareDeleted: _ = try await phone.database.deleteRecord(withID: share.recordID)
      case .takenOut:
        let changed = try #require(share.copy() as? CKShare)
        changed.removeParticipant(try #require(changed.participants.first { $0.role == .privateUser }))
        _ = try await phone.database.save(changed)
      }
    }
    #expect(error?.code == .networkUnavailable)
    network.before(nil)
    network.heal()
    if !isNetworkBack {
      let found = try #require(try await phone.database.record(for: share.recordID) as? CKShare)
      found[CKShare.SystemFieldKey.title] = "Our diary"
      _ = try await phone.database.save(found)
    }
    try await replaceTheKey()
    #expect(try await textForBob("root") == "second")
  }

  /// A share that no roster has, as one of a version before: the first save by an app puts down whom it shows.
  @Test func whoTakesPartInAShareOfBeforeIsHandedTheNextKeyOnceItIsSaved() async throws {
    let guest = try await phone.container.shareParticipant(forUserRecordID: try await bob.container.userRecordID())
    guest.permission = .readWrite
    var change = RecordChange(name: .zoneShare, type: .share)
    change.shareChange = ShareChange(publicPermission: SharePermission.none, participants: [guest.model])
    _ = try await phone.modify(change, .create, in: zone)
    let id = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: zone.zoneID)
    let share = try #require(try await phone.database.record(for: id) as? CKShare)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: try #require(share.url)))
    #expect(try await textForBob("root") == "first")
    #expect(try await !items().contains { $0.name.hasPrefix("roster/") })
    let found = try #require(try await phone.database.record(for: id) as? CKShare)
    found[CKShare.SystemFieldKey.title] = "Our diary"
    _ = try await phone.database.save(found)
    try await replaceTheKey()
    #expect(try await textForBob("root") == "second")
  }

  /// Deleting records of a zone without shares asks for no keys.
  @Test func deletionWhereNothingIsSharedIsOneRequest() async throws {
    let device = phone.restarted()
    _ = try await device.database.deleteRecord(withID: CKRecord.ID(recordName: "nothing", zoneID: zone.zoneID))
    #expect(device.network.count("/virga/1/keys") == 0)
    let share = try await share()
    // Another device has made it, and this one has met it.
    _ = try await device.database.record(for: share.recordID)
    _ = try await device.database.deleteRecord(withID: root.recordID)
    #expect(try await items().filter { $0.name.hasPrefix("roster/") }.count == 2)
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
      #expect(CanonicalBase64.decode(item.value).flatMap { old.unwrap($0, id: after) } == nil)
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
    name: RecordName = "Share-1", root: RecordName? = "root", tag: ChangeTag = "1", pen: ZoneRoster.Pen? = nil
  ) -> [KeyMessages.Item] {
    roster.entries(
      for: ZoneRoster.Share(root: root, isOpen: isOpen, users: users), named: name, at: isNew ? nil : tag,
      by: pen ?? Self.pen(key, "round \(roster.rounds.count)"))
  }

  private static func pen(_ key: AccountKey, _ unique: String, at second: Int64 = 0) -> ZoneRoster.Pen {
    ZoneRoster.Pen(place: zonePlace, key: key, unique: unique, now: Timestamp(milliseconds: second * 1_000))
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
    items += roster.entries(forDeleting: ["a", "Share-1"], by: Self.pen(key, ""))
    roster = Self.roster(items, key)
    #expect(roster.shares.isEmpty && !roster.admits("_carol") && items.count == 4, "both in one text")
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

  @Test func rosterOfAZoneThatWasMadeAgainBeginsAnewAndTheOldOneIsOver() {
    let key = AccountKey.random()
    let old = Self.entries(ZoneRoster(), ["_bob"], key, isNew: true, pen: Self.pen(key, "old", at: 10_000))
    let known = Self.roster(old, key)
    // By a device that knew the zone of before, whose clock is behind, and by one that did not.
    var gone = ZoneRoster(known.stored.over, of: Self.zonePlace, keys: [key])
    #expect(gone.shares.isEmpty && gone.missing(in: []).isEmpty)
    for (maker, second) in [(gone, Int64(0)), (ZoneRoster(), 20_000)] {
      let items = Self.entries(maker, ["_carol"], key, isNew: true, pen: Self.pen(key, "new", at: second))
      let roster = Self.roster(items, key, known: known)
      #expect(roster.admits("_carol") && !roster.admits("_bob") && roster.missing(in: items).isEmpty)
      // Neither a device that has read both, nor one that has read the new one alone, takes the old one in its place, after a
      // start too. Nor does it put what it has into the old one's list.
      for reader in [roster, Self.roster(items, key)] {
        for reader in [reader, ZoneRoster(reader.stored, of: Self.zonePlace, keys: [key])] {
          #expect(Self.roster(old, key, known: reader) == reader && reader.admits("_carol"))
          #expect(reader.missing(in: old).isEmpty)
        }
      }
    }
    // A device that has deleted the zone does not take the old one either.
    gone = Self.roster(old, key, known: gone)
    #expect(!gone.admits("_bob"))
  }

  /// Of two devices that begin a roster at the same moment one is not kept. A server may have kept its text all the same.
  @Test func rosterThatWasNotKeptIsNoLaterOne() {
    let key = AccountKey.random()
    let first = Self.entries(ZoneRoster(), ["_carol"], key, isNew: true, pen: Self.pen(key, "first", at: 0))
    let other = Self.entries(ZoneRoster(), ["_bob"], key, isNew: true, pen: Self.pen(key, "other", at: 30))
    let known = Self.roster(first, key)
    #expect(Self.roster(other, key, known: known) == known)
    // What follows in another life does not count in this one.
    let next = Self.entries(Self.roster(other, key), ["_bob", "_mallory"], key)
    #expect(Self.roster(first + next, key) == known)
  }

  /// Lists of versions before have no lives.
  @Test func rosterOfAVersionBeforeGoesOn() throws {
    let key = AccountKey.random()
    func item(_ number: Int, _ json: String) -> KeyMessages.Item {
      let context = SignedText.text("virga roster 1", Self.zonePlace.parts + ["\(number)"])
      return KeyMessages.Item(
        "roster/\(number)", "\(key.id).\(CanonicalBase64.encode(key.wrapping.seal(Array(json.utf8), for: context)))")
    }
    var old = [
      item(1, #"{"isOpen":false,"name":"Share-1","root":"root","round":"r","users":["_bob"]}"#),
      item(2, #"{"isOpen":false,"name":"Share-1","root":"root","users":["_bob","_carol"]}"#),
    ]
    let known = Self.roster(old, key)
    #expect(known.admits("_carol") && known.rounds == ["r"])
    old += Self.entries(known, ["_carol"], key)
    let roster = Self.roster(old, key)
    #expect(roster.admits("_carol") && !roster.admits("_bob"))
    // Another one takes its place, and is not replaced by it again.
    let new = Self.entries(ZoneRoster(), ["_dave"], key, isNew: true)
    let later = Self.roster(new, key, known: roster)
    #expect(later.admits("_dave") && Self.roster(old, key, known: later) == later)
    #expect(Self.roster(old, key, known: Self.roster(new, key)).admits("_dave"), "one with a time is the later")
  }

  /// A share that takes another one's place is one text with that one's end: of two texts one might be kept alone.
  @Test func shareInPlaceOfAnotherIsOneText() {
    let key = AccountKey.random()
    var items = Self.entries(ZoneRoster(), ["_bob"], key, isNew: true)
    items += Self.entries(Self.roster(items, key), ["_carol"], key, isNew: true, name: "Share-2")
    let roster = Self.roster(items, key)
    #expect(items.count == 2 && roster.shares.keys.sorted() == ["Share-2"] && roster.rounds.count == 2)
    #expect(!roster.admits("_bob"))
  }

  /// What was noted and not done: the version of the share is the one of then.
  @Test func whoWasToBeTakenOutIsInAsLongAsTheShareIsTheSame() {
    let key = AccountKey.random()
    var items = Self.entries(ZoneRoster(), ["_bob"], key, isNew: true)
    items += Self.entries(Self.roster(items, key), [], key, tag: "1")
    let noted = Self.roster(items, key)
    #expect(!noted.admits("_bob"))
    #expect(noted.participants(of: "Share-1", at: "1") == ["_bob"] && noted.participants(of: "Share-1", at: "2") == [])
    // One more attempt at the same version, of something else.
    items += Self.entries(noted, ["_carol"], key, tag: "1")
    #expect(Self.roster(items, key).participants(of: "Share-1", at: "1") == ["_bob", "_carol"])
    // A share that was to end is there, and one that nobody noted.
    items += Self.roster(items, key).entries(forDeleting: ["root"], by: Self.pen(key, ""))
    #expect(Self.roster(items, key).participants(of: "Share-1", at: "3") == ["_carol"])
    #expect(Self.roster(items, key).participants(of: "Share-9", at: "1") == nil)
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
    let files = try FileManager.default.contentsOfDirectory(atPath: phone.home.path).filter { $0.hasSuffix(".roster") }
    let data = try Data(contentsOf: URL(fileURLWithPath: phone.home.path + "/" + #require(files.first)))
    let rest = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(files.count == 1 && (rest["texts"] as? [String]) == [] && (rest["former"] as? [String])?.count == 1)
  }

  @Test func rosterIsSetBackWhereNothingWasDone() {
    let key = AccountKey.random()
    var items = Self.entries(ZoneRoster(), ["_bob"], key, isNew: true)
    let before = Self.roster(items, key)
    items += before.entries(forDeleting: ["root"], by: Self.pen(key, ""))
    let after = Self.roster(items, key)
    #expect(!after.admits("_bob"))
    items += after.entries(restoring: before, ["Share-1"], by: Self.pen(key, ""))
    #expect(Self.roster(items, key).shares == before.shares)
  }
}
