import CloudKit
import Foundation
import Testing
import VirgaModel

@testable import VirgaAccounts
@testable import VirgaAuth
@testable import VirgaCloudKit

/// Keys when devices do things at the same moment, answers are lost, clocks go back and servers forget.
@Suite struct KeyTroubleTests {
  let diary: SealedDiary
  var server: TestServer { diary.server }
  var phone: TestDevice { diary.phone }
  var zone: CKRecordZone { diary.zone }

  init() async throws { diary = try await SealedDiary() }

  private func id(of name: String) async throws -> DeviceID {
    try #require(try await phone.accounts.describe().devices.first { $0.name == name }?.id)
  }

  // MARK: Beginning anew

  @Test func oldKeyOfAnotherDeviceDoesNotBecomeTheFirstOneDuringAReset() async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let before = try #require(try await laptop.accounts.accountKeys(makingFirst: false).keychain.current)
    phone.network.before { request in
      guard request.url.hasSuffix("/virga/1/keys") else { return }
      _ = try? await laptop.accounts.accountKeys(makingFirst: true)
    }
    #expect(try await phone.accounts.resetKeys() == 1)
    phone.network.before(nil)
    let keys = try await phone.accounts.accountKeys(makingFirst: false)
    let current = try #require(keys.keychain.current)
    #expect(current != before && keys.keychain.keys == [current] && keys.texts[AccountKeyLog.first] == "\(current.id)")
    let theirs = try await laptop.accounts.accountKeys(makingFirst: true).keychain
    #expect(theirs.current == nil && theirs.keys == [before])
  }

  @Test func resetWhoseAnswerIsLostIsFoundDoneByTheNextLook() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let before = try #require(try await phone.accounts.accountKeys(makingFirst: false).keychain.current)
    let client = phone.accounts
    _ = try await client.session()
    phone.network.loseAnswers()
    await #expect(throws: (any Error).self) { try await client.resetKeys() }
    let device = phone.restarted()
    let chain = try await device.accounts.accountKeys(makingFirst: false).keychain
    #expect(chain.current != nil && chain.keys.count == 1 && chain.keys.first != before)
    _ = try await device.database.save(zone)
    _ = try await device.database.save(diary.entry("two", secret: "second"))
    #expect(try await diary.text(of: "two", on: phone.restarted()) == "second")
  }

  @Test(arguments: [false, true])
  func keyFromBeforeAResetIsNotWrittenWithAMomentLater(isToldByTheFeed: Bool) async throws {
    let laptop = try await phone.joined(as: "laptop")
    let seen = try await laptop.database.databaseChanges(since: nil).changeToken
    _ = try await laptop.database.save(diary.entry("one", secret: "first"))
    #expect(try await phone.accounts.resetKeys() == 1)
    if isToldByTheFeed { _ = try await laptop.database.databaseChanges(since: seen) }
    _ = try await (isToldByTheFeed ? phone.restarted() : laptop).database.save(zone)
    let error = await #expect(throws: CKError.self) {
      try await laptop.database.save(diary.entry("two", secret: "second"))
    }
    #expect(error?.code == .accountTemporarilyUnavailable)
  }

  // MARK: Clocks

  @Test func keysDoNotStayFreshWhenTheClockIsSetBack() async throws {
    let tablet = try await phone.joined(as: "tablet")
    _ = try await phone.joined(as: "laptop")
    _ = try await tablet.database.save(diary.entry("old", secret: "old"))
    server.advance(by: .seconds(-3_600))
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    _ = try await tablet.database.save(diary.entry("new", secret: "new"))
    #expect(try await diary.zoneKey(of: "new") != diary.zoneKey(of: "old"))
  }

  // MARK: Devices that come and go at once

  @Test(arguments: [false, true])
  func deviceThatIsLetInWhileTheKeyIsReplacedHasTheNewOne(isGrantedBefore: Bool) async throws {
    let tablet = try await phone.joined(as: "tablet")
    _ = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("old", secret: "old"))
    let (laptop, devices) = try await (id(of: "laptop"), tablet.accounts.describe().devices.map(\.id))
    let replace: @Sendable () async throws -> Void = {
      // What the tablet knows of the account's devices is from before the watch came.
      try await tablet.accounts.replaceKey(leavingOut: laptop, of: devices)
    }
    if isGrantedBefore {
      phone.network.before { if $0.url.hasSuffix("/pairing/confirm") { try? await replace() } }
    }
    let watch = try await phone.joined(as: "watch")
    phone.network.before(nil)
    if !isGrantedBefore { try await replace() }
    server.advance(by: .seconds(60))
    _ = try await tablet.database.save(diary.entry("new", secret: "new"))
    #expect(try await diary.zoneKey(of: "new") != diary.zoneKey(of: "old"))
    for name in ["old", "new"] { #expect(try await diary.text(of: name, on: watch) == name) }
    _ = try await watch.database.save(diary.entry("from the watch", secret: "x"))
    // Later replacements do not pass it by.
    try await phone.removeDevice(named: "laptop")
    server.advance(by: .seconds(60))
    _ = try await phone.database.save(diary.entry("newer", secret: "newer"))
    #expect(try await diary.text(of: "newer", on: watch) == "newer")
  }

  @Test func deviceThatIsRemovedAsSoonAsItIsInIsNotGivenTheNewKey() async throws {
    let tablet = try await phone.joined(as: "tablet")
    _ = try await phone.database.save(diary.entry("old", secret: "old"))
    let steps = Counter()
    phone.network.before { request in
      if request.url.hasSuffix("/pairing/confirm") { _ = steps.next() }
      guard steps.value == 1, request.url.hasSuffix("/virga/1/keys"),
        let devices = try? await tablet.accounts.describe().devices,
        let watch = devices.first(where: { $0.name == "watch" })
      else { return }
      _ = steps.next()
      _ = try? await tablet.accounts.replaceKey(leavingOut: watch.id, of: devices.map(\.id))
    }
    let watch = try await phone.joined(as: "watch")
    phone.network.before(nil)
    #expect(steps.value == 2)
    let keys = try await phone.accounts.accountKeys(makingFirst: false)
    #expect(keys.keychain.current != nil && keys.keychain.keys.count == 2)
    #expect(!keys.texts.keys.contains { $0.hasPrefix("late/") })
    let theirs = try await watch.accounts.accountKeys(makingFirst: false).keychain
    #expect(theirs.current == nil && theirs.keys.count == 1)
  }

  // MARK: Servers that forget

  @Test func deviceThatTheServerForgotGoesOnWithAnAccountOfItsOwn() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let before = try phone.accounts.knownAccount()
    // As after a backup from before the device came.
    try await server.forgetDevices()
    let device = phone.restarted()
    let error = await #expect(throws: CKError.self) { try await device.database.save(zone) }
    #expect(error?.code == .accountTemporarilyUnavailable)
    #expect(error?.localizedDescription.contains("virga account new --replace") == true)
    await #expect(throws: AccountError.self) { try await phone.accounts.enrol(replacing: false) }
    let account = try await phone.accounts.enrol(replacing: true)
    #expect(account.account != before?.account && account.key != before?.key)
    _ = try await phone.restarted().database.save(zone)
    _ = try await phone.restarted().database.save(diary.entry("one", secret: "again"))
    #expect(try await diary.text(of: "one", on: phone.restarted()) == "again")
  }
}
