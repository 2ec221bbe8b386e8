import Foundation
import Synchronization
import Testing
import VirgaAccounts
import VirgaDevices

@testable import VirgaCloudKit

/// What an app does with the devices of its user's account.
@Suite(.timeLimit(.minutes(1))) struct DeviceAccountTests {
  let server: TestServer
  let phone: DeviceAccount
  let laptop: DeviceAccount

  init() throws {
    server = try TestServer()
    (phone, laptop) = (try Self.account("phone", server), try Self.account("laptop", server))
  }

  private static func account(_ name: String, _ server: TestServer) throws -> DeviceAccount {
    let device = try server.device(name)
    return DeviceAccount(home: device.home, client: device.service.accounts)
  }

  /// - Returns: What the joining device was told, and the fingerprint that it shows.
  private func join(accepts: Bool) async throws -> (DeviceAccount.Description, fingerprint: String) {
    let shown = Mutex("")
    let code = try await phone.invite()
    async let joined = laptop.join(code: code) { fingerprint in shown.withLock { $0 = fingerprint } }
    let candidate = try await phone.candidate(for: code)
    #expect(candidate.name == "laptop")
    _ = try await phone.settle(candidate, accepts: accepts)
    let description = try await joined
    #expect(shown.withLock { $0 } == candidate.fingerprint)
    return (description, candidate.fingerprint)
  }

  @Test func theFirstUseMakesAnAccountWithOneDevice() async throws {
    #expect(phone.knownAccount == nil)
    let description = try await phone.describe()
    #expect(description.devices.map(\.name) == ["phone"] && description.thisDevice?.name == "phone")
    #expect(phone.knownAccount == description.account && description.serverTime != nil)
  }

  @Test func aDeviceJoinsByACodeAndShowsTheFingerprintThatTheOtherSees() async throws {
    let (description, fingerprint) = try await join(accepts: true)
    #expect(Set(description.devices.map(\.name)) == ["phone", "laptop"])
    #expect(description.thisDevice?.name == "laptop" && description.thisDevice?.fingerprint == fingerprint)
    #expect(try await phone.describe().account == description.account)
  }

  @Test func aDeviceThatIsNotLetInIsTold() async throws {
    let error = await #expect(throws: DeviceAccountError.self) { try await join(accepts: false) }
    #expect(error?.code == .refused)
    #expect(laptop.knownAccount == nil)
  }

  @Test func aWrongCodeIsTold() async throws {
    let error = await #expect(throws: DeviceAccountError.self) { try await laptop.join(code: "ABCD-EFGH") { _ in } }
    #expect(error?.code == .wrongCode)
  }

  @Test func aNameThatAnotherDeviceHasGetsANumber() async throws {
    _ = try await join(accepts: true)
    let names = try await laptop.rename(to: "phone").devices.map(\.name)
    #expect(Set(names).count == 2 && names.contains("phone") && names.allSatisfy { $0.hasPrefix("phone") })
  }

  @Test func theServerIsRememberedInTheSettings() throws {
    let device = try server.device("tablet")
    let tablet = DeviceAccount(home: device.home, client: device.service.accounts)
    try tablet.rememberServer()
    #expect(try device.home.config().endpoint == server.address && !tablet.isDefaultServer)
  }
}
