import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// A whole server in this process, over the memory store, with a data folder of its own and a clock that stands still.
final class GatewayWorld: Sendable {
  let clock = ManualClock()
  let store = MemoryStore()
  let front: Gateway
  let folder: String
  let container: ContainerID = "iCloud.com.example.Diary"
  let session: String
  let user: UserName
  let logged: Box<[String]>

  /// - Parameter over: Makes the store that the server uses of the memory store.
  init(
    _ configure: (inout GatewayConfiguration) -> Void = { _ in }, over wrap: (MemoryStore) -> any Store = { $0 }
  ) async throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "virga-front-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let clock = clock
    let dice = Box(SplitMix64(seed: 7))
    let logged = Box<[String]>([])
    self.logged = logged
    var configuration = GatewayConfiguration(
      folder: folder, policy: .open, now: { clock.now },
      makeRandom: { dice.value.withLock { SplitMix64(seed: $0.next()) } })
    configuration.baseURL = "http://server.example"
    configuration.log = { text in logged.value.withLock { $0.append(text) } }
    configure(&configuration)
    front = try Gateway(store: wrap(store), secrets: .random(), configuration: configuration)
    (session, user) = try await Self.enrol("phone", front, container, now: clock.now)
  }

  deinit {
    do { try FileManager.default.removeItem(atPath: folder) } catch { print("\(folder) stays: \(error)") }
  }

  private static func enrol(
    _ name: String, _ front: Gateway, _ container: ContainerID, now: Timestamp
  ) async throws -> (String, UserName) {
    let device = Device(
      id: DeviceID("device-\(name)"), account: AccountID("account-\(name)"), name: name, publicKey: [1],
      enrolled: now)
    try await front.store.write { try Accounts().add(device, in: $0) }
    let token = front.authenticator.makeSession(account: device.account, device: device.id).token
    return (token, front.authenticator.user(of: device.account, in: container))
  }

  /// The session of a further device of the account.
  func secondDevice(_ name: String = "laptop") async throws -> (session: String, device: DeviceID) {
    let device = Device(
      id: DeviceID("device-\(name)"), account: "account-phone", name: name, publicKey: [2], enrolled: clock.now)
    try await store.write { try Accounts().add(device, in: $0) }
    return (front.authenticator.makeSession(account: device.account, device: device.id).token, device.id)
  }

  /// Removes a device as another one of its account does.
  func remove(_ device: DeviceID) async throws {
    let answer = try await send(
      "POST", "/virga/1/account/remove", Array(#"{"device":"\#(device)"}"#.utf8), session: session)
    #expect(answer.status == 200, "\(answer.text)")
  }

  /// The session of another account's device.
  func stranger() async throws -> String {
    try await Self.enrol("stranger", front, container, now: clock.now).0
  }

  // MARK: Requests

  struct Answer {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]
    var text: String { String(decoding: body, as: UTF8.self) }
    var error: ServiceError { ServiceError(decoding: body, status: status) }
  }

  func send(
    _ method: String, _ target: String, _ body: [UInt8] = [], headers: [(String, String)] = [], session: String? = nil,
    isConfirmed: Bool = true
  ) async throws -> Answer {
    var fields = headers
    if let session = session ?? (target.hasPrefix("/da") || target.hasPrefix("/de") ? self.session : nil),
      !session.isEmpty
    {
      fields.append(("X-Virga-Session", session))
    }
    let head = HTTPRequestHead(method: method, target: target, headers: HTTPHeaders(fields))
    let request = HTTPRequest(head: head, body: .bytes(body))
    let response = isConfirmed ? await front.exchange(request) : await front.respond(to: request)
    if !isConfirmed { response.whenDone?(false) }
    return Answer(status: response.status, headers: response.headers, body: try Self.bytes(of: response.body))
  }

  private static func bytes(of body: HTTPResponse.Body) throws -> [UInt8] {
    switch body {
    case .bytes(let bytes): return bytes
    case .file(let path, let offset, let length):
      let data = try Data(contentsOf: URL(filePath: path))
      return Array(data[Int(offset)..<Int(offset + length)])
    }
  }

  func path(_ operation: VirgaWire.Operation, scope: DatabaseScope = .private) -> String {
    Endpoint(container: container, environment: .development, scope: scope, operation: operation).path
  }

  func call(
    _ operation: VirgaWire.Operation, _ text: String, headers: [(String, String)] = [], query: String = "",
    session: String? = nil
  ) async throws -> Answer {
    try await send("POST", path(operation) + query, Array(text.utf8), headers: headers, session: session)
  }

  func call(_ call: Call, session: String? = nil) async throws -> Reply {
    let answer = try await send("POST", path(call.operation), call.encoded(), session: session)
    guard answer.status == 200 else { throw answer.error }
    return try Reply(decoding: answer.body, for: call.operation)
  }

  // MARK: Steps

  func makeZone(_ name: ZoneName = "Trips") async throws {
    _ = try await call(.zonesModify(ZonesModifyRequest(operations: [.init(.create, ZoneSelector(name))])))
  }

  func save(_ records: [RecordChange], in zone: ZoneName = "Trips") async throws -> [RecordResult] {
    let request = RecordsModifyRequest(
      operations: records.map { RecordOperation(.forceUpdate, $0) }, zone: ZoneSelector(zone))
    guard case .records(let reply) = try await call(.recordsModify(request)) else { return [] }
    return reply.records
  }

  /// The path of an upload's URL.
  func uploadTarget(record: RecordName = "t1", field: FieldName = "photo", session: String? = nil) async throws
    -> String
  {
    let request = AssetsUploadRequest(
      zone: ZoneSelector("Trips"), items: [.init(recordName: record, recordType: "Trip", fieldName: field)])
    guard case .uploadTokens(let tokens) = try await call(.assetsUpload(request), session: session) else { return "" }
    return try target(of: #require(tokens.first).url)
  }

  func target(of url: String) throws -> String {
    #expect(url.hasPrefix("http://server.example/"))
    return String(url.dropFirst("http://server.example".count))
  }

  func upload(
    _ bytes: [UInt8], record: RecordName = "t1", field: FieldName = "photo", headers: [(String, String)] = []
  ) async throws -> AssetReceipt {
    let answer = try await send(
      "POST", try await uploadTarget(record: record, field: field), bytes, headers: headers)
    #expect(answer.status == 200, "\(answer.text)")
    return try AssetReceipt(decoding: answer.body)
  }

  func files(in folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: "\(self.folder)/\(folder)").filter {
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(self.folder)/\(folder)/\($0)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }.sorted()
  }

  /// Waits until `condition` holds, giving the processor to others in between.
  func until(within time: Duration = .seconds(50), _ condition: () throws -> Bool) async throws {
    let start = ContinuousClock.now
    while try !condition() {
      try #require(ContinuousClock.now - start < time, "waited in vain")
      var nothing = pollfd(fd: -1, events: 0, revents: 0)
      poll(&nothing, 1, 1)
      await Task.yield()
    }
  }

  /// Waits until so many polls are parked or about to be.
  func untilParked(_ count: Int) async throws { try await until { front.polls.count == count } }

  /// How many notifications wait for a token.
  func waiting(_ token: String) -> Int {
    let count = Box(-1)
    store.read({ try $0.notifications(for: token, limit: .max).count }) { result in
      count.value.withLock { $0 = (try? result.get()) ?? -1 }
    }
    return count.value.withLock { $0 }
  }

  func makePushTarget(session: String? = nil) async throws -> String {
    _ = try await call(
      .subscriptionsModify(
        SubscriptionsModifyRequest(operations: [.init(.create, Subscription(id: "all", kind: .database))])))
    let request = PushTokenRequest(apnsEnvironment: "development", clientID: "watcher")
    guard case .pushToken(let reply) = try await call(.tokensCreate(request), session: session) else { return "" }
    return try target(of: reply.webcourierURL)
  }
}

extension AssetValue {
  init(_ receipt: AssetReceipt) {
    self.init(fileChecksum: receipt.fileChecksum, size: receipt.size, receipt: receipt.receipt)
    wrappingKey = receipt.wrappingKey
    referenceChecksum = receipt.referenceChecksum
  }
}

final class Box<Value>: Sendable {
  let value: Mutex<Value>
  init(_ value: sending Value) { self.value = Mutex(value) }
}
