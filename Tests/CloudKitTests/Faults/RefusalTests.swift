import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaSync
import VirgaWire

@testable import VirgaCloudKit

/// Refusals that concern some of what waits to be sent: the rest goes on, and nothing waits for ever.
@Suite(.timeLimit(.minutes(2))) struct RefusalTests {
  let server: TestServer
  let phone: TestDevice
  let own = CKRecordZone.ID(zoneName: "Diary")
  let foreign = CKRecordZone.ID(zoneName: "Diary", ownerName: "_somebody")

  init() async throws {
    server = try TestServer()
    phone = try server.device()
    _ = try await phone.database.save(CKRecordZone(zoneID: own))
  }

  private func engine(_ app: RefusedApp, _ database: CKDatabase? = nil) -> CKSyncEngine {
    var configuration = CKSyncEngine.Configuration(
      database: database ?? phone.database, stateSerialization: nil, delegate: app)
    configuration.automaticallySync = false
    return CKSyncEngine(configuration)
  }

  private func note(_ name: String, in zone: CKRecordZone.ID) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["text"] = name
    return record
  }

  /// Also where the zone's refusal comes before its records are sent, with the addresses for their assets.
  @Test(arguments: [true, false])
  func aZoneThatMayNotBeWrittenIsHandedOverAndStopsNothing(hasAsset: Bool) async throws {
    let refused = note("b", in: foreign)
    if hasAsset { refused["file"] = CKAsset(fileURL: try server.folder.file("b", [1, 2, 3])) }
    let app = RefusedApp([refused, note("a", in: own)])
    let engine = engine(app)
    app.add(to: engine)
    let error = await #expect(throws: CKError.self) { try await engine.sendChanges() }
    #expect(error?.partialErrorsByItemID?.keys.first == AnyHashable(refused.recordID))
    #expect(app.saved == ["a"])
    #expect(app.failed == ["b permissionFailure"])
    #expect(engine.state.pendingRecordZoneChanges.isEmpty)
  }

  @Test func aZoneOfAnotherOwnerIsHandedOverAndStopsNothing() async throws {
    let app = RefusedApp([note("a", in: own)])
    let engine = engine(app)
    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: foreign))])
    app.add(to: engine)
    let error = await #expect(throws: CKError.self) { try await engine.sendChanges() }
    #expect(error?.partialErrorsByItemID?.keys.first == AnyHashable(foreign))
    #expect(app.saved == ["a"])
    #expect(engine.state.pendingDatabaseChanges.isEmpty)
  }

  /// A proxy's refusal is not the service's word on what was sent.
  @Test func aPageThatRefusesEverythingLeavesItPending() async throws {
    let app = RefusedApp([note("a", in: own), note("b", in: own)])
    let engine = engine(app)
    app.add(to: engine)
    phone.network.replaceAnswers { path, answer in
      path.contains("records/modify")
        ? TransportResponse(status: 403, body: Array("<html>sign in</html>".utf8)) : answer
    }
    await #expect(throws: CKError.self) { try await engine.sendChanges() }
    #expect(app.failed.isEmpty && engine.state.pendingRecordZoneChanges.count == 2)
  }

  /// A record whose zone's key this device lacks waits, and the others pass it.
  @Test func aRecordWithoutItsKeyStopsNothing() async throws {
    let secret = note("secret", in: own)
    secret.encryptedValues["words"] = "secret"
    _ = try await phone.database.save(secret)
    let laptop = try await phone.joined(as: "laptop")
    let giveBack = try laptop.forgetKeys()
    try await server.forgetKeys("grant/")
    let other = note("other", in: own)
    other.encryptedValues["words"] = "other"
    let app = RefusedApp([other] + (0..<5).map { note("n\($0)", in: own) })
    let engine = engine(app, laptop.database)
    app.add(to: engine)
    let error = await #expect(throws: CKError.self) { try await engine.sendChanges() }
    let missing = error?.partialErrorsByItemID?[AnyHashable(other.recordID)] as? CKError
    #expect(missing?.code == .accountTemporarilyUnavailable)
    #expect(app.saved == (0..<5).map { "n\($0)" })
    #expect(engine.state.pendingRecordZoneChanges.count == 1)
    try giveBack()
    server.advance(by: .seconds(60))
    try await engine.sendChanges()
    #expect(app.saved.last == "other" && engine.state.pendingRecordZoneChanges.isEmpty)
  }

  /// A server that was put back to before a device enrolled does not know it. That is not the end of its account.
  @Test func aServerThatForgotTheDeviceCostsNothingThatWaits() async throws {
    let app = RefusedApp([note("a", in: own)])
    let engine = engine(app)
    try await engine.fetchChanges()
    app.add(to: engine)
    // The next request needs another session.
    server.advance(by: .seconds(25 * 3_600))
    phone.network.replaceAnswers { path, answer in
      guard path.hasSuffix("/virga/1/session") else { return answer }
      let error = ServiceError(.authenticationFailed, AccountReason.deviceUnknown)
      return TransportResponse(status: 401, body: error.encoded(uuid: "u"))
    }
    for _ in 0..<2 { await #expect(throws: CKError.self) { try await engine.sendChanges() } }
    #expect(engine.state.pendingRecordZoneChanges.count == 1)
    #expect(try await phone.container.accountStatus() == .temporarilyUnavailable)
    #expect(try await phone.restarted().container.accountStatus() == .temporarilyUnavailable)
    phone.network.replaceAnswers(nil)
    try await engine.sendChanges()
    #expect(app.saved == ["a"] && app.accountChanges == ["signIn"])
    #expect(try await phone.container.accountStatus() == .available)
  }

  @Test func aZoneThatTheFeedCannotSpeakOfIsNamedAsFailed() async throws {
    phone.network.replaceAnswers { path, answer in
      guard path.contains("changes/database") else { return answer }
      let zone = #"{"zoneID":{"zoneName":"Diary"},"serverErrorCode":"TRY_AGAIN_LATER","reason":"busy"}"#
      let body = #"{"zones":[\#(zone)],"syncToken":"t","moreComing":false}"#
      return TransportResponse(status: 200, body: Array(body.utf8))
    }
    let page = try await SyncService(phone.database).databaseChanges(since: nil).get()
    #expect(page.failed == [own.model] && page.modified.isEmpty && page.deleted.isEmpty)
  }

  /// A network's sign-in page answers everything with success.
  @Test(
    arguments: [
      ("<html>Welcome</html>", nil), ("[1]", nil), (#"{"error":"no"}"#, nil), ("", false),
      (#"{"ck":{"met":{"dbs":1}},"aps":{}}"#, true),
    ] as [(String, Bool?)])
  func onlyANotificationIsNews(body: String, expected: Bool?) async {
    phone.network.replaceAnswers { _, _ in TransportResponse(status: 200, body: Array(body.utf8)) }
    let news = await SyncService(phone.database).poll(TestServer.url + "/push/1/none")
    #expect((try? news.get()) == expected)
    if expected == nil, case .failure(let failure) = news { #expect(failure.kind == .unreachable) }
  }
}

/// An app with some notes that notes what becomes of them.
final class RefusedApp: CKSyncEngineDelegate, Sendable {
  private struct Memory {
    var saved: [String] = []
    var failed: [String] = []
    var accountChanges: [String] = []
  }

  private let notes: [CKRecord]
  private let memory = Mutex(Memory())
  var saved: [String] { memory.withLock { $0.saved } }
  var failed: [String] { memory.withLock { $0.failed } }
  var accountChanges: [String] { memory.withLock { $0.accountChanges } }

  init(_ notes: [CKRecord]) { self.notes = notes }

  func add(to engine: CKSyncEngine) {
    engine.state.add(pendingRecordZoneChanges: notes.map { .saveRecord($0.recordID) })
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    memory.withLock { memory in
      switch event {
      case .sentRecordZoneChanges(let changes):
        memory.saved += changes.savedRecords.map(\.recordID.recordName)
        memory.failed += changes.failedRecordSaves.filter { $0.error.code != .accountTemporarilyUnavailable }
          .map { "\($0.record.recordID.recordName) \($0.error.code)" }
      case .accountChange(let change):
        switch change.changeType {
        case .signIn: memory.accountChanges.append("signIn")
        case .signOut: memory.accountChanges.append("signOut")
        case .switchAccounts: memory.accountChanges.append("switchAccounts")
        }
      default: break
      }
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
      self.notes.first { $0.recordID == id }
    }
  }
}
