import Glibc
import Testing

@testable import VirgaHTTP

@Suite struct SocketTransferTests {
  @Test(arguments: [1, 16_384, 16_385, 65_536, 65_537, 20_000_000])
  func bodiesOfAnySizeComeThroughBothWays(count: Int) async throws {
    let body = SocketTestServer.pattern(count: count)
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      for _ in 0..<2 {
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n")
        client.send(body)
        let answer = client.answer()
        #expect(answer?.body == body)
      }
      #expect(server.counters.bytesReceived > 2 * count)
      // The last bytes are counted after they are sent.
      #expect(await SocketTestServer.eventually { server.counters.bytesSent > 2 * count })
    }
  }

  @Test(arguments: [0, 1, 100_000, 30_000_000])
  func uploadIsStreamedIntoAFile(count: Int) async throws {
    let body = SocketTestServer.pattern(count: count)
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      client.send("POST /store HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n")
      client.send(body)
      #expect(client.answer()?.text == "\(count) \(SocketTestServer.checksum(body))")
      client.send("POST /store HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      if count > 0 { client.send(Array("\(String(count, radix: 16))\r\n".utf8) + body + [13, 10]) }
      client.send("0\r\n\r\n")
      #expect(client.answer()?.text == "\(count) \(SocketTestServer.checksum(body))")
      #expect(server.files == [])
    }
  }

  @Test(arguments: [(0, 3_000_000), (0, 1), (2_999_999, 1), (1_000_000, 1_500_000), (5, 0)])
  func partOfAFileIsSent(offset: Int, length: Int) async throws {
    let bytes = SocketTestServer.pattern(count: 3_000_000)
    try await SocketTestServer.run { server, port in
      server.write(bytes, to: "data")
      let client = SocketClient(port: port)
      let request = "GET /file/\(offset)/\(length) HTTP/1.1\r\nHost: a\r\n\r\n"
      client.send(request + request)
      for _ in 0..<2 {
        let answer = client.answer()
        #expect(answer?.status == 206)
        #expect(answer?.body == Array(bytes[offset..<offset + length]))
      }
      let head = client.ask("HEAD" + request.dropFirst(3), hasBody: false)
      #expect(head?.fields["content-length"] == "\(length)")
      #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.text == "hello")
    }
  }

  @Test(arguments: ["/file/3000000/1", "/file/0/3000001", "/file/9000000000000000000/9000000000000000000"])
  func partBeyondTheFileIsNotFound(path: String) async throws {
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      #expect(client.ask("GET /file/0/1 HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 404)
      server.write(SocketTestServer.pattern(count: 3_000_000), to: "data")
      #expect(client.ask("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 404)
      #expect(client.ask("GET /file/0/1 HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 206)
    }
  }

  /// C66. In a process of its own, so that no other test's memory counts.
  @Test func largeFileTakesNoMemoryEitherWay() async {
    await #expect(processExitsWith: .success) {
      let chunk = SocketTestServer.pattern(count: 1 << 20)
      let count = 500 << 20
      try await SocketTestServer.run { server, port in
        let client = SocketClient(port: port)
        #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
        let before = residentBytesMax()
        client.send("POST /keep HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n")
        for _ in 0..<count / chunk.count { client.send(chunk) }
        precondition(client.answer()?.text == "\(count)")
        client.send("GET /file/0/\(count) HTTP/1.1\r\nHost: a\r\n\r\n")
        precondition(client.skipAnswer() == count)
        precondition(residentBytesMax() - before < 64 << 20)
      }
      exit(EXIT_SUCCESS)
    }
  }

  @Test func slowReaderGetsEverything() async throws {
    try await SocketTestServer.run { server, port in
      let bytes = SocketTestServer.pattern(count: 3_000_000)
      server.write(bytes, to: "data")
      let client = SocketClient(port: port, receiveBuffer: 4_096)
      client.send("GET /count/3000000 HTTP/1.1\r\nHost: a\r\n\r\nGET /file/0/3000000 HTTP/1.1\r\nHost: a\r\n\r\n")
      // Long enough for the server to have filled all buffers.
      #expect(await SocketTestServer.eventually { server.counters.bytesSent > 0 })
      #expect(client.answer()?.body == bytes)
      #expect(client.answer()?.body == bytes)
    }
  }
}

/// The most memory that the process has had, in bytes.
private func residentBytesMax() -> Int {
  var usage = rusage()
  getrusage(__rusage_who_t(0), &usage)
  return usage.ru_maxrss << 10
}
