import Foundation
import Synchronization
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel

@testable import VirgaCloudKit

/// Engines in real time, over libcurl and a real socket.
@Suite(.timeLimit(.minutes(2))) struct SyncSocketTests {
  let server: TestServer
  let local: LocalServer
  let zone = CKRecordZone.ID(zoneName: "photos")

  init() throws {
    server = try TestServer(baseURL: nil)
    local = try LocalServer(server.front)
  }

  /// Devices of one account: each has its own service, and with it its own name towards the server.
  private func engine(_ delegate: Listener, automatic: Bool = true) -> CKSyncEngine {
    let service = RemoteService(
      endpoint: local.url, environment: .development, home: VirgaHome(path: server.folder.path + "/home"),
      transport: CurlTransport(), deviceName: "phone", now: { [server] in server.now })
    let container = CKContainer("iCloud.test", on: service)
    var configuration = CKSyncEngine.Configuration(
      database: container.privateCloudDatabase, stateSerialization: nil, delegate: delegate)
    configuration.automaticallySync = automatic
    return CKSyncEngine(configuration)
  }

  private func photo(_ name: String, size: Int) throws -> CKRecord {
    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["file"] = CKAsset(fileURL: try server.folder.file(name, size: size, seed: 3))
    record["title"] = name
    return record
  }

  @Test func aPhotoReachesAListeningDevice() async throws {
    let (sender, receiver) = (Listener(), Listener())
    let laptop = engine(receiver)
    try await laptop.fetchChanges()
    let phone = engine(sender)
    await receiver.wait { _ in laptop.status.receivesPushes }
    sender.add(try photo("p1", size: 300_000))
    phone.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
    phone.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: "p1", zoneID: zone))])
    await receiver.wait { $0.contains { $0.recordID.recordName == "p1" } }
    let asset = try #require(receiver.fetched.first?["file"] as? CKAsset)
    #expect(try Data(contentsOf: #require(asset.fileURL)).count == 300_000)
    await phone.cancelOperations()
    await laptop.cancelOperations()
    await local.stop()
  }

  /// An asset whose bytes are lost does not stop its zone: the record comes without its file.
  @Test func aLostAssetStopsNothing() async throws {
    let (sender, receiver) = (Listener(), Listener())
    let phone = engine(sender, automatic: false)
    phone.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
    for name in ["p1", "p2"] {
      sender.add(try photo(name, size: name == "p1" ? 100_000 : 200_000))
      phone.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: name, zoneID: zone))])
    }
    try await phone.sendChanges()
    try loseAsset(size: 100_000)
    try? FileManager.default.removeItem(atPath: server.folder.path + "/home/cache")
    let laptop = engine(receiver, automatic: false)
    try await laptop.fetchChanges()
    #expect(receiver.fetched.compactMap { $0["title"] as? String }.sorted() == ["p1", "p2"])
    let files = receiver.fetched.map { ($0["file"] as? CKAsset)?.fileURL != nil }
    #expect(files.filter { $0 }.count == 1)
    #expect(laptop.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    await local.stop()
  }

  private func loseAsset(size: Int) throws {
    let folder = server.folder.path + "/data"
    for path in FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? [] {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)")
      if attributes[.type] as? FileAttributeType == .typeRegular, attributes[.size] as? Int == size {
        try FileManager.default.removeItem(atPath: "\(folder)/\(path)")
      }
    }
  }

  @Test func batchesStopAtTheirAssetsBytes() async throws {
    let records = try (0..<6).map { try photo("p\($0)", size: 20 << 20) }
    let changes = records.map { CKSyncEngine.PendingRecordZoneChange.saveRecord($0.recordID) }
    let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
      records.first { $0.recordID == id }
    }
    #expect(batch?.recordsToSave.count == 3)
    await local.stop()
  }
}

/// An app that sends what it is given, and keeps what comes.
private final class Listener: CKSyncEngineDelegate, Sendable {
  private struct Memory {
    var records: [CKRecord.ID: CKRecord] = [:]
    var fetched: [CKRecord] = []
  }

  private let memory = Mutex(Memory())
  private let (events, continuation) = AsyncStream.makeStream(of: Void.self)

  var fetched: [CKRecord] { memory.withLock { $0.fetched } }
  func add(_ record: CKRecord) { memory.withLock { $0.records[record.recordID] = record } }

  /// Looks again after each event until a condition holds.
  func wait(until condition: ([CKRecord]) -> Bool) async {
    if condition(fetched) { return }
    for await _ in events where condition(fetched) { return }
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    if case .fetchedRecordZoneChanges(let changes) = event {
      memory.withLock { $0.fetched += changes.modifications.map(\.record) }
    }
    continuation.yield()
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { id in
      self.memory.withLock { $0.records[id] }
    }
  }
}
