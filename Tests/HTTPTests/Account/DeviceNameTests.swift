import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

/// People tell their devices by their names.
@Suite struct DeviceNameTests {
  @Test func twoDevicesOfOneNameGetDifferentOnes() async throws {
    let world = AccountWorld()
    let (first, second, third) = (try world.device("phone"), try world.device("phone"), try world.device("phone"))
    try await world.pair(first, second)
    try await world.pair(first, third)
    #expect(try await first.describe().devices.map(\.name).sorted() == ["phone", "phone 2", "phone 3"])
    #expect(try await third.describe().devices.first(where: \.isThisDevice)?.name == "phone 3")
  }

  @Test func aDeviceIsRenamedByAnyOfItsAccount() async throws {
    let world = AccountWorld()
    let (phone, laptop) = (try world.device("phone"), try world.device("laptop"))
    try await world.pair(phone, laptop)
    let id = try await laptop.session().device
    #expect(try await phone.rename(id, to: "desk").devices.map(\.name).sorted() == ["desk", "phone"])
    #expect(try await laptop.rename(id, to: "phone").devices.map(\.name).sorted() == ["phone", "phone 2"])
    // Its own name is nobody else's.
    #expect(try await laptop.rename(id, to: "phone 2").devices.map(\.name).sorted() == ["phone", "phone 2"])
  }

  @Test func othersDevicesAreNotRenamed() async throws {
    let world = AccountWorld()
    let (phone, stranger) = (try world.device("phone"), try world.device("stranger"))
    let id = try await phone.session().device
    _ = try await stranger.session()
    await #expect(throws: AccountError.self) { try await stranger.rename(id, to: "mine") }
    #expect(try await phone.describe().devices.map(\.name) == ["phone"])
  }

  @Test(arguments: ["", "a\u{1B}[31m", String(repeating: "a", count: Limits.deviceNameLengthMax + 1)])
  func aNameThatCannotBeShownIsRefused(name: String) async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    let session = try await phone.session()
    let body = try JSONEncoder().encode(AccountMessages.RenameRequest(device: session.device, name: name))
    let answer = await world.post("account/rename", String(decoding: body, as: UTF8.self), session: session.token)
    #expect(answer.status == 400)
    #expect(try await phone.describe().devices.map(\.name) == ["phone"])
  }

  @Test func aLongNameMakesRoomForItsNumber() {
    let name = String(repeating: "ñ", count: Limits.deviceNameLengthMax)
    let devices = (0..<3).map { number in
      Device(
        id: DeviceID("\(number)"), account: "a", name: number == 0 ? name : String(name.dropLast(2)) + " \(number + 1)",
        publicKey: [], enrolled: Timestamp(milliseconds: 0))
    }
    let fourth = Device(id: "3", account: "a", name: name, publicKey: [], enrolled: Timestamp(milliseconds: 0))
    #expect(fourth.freeName(among: devices) == String(name.dropLast(2)) + " 4")
    #expect(Device.objection(toName: fourth.freeName(among: devices)) == nil)
  }

  @Test func theServersClockIsTold() async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    #expect(try await phone.describe().now == world.clock.now)
  }
}
