import Foundation
import Synchronization
import VirgaAuth
import VirgaCloudKit
import VirgaHTTP
import VirgaModel
import VirgaServer
import VirgaWire

/// The real rules over a store in memory, with real accounts, reached by a call instead of a socket.
final class SyncServer: Sendable {
  private struct State {
    var random = SystemRandom()
    var parked: [String: [CheckedContinuation<Void, Never>]] = [:]
  }

  let time: VirtualTime
  let store = MemoryStore()
  let authenticator: Authenticator
  private let routes: AccountRoutes
  private let state = Mutex(State())
  let container: ContainerID = "iCloud.test"

  init(_ time: VirtualTime, policy: EnrolmentPolicy = .open) {
    self.time = time
    authenticator = Authenticator(store: store, secrets: .random(), policy: policy, now: { time.now })
    routes = AccountRoutes(authenticator: authenticator)
  }

  func respond(to request: TransportRequest) async throws -> TransportResponse {
    guard case .bytes(let body) = request.body, let url = URL(string: request.url) else {
      throw TransportError.failed("not supported here")
    }
    let target = request.url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" }
    let head = HTTPRequestHead(
      method: request.method, target: String(target),
      headers: HTTPHeaders(request.headers.map { ($0.name, $0.value) }))
    let incoming = HTTPRequest(head: head, body: .bytes(body))
    if target.hasPrefix(AccountRoutes.prefix) { return TransportResponse(await routes.respond(to: incoming)) }
    if target.hasPrefix("/push/1/") { return try await poll(url.lastPathComponent) }
    do {
      return TransportResponse(status: 200, body: try await call(incoming, body))
    } catch {
      let error = error as? ServiceError ?? ServiceError(.internalError, "\(error)")
      return TransportResponse(status: error.code.httpStatus, body: error.encoded(uuid: "u"))
    }
  }

  private func call(_ request: HTTPRequest, _ body: [UInt8]) async throws -> [UInt8] {
    let parts = request.head.path.split(separator: "/").map(String.init)
    // database/1/{container}/{environment}/{database}/{a}/{b} or device/1/{container}/{environment}/{a}/{b}
    let name = parts.suffix(2).joined(separator: "/")
    guard let operation = VirgaWire.Operation(rawValue: name) else { throw ServiceError(.notFound, name) }
    let scope = parts[0] == "device" ? DatabaseScope.private : DatabaseScope(pathName: parts[4]) ?? .private
    let endpoint = Endpoint(container: container, environment: .development, scope: scope, operation: operation)
    let principal = try await authenticator.principal(for: request, endpoint: endpoint)
    var context = CallContext(
      endpoint: endpoint, principal: principal, now: time.now, random: state.withLock { $0.random }, urls: URLs())
    context.wantsExtensions = request.head.headers["X-Virga-Extensions"] == "1"
    let query = URLComponents(string: request.head.target)?.queryItems ?? []
    context.clientID = query.first { $0.name == "clientId" }?.value
    if let limit = request.head.headers["X-Virga-Page"].flatMap({ Int($0) }) { context.recordsPerPageMax = limit }
    let call = try Call(decoding: body, for: operation)
    let (reply, wakes) = try perform(call, context)
    for token in wakes.tokens.sorted() { wake(token) }
    return reply.encoded(extensions: context.wantsExtensions, uuid: "u")
  }

  private func perform(_ call: Call, _ context: CallContext) throws -> (Reply, Wakes) {
    let result = Mutex<Result<(Reply, Wakes), any Error>?>(nil)
    store.write { transaction in
      var context = context
      let reply = try VirgaServer.Service().write(call, in: transaction, context: &context)
      return (reply, context.wakes)
    } completion: { outcome in
      result.withLock { $0 = outcome }
    }
    guard let outcome = result.withLock({ $0 }) else { throw StoreError.closed }
    return try outcome.get()
  }

  /// Runs housekeeping on the store.
  func change(_ body: @escaping @Sendable (any WriteTransaction) throws -> Void) throws {
    let result = Mutex<Result<Void, any Error>?>(nil)
    store.write(body) { outcome in result.withLock { $0 = outcome } }
    try result.withLock { $0 }?.get()
  }

  private func zones(in transaction: any WriteTransaction) throws -> [ZoneRow] {
    try transaction.databases().flatMap { try transaction.zones(in: $0.key, after: -1, limit: 100) }
      .filter { $0.name == "diary" }
  }

  /// Forgets tombstones that are past their age.
  func compact() throws {
    let now = time.now
    try change { transaction in
      let service = VirgaServer.Service()
      for step in try service.compactionSteps(in: transaction, now: now) {
        while try service.perform(step, in: transaction, now: now) {}
      }
    }
  }

  /// As if the user had erased the zone in the settings, or reset their encrypted data.
  func purgeZone(_ reason: ZoneDeletionReason = .purged) throws {
    try change { transaction in
      for var zone in try self.zones(in: transaction) {
        guard var database = try transaction.database(zone.database) else { continue }
        database.sequence += 1
        try transaction.put(database)
        try transaction.removeRecords(of: &zone)
        zone.noteDeletion(reason, at: database.sequence)
        try transaction.put(&zone)
      }
    }
  }

  /// As if an older backup had been put back, which holds none of the records.
  func restoreBackupWithoutRecords() throws {
    let now = time.now
    try change { transaction in
      for var zone in try self.zones(in: transaction) { try transaction.removeRecords(of: &zone) }
      var random = SystemRandom()
      try VirgaServer.Service().renewIncarnations(in: transaction, now: now, random: &random)
    }
  }

  // MARK: Pushes

  private func poll(_ token: String) async throws -> TransportResponse {
    while true {
      let found = Mutex<[UInt8]?>(nil)
      try change { transaction in
        guard let notification = try transaction.notifications(for: token, limit: 1).first else { return }
        try transaction.removeNotifications([notification.id], of: token)
        found.withLock { $0 = notification.payload }
      }
      if let notification = found.withLock({ $0 }) { return TransportResponse(status: 200, body: notification) }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          state.withLock { $0.parked[token, default: []].append(continuation) }
          if Task.isCancelled { wake(token) }
        }
      } onCancel: {
        self.wake(token)
      }
      if Task.isCancelled { throw TransportError.cancelled }
    }
  }

  private func wake(_ token: String) {
    for continuation in state.withLock({ $0.parked.removeValue(forKey: token) ?? [] }) { continuation.resume() }
  }

  private struct URLs: URLMaker {
    func uploadURL(for claim: UploadGrant) -> String { "http://server/assets/upload" }
    func downloadURL(checksum: String, size: Int64, expires: Timestamp) -> String { "http://server/assets" }
    func pushURL(token: String) -> String { "http://server/push/1/\(token)" }
  }
}

extension TransportResponse {
  fileprivate init(_ response: HTTPResponse) {
    guard case .bytes(let body) = response.body else { preconditionFailure("account calls answer with bytes") }
    self.init(status: response.status, headers: response.headers.fields, body: body)
  }
}

/// One device's way to the server, with what can go wrong on it.
final class Link: Transport, Sendable {
  enum Fault: Sendable {
    /// The request does not get out.
    case cut
    /// The request takes effect and its answer is lost.
    case lostAnswer
    /// The server answers this instead.
    case refusal(ServiceError)
    /// The server answers this instead.
    case reply(Reply)
    /// Nothing ever comes back.
    case silence
  }

  struct Entry: Sendable {
    var time: Timestamp
    var operation: String
    /// Operations in the request's body, as far as it is a `records/modify`.
    var count: Int
  }

  private struct State {
    var isCut = false
    var dropsPushes = false
    var pageLimit: Int?
    var bodyLimit: Int?
    var pushes = 0
    var fault: (@Sendable (_ operation: String, _ number: Int) -> Fault?)?
    var log: [Entry] = []
    var counts: [String: Int] = [:]
  }

  let server: SyncServer
  private let state = Mutex(State())

  init(_ server: SyncServer) { self.server = server }

  var isCut: Bool {
    get { state.withLock { $0.isCut } }
    set { state.withLock { $0.isCut = newValue } }
  }
  var dropsPushes: Bool {
    get { state.withLock { $0.dropsPushes } }
    set { state.withLock { $0.dropsPushes = newValue } }
  }
  /// The most records in a page of a feed.
  var pageLimit: Int? {
    get { state.withLock { $0.pageLimit } }
    set { state.withLock { $0.pageLimit = newValue } }
  }
  /// The longest body in bytes that a proxy on the way lets through.
  var bodyLimit: Int? {
    get { state.withLock { $0.bodyLimit } }
    set { state.withLock { $0.bodyLimit = newValue } }
  }
  /// Notifications that came.
  var pushes: Int { state.withLock { $0.pushes } }
  func count(of operation: String) -> Int { log.filter { $0.operation == operation }.count }
  /// Operations in each request that saved or deleted records.
  var batches: [Int] { log.filter { $0.operation == "records/modify" }.map(\.count) }
  var log: [Entry] { state.withLock { $0.log } }
  /// Decides about each request, by its operation and how often that was asked for before.
  func setFault(_ fault: (@Sendable (_ operation: String, _ number: Int) -> Fault?)?) {
    state.withLock { $0.fault = fault }
  }

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    if Task.isCancelled { throw TransportError.cancelled }
    let operation = Self.operation(of: request)
    let fault = state.withLock { state -> Fault? in
      let number = state.counts[operation, default: 0]
      state.counts[operation] = number + 1
      state.log.append(Entry(time: server.time.now, operation: operation, count: Self.count(in: request)))
      if state.isCut { return .cut }
      return state.fault?(operation, number)
    }
    switch fault {
    case .cut: throw TransportError.unreachable("the network is cut")
    case .refusal(let error):
      return TransportResponse(status: error.code.httpStatus, body: error.encoded(uuid: "u"))
    case .lostAnswer:
      _ = try await server.respond(to: request)
      throw TransportError.responseLost("the network was cut")
    case .reply(let reply): return TransportResponse(status: 200, body: reply.encoded(extensions: true, uuid: "u"))
    case .silence:
      do { try await server.time.sleep(until: Timestamp(milliseconds: .max)) } catch { throw TransportError.cancelled }
    case nil: break
    }
    if let limit = bodyLimit, case .bytes(let body) = request.body, body.count > limit {
      return TransportResponse(status: 413, body: Array("<html>413 Request Entity Too Large</html>".utf8))
    }
    var request = request
    if let limit = pageLimit, let place = request.headers.firstIndex(where: { $0.name == "X-Virga-Page" }) {
      request.headers[place].value = String(limit)
    }
    let answer = try await server.respond(to: request)
    if operation == "push" {
      if dropsPushes { try await server.time.sleep(until: Timestamp(milliseconds: .max)) }
      state.withLock { $0.pushes += 1 }
    }
    return answer
  }

  private static func operation(of request: TransportRequest) -> String {
    let path = request.url.prefix { $0 != "?" }.split(separator: "/").map(String.init)
    if path.contains("push") { return "push" }
    if path.contains("virga") { return "account" }
    return path.suffix(2).joined(separator: "/")
  }

  private static func count(in request: TransportRequest) -> Int {
    guard case .bytes(let bytes) = request.body,
      let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    else { return 0 }
    return ((object["operations"] ?? object["records"]) as? [Any])?.count ?? 0
  }
}
