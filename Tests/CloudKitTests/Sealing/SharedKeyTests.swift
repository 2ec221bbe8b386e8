import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaModel

@testable import VirgaAccounts
@testable import VirgaAuth
@testable import VirgaCloudKit

/// How keys reach those that a zone is shared with.
@Suite struct SharedKeyTests {
  let diary: SealedDiary
  var server: TestServer { diary.server }
  var phone: TestDevice { diary.phone }
  var zone: CKRecordZone { diary.zone }

  init() async throws { diary = try await SealedDiary() }

  /// A record that anybody may write who has the address of its share, and somebody who has joined by it.
  private func shareRoot() async throws -> (root: CKRecord, participant: TestDevice) {
    let root = diary.entry("root", secret: "first")
    _ = try await phone.database.save(root)
    let share = CKShare(rootRecord: root)
    share.publicPermission = .readWrite
    _ = try await phone.database.modifyRecords(saving: [root, share], deleting: [])
    let bob = try server.device("bob")
    let url = try #require(share.url)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: url))
    return (root, bob)
  }

  @Test func participantOfAShareReadsAndWritesByTheSharesAddress() async throws {
    let bob = try server.device("bob")
    let root = diary.entry("root", secret: "shared secret")
    _ = try await phone.database.save(root)
    let share = CKShare(rootRecord: root)
    let participant = try await phone.container.shareParticipant(
      forUserRecordID: try await bob.container.userRecordID())
    participant.permission = .readWrite
    share.addParticipant(participant)
    _ = try await phone.database.modifyRecords(saving: [root, share], deleting: [])
    let url = try #require(share.url)
    #expect(url.fragment != nil)
    let again = try await phone.restarted().database.record(for: share.recordID) as? CKShare
    #expect(again?.url == url)

    let metadata = try await bob.container.shareMetadata(for: url)
    _ = try await bob.container.accept(metadata)
    let shared = bob.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
    let theirs = try await shared.record(for: id)
    #expect(theirs.encryptedValues["text"] as? String == "shared secret")
    theirs.encryptedValues["text"] = "changed by Bob"
    _ = try await shared.save(theirs)
    #expect(try await diary.text(of: "root", on: phone) == "changed by Bob")
    // All of Bob's devices have it, and the server has seen no key.
    let laptop = try await bob.joined(as: "bobs laptop")
    let onLaptop = try await laptop.container.sharedCloudDatabase.record(for: id)
    #expect(onLaptop.encryptedValues["text"] as? String == "changed by Bob")
    for request in bob.network.requests(to: "") + phone.network.requests(to: "") {
      #expect(!request.path.contains("k="), "\(request.path)")
    }
  }

  @Test func whoJoinsWithoutTheKeyInTheAddressSeesPlainFieldsAlone() async throws {
    let bob = try server.device("bob")
    let root = diary.entry("root", secret: "shared secret")
    _ = try await phone.database.save(root)
    let share = CKShare(rootRecord: root)
    share.publicPermission = .readOnly
    _ = try await phone.database.modifyRecords(saving: [root, share], deleting: [])
    let url = try #require(share.url)
    let bare = try #require(URL(string: String(url.absoluteString.prefix { $0 != "#" })))
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: bare))
    let shared = bob.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
    let record = try await shared.record(for: id)
    #expect(record["title"] as? String == "plain" && record.encryptedValueState(forKey: "text") == .keyMissing)
    // Accepting once more, with the whole address, brings the key.
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: url))
    #expect(record.encryptedValues["text"] as? String == "shared secret")
  }

  @Test func zoneWhoseKeyDoesNotComeIsNoWorkLeftForTheEngine() async throws {
    let (root, _) = try await shareRoot()
    let reference = try #require(try await phone.database.record(for: root.recordID).share)
    let url = try #require((try await phone.database.record(for: reference.recordID) as? CKShare)?.url)
    let bare = try #require(URL(string: String(url.absoluteString.prefix { $0 != "#" })))
    let carol = try server.device("carol")
    _ = try await carol.container.accept(try await carol.container.shareMetadata(for: bare))
    let delegate = Values()
    var configuration = CKSyncEngine.Configuration(
      database: carol.container.sharedCloudDatabase, stateSerialization: nil, delegate: delegate)
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration)
    for _ in 0..<2 {
      try await engine.fetchChanges()
      #expect(engine.status.isUpToDate && engine.status.zonesWaitingForKeys == 1)
      #expect(engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    }
    #expect(delegate.texts == [nil])
    // The whole address brings the key, and the next call of the app finds it.
    _ = try await carol.container.accept(try await carol.container.shareMetadata(for: url))
    try await engine.fetchChanges()
    #expect(engine.status.isUpToDate && engine.status.zonesWaitingForKeys == 0)
    #expect(delegate.texts == [nil, "first"])
  }

  @Test func participantsGoOnAfterTheOwnerRemovedADevice() async throws {
    let laptop = try await phone.joined(as: "laptop")
    let bob = try server.device("bob")
    let root = diary.entry("root", secret: "first")
    let leaf = diary.entry("leaf", secret: "never saved again")
    leaf.setParent(root)
    _ = try await phone.database.modifyRecords(saving: [root, leaf], deleting: [])
    let share = CKShare(rootRecord: root)
    share.publicPermission = .readWrite
    _ = try await laptop.database.modifyRecords(saving: [root, share], deleting: [])
    let url = try #require(share.url)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: url))
    let shared = bob.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
    let theirs = try await shared.record(for: id)
    #expect(theirs.encryptedValues["text"] as? String == "first")

    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    let before = try await diary.zoneKey(of: "root")
    let mine = try await phone.database.record(for: root.recordID)
    mine.encryptedValues["text"] = "second"
    _ = try await phone.database.save(mine)
    #expect(try await diary.zoneKey(of: "root") != before)
    let read = try await shared.record(for: id)
    #expect(read.encryptedValues["text"] as? String == "second")
    // Both devices of Bob write with the new key, the one that comes now as well.
    let later = try await bob.joined(as: "bobs laptop")
    let onLater = try await later.container.sharedCloudDatabase.record(for: id)
    #expect(onLater.encryptedValues["text"] as? String == "second")
    onLater.encryptedValues["text"] = "third"
    _ = try await later.container.sharedCloudDatabase.save(onLater)
    #expect(try await diary.zoneKey(of: "root") != before)
    #expect(try await diary.text(of: "root", on: phone) == "third")
    // The address has another key in it from now on.
    let again = try #require(try await phone.database.record(for: share.recordID) as? CKShare)
    #expect(again.url?.fragment != nil && again.url != url)

    // Who joins by it reads what was encrypted before as well, and writes with the newest key.
    let carol = try server.device("carol")
    let newURL = try #require(again.url)
    _ = try await carol.container.accept(try await carol.container.shareMetadata(for: newURL))
    let theirLeaf = try await carol.container.sharedCloudDatabase.record(
      for: CKRecord.ID(recordName: "leaf", zoneID: zoneID))
    #expect(theirLeaf.encryptedValues["text"] as? String == "never saved again")
    theirLeaf.encryptedValues["text"] = "by Carol"
    _ = try await carol.container.sharedCloudDatabase.save(theirLeaf)
    #expect(try await diary.zoneKey(of: "leaf") != before)
    #expect(try await diary.text(of: "leaf", on: phone) == "by Carol")
  }

  @Test func earlierKeysReachWhoJoinsAfterSeveralReplacements() async throws {
    _ = try await phone.database.save(diary.entry("root", secret: "0"))
    for round in 1...3 {
      _ = try await phone.joined(as: "device \(round)")
      try await phone.removeDevice(named: "device \(round)")
      server.advance(by: .seconds(60))
      _ = try await phone.database.save(diary.entry("entry \(round)", secret: "\(round)"))
    }
    // A device that came late knows the account's keys in another order than they were made in.
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.joined(as: "device 4")
    try await laptop.removeDevice(named: "device 4")
    server.advance(by: .seconds(60))
    let share = CKShare(recordZoneID: zone.zoneID)
    share.publicPermission = .readWrite
    _ = try await laptop.database.save(share)
    let bob = try server.device("bob")
    let url = try #require(share.url)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: url))
    let shared = bob.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    for (name, secret) in [("root", "0"), ("entry 1", "1"), ("entry 2", "2"), ("entry 3", "3")] {
      let record = try await shared.record(for: CKRecord.ID(recordName: name, zoneID: zoneID))
      #expect(record.encryptedValues["text"] as? String == secret)
    }
    // A key never lies under one that is older: a device that was removed would have it.
    let keys = try await phone.accounts.accountKeys(makingFirst: false)
    let line = AccountKeyLog(keys.texts.map { KeyMessages.Item($0.key, $0.value) }).line
    #expect(line.count == 5)
    let place = KeyMessages.Zone(container: "iCloud.test", environment: "development", owner: nil, zone: "Diary")
    let items = try await phone.accounts.keyItems(of: place, adding: [])
    let steps = items.filter { $0.name.hasPrefix("before/") }.map { $0.name.split(separator: "/").map(String.init) }
    #expect(!steps.isEmpty)
    // A secret that a share began with is named by itself, and belongs to the account's key of then.
    let zonePlace = ZonePlace(container: "iCloud.test", environment: .development, zone: "Diary")
    let rounds = ZoneRoster(items, of: zonePlace, keys: keys.keychain.keys).rounds
    var keyOfSecret: [KeyID: KeyID] = [:]
    for key in keys.keychain.keys {
      for secret in key.secrets(of: zonePlace, rounds: rounds) { keyOfSecret[secret.ownerKey] = key.id }
    }
    for step in steps {
      let newer = try #require(keyOfSecret[KeyID(step[1])].flatMap(line.firstIndex))
      let older = try #require(keyOfSecret[KeyID(step[2])].flatMap(line.firstIndex))
      #expect(older <= newer)
    }
  }

  @Test(arguments: [true, false])
  func participantDoesNotGoBackToAnOlderKeyWhateverTheListSays(isHidden: Bool) async throws {
    _ = try await phone.joined(as: "laptop")
    let (root, bob) = try await shareRoot()
    let before = try await diary.zoneKey(of: "root")
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    root.encryptedValues["text"] = "second"
    _ = try await phone.database.save(root)
    let after = try #require(try await diary.zoneKey(of: "root"))
    #expect(after != before)
    // The server says when each text came, and can leave any out.
    let device = bob.restarted()
    device.network.replaceKeyItems { items in
      items.filter { !isHidden || !$0.name.hasSuffix(after.rawValue) }.map { item in
        var item = item
        item.added = Timestamp(milliseconds: item.name.hasSuffix(after.rawValue) ? 1 : 2)
        return item
      }
    }
    let shared = device.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    let record = try await shared.record(for: CKRecord.ID(recordName: "root", zoneID: zoneID))
    record.encryptedValues["text"] = "third"
    if isHidden {
      let error = await #expect(throws: CKError.self) { try await shared.save(record) }
      #expect(error?.code == .accountTemporarilyUnavailable)
    } else {
      _ = try await shared.save(record)
      #expect(try await diary.zoneKey(of: "root") == after)
    }
  }

  @Test func participantsGoOnBeforeTheOwnerEncryptsAgain() async throws {
    _ = try await phone.joined(as: "laptop")
    let (root, bob) = try await shareRoot()
    let before = try await diary.zoneKey(of: "root")
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    // A look is enough for the new secret to be handed over, with a key to write with.
    _ = try await phone.restarted().database.record(for: root.recordID)
    let shared = bob.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    let record = try await shared.record(for: CKRecord.ID(recordName: "root", zoneID: zoneID))
    record.encryptedValues["text"] = "second"
    _ = try await shared.save(record)
    #expect(try await diary.zoneKey(of: "root") != before)
    #expect(try await diary.text(of: "root", on: phone) == "second")
  }

  @Test func eachReplacementHandsEachParticipantOneText() async throws {
    _ = try await phone.database.save(diary.entry("root", secret: "0"))
    let share = CKShare(recordZoneID: zone.zoneID)
    share.publicPermission = .readWrite
    _ = try await phone.database.save(share)
    let bob = try server.device("bob")
    let url = try #require(share.url)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: url))
    let shared = bob.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    for round in 1...4 {
      _ = try await phone.joined(as: "device \(round)")
      try await phone.removeDevice(named: "device \(round)")
      server.advance(by: .seconds(60))
      _ = try await phone.database.save(diary.entry("entry \(round)", secret: "\(round)"))
      let id = CKRecord.ID(recordName: "entry \(round)", zoneID: zoneID)
      #expect(try await shared.record(for: id).encryptedValues["text"] as? String == "\(round)")
    }
    let place = KeyMessages.Zone(container: "iCloud.test", environment: "development", owner: nil, zone: "Diary")
    let items = try await phone.accounts.keyItems(of: place, adding: [])
    #expect(items.filter { $0.name.hasPrefix("handover/") }.count == 4)
    // A device of Bob's that was not there all the while goes the whole way.
    let late = bob.restarted().container.sharedCloudDatabase
    for round in 1...4 {
      let id = CKRecord.ID(recordName: "entry \(round)", zoneID: zoneID)
      #expect(try await late.record(for: id).encryptedValues["text"] as? String == "\(round)")
    }
  }

  @Test func whoWasTakenOutIsNotHandedLaterKeysUntilTheyJoinAgain() async throws {
    _ = try await phone.joined(as: "laptop")
    let (root, bob) = try await shareRoot()
    let shared = bob.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    let id = CKRecord.ID(recordName: "root", zoneID: zoneID)
    #expect(try await shared.record(for: id).encryptedValues["text"] as? String == "first")
    let user = try await bob.container.userRecordID().recordName
    let place = KeyMessages.Zone(container: "iCloud.test", environment: "development", owner: nil, zone: "Diary")
    func textsOfBob() async throws -> [String] {
      try await phone.accounts.keyItems(of: place, adding: []).map(\.name).filter { $0.contains("/\(user)/") }
    }
    #expect(try await textsOfBob().count == 1)

    let reference = try #require(try await phone.database.record(for: root.recordID).share)
    let share = try #require(try await phone.database.record(for: reference.recordID) as? CKShare)
    let url = try #require(share.url)
    share.publicPermission = .none
    _ = try await phone.database.save(share)
    #expect(try await textsOfBob().isEmpty)
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    root.encryptedValues["text"] = "second"
    _ = try await phone.database.modifyRecords(saving: [root], deleting: [], savePolicy: .changedKeys)
    #expect(try await textsOfBob().isEmpty)

    // By the old address, since the people who share have no other one.
    share.publicPermission = .readWrite
    _ = try await phone.database.save(share)
    _ = try await bob.container.accept(try await bob.container.shareMetadata(for: url))
    _ = try await shared.record(for: id)
    server.advance(by: .seconds(60))
    _ = try await phone.restarted().database.record(for: root.recordID)
    server.advance(by: .seconds(60))
    #expect(try await shared.record(for: id).encryptedValues["text"] as? String == "second")
  }

  @Test func listThatIsFullKeepsNobodyFromReading() async throws {
    _ = try await phone.joined(as: "laptop")
    let (root, bob) = try await shareRoot()
    let shared = bob.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    let place = KeyMessages.Zone(
      container: "iCloud.test", environment: "development", owner: UserName(zoneID.ownerName), zone: "Diary")
    let user = try await bob.container.userRecordID().recordName
    for index in 0..<(Limits.keyItemsPerParticipantMax - 1) {
      let item = KeyMessages.Item("participant/\(user)/old/\(index)", "x")
      _ = try await bob.accounts.keyItems(of: place, adding: [item])
    }
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    root.encryptedValues["text"] = "second"
    _ = try await phone.database.save(root)
    let record = try await shared.record(for: CKRecord.ID(recordName: "root", zoneID: zoneID))
    #expect(record.encryptedValues["text"] as? String == "second")
    record.encryptedValues["text"] = "third"
    _ = try await shared.save(record)
    #expect(try await diary.text(of: "root", on: phone) == "third")
  }

  @Test func acceptingSaysThatTheKeyOfTheAddressWasNotKept() async throws {
    let bob = try server.device("bob")
    _ = try await bob.database.save(zone)
    _ = try await bob.database.save(diary.entry("own", secret: "x"))
    let root = diary.entry("root", secret: "shared secret")
    let other = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "other", zoneID: zone.zoneID))
    _ = try await phone.database.modifyRecords(saving: [root, other], deleting: [])
    let shares = [CKShare(rootRecord: root), CKShare(rootRecord: other)]
    for share in shares { share.publicPermission = .readOnly }
    _ = try await phone.database.modifyRecords(saving: [root, other] + shares, deleting: [])
    let whole = try await bob.container.shareMetadata(for: try #require(shares[0].url))
    let address = try #require(shares[1].url).absoluteString
    let bare = try await bob.container.shareMetadata(
      for: try #require(URL(string: String(address.prefix { $0 != "#" }))))

    // A device that has not been given its account's key cannot keep anything for the account.
    let giveBack = try bob.forgetKeys()
    try await server.forgetKeys("grant/")
    let poor = bob.restarted()
    let results = try await poor.container.accept([whole, bare])
    #expect(throws: CKError.self) { try results[whole]?.get() }
    #expect((try? results[bare]?.get()) != nil, "the other share was joined, and is told as such")
    do { _ = try results[whole]?.get() } catch {
      #expect((error as? CKError)?.code == .accountTemporarilyUnavailable)
    }
    try giveBack()
    let device = bob.restarted()
    _ = try await device.container.accept(whole)
    let shared = device.container.sharedCloudDatabase
    let zoneID = try #require(try await shared.databaseChanges(since: nil).modifications.first?.zoneID)
    let record = try await shared.record(for: CKRecord.ID(recordName: "root", zoneID: zoneID))
    #expect(record.encryptedValues["text"] as? String == "shared secret")
  }
}

/// Notes the encrypted text of each entry that an engine brings.
private final class Values: CKSyncEngineDelegate, Sendable {
  private let noted = Mutex<[String?]>([])
  var texts: [String?] { noted.withLock { $0 } }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    guard case .fetchedRecordZoneChanges(let changes) = event else { return }
    for record in changes.modifications.map(\.record) where record.recordType == "Entry" {
      noted.withLock { $0.append(record.encryptedValues["text"] as? String) }
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}
