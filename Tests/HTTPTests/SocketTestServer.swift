import Glibc
import Synchronization
import VirgaHTTP

/// A server on a free port with a handler that answers by path:
/// `/hello`, `/echo`, `/park` (until woken or cancelled), `/stubborn` (until woken),
/// `/count/N`, `/file/OFFSET/LENGTH`, `/store` (streams the body
/// into `directory`, answers its size and checksum), `/keep` (streams it into the file of `/file`), `/small` (takes 10 bytes), `/refused` (reads no body).
final class SocketTestServer: HTTPHandler {
  let lot = ParkingLot()
  let directory: String
  /// Of each answer of the handler, whether it was sent.
  let outcomes = Outcomes()
  private let server = Mutex<HTTPServer?>(nil)

  init() {
    var template = Array("/tmp/virga-http-XXXXXX".utf8CString)
    directory = String(cString: mkdtemp(&template))
  }

  /// Runs `body` with a server and stops it.
  static func run<Result>(
    host: String = "127.0.0.1", drain: Duration = .milliseconds(500),
    _ configure: (inout HTTPConfiguration) -> Void = { _ in },
    _ body: (SocketTestServer, UInt16) async throws -> Result
  ) async throws -> Result {
    let handler = SocketTestServer()
    var configuration = HTTPConfiguration()
    configuration.lingerTime = .milliseconds(200)
    configure(&configuration)
    let server = HTTPServer(handler: handler, configuration: configuration)
    let port = try server.start(host: host, port: 0)
    handler.server.withLock { $0 = server }
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await body(handler, port)) } catch { result = .failure(error) }
    await server.stop(drain: drain)
    handler.lot.wakeAll()
    for file in handler.files { unlink("\(handler.directory)/\(file)") }
    rmdir(handler.directory)
    return try result.get()
  }

  var running: HTTPServer? { server.withLock { $0 } }
  var counters: HTTPCounters { running?.counters ?? HTTPCounters() }

  /// Names of the files in the server's directory.
  var files: [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  func write(_ bytes: [UInt8], to name: String) {
    let descriptor = open("\(directory)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    precondition(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
  }

  /// Polls until `condition` holds; false after some seconds. Yields the thread in between.
  static func eventually(_ condition: () -> Bool) async -> Bool {
    let start = ContinuousClock.now
    while ContinuousClock.now - start < .seconds(20) {
      if condition() { return true }
      var nothing = pollfd(fd: -1, events: 0, revents: 0)
      poll(&nothing, 1, 1)
      await Task.yield()
    }
    return condition()
  }

  func bodyPlan(for head: HTTPRequestHead) -> BodyPlan {
    switch head.path {
    case "/small": return .buffer(limit: 10)
    case "/store", "/keep": return .stream(directory: directory, limit: 1 << 30)
    case "/store/small": return .stream(directory: directory, limit: 100_000)
    case "/store/nowhere": return .stream(directory: "/nonexistent", limit: 100)
    case "/refused": return .refuse(HTTPResponse(status: 403, body: .bytes(Array("no".utf8))))
    default: return .buffer(limit: 64 << 20)
    }
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    var response = await answer(to: request)
    response.whenDone = { [outcomes] isSent in outcomes.append(isSent) }
    return response
  }

  private func answer(to request: HTTPRequest) async -> HTTPResponse {
    let parts = request.head.path.split(separator: "/")
    func number(_ index: Int) -> Int { index < parts.count ? Int(parts[index]) ?? 0 : 0 }
    switch (parts.first, request.body) {
    case ("echo", .bytes(let bytes)): return HTTPResponse(status: 200, body: .bytes(bytes))
    case ("park", _):
      let word = await lot.park()
      return HTTPResponse(status: 200, body: .bytes(Array(word.utf8)))
    case ("stubborn", _):
      let word = await lot.parkWhateverHappens()
      return HTTPResponse(status: 200, body: .bytes(Array(word.utf8)))
    case ("count", _):
      return HTTPResponse(status: 200, body: .bytes(Self.pattern(count: min(max(0, number(1)), 64 << 20))))
    case ("file", _):
      let (offset, length) = (Int64(number(1)), Int64(number(2)))
      return HTTPResponse(status: 206, body: .file(path: "\(directory)/data", offset: offset, length: length))
    case ("store", .file(let file)):
      defer { unlink(file.path) }
      return HTTPResponse(status: 200, body: .bytes(Array("\(file.size) \(Self.checksum(ofFile: file.path))".utf8)))
    case ("keep", .file(let file)):
      rename(file.path, "\(directory)/data")
      return HTTPResponse(status: 200, body: .bytes(Array("\(file.size)".utf8)))
    case ("status", _):
      return HTTPResponse(status: number(1), body: .bytes(Array("text".utf8)))
    case ("bad-field", _):
      return HTTPResponse(status: 200, headers: HTTPHeaders([("X-Name", "a\r\nX-Injected: 1")]))
    case ("own-fields", _):
      let own = [("Content-Length", "99"), ("transfer-encoding", "chunked"), ("Connection", "upgrade"), ("X-Own", "1")]
      return HTTPResponse(status: 200, headers: HTTPHeaders(own), body: .bytes([65]))
    case ("close", _):
      var response = HTTPResponse(status: 200, body: .bytes(Array("bye".utf8)))
      response.closesConnection = true
      return response
    case ("address", _): return HTTPResponse(status: 200, body: .bytes(Array(request.clientAddress.utf8)))
    default: return HTTPResponse(status: 200, body: .bytes(Array("hello".utf8)))
    }
  }

  static func pattern(count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { bytes in
      for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 8) }
    }
    return bytes
  }

  /// FNV-1a.
  static func checksum(_ bytes: UnsafeRawBufferPointer, into sum: inout UInt64) {
    for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }

  static func checksum(_ bytes: [UInt8]) -> UInt64 {
    var sum: UInt64 = 0xcbf2_9ce4_8422_2325
    bytes.withUnsafeBytes { checksum($0, into: &sum) }
    return sum
  }

  private static func checksum(ofFile path: String) -> UInt64 {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    var sum: UInt64 = 0xcbf2_9ce4_8422_2325
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
      buffer.withUnsafeBytes { checksum(UnsafeRawBufferPointer(rebasing: $0[..<count]), into: &sum) }
    }
    return sum
  }
}

final class Outcomes: Sendable {
  private let state = Mutex<[Bool]>([])
  var all: [Bool] { state.withLock { $0 } }
  func append(_ isSent: Bool) { state.withLock { $0.append(isSent) } }
}

/// Where requests wait until they are woken or their task is cancelled.
final class ParkingLot: Sendable {
  private struct State {
    var next = 0
    var waiting: [Int: CheckedContinuation<String, Never>] = [:]
    var cancelled: Set<Int> = []
    var cancellations = 0
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.waiting.count } }
  var cancellations: Int { state.withLock { $0.cancellations } }

  func park() async -> String {
    let ticket = state.withLock { state in
      state.next += 1
      return state.next
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = state.withLock { state in
          guard state.cancelled.remove(ticket) == nil else { return true }
          state.waiting[ticket] = continuation
          return false
        }
        if isCancelled { continuation.resume(returning: "cancelled") }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        state.cancellations += 1
        let waiting = state.waiting.removeValue(forKey: ticket)
        if waiting == nil { state.cancelled.insert(ticket) }
        return waiting
      }
      waiting?.resume(returning: "cancelled")
    }
  }

  func parkWhateverHappens() async -> String {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        state.next += 1
        state.waiting[state.next] = continuation
      }
    }
  }

  func wakeAll(_ word: String = "woken") {
    let waiting = state.withLock { state in
      let waiting = state.waiting
      state.waiting = [:]
      return waiting
    }
    for (_, continuation) in waiting.sorted(by: { $0.key < $1.key }) { continuation.resume(returning: word) }
  }
}
