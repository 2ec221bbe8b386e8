import Testing

@testable import VirgaHTTP

/// What a raw socket gets back for requests that other servers were seen to take, or to take wrongly.
@Suite struct SocketProtocolTests {
  /// Heads and bodies that must not get to the handler, with the status of the answer.
  static let checks: [(String, String, Int)] = [
    (
      "length and chunks together",
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400
    ),
    (
      "two lengths that differ",
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400
    ),
    ("length with a sign", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc", 400),
    ("space before the colon", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\nabc", 400),
    ("folded field", "GET /hello HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", 400),
    ("two hosts", "GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    (
      "chunk size with 0x",
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", 400
    ),
    ("NUL in a field", "GET /hello HTTP/1.1\r\nHost: a\r\nX: a\u{0}b\r\n\r\n", 400),
    ("no host", "GET /hello HTTP/1.1\r\n\r\n", 400),
    ("64 KB field", "GET /hello HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 65_536))\r\n\r\n", 431),
    ("5,000 fields", "GET /hello HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X:\r\n", count: 5_000))\r\n", 431),
    ("101 fields", "GET /hello HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X:\r\n", count: 100))\r\n", 431),
    ("long target", "GET /\(String(repeating: "t", count: 9_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    ("announced body too large", "POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", 413),
    (
      "chunked body too large",
      "POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n5\r\n12345\r\n0\r\n\r\n", 413
    ),
    ("length beyond all bounds", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n", 413),
    ("streamed body too large", "POST /store/small HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n", 413),
    ("no directory to stream into", "POST /store/nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 500),
    ("unknown version", "GET /hello HTTP/3.0\r\nHost: a\r\n\r\n", 505),
    ("preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("hello of TLS", "\u{16}\u{3}\u{1}\u{0}\u{c8}\u{1}", 400),
    ("unknown coding", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ("unknown expectation", "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: x\r\nContent-Length: 1\r\n\r\na", 417),
  ]

  @Test func requestsOthersTakeAreRefusedAndTheConnectionClosed() async throws {
    try await SocketTestServer.run { server, port in
      for (what, request, status) in Self.checks {
        let client = SocketClient(port: port)
        // A second request behind it must never be answered.
        client.send(request + "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = client.answer()
        #expect(answer?.status == status, "\(what)")
        #expect(answer?.fields["connection"] == "close", "\(what)")
        #expect(client.isClosedByServer(), "\(what)")
      }
      #expect(server.counters.requests == 0)
      #expect(server.counters.refusals == Self.checks.count)
      #expect(server.files == [])
    }
  }

  @Test func everyDoubtfulHeadIsRefusedOverASocket() async throws {
    try await SocketTestServer.run { server, port in
      for (request, status) in ParserHeadTests.refused {
        let client = SocketClient(port: port)
        client.send(request)
        #expect(client.answer()?.status == status, "\(request.debugDescription)")
        #expect(client.isClosedByServer(), "\(request.debugDescription)")
      }
      #expect(server.counters.requests == 0)
    }
  }

  @Test func chunkedBodyIsReadHoweverItIsCut() async throws {
    let request = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    let body = "5\r\nhello\r\n6;x=1\r\n world\r\n0\r\nSum: 1\r\n\r\n"
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      #expect(client.ask(request + body)?.text == "hello world")
      for cut in 1..<body.utf8.count {
        client.send(request + body.prefix(cut))
        client.send(String(body.dropFirst(cut)))
        #expect(client.answer()?.text == "hello world")
      }
    }
  }

  @Test func bodyAtItsLimitIsTaken() async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      for count in 9...10 {
        let body = String(repeating: "b", count: count)
        let text = "POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n\(body)"
        #expect(client.ask(text)?.status == 200)
      }
    }
  }

  @Test func continueIsSentOnceTheBodyIsWanted() async throws {
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      func head(_ path: String, _ length: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\(length)\r\n\r\n"
      }
      #expect(client.ask(head("/echo", "Content-Length: 3"))?.status == 100)
      client.send("abc")
      #expect(client.answer()?.text == "abc")
      #expect(client.ask(head("/echo", "Transfer-Encoding: chunked"))?.status == 100)
      client.send("1\r\na\r\n0\r\n\r\n")
      #expect(client.answer()?.text == "a")
      // No body, or one that is already there, needs no leave.
      #expect(client.ask(head("/echo", "Content-Length: 0"))?.status == 200)
      #expect(client.ask(head("/echo", "Content-Length: 3") + "xyz")?.text == "xyz")
      #expect(client.ask(head("/store", "Content-Length: 1"))?.status == 100)
      client.send("a")
      #expect(client.answer()?.status == 200)

      #expect(client.ask(head("/small", "Content-Length: 11"))?.status == 413)
      #expect(client.isClosedByServer())
      let other = SocketClient(port: port)
      #expect(other.ask(head("/refused", "Content-Length: 11"))?.status == 403)
      #expect(other.isClosedByServer())
      #expect(server.files == [])
    }
  }

  @Test func version10GetsNoInterimAnswer() async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      client.send("POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
      #expect(!client.waitForInput(milliseconds: 20))
      client.send("abc")
      let text = client.everythingUntilEnd()
      #expect(text.hasPrefix("HTTP/1.0 200 OK\r\n"))
      #expect(text.hasSuffix("\r\n\r\nabc"))
    }
  }

  @Test func refusedPlanKeepsAConnectionWithoutABody() async throws {
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      client.send(String(repeating: "GET /refused HTTP/1.1\r\nHost: a\r\n\r\n", count: 3))
      for _ in 0..<3 { #expect(client.answer()?.status == 403) }
      // With a body to come there is no telling where the next request begins.
      let answer = client.ask("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
      #expect(answer?.status == 403)
      #expect(answer?.fields["connection"] == "close")
      #expect(client.isClosedByServer())
      #expect(server.counters.requests == 0)
    }
  }

  @Test func refusalReachesAClientThatIsStillSending() async throws {
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      client.send("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n")
      client.send([UInt8](repeating: 0, count: 10_000_000))
      #expect(client.answer()?.status == 413)
    }
  }
}
