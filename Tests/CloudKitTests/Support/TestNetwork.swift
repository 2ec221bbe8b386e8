import Foundation
import Synchronization
import VirgaCloudKit
import VirgaHTTP

/// The way from a device to the server in this process: it counts what passes, and can be cut, lose answers and wait.
final class TestNetwork: Transport {
  struct Passed: Sendable {
    var path: String
    var bytesUp: Int
    var bytesDown: Int
    /// Which part of a file was asked for.
    var range: String?
  }

  private struct State {
    var isCut = false
    var answersToLose = 0
    /// After how many bytes each of the next downloads breaks off.
    var downloadCuts: [Int] = []
    var passed: [Passed] = []
    var before: (@Sendable (TransportRequest) async -> Void)?
    var replace: (@Sendable (String, TransportResponse) -> TransportResponse)?
  }

  private let front: Gateway
  private let state = Mutex(State())

  init(_ front: Gateway) { self.front = front }

  // MARK: What a test does to it

  func cut() { state.withLock { $0.isCut = true } }
  func heal() { state.withLock { $0.isCut = false } }
  /// The server acts on the next requests, and nobody hears of it.
  func loseAnswers(_ count: Int = 1) { state.withLock { $0.answersToLose = count } }
  /// The next downloads break off after so many bytes each.
  func cutDownloads(afterBytes counts: Int...) { state.withLock { $0.downloadCuts = counts } }
  /// Runs before each request goes out.
  func before(_ body: (@Sendable (TransportRequest) async -> Void)?) { state.withLock { $0.before = body } }
  /// Changes answers on their way.
  func replaceAnswers(_ body: (@Sendable (String, TransportResponse) -> TransportResponse)?) {
    state.withLock { $0.replace = body }
  }
  func forget() { state.withLock { $0.passed = [] } }

  /// The requests whose path contains the text.
  func requests(to part: String) -> [Passed] { state.withLock { $0.passed.filter { $0.path.contains(part) } } }
  func count(_ part: String) -> Int { requests(to: part).count }

  // MARK: Transport

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    await state.withLock { $0.before }?(request)
    if Task.isCancelled { throw TransportError.cancelled }
    guard !state.withLock({ $0.isCut }) else { throw TransportError.unreachable("the network is cut") }
    let body = try bytes(of: request.body)
    var headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    let authority = request.url.dropFirst("http://".count).prefix { $0 != "/" }
    headers.append("Host", String(authority))
    headers.append("Content-Length", "\(body.count)")
    let target = String(request.url.dropFirst("http://".count + authority.count))
    let head = HTTPRequestHead(method: request.method, target: target, headers: headers)
    let response = await front.exchange(HTTPRequest(head: head, body: .bytes(body)))
    if response.isBrokenOff { throw TransportError.responseLost("the connection broke off") }
    var answer = TransportResponse(
      status: response.status, headers: response.headers.fields, body: try Self.bytes(of: response.body))
    if let replace = state.withLock({ $0.replace }) { answer = replace(target, answer) }
    let isLost = state.withLock { [answer] state in
      state.passed.append(
        Passed(path: target, bytesUp: body.count, bytesDown: answer.body.count, range: headers["Range"]))
      guard state.answersToLose > 0 else { return false }
      state.answersToLose -= 1
      return true
    }
    if isLost { throw TransportError.responseLost("the answer was lost") }
    if case .file(let sink) = request.sink, answer.status == 200 || answer.status == 206 {
      let range = answer[header: "Content-Range"]
      guard sink.begin(status: answer.status, contentRange: range, version: answer[header: "ETag"]) else {
        throw sink.fault ?? .file(sink.path)
      }
      let cut = state.withLock { $0.downloadCuts.isEmpty ? nil : $0.downloadCuts.removeFirst() }
      if let cut { answer.body = Array(answer.body.prefix(cut)) }
      guard answer.body.withUnsafeBytes({ sink.write($0) }) else { throw sink.fault ?? .file(sink.path) }
      if cut != nil { throw TransportError.responseLost("the connection broke") }
      answer.body = []
    }
    return answer
  }

  private func bytes(of body: TransportRequest.Body) throws -> [UInt8] {
    switch body {
    case .bytes(let bytes): return bytes
    case .file(let source):
      source.rewind()
      var bytes = [UInt8](repeating: 0, count: Int(source.size))
      var filled = 0
      while filled < bytes.count {
        let count = bytes.withUnsafeMutableBytes { source.read(into: .init(rebasing: $0[filled...])) }
        guard let count, count > 0 else { throw TransportError.file("the file being sent changed") }
        filled += count
      }
      return bytes
    }
  }

  private static func bytes(of body: HTTPResponse.Body) throws -> [UInt8] {
    switch body {
    case .bytes(let bytes): return bytes
    case .file(let path, let offset, let length):
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      defer { try? handle.close() }
      try handle.seek(toOffset: UInt64(offset))
      return [UInt8](try handle.read(upToCount: Int(length)) ?? Data())
    }
  }
}
