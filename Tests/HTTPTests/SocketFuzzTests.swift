import Glibc
import TestSupport
import Testing

@testable import VirgaHTTP

@Suite struct SocketFuzzTests {
  static let requests = [
    "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /park HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /count/300000 HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /file/0/5 HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
    "POST /store HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n world\r\n0\r\nT: 1\r\n\r\n",
    "POST /small HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n123456789",
    "POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
  ]

  /// Whatever clients send and however they leave, the server lives on and keeps nothing of them.
  @Test(.serialized, arguments: [11, 12, 13])
  func nothingIsLeftOfClientsThatMisbehave(seed: UInt64) async throws {
    try await SocketTestServer.run {
      $0.headTime = .milliseconds(300)
      $0.idleTime = .milliseconds(300)
      $0.bodyRate.grace = .milliseconds(300)
      $0.answerStallTime = .milliseconds(300)
    } _: { server, port in
      var random = SplitMix64(seed: seed)
      var left: [SocketClient] = []
      for _ in 0..<300 {
        let client = SocketClient(port: port, receiveBuffer: random.next() % 4 == 0 ? 4_096 : nil)
        var bytes = (0...Int(random.next() % 4)).flatMap { _ in
          Array(Self.requests[Int(random.next() % UInt64(Self.requests.count))].utf8)
        }
        if random.next() % 2 == 0 { ParserFuzzTests.mutate(&bytes, with: &random) }
        let cut = Int(random.next() % UInt64(bytes.count + 1))
        client.send(Array(bytes[..<cut]))
        if random.next() % 2 == 0 { client.send(Array(bytes[cut...])) }
        switch random.next() % 6 {
        case 0: client.endSending()
        case 1:
          var option = linger(l_onoff: 1, l_linger: 0)
          setsockopt(client.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        case 2: _ = client.waitForInput(milliseconds: 1)
        case 3: left.append(client)
        default: break
        }
      }
      let isIdle = await SocketTestServer.eventually {
        server.lot.wakeAll()
        return server.counters.connections == 0 && server.counters.requestsUnderWay == 0
      }
      #expect(isIdle, "seed \(seed)")
      #expect(server.counters.connectionsAccepted == 300)
      #expect(server.files == [], "seed \(seed)")
      #expect(SocketClient(port: port).ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.text == "hello")
      withExtendedLifetime(left) {}
    }
  }
}
