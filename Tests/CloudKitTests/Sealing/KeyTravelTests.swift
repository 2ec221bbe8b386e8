import CloudKit
import Foundation
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaAccounts
@testable import VirgaAuth
@testable import VirgaCloudKit

/// How keys reach the devices of an account.
@Suite struct KeyTravelTests {
  let diary: SealedDiary
  var server: TestServer { diary.server }
  var phone: TestDevice { diary.phone }
  var zone: CKRecordZone { diary.zone }

  init() async throws { diary = try await SealedDiary() }

  @Test func joinedDeviceReadsWhatWasAndWhatWillBeEncrypted() async throws {
    _ = try await phone.database.save(diary.entry("before", secret: "before"))
    let laptop = try await phone.joined(as: "laptop")
    #expect(try await diary.text(of: "before", on: laptop) == "before")
    _ = try await laptop.database.save(diary.entry("after", secret: "after"))
    #expect(try await diary.text(of: "after", on: phone) == "after")
    #expect(try await diary.zoneKey(of: "before") == diary.zoneKey(of: "after"))
    let keys = try await (
      phone.accounts.accountKeys(makingFirst: false), laptop.accounts.accountKeys(makingFirst: false)
    )
    #expect(keys.0.keychain.current != nil && keys.0.keychain == keys.1.keychain)
  }

  @Test func zoneKeysThatTwoDevicesMakeAtOnceBothStayAndAllGoOnWithOne() async throws {
    let laptop = try await phone.joined(as: "laptop")
    async let first = phone.database.save(diary.entry("phone", secret: "from the phone"))
    async let second = laptop.database.save(diary.entry("laptop", secret: "from the laptop"))
    _ = try await (first, second)
    for device in [phone, laptop] {
      #expect(try await diary.text(of: "phone", on: device) == "from the phone")
      #expect(try await diary.text(of: "laptop", on: device) == "from the laptop")
    }
    server.advance(by: .seconds(60))
    _ = try await phone.database.save(diary.entry("phone2", secret: "x"))
    _ = try await laptop.database.save(diary.entry("laptop2", secret: "y"))
    #expect(try await diary.zoneKey(of: "phone2") == diary.zoneKey(of: "laptop2"))
  }

  /// A key that another device has made since the last look is looked for at once, and only once in a while.
  @Test func keyThatWasMadeAMomentAgoIsFound() async throws {
    let laptop = try await phone.joined(as: "laptop")
    let seal = try #require(laptop.database.seal(of: zone.zoneID.model))
    try await seal.keyring.load(seal.spot, for: [])
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    #expect(try await diary.text(of: "one", on: laptop) == "first")
    // One that is not there is not asked for again and again.
    laptop.network.forget()
    for _ in 0..<3 { try await seal.keyring.load(seal.spot, for: ["nowhere"]) }
    #expect(laptop.network.count("/virga/1/keys") == 1)
  }

  @Test func accountKeysThatTwoDevicesMakeAtOnceBecomeOne() async throws {
    // As it was before devices were given keys: both are in the account, neither has one.
    let laptop = try await phone.joined(as: "laptop")
    for device in [phone, laptop] { try device.forgetKeys() }
    try await server.forgetKeys()
    async let first = outcome(of: diary.entry("phone", secret: "p"), on: phone.restarted())
    async let second = outcome(of: diary.entry("laptop", secret: "l"), on: laptop.restarted())
    let codes = await [first, second]
    // One of them made the key; the other waits for it, and loses nothing.
    #expect(codes.filter { $0 == nil }.count == 1)
    #expect(codes.filter { $0 == .accountTemporarilyUnavailable }.count == 1)
  }

  /// Why a save failed, if it did.
  private func outcome(of record: CKRecord, on device: TestDevice) async -> CKError.Code? {
    do {
      _ = try await device.database.save(record)
      return nil
    } catch { return (error as? CKError)?.code }
  }

  @Test func deviceWithoutTheKeyKeepsTheCiphertextUntilTheKeyComes() async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let kept = try laptop.forgetKeys()
    let poor = laptop.restarted()
    try await server.forgetKeys("grant/")
    let record = try await poor.database.record(for: diary.entry("one", secret: "").recordID)
    #expect(record.encryptedValues["text"] == nil && record.encryptedValues.allKeys().isEmpty)
    #expect(record.encryptedValueState(forKey: "text") == .keyMissing && record["title"] as? String == "plain")
    let before = try await phone.sealed("text", of: "one", in: zone)
    record["title"] = "changed"
    for policy in [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .allKeys] {
      record["title"] = "changed \(policy.rawValue)"
      let results = try await poor.database.modifyRecords(saving: [record], deleting: [], savePolicy: policy)
      _ = try results.saveResults[record.recordID]?.get()
      #expect(record.encryptedValueState(forKey: "text") == .keyMissing)
    }
    #expect(try await phone.sealed("text", of: "one", in: zone) == before)
    let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    #expect(copy.encryptedValueState(forKey: "text") == .keyMissing && copy.encryptedValues["text"] == nil)

    let refused = diary.entry("two", secret: "second")
    let error = await #expect(throws: CKError.self) { try await poor.database.save(refused) }
    #expect(error?.code == .accountTemporarilyUnavailable)

    try kept()
    server.advance(by: .seconds(60))
    #expect(try await diary.text(of: "one", on: poor) == "first")
    // The object that was fetched before sees the value as well.
    #expect(record.encryptedValues["text"] as? String == "first")
    copy["title"] = "again"
    _ = try await poor.database.modifyRecords(saving: [copy], deleting: [], savePolicy: .allKeys)
    #expect(try await diary.text(of: "one", on: phone) == "first")
    _ = try await poor.database.save(refused)
  }

  @Test func keysThatCannotBeFetchedAreAskedForOncePerAnswer() async throws {
    let records = (0..<50).map { diary.entry("r\($0)", secret: "secret \($0)") }
    _ = try await phone.database.modifyRecords(saving: records, deleting: [])
    let other = phone.restarted()
    other.network.replaceAnswers { path, answer in
      path.contains("/virga/1/keys") ? TransportResponse(status: 429, headers: [("Retry-After", "7")]) : answer
    }
    let page = try await other.database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
    #expect(page.modificationResultsByID.count == 50)
    for result in page.modificationResultsByID.values {
      #expect(throws: CKError.self) { try result.get() }
    }
    #expect(other.network.count("/virga/1/keys") == 1)
    other.network.replaceAnswers(nil)
    #expect(try await diary.text(of: "r7", on: other) == "secret 7")
  }

  /// A device is not removed as long as the account's key could not be replaced, and trying that ends.
  @Test func serverThatHidesTheNewKeyDoesNotKeepARemovalGoing() async throws {
    _ = try await phone.joined(as: "laptop")
    let lists = Counter()
    phone.network.replaceKeyItems { items in
      lists.next() < 100 ? items.filter { !$0.name.hasPrefix("after/") } : items
    }
    await #expect(throws: AccountError.self) { try await phone.removeDevice(named: "laptop") }
    #expect(lists.value < 100)
  }

  /// What a device knew as a member of one account is forgotten as soon as it acts for another.
  @Test func valuesAreNotSealedWithTheKeyOfAFormerAccount() async throws {
    let other = try server.device("other")
    _ = try await other.database.save(zone)
    _ = try await other.database.save(diary.entry("theirs", secret: "theirs"))
    let laptop = try await phone.joined(as: "laptop")
    _ = try await laptop.database.save(diary.entry("before", secret: "before"))
    try await other.letIn(laptop, replacing: true)
    try await phone.removeDevice(named: "laptop")
    // The request that finds the other account is not let through; the next one is sent in its name.
    #expect(await code { _ = try await laptop.database.allRecordZones() } == .accountTemporarilyUnavailable)
    let seal = try #require(laptop.database.seal(of: zone.zoneID.model))
    #expect(seal.keyring.secret(of: seal.spot) == nil)
    _ = try await laptop.database.save(diary.entry("after", secret: "after"))
    #expect(try await diary.text(of: "after", on: other) == "after")
  }

  /// The former account's session is still good when the device has another account: nothing is encrypted in its name, and
  /// nothing is put among the other's keys.
  @Test func keysAreNotMixedWhenTheAccountIsReplacedBetweenTwoRequests() async throws {
    let other = try server.device("other")
    _ = try await other.database.save(zone)
    let laptop = try await phone.joined(as: "laptop")
    _ = try await laptop.database.save(diary.entry("before", secret: "before"))
    try await other.letIn(laptop, replacing: true)
    server.advance(by: .seconds(60))
    var codes: [CKError.Code?] = []
    while codes.last != .some(nil), codes.count < 5 {
      codes.append(await code { _ = try await laptop.database.save(diary.entry("after", secret: "after")) })
    }
    #expect(codes.dropLast().allSatisfy { $0 == .accountTemporarilyUnavailable } && codes.last == .some(nil))
    #expect(try await diary.text(of: "after", on: other) == "after")
    _ = try await other.database.save(diary.entry("theirs", secret: "theirs"))
    #expect(try await diary.text(of: "theirs", on: laptop) == "theirs")
  }

  @Test func removedDeviceIsLeftOutOfWhatIsEncryptedFromThenOn() async throws {
    let laptop = try await phone.joined(as: "laptop")
    let tablet = try await phone.joined(as: "tablet")
    _ = try await phone.database.save(diary.entry("old", secret: "old"))
    #expect(try await diary.text(of: "old", on: laptop) == "old")
    let before = try await laptop.accounts.accountKeys(makingFirst: false)

    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    _ = try await phone.database.save(diary.entry("new", secret: "new"))
    #expect(try await diary.zoneKey(of: "old") != diary.zoneKey(of: "new"))
    #expect(try await diary.text(of: "new", on: tablet) == "new")
    #expect(try await diary.text(of: "old", on: tablet) == "old")
    _ = try await tablet.database.save(diary.entry("newer", secret: "newer"))
    #expect(try await diary.zoneKey(of: "new") == diary.zoneKey(of: "newer"))
    // Who comes later reads the old values too.
    let watch = try await tablet.joined(as: "watch")
    #expect(try await diary.text(of: "old", on: watch) == "old")
    #expect(try await diary.text(of: "newer", on: watch) == "newer")

    // All that the server has does not help the device that was removed.
    let items = try await phone.accounts.keyItems(of: nil, adding: [])
    let log = AccountKeyLog(items)
    let box = try laptop.home.box(besideKey: "device.key")
    let device = try #require(try laptop.accounts.knownAccount()?.device)
    let chain = log.keychain(
      holding: before.keychain.keys, of: before.account, device: device, box: box, trustsGrants: false)
    #expect(chain.keys == before.keychain.keys && !chain.isCurrent)
    let place = ZonePlace(container: "iCloud.test", environment: .development, zone: "Diary")
    let zoneItems = try await phone.accounts.keyItems(
      of: KeyMessages.Zone(container: "iCloud.test", environment: "development", owner: nil, zone: "Diary"), adding: [])
    let newKey = try #require(try await diary.zoneKey(of: "new"))
    for key in chain.keys {
      for item in zoneItems where item.name.hasSuffix(newKey.rawValue) {
        #expect(CanonicalBase64.decode(item.value).flatMap { key.secret(of: place).unwrap($0, id: newKey) } == nil)
      }
    }
  }

  @Test(arguments: [false, true])
  func keyThatARemovedDeviceHasIsNotWrittenWithWhateverTheListSays(hidesTheRightOne: Bool) async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("old", secret: "old"))
    _ = laptop
    let old = try #require(try await diary.zoneKey(of: "old"))
    try await phone.removeDevice(named: "laptop")
    let new = try #require(try await phone.accounts.accountKeys(makingFirst: false).keychain.current?.id)
    if hidesTheRightOne {
      server.advance(by: .seconds(60))
      _ = try await phone.database.save(diary.entry("new", secret: "new"))
    }
    let right = hidesTheRightOne ? try await diary.zoneKey(of: "new") : nil
    // A server can write any name into a list, and leave any out.
    _ = try await phone.accounts.keyItems(
      of: KeyMessages.Zone(container: "iCloud.test", environment: "development", owner: nil, zone: "Diary"),
      adding: [KeyMessages.Item("key/\(new)/\(old)", "x")])
    let device = phone.restarted()
    device.network.replaceKeyItems { items in
      items.filter { item in right.map { !item.name.hasSuffix($0.rawValue) } ?? true }
    }
    _ = try await device.database.save(diary.entry("newer", secret: "newer"))
    #expect(try await diary.zoneKey(of: "newer") != old)
    #expect(try await diary.text(of: "newer", on: device) == "newer")
  }

  @Test func serverCannotLeadADeviceBackToAnOlderKey() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let laptop = try await phone.joined(as: "laptop")
    let before = try #require(try await phone.accounts.accountKeys(makingFirst: false).keychain.current)
    try await phone.removeDevice(named: "laptop")
    _ = laptop
    let keys = try await phone.accounts.accountKeys(makingFirst: false)
    let current = try #require(keys.keychain.current)
    let device = try #require(try phone.accounts.knownAccount()?.device)
    let log = AccountKeyLog([
      KeyMessages.Item(AccountKeyLog.first, before.id.rawValue),
      KeyMessages.Item(
        AccountKeyLog.after(current.id), #"{"key":"\#(before.id)","previous":"","grants":{}}"#),
    ])
    let chain = log.keychain(
      holding: keys.keychain.keys, of: keys.account, device: device, box: try phone.home.box(besideKey: "device.key"),
      trustsGrants: false)
    #expect(chain.keys.last == current && chain.current == nil)
  }

  @Test func deviceThatWasRemovedIsNotGivenALaterKeyThoughTheServerListsIt() async throws {
    let laptop = try await phone.joined(as: "laptop")
    let tablet = try await phone.joined(as: "tablet")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    for device in [laptop, tablet] { #expect(try await diary.text(of: "one", on: device) == "first") }
    let ids = try [phone, laptop, tablet].map { try #require(try $0.accounts.knownAccount()?.device) }
    try await phone.removeDevice(named: "laptop")
    let before = try #require(try await phone.accounts.accountKeys(makingFirst: false).keychain.current)
    // The tablet has not heard of the first replacement when the second one comes.
    try await phone.accounts.replaceKey(leavingOut: "another", of: ids)
    let keys = try await phone.accounts.accountKeys(makingFirst: false)
    #expect(keys.keychain.current != nil && keys.keychain.current != before)
    let text = try #require(keys.texts[AccountKeyLog.after(before.id)])
    #expect(text.contains(ids[0].rawValue) && text.contains(ids[2].rawValue) && !text.contains(ids[1].rawValue))
    #expect(try await tablet.accounts.accountKeys(makingFirst: false).keychain.current == keys.keychain.current)
  }

  @Test func serverCannotSlipInAKeyOfItsOwn() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let client = phone.accounts
    let keys = try await client.accountKeys(makingFirst: false)
    let current = try #require(keys.keychain.current)
    let device = try #require(try client.knownAccount()?.device)
    let box = try phone.home.box(besideKey: "device.key")
    // It knows the device's public key, but not the account's key.
    let evil = AccountKey.random()
    let link = try AccountKeyLog.succession(
      from: .random(), to: evil, account: keys.account, devices: [(device, box.publicKey)])
    let grant = try #require(
      try AccountKeyLog.grant(of: evil, account: keys.account, to: device, box: box.publicKey))
    let log = AccountKeyLog([
      KeyMessages.Item(AccountKeyLog.first, current.id.rawValue),
      KeyMessages.Item(AccountKeyLog.after(current.id), link),
      KeyMessages.Item(AccountKeyLog.grant(evil.id, device), grant),
      KeyMessages.Item(
        AccountKeyLog.voucher("evil", current.id),
        try AccountKeyLog.voucher(for: "evil", box: box.publicKey, under: evil)),
    ])
    let chain = log.keychain(holding: [current], of: keys.account, device: device, box: box, trustsGrants: false)
    #expect(chain.keys.last == current && chain.current == nil, "the device stops writing rather than trust it")
    #expect(log.boxes(of: ["evil"], vouchedUnder: current).isEmpty)
  }

  @Test func joiningDeviceIsGivenNothingIfItsKeyWasSwapped() async throws {
    let client = phone.accounts
    let code = try await client.invite().code
    let laptop = try server.device("laptop")
    let theirs = laptop.accounts
    async let joined = theirs.join(code: code, replacing: false) { _ in }
    var candidate = try await client.candidate(for: code)
    #expect(try candidate.fingerprint == laptop.home.deviceKey().publicKey.fingerprint)
    #expect(candidate.box != nil)
    // Somebody in the middle puts their own box there: `candidate(for:)` had dropped one without the device's signature.
    candidate.box = nil
    _ = try await client.confirm(candidate, code: code, accepts: true)
    _ = try await joined
    #expect(try await theirs.accountKeys(makingFirst: false).keychain.current == nil)
  }

  @Test func engineReadsAZoneAgainOnceAKeyHasComeThatItLacked() async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let giveBack = try laptop.forgetKeys()
    try await server.forgetKeys("grant/")
    let service = SyncService(laptop.database)
    let id = zone.zoneID.model
    let page = try await service.zoneChanges(in: id, since: nil)
    #expect(!page.missingKeys.isEmpty && page.fetched.first?["title"] as? String == "plain")
    #expect(page.fetched.first?.encryptedValues["text"] == nil)
    server.advance(by: .seconds(60))
    let next = try await service.zoneChanges(in: id, since: page.changeToken.text, missing: page.missingKeys)
    #expect(next.missingKeys.isEmpty && next.fetched.isEmpty)
    try giveBack()
    server.advance(by: .seconds(60))
    let error = await #expect(throws: CKError.self) {
      try await service.zoneChanges(in: id, since: next.changeToken.text, missing: page.missingKeys)
    }
    #expect(error?.code == .changeTokenExpired)
    let whole = try await service.zoneChanges(in: id, since: nil)
    #expect(whole.fetched.first?.encryptedValues["text"] as? String == "first" && whole.missingKeys.isEmpty)
  }

  @Test func engineReadsAZoneAgainForEveryKeyThatItLacked() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let first = try #require(try await diary.zoneKey(of: "one"))
    let tablet = try await phone.joined(as: "tablet")
    try await phone.removeDevice(named: "tablet")
    _ = tablet
    server.advance(by: .seconds(60))
    _ = try await phone.database.save(diary.entry("two", secret: "second"))
    let second = try #require(try await diary.zoneKey(of: "two"))
    let laptop = try await phone.joined(as: "laptop")
    // The keys come one by one, the second first, and the first never.
    laptop.network.replaceKeyItems { items in
      items.filter { !$0.name.hasSuffix(first.rawValue) && !$0.name.hasSuffix(second.rawValue) }
    }
    let service = SyncService(laptop.database)
    let id = zone.zoneID.model
    let page = try await service.zoneChanges(in: id, since: nil)
    #expect(!page.missingKeys.isEmpty && page.fetched.count == 2)
    laptop.network.replaceKeyItems { items in items.filter { !$0.name.hasSuffix(first.rawValue) } }
    server.advance(by: .seconds(60))
    let error = await #expect(throws: CKError.self) {
      try await service.zoneChanges(in: id, since: page.changeToken.text, missing: page.missingKeys)
    }
    #expect(error?.code == .changeTokenExpired)
    let again = try await service.zoneChanges(in: id, since: nil)
    let texts = again.fetched.map { $0.encryptedValues["text"] as? String }
    #expect(texts.compactMap { $0 } == ["second"] && again.missingKeys == [first])
    server.advance(by: .seconds(60))
    let next = try await service.zoneChanges(in: id, since: again.changeToken.text, missing: again.missingKeys)
    #expect(next.fetched.isEmpty && next.missingKeys.isEmpty)
    laptop.network.replaceKeyItems(nil)
    server.advance(by: .seconds(60))
    await #expect(throws: CKError.self) {
      try await service.zoneChanges(in: id, since: next.changeToken.text, missing: again.missingKeys)
    }
  }

  @Test func aServerThatLostKeysIsToldThemAgain() async throws {
    let laptop = try await phone.joined(as: "laptop")
    let tablet = try await phone.joined(as: "tablet")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    #expect(try await diary.text(of: "one", on: laptop) == "first")
    try await phone.removeDevice(named: "tablet")
    server.advance(by: .seconds(60))
    _ = try await phone.database.save(diary.entry("two", secret: "second"))
    #expect(try await diary.text(of: "two", on: laptop) == "second")
    _ = tablet
    // As after a backup that is older than the second key.
    try await server.forgetKeys("after/")
    server.advance(by: .seconds(60))
    _ = try await phone.database.save(diary.entry("three", secret: "third"))
    let watch = try await laptop.joined(as: "watch")
    for (name, secret) in [("one", "first"), ("two", "second"), ("three", "third")] {
      #expect(try await diary.text(of: name, on: watch) == secret)
    }
  }

  @Test func resetOfKeysDeletesWhatNobodyCanReadAndSaysWhy() async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let plain = CKRecordZone(zoneName: "Plain")
    _ = try await phone.database.save(plain)
    let seen = try await laptop.database.databaseChanges(since: nil).changeToken
    for device in [phone, laptop] { try device.forgetKeys() }
    try await server.forgetKeys("grant/")
    let poor = phone.restarted()
    let record = diary.entry("two", secret: "second")
    let error = await #expect(throws: CKError.self) { try await poor.database.save(record) }
    #expect(error?.code == .accountTemporarilyUnavailable)

    #expect(try await poor.accounts.resetKeys() == 1)
    server.advance(by: .seconds(60))
    let changes = try await laptop.database.databaseChanges(since: seen)
    #expect(changes.deletions.map(\.zoneID) == [zone.zoneID])
    #expect(changes.deletions.map(\.reason) == [.encryptedDataReset])
    let gone = await #expect(throws: CKError.self) { try await poor.database.save(record) }
    #expect(gone?.code == .zoneNotFound)
    #expect((gone?.userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber)?.boolValue == true)
    _ = try await poor.database.save(zone)
    _ = try await poor.database.save(record)
    #expect(try await diary.text(of: "two", on: poor) == "second")
    // The other device joins again, and has the new key.
    try await poor.letIn(laptop, replacing: true)
    #expect(try await diary.text(of: "two", on: laptop.restarted()) == "second")
  }

  @Test func strangersAreNotShownAZonesKeys() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let owner = try await phone.container.userRecordID().recordName
    let stranger = try server.device("stranger").accounts
    let place = KeyMessages.Zone(
      container: "iCloud.test", environment: "development", owner: UserName(owner), zone: "Diary")
    await #expect(throws: AccountError.self) { try await stranger.keyItems(of: place, adding: []) }
    await #expect(throws: AccountError.self) {
      try await stranger.keyItems(of: place, adding: [KeyMessages.Item("key/a/b", "x")])
    }
  }
}
