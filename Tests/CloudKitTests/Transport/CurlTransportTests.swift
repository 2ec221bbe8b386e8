import Foundation
import Synchronization
import Testing
import VirgaAuth
import VirgaHTTP

@testable import VirgaCloudKit

/// libcurl against a real socket.
struct CurlTransportTests {
  @Test func requestArrivesAsSentAndAnswerComesBack() async throws {
    let server = try LocalServer(
      ClosureHandler { request in
        guard case .bytes(let body) = request.body else { return HTTPResponse(status: 500) }
        let text = "\(request.head.method) \(request.head.target) \(request.head.headers["X-Mine"] ?? "")"
        return HTTPResponse(
          status: 418, headers: HTTPHeaders([("Retry-After", "13"), ("X-Text", text)]), body: .bytes(body.reversed()))
      })
    var request = TransportRequest(method: "POST", url: server.url + "/a%2Fb?c=d")
    request.headers = [("X-Mine", "value")]
    request.body = .bytes([1, 2, 3])
    let answer = try await CurlTransport().send(request)
    #expect(answer.status == 418)
    #expect(answer.body == [3, 2, 1])
    #expect(answer[header: "retry-after"] == "13")
    #expect(answer[header: "x-text"] == "POST /a%2Fb?c=d value")
    #expect(answer[header: "date"] != nil)
    await server.stop()
  }

  @Test(arguments: ["GET", "POST", "PUT"])
  func emptyBodiesAreSent(method: String) async throws {
    let server = try LocalServer(ClosureHandler { HTTPResponse(status: 200, body: .bytes(Array($0.head.method.utf8))) })
    for isRepeatable in [false, true] {
      var request = TransportRequest(method: method, url: server.url + "/")
      request.isRepeatable = isRepeatable
      #expect(try await CurlTransport().send(request).body == Array(method.utf8))
    }
    await server.stop()
  }

  @Test func connectionsAreUsedAgain() async throws {
    let server = try LocalServer(ClosureHandler { _ in HTTPResponse(status: 200) })
    let transport = CurlTransport()
    for _ in 0..<50 { _ = try await transport.send(TransportRequest(method: "GET", url: server.url + "/")) }
    #expect(server.openConnections == 1)
    await server.stop()
  }

  @Test func manyRequestsRunAtOnce() async throws {
    let server = try LocalServer(ClosureHandler { HTTPResponse(status: 200, body: .bytes(Array($0.head.target.utf8))) })
    let transport = CurlTransport()
    let url = server.url
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        group.addTask {
          let answer = try await transport.send(TransportRequest(method: "GET", url: "\(url)/\(number)"))
          return answer.body == Array("/\(number)".utf8)
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
    await server.stop()
  }

  @Test func cancellingTheTaskEndsTheTransfer() async throws {
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    let (departures, departure) = AsyncStream.makeStream(of: Void.self)
    let server = try LocalServer(
      ClosureHandler { _ in
        arrival.yield()
        // Ends when the server notices that the client is gone.
        do { try await ContinuousClock().sleep(for: .seconds(60)) } catch { departure.yield() }
        return HTTPResponse(status: 200)
      })
    let url = server.url
    let transport = CurlTransport()
    let task = Task { try await transport.send(TransportRequest(method: "GET", url: url + "/")) }
    for await _ in arrivals { break }
    task.cancel()
    await #expect(throws: TransportError.cancelled) { try await task.value }
    for await _ in departures { break }
    await server.stop()
  }

  @Test func taskCancelledBeforeItSendsNothing() async throws {
    let transport = CurlTransport()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await transport.send(TransportRequest(method: "GET", url: "http://127.0.0.1:9/"))
    }
    task.cancel()
    await #expect(throws: TransportError.cancelled) { try await task.value }
  }

  @Test func nobodyListeningIsUnreachable() async throws {
    let server = try LocalServer(ClosureHandler { _ in HTTPResponse(status: 200) })
    let url = server.url
    await server.stop()
    for url in [url, "http://no-such-host.invalid"] {
      let error = await failure(of: TransportRequest(method: "GET", url: url + "/"))
      #expect(error?.isUnreachable == true, "\(url): \(String(describing: error))")
    }
  }

  @Test func answerThatDoesNotComeInTimeIsLost() async throws {
    let server = try LocalServer(
      ClosureHandler { _ in
        // Cut short when the client leaves.
        try? await ContinuousClock().sleep(for: .seconds(30))
        return HTTPResponse(status: 200)
      })
    var request = TransportRequest(method: "POST", url: server.url + "/")
    request.body = .bytes([1])
    request.timeout = .milliseconds(200)
    let error = await failure(of: request)
    #expect(error?.isLostResponse == true, "\(String(describing: error))")
    await server.stop()
  }

  @Test func connectionThatBreaksAfterTheRequestLosesTheAnswer() async throws {
    let socket = try BreakingServer()
    var request = TransportRequest(method: "POST", url: "http://127.0.0.1:\(socket.port)/")
    request.body = .bytes(Array("hello".utf8))
    let error = await failure(of: request)
    #expect(error?.isLostResponse == true, "\(String(describing: error))")
    #expect(socket.requests == 1)
  }

  // C66
  @Test func filesStreamBothWaysWithoutGrowingMemory() async throws {
    let folder = try TemporaryFolder()
    let size = 200 << 20
    let file = try folder.file("source", size: size)
    let server = try LocalServer(
      ClosureHandler(folder: folder.path) { request in
        guard case .file(let body) = request.body else {
          return HTTPResponse(status: 200, body: .file(path: file.path, offset: 0, length: Int64(size)))
        }
        unlink(body.path)
        return HTTPResponse(status: 200, body: .bytes(Array("\(body.size)".utf8)))
      })
    let transport = CurlTransport()
    let memory = try MemoryWatch()
    let progress = Mutex<Int64>(0)
    let source = try FileSource(path: file.path)
    var up = TransportRequest(method: "POST", url: server.url + "/up")
    up.body = .file(source)
    up.progress = { sent, _ in progress.withLock { $0 = sent } }
    let answer = try await transport.send(up)
    #expect(String(decoding: answer.body, as: UTF8.self) == "\(size)")
    #expect(progress.withLock { $0 } == Int64(size))

    let sink = try FileSink(path: folder.path + "/sink")
    var down = TransportRequest(method: "GET", url: server.url + "/down")
    down.sink = .file(sink)
    down.progress = { _, received in progress.withLock { $0 = received } }
    #expect(try await transport.send(down).status == 200)
    #expect(sink.size == Int64(size))
    #expect(try source.finish() == sink.finish())
    #expect(progress.withLock { $0 } == Int64(size))
    #expect(try memory.peakGrowthBytes() < 64 << 20)
    await server.stop()
  }

  @Test func answerThatIsNoSuccessDoesNotGoIntoTheFile() async throws {
    let folder = try TemporaryFolder()
    let server = try LocalServer(ClosureHandler { _ in HTTPResponse(status: 410, body: .bytes(Array("gone".utf8))) })
    let sink = try FileSink(path: folder.path + "/sink")
    var request = TransportRequest(method: "GET", url: server.url + "/")
    request.sink = .file(sink)
    let answer = try await CurlTransport().send(request)
    #expect(answer.body == Array("gone".utf8))
    #expect(sink.size == 0)
    await server.stop()
  }

  @Test func fileThatChangesWhileItIsSentIsNoticed() throws {
    let folder = try TemporaryFolder()
    let url = try folder.file("a", [1, 2, 3])
    let source = try FileSource(path: url.path)
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(bytes.withUnsafeMutableBytes { source.read(into: $0) } == 3)
    #expect(throws: Never.self) { try source.finish() }
    source.rewind()
    try Data([4, 5, 6, 7]).write(to: url)
    _ = bytes.withUnsafeMutableBytes { source.read(into: $0) }
    #expect(throws: FileSource.Failure.modified) { try source.finish() }
    #expect(throws: FileSource.Failure.notFound) { try FileSource(path: folder.path + "/missing") }
    #expect(throws: FileSource.Failure.notFound) { try FileSource(path: folder.path) }
  }
}

private func failure(of request: TransportRequest) async -> TransportError? {
  do {
    _ = try await CurlTransport().send(request)
    return nil
  } catch { return error as? TransportError }
}

extension TransportError {
  fileprivate var isLostResponse: Bool {
    if case .responseLost = self { true } else { false }
  }
  fileprivate var isUnreachable: Bool {
    if case .unreachable = self { true } else { false }
  }
}

/// A socket that reads one request and hangs up.
private final class BreakingServer: Sendable {
  let port: UInt16
  private let count = Mutex(0)
  var requests: Int { count.withLock { $0 } }

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(listener, pointer, length) == 0 && listen(listener, 4) == 0 && getsockname(listener, pointer, &length) == 0
      }
    }
    guard result else { throw POSIXError(.EADDRINUSE) }
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [weak self] in
      let connection = accept(listener, nil, nil)
      var bytes = [UInt8](repeating: 0, count: 65_536)
      var head: [UInt8] = []
      while true {
        let read = recv(connection, &bytes, bytes.count, 0)
        if read <= 0 { break }
        head += bytes[..<read]
        if head.suffix(5) == Array("hello".utf8) { break }
      }
      self?.count.withLock { $0 += 1 }
      close(connection)
      close(listener)
    }
  }
}
