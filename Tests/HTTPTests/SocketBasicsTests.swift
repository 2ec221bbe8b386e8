import Testing
import VirgaHTTP

@Suite struct SocketBasicsTests {
  @Test func connectionIsKeptAndAnswersComeInOrder() async throws {
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      for _ in 0..<3 {
        let answer = client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer?.status == 200)
        #expect(answer?.text == "hello")
        #expect(answer?.fields["connection"] == nil)
        #expect(answer?.fields["date"]?.hasSuffix("GMT") == true)
      }
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none")
      #expect(client.answer()?.text == "one")
      #expect(server.counters.requests == 4)
      #expect(server.counters.connections == 1)
      #expect(server.counters.connectionsAccepted == 1)
    }
  }

  @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      client.send((1...50).map { "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n\($0 + 10)" }.joined())
      #expect((1...50).map { _ in client.answer()?.text } == (1...50).map { "\($0 + 10)" })
    }
  }

  @Test func requestThatComesByteByByteIsAnswered() async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      for byte in "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc".utf8 { client.send([byte]) }
      #expect(client.answer()?.text == "abc")
    }
  }

  @Test func headAnswersWithoutBodyButWithItsLength() async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      let answer = client.ask("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n", hasBody: false)
      #expect(answer?.status == 200)
      #expect(answer?.fields["content-length"] == "5")
      #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.text == "hello")
    }
  }

  @Test(arguments: [204, 304])
  func statusWithoutBodyHasNoLength(status: Int) async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      let answer = client.ask("GET /status/\(status) HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer?.status == status)
      #expect(answer?.fields["content-length"] == nil)
      #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.text == "hello")
    }
  }

  @Test(arguments: [
    ("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close", true),
    ("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", "close", true),
    ("GET /close HTTP/1.1\r\nHost: a\r\n\r\n", "close", true),
    ("GET /hello HTTP/1.0\r\n\r\n", "close", true),
    ("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive", false),
  ])
  func connectionEndsAsAsked(request: String, field: String, closes: Bool) async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      let answer = client.ask(request)
      #expect(answer?.status == 200)
      #expect(answer?.fields["connection"] == field)
      if closes { #expect(client.isClosedByServer()) } else { #expect(client.ask(request)?.status == 200) }
    }
  }

  @Test func bothLoopbackAddressesAreServed() async throws {
    try await SocketTestServer.run(host: "::1") { _, port in
      let client = SocketClient(port: port, isVersion6: true)
      #expect(client.ask("GET /address HTTP/1.1\r\nHost: [::1]:80\r\n\r\n")?.text == "::1")
    }
    try await SocketTestServer.run(host: "localhost") { _, port in
      let client = SocketClient(port: port)
      #expect(client.ask("GET /address HTTP/1.1\r\nHost: localhost\r\n\r\n")?.text == "127.0.0.1")
    }
  }

  @Test func handlersFieldsCannotChangeTheFraming() async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      let answer = client.ask("GET /own-fields HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer?.fields["content-length"] == "1")
      #expect(answer?.fields["transfer-encoding"] == nil)
      #expect(answer?.fields["x-own"] == "1")
      #expect(client.ask("GET /bad-field HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 500)
      #expect(client.ask("GET /status/100 HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 500)
    }
  }

  @Test func startFailsDistinctly() async throws {
    try await SocketTestServer.run { handler, port in
      func start(_ host: String, _ port: UInt16) throws(HTTPServerError) {
        try HTTPServer(handler: handler).start(host: host, port: port)
      }
      #expect(throws: HTTPServerError.addressInUse(host: "127.0.0.1", port: port)) { try start("127.0.0.1", port) }
      #expect(throws: HTTPServerError.badHost("")) { try start("", 0) }
      #expect(throws: HTTPServerError.badHost("no such host.invalid")) { try start("no such host.invalid", 0) }
      #expect(throws: HTTPServerError.badHost("192.0.2.1")) { try start("192.0.2.1", 0) }
    }
  }
}
