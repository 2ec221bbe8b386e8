import CloudKit
import Foundation
import FoundationNetworking
import Testing

// The template of docs/testing-your-app.md; a test compares both.

/// A server in memory on a free port, for one test. It stops when this object goes away.
final class EphemeralServer {
  //  static let program = ProcessInfo.processInfo.environment["VIRGA_PROGRAM"] ?? "virga"
  static let program = ProgramRun.path
  let address: String
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("devices-\(UUID().uuidString)")
  private let process = Process()
  private let token = UUID().uuidString + UUID().uuidString

  init() throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [Self.program, "serve", "--ephemeral", "--port", "0"]
    process.environment = ProcessInfo.processInfo.environment.merging(["VIRGA_OPERATOR_TOKEN": token]) { $1 }
    process.standardOutput = output
    try process.run()
    var text = ""
    while true {
      let part = output.fileHandleForReading.availableData
      if part.isEmpty { throw Problem(description: "virga serve has ended: \(text)") }
      text += String(decoding: part, as: UTF8.self)
      if let match = text.firstMatch(of: /(http:\/\/[^ \n]*:[0-9]+)\n/) {
        address = String(match.output.1)
        return
      }
    }
  }

  deinit {
    process.terminate()
    try? FileManager.default.removeItem(at: folder)
  }

  /// A device with its own folder. It has its own account until another device lets it in.
  func device(_ name: String) throws -> CKContainer.Device {
    try CKContainer.Device(home: folder.appendingPathComponent(name), endpoint: address)
  }

  /// Makes the server fail on purpose: see docs/faults.md.
  /// - Throws: If the server refuses the plan. A test that runs without its faults proves nothing.
  func setFaults(_ rules: String) async throws {
    _ = try await faults("PUT", Data(#"{"faults": [\#(rules)]}"#.utf8))
  }

  /// How many requests each rule has acted on. Check it at the end of a test.
  func faultsMet() async throws -> [Int] {
    let plan = try JSONSerialization.jsonObject(with: try await faults("GET", nil)) as? [String: Any]
    return (plan?["faults"] as? [[String: Any]] ?? []).map { $0["met"] as? Int ?? 0 }
  }

  private func faults(_ method: String, _ body: Data?) async throws -> Data {
    var request = URLRequest(url: URL(string: address + "/virga/1/faults")!)
    request.httpMethod = method
    request.setValue(token, forHTTPHeaderField: "X-Virga-Operator")
    request.httpBody = body
    let (answer, response) = try await URLSession.shared.data(for: request)
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    guard status == 200 else {
      throw Problem(description: "Cannot \(method) faults (\(status)): \(String(decoding: answer, as: UTF8.self))")
    }
    return answer
  }
}

struct Problem: Error, CustomStringConvertible { let description: String }

/// The sync code of your app. Here: a list of names, where the last send wins.
final actor Guestbook: CKSyncEngineDelegate {
  static let zone = CKRecordZone(zoneName: "Guests")
  private(set) var names: [CKRecord.ID: String] = [:]
  private var known: [CKRecord.ID: CKRecord] = [:]
  private var made: CKSyncEngine?

  init(on device: CKContainer.Device) async {
    let database = CKContainer(identifier: "iCloud.com.example.Guests", on: device).privateCloudDatabase
    var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
    configuration.automaticallySync = false
    made = CKSyncEngine(configuration)
  }

  var engine: CKSyncEngine { made! }
  var pending: Int { engine.state.pendingRecordZoneChanges.count }

  static func id(_ guest: String) -> CKRecord.ID { CKRecord.ID(recordName: guest, zoneID: zone.zoneID) }

  func write(_ name: String, for guest: String) {
    names[Self.id(guest)] = name
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(Self.id(guest))])
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    let (names, known) = (names, known)
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
      let record = known[id] ?? CKRecord(recordType: "Guest", recordID: id)
      record["name"] = names[id]
      return record
    }
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    switch event {
    case .accountChange(let change):
      guard case .signIn = change.changeType else { return }
      syncEngine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
    case .fetchedRecordZoneChanges(let changes): changes.modifications.forEach { take($0.record, syncEngine) }
    case .sentRecordZoneChanges(let changes):
      for record in changes.savedRecords { known[record.recordID] = record }
      for failure in changes.failedRecordSaves { resolve(failure, syncEngine) }
    default: break
    }
  }

  private func take(_ record: CKRecord, _ engine: CKSyncEngine) {
    known[record.recordID] = record
    if engine.state.pendingRecordZoneChanges.contains(.saveRecord(record.recordID)) { return }
    names[record.recordID] = record["name"] as? String
  }

  private func resolve(
    _ failure: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ engine: CKSyncEngine
  ) {
    let id = failure.record.recordID
    switch failure.error.code {
    case .serverRecordChanged: known[id] = failure.error.serverRecord
    case .unknownItem: known[id] = nil
    case .zoneNotFound:
      known[id] = nil
      engine.state.add(pendingDatabaseChanges: [.saveZone(Self.zone)])
    default: return
    }
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
  }
}

@Suite(.timeLimit(.minutes(2))) struct TwoDeviceTests {
  let server: EphemeralServer
  let phone: Guestbook
  let laptop: Guestbook
  let guest = Guestbook.id("guest")

  /// Two devices of one account. Both know one guest.
  init() async throws {
    server = try EphemeralServer()
    let (first, second) = (try server.device("phone"), try server.device("laptop"))
    try await first.letIn(second)
    phone = await Guestbook(on: first)
    laptop = await Guestbook(on: second)
    await phone.write("Ada", for: "guest")
    try await phone.engine.sendChanges()
    try await laptop.engine.fetchChanges()
  }

  @Test func anEditReachesTheOtherDevice() async throws {
    #expect(await laptop.names == [guest: "Ada"])
    await laptop.write("Ada L.", for: "guest")
    try await laptop.engine.sendChanges()
    try await phone.engine.fetchChanges()
    #expect(await phone.names == [guest: "Ada L."])
  }

  /// Both devices edit. The second send fails, the delegate resolves the conflict, and the next send succeeds.
  @Test func aConflictIsMetAndResolved() async throws {
    await phone.write("Ada King", for: "guest")
    await laptop.write("Ada Byron", for: "guest")
    try await phone.engine.sendChanges()
    let error = await #expect(throws: CKError.self) { try await laptop.engine.sendChanges() }
    #expect(error?.code == .partialFailure && error?.partialErrorsByItemID?.keys.contains(guest) == true)
    #expect(await laptop.pending == 1)
    #expect(await phone.pending == 0)
    try await laptop.engine.sendChanges()
    try await phone.engine.fetchChanges()
    #expect(await phone.names == [guest: "Ada Byron"])
    #expect(await laptop.pending == 0)
  }

  /// Another device deleted what this one edits.
  @Test(arguments: [CKError.Code.unknownItem, .zoneNotFound])
  func whatIsGoneIsSavedAgain(code: CKError.Code) async throws {
    let database = await laptop.engine.database
    if code == .unknownItem {
      try await database.deleteRecord(withID: guest)
    } else {
      try await database.deleteRecordZone(withID: Guestbook.zone.zoneID)
    }
    await phone.write("Ada again", for: "guest")
    let error = await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
    #expect((error?.partialErrorsByItemID?[guest] as? CKError)?.code == code)
    #expect(await phone.pending == 1)
    try await phone.engine.sendChanges()
    #expect(try await database.record(for: guest)["name"] as? String == "Ada again")
  }

  /// The service throttles once. The change waits.
  @Test func aThrottledSendKeepsItsChange() async throws {
    try await server.setFaults(
      #"{"when": {"operation": "records/modify", "call": 1}, "do": {"throttle": 1}}"#)
    await phone.write("Ada in a hurry", for: "guest")
    let error = await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
    #expect(error?.code == .requestRateLimited && error?.retryAfterSeconds == 1)
    #expect(await phone.pending == 1)
    try await phone.engine.sendChanges()
    try await laptop.engine.fetchChanges()
    #expect(await laptop.names == [guest: "Ada in a hurry"])
    #expect(try await server.faultsMet() == [1])
  }

  /// A mistake in the plan stops the test.
  @Test func faultsThatCannotBeSetAreAnError() async {
    await #expect(throws: Problem.self) { try await server.setFaults(#"{"when": {"zonee": "Guests"}, "do": {}}"#) }
  }
}
