import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaAuth

@testable import VirgaCloudKit

/// No login anywhere: what apps see of accounts.
struct AccountTests {
  @Test func firstUseMakesTheAccount() async throws {
    let device = try TestServer().device()
    #expect(try await device.container.accountStatus() == .available)
    #expect(device.service.accountID == nil)
    let user = try await device.container.userRecordID()
    #expect(user.recordName.hasPrefix("_"))
    #expect(device.service.accountID != nil)
    #expect(try await device.container.userRecordID() == user)
    #expect(device.network.count("users/caller") == 1)
  }

  @Test func accountIsKnownWithoutNetworkAndAfterARestart() async throws {
    let device = try TestServer().device()
    _ = try await device.container.userRecordID()
    let restarted = device.restarted()
    restarted.network.cut()
    #expect(try await restarted.container.accountStatus() == .available)
    #expect(restarted.service.accountID == device.service.accountID)
    #expect(await code { _ = try await restarted.database.allRecordZones() } == .networkUnavailable)
    restarted.network.heal()
    #expect(try await restarted.container.userRecordID() == device.container.userRecordID())
  }

  @Test func serverThatTakesNoAccountsMeansNoAccount() async throws {
    let device = try TestServer(policy: .closed).device()
    #expect(await code { _ = try await device.database.allRecordZones() } == .notAuthenticated)
    #expect(try await device.container.accountStatus() == .noAccount)
    #expect(try await device.restarted().container.accountStatus() == .noAccount)
  }

  @Test func sessionsThatEndedAreReplacedUnseen() async throws {
    let server = try TestServer()
    let device = try server.device()
    _ = try await device.database.allRecordZones()
    server.advance(by: .seconds(25 * 3_600))
    _ = try await device.database.allRecordZones()
    #expect(device.network.count("/virga/1/session") == 2)
    #expect(device.network.count("zones/list") == 2)
  }

  @Test func joinedDeviceSeesTheSameDatabase() async throws {
    let phone = try TestServer().device("phone")
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
    record["title"] = "from the phone"
    _ = try await phone.database.save(record)
    let laptop = try await phone.joined(as: "laptop")
    #expect(try await laptop.database.record(for: record.recordID)["title"] as? String == "from the phone")
    #expect(try await laptop.container.userRecordID() == phone.container.userRecordID())
  }

  @Test func removedDeviceIsRefusedFromItsNextRequestOnAndHasNoAccount() async throws {
    let phone = try TestServer().device("phone")
    _ = try await phone.database.allRecordZones()
    let laptop = try await phone.joined(as: "laptop")
    _ = try await laptop.database.allRecordZones()
    let changes = Mutex(0)
    let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) { _ in
      changes.withLock { $0 += 1 }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try await phone.removeDevice(named: "laptop")
    #expect(await code { _ = try await laptop.database.allRecordZones() } == .notAuthenticated)
    #expect(try await laptop.container.accountStatus() == .noAccount)
    #expect(changes.withLock { $0 } > 0)
    #expect(try await phone.container.accountStatus() == .available)
    _ = try await phone.database.allRecordZones()
    // The next program on the laptop knows it without the network.
    let restarted = laptop.restarted()
    restarted.network.cut()
    #expect(try await restarted.container.accountStatus() == .noAccount)
    // Until it joins again.
    restarted.network.heal()
    try await phone.letIn(restarted, replacing: true)
    #expect(try await restarted.container.accountStatus() == .available)
    _ = try await restarted.database.allRecordZones()
  }

  /// Who waits for another caller's sign-in can give up.
  @Test func callThatWaitsForASessionCanBeCancelled() async throws {
    let device = try TestServer().device()
    let (arrivals, arrival) = AsyncStream<Void>.makeStream()
    let (gate, opening) = AsyncStream<Void>.makeStream()
    device.network.before { request in
      guard request.url.contains("/virga/1/challenge") else { return }
      arrival.yield()
      for await _ in gate { break }
    }
    let first = Task { try await device.database.allRecordZones() }
    for await _ in arrivals { break }
    let second = Task { await code { _ = try await device.database.allRecordZones() } }
    for _ in 0..<100 { await Task.yield() }
    second.cancel()
    #expect(await second.value == .operationCancelled)
    opening.finish()
    device.network.before(nil)
    _ = try await first.value
  }

  @Test func unreadableHomeCannotBeDetermined() async throws {
    let server = try TestServer()
    let device = try server.device()
    try FileManager.default.createDirectory(atPath: device.home.path, withIntermediateDirectories: true)
    try Data("{".utf8).write(to: URL(fileURLWithPath: device.home.path + "/account.json"))
    chmod(device.home.path + "/account.json", 0o600)
    #expect(try await device.container.accountStatus() == .couldNotDetermine)
  }
}
