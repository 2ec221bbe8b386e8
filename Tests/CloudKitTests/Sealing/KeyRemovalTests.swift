import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaAccounts
@testable import VirgaAuth
@testable import VirgaCloudKit

/// What a removal does to the account's key, whatever the server says.
@Suite struct KeyRemovalTests {
  let diary: SealedDiary
  var server: TestServer { diary.server }
  var phone: TestDevice { diary.phone }
  var zone: CKRecordZone { diary.zone }

  init() async throws { diary = try await SealedDiary() }

  private func id(of name: String) async throws -> DeviceID {
    try #require(try await phone.accounts.describe().devices.first { $0.name == name }?.id)
  }

  private func current(_ device: TestDevice) async throws -> AccountKey? {
    try await device.accounts.accountKeys(makingFirst: false).keychain.current
  }

  /// Leaves devices out of what the server says of the account, as a server could that keeps one in.
  private func hide(_ hidden: Set<DeviceID>, from device: TestDevice) {
    device.network.replaceAnswers { target, answer in
      guard target.contains("/virga/1/account"),
        var account = try? JSONDecoder().decode(AccountMessages.Description.self, from: Data(answer.body))
      else { return answer }
      account.devices.removeAll { hidden.contains($0.id) }
      var answer = answer
      if let data = try? JSONEncoder().encode(account) { answer.body = Array(data) }
      return answer
    }
  }

  /// A key that came to nothing, because another device was quicker, is not brought back by a server that has kept it: it was
  /// sealed to devices that are out by now.
  @Test func keyThatAnotherOneWasTakenInPlaceOfDoesNotComeBack() async throws {
    let tablet = try await phone.joined(as: "tablet")
    _ = try await phone.joined(as: "laptop")
    _ = try await phone.joined(as: "watch")
    _ = try await phone.database.save(diary.entry("old", secret: "old"))
    let (laptop, watch) = (try await id(of: "laptop"), try await id(of: "watch"))
    let network = phone.network
    let kept = Mutex<[KeyMessages.Item]>([])
    network.before { request in
      guard request.url.hasSuffix("/virga/1/keys"), case .bytes(let bytes) = request.body,
        let sent = try? JSONDecoder().decode(KeyMessages.Request.self, from: Data(bytes)),
        let item = sent.add.first(where: { $0.name.hasPrefix("after/") })
      else { return }
      network.before(nil)
      kept.withLock { $0 = [item] }
      _ = try? await tablet.accounts.remove(laptop)
    }
    _ = try await phone.accounts.remove(laptop)
    #expect(try await phone.accounts.remove(watch).key == .replaced)
    let present = try #require(try await current(phone.restarted()))
    let device = phone.restarted()
    let refused = kept.withLock { $0 }
    #expect(refused.count == 1)
    device.network.replaceKeyItems { items in items.filter { !$0.name.hasPrefix("after/") } + refused }
    let chain = try await device.accounts.accountKeys(makingFirst: false).keychain
    #expect(chain.keys.last == present, "the key in use stays the newest")
    #expect(chain.current == nil || chain.current == present)
  }

  @Test(arguments: [true, false])
  func deviceThatTheServerHidesIsLeftOutAllTheSame(hidesEverybody: Bool) async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("old", secret: "old"))
    let (before, device) = (try await current(phone), try await id(of: "laptop"))
    let all = try await phone.accounts.describe().devices.map(\.id)
    hide(hidesEverybody ? Set(all) : [device], from: phone)
    #expect(try await phone.accounts.remove(device).key == .replaced)
    phone.network.replaceAnswers(nil)
    // This device has the new key though the server did not list it either.
    let after = try await current(phone.restarted())
    #expect(after != nil && after != before)
    server.advance(by: .seconds(60))
    _ = try await phone.restarted().database.save(diary.entry("new", secret: "new"))
    #expect(try await diary.text(of: "new", on: phone.restarted()) == "new")
    #expect(try await diary.zoneKey(of: "old") != diary.zoneKey(of: "new"))
    let account = try #require(try laptop.accounts.knownAccount()).account
    #expect(try laptop.home.accountKeys(of: account).keys.map(\.id) == [before?.id])
  }

  /// A server that says no to the question has no key replaced, and the device is not called removed.
  @Test(arguments: ["account/remove/check", "account/remove"])
  func removalThatIsRefusedLeavesEveryDeviceWithTheKey(path: String) async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("old", secret: "old"))
    let (before, device) = (try await current(phone), try await id(of: "laptop"))
    phone.network.replaceAnswers { target, answer in
      guard target == "/virga/1/" + path else { return answer }
      return TransportResponse(
        status: 403, headers: [], body: Array(#"{"uuid":"0","serverErrorCode":"ACCESS_DENIED","reason":"no"}"#.utf8))
    }
    await #expect(throws: AccountError.self) { try await phone.accounts.remove(device) }
    phone.network.replaceAnswers(nil)
    if path == "account/remove/check" {
      #expect(try await current(phone) == before)
      #expect(try await diary.text(of: "old", on: laptop) == "old")
      _ = try await laptop.database.save(diary.entry("new", secret: "new"))
    }
    _ = try await phone.restarted().database.save(diary.entry("newer", secret: "newer"))
    #expect(try await diary.text(of: "newer", on: phone.restarted()) == "newer")
  }

  @Test func onlyDeviceOfAnAccountKeepsItsKey() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let (before, own) = (try await current(phone), try #require(try phone.accounts.knownAccount()?.device))
    let error = await #expect(throws: AccountError.self) { try await phone.accounts.remove(own) }
    #expect(error?.description.contains(AccountReason.lastDevice) == true)
    #expect(try await current(phone.restarted()) == before && before != nil)
    _ = try await phone.restarted().database.save(diary.entry("two", secret: "second"))
    let laptop = try await phone.joined(as: "laptop")
    #expect(try await diary.text(of: "two", on: laptop) == "second")
  }

  /// The other device is in the account and has not been given the key: nobody would have the new one.
  @Test func lastDeviceWithTheKeyDoesNotLeave() async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let before = try await current(phone)
    try laptop.forgetKeys()
    try await server.forgetKeys("voucher/\(try await id(of: "laptop"))")
    try await server.forgetKeys("grant/")
    let own = try #require(try phone.accounts.knownAccount()?.device)
    for condition in [AccountClient.KeyCondition.replaced, .any] {
      await #expect(throws: AccountError.keyWouldBeLost) {
        try await phone.accounts.remove(own, condition: condition)
      }
    }
    #expect(try await current(phone.restarted()) == before && before != nil)
    #expect(try await phone.accounts.describe().devices.count == 2)
    _ = try await phone.restarted().database.save(diary.entry("two", secret: "second"))
  }

  @Test func deviceThatLeavesHandsTheNewKeyToTheOthersAndKeepsNone() async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let own = try #require(try laptop.accounts.knownAccount())
    let held = try laptop.home.accountKeys(of: own.account).keys
    #expect(try await laptop.accounts.remove(own.device).key == .replaced)
    let now = try #require(try await current(phone))
    #expect(!held.contains(now))
    #expect(try laptop.home.accountKeys(of: own.account).keys == held)
    #expect(try laptop.home.successors(of: own.account).isEmpty)
    // Nobody vouches for it under the new key: a server that lists it again gets it nothing.
    let texts = try await phone.accounts.accountKeys(makingFirst: false).texts
    #expect(!texts.keys.contains(AccountKeyLog.voucher(own.device, now.id)))
  }

  /// What the removal lacks is said, and it goes on only for whoever wants that.
  @Test func deviceWithoutTheKeySaysThatItIsNotReplaced() async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.joined(as: "tablet")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let (before, tablet) = (try await current(phone), try await id(of: "tablet"))
    try laptop.forgetKeys()
    try await server.forgetKeys("grant/")
    let poor = laptop.restarted()
    await #expect(throws: AccountError.keyMissing) { try await poor.accounts.remove(tablet) }
    #expect(try await phone.accounts.describe().devices.count == 3)
    #expect(try await poor.accounts.remove(tablet, condition: .any).key == .kept)
    #expect(try await phone.accounts.describe().devices.map(\.name).sorted() == ["laptop", "phone"])
    #expect(try await current(phone) == before)
    // A device that has the key makes up for it.
    #expect(try await phone.accounts.remove(tablet).key == .replaced)
    #expect(try await current(phone) != before)
  }

  @Test func accountWithoutAKeyHasNoneToReplace() async throws {
    let world = try TestServer()
    let first = try world.device("first")
    _ = try await first.container.userRecordID()
    let second = try await first.joined(as: "second")
    for device in [first, second] { try device.forgetKeys() }
    try await world.forgetKeys()
    let device = try #require(try second.accounts.knownAccount()?.device)
    #expect(try await first.accounts.remove(device).key == .nothingToReplace)
  }

  /// Two devices that remove each other: one of them has the key, and it is the one that stays.
  @Test func ofTwoDevicesThatRemoveEachOtherTheOneThatStaysHasTheKey() async throws {
    let laptop = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let (mine, theirs) = (try await id(of: "phone"), try await id(of: "laptop"))
    async let first = try? phone.accounts.remove(theirs)
    async let second = try? laptop.accounts.remove(mine)
    let results = await (first, second)
    #expect((results.0 == nil) != (results.1 == nil))
    let left = results.0 == nil ? laptop : phone
    #expect(try await left.accounts.describe().devices.count == 1)
    #expect(try await current(left) != nil)
    _ = try await left.restarted().database.save(diary.entry("two", secret: "second"))
    #expect(try await diary.text(of: "one", on: left.restarted()) == "first")
  }

  // MARK: Successions without recipients

  @Test(arguments: [
    #"{"key":"x","previous":"","grants":{}}"#, #"{"key":"x","previous":"","grants":{"0000":"x"}}"#, "nothing", "{}",
  ])
  func serverRefusesAKeyThatIsSealedToNoDevice(text: String) async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let before = try #require(try await current(phone))
    let error = await #expect(throws: AccountError.self) {
      try await phone.accounts.keyItems(of: nil, adding: [KeyMessages.Item(AccountKeyLog.after(before.id), text)])
    }
    #expect(error?.description.contains("could open the new key") == true)
    #expect(try await current(phone.restarted()) == before)
  }

  @Test func clientMakesNoSuccessionWithoutRecipients() throws {
    #expect(throws: AccountError.keyWouldBeLost) {
      try AccountKeyLog.succession(from: .random(), to: .random(), account: "a", devices: [])
    }
  }

  /// A server whose data are older than the account's newest key is told of it again, for this device at least.
  @Test func keyThatAServerForgotIsToldToSomebody() async throws {
    _ = try await phone.joined(as: "laptop")
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    try await phone.removeDevice(named: "laptop")
    let now = try #require(try await current(phone))
    for part in ["after/", "voucher/"] { try await server.forgetKeys(part) }
    let device = phone.restarted()
    #expect(try await current(device) == now)
    let texts = try await device.accounts.accountKeys(makingFirst: false).texts
    let own = try #require(try device.accounts.knownAccount()?.device)
    #expect(texts.contains { $0.key.hasPrefix("after/") && $0.value.contains(own.rawValue) })
  }
}
