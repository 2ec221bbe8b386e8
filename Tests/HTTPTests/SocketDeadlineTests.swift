import Testing

@testable import VirgaHTTP

/// Deadlines in milliseconds, so that no test waits long; the clients drip as fast as they can poll.
@Suite struct SocketDeadlineTests {
  /// Sends a byte every millisecond until the server answers or closes.
  private func drip(_ byte: UInt8, on client: SocketClient) -> Duration {
    let start = ContinuousClock.now
    while !client.waitForInput(milliseconds: 1), ContinuousClock.now - start < .seconds(20) { client.send([byte]) }
    return ContinuousClock.now - start
  }

  @Test(arguments: ["", "G", "GET /hello HTTP/1.1\r\nHost: a\r\nX: "])
  func silentOrPartialHeadEnds(start: String) async throws {
    try await SocketTestServer.run {
      $0.headTime = .milliseconds(60)
    } _: { _, port in
      let client = SocketClient(port: port)
      client.send(start)
      if start.isEmpty { #expect(client.isClosedByServer()) } else { #expect(client.answer()?.status == 408) }
      #expect(client.isClosedByServer())
    }
  }

  @Test func drippingHeadIsCutOffInTime() async throws {
    try await SocketTestServer.run {
      $0.headTime = .milliseconds(60)
    } _: { server, port in
      let client = SocketClient(port: port)
      client.send("GET /hello HTTP/1.1\r\nHost: a\r\nX: ")
      let time = drip(120, on: client)
      #expect(time >= .milliseconds(50) && time < .seconds(10))
      #expect(client.answer()?.status == 408)
      #expect(server.counters.requests == 0)
    }
  }

  @Test func drippingHeadOfALaterRequestIsCutOffInTime() async throws {
    try await SocketTestServer.run {
      $0.headTime = .milliseconds(60)
    } _: { _, port in
      let client = SocketClient(port: port)
      #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
      // Longer than a head may take: between requests another limit holds.
      #expect(!client.waitForInput(milliseconds: 120))
      client.send("GET /hello HTTP/1.1\r\nHost: a\r\nX: ")
      #expect(drip(120, on: client) < .seconds(10))
      #expect(client.answer()?.status == 408)
    }
  }

  @Test(arguments: ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
  func drippingBodyIsCutOffInTime(framing: String) async throws {
    try await SocketTestServer.run {
      $0.bodyRate = .init(grace: .milliseconds(60), bytesPerSecond: 10_240)
    } _: { server, port in
      for path in ["/echo", "/store"] {
        let client = SocketClient(port: port)
        client.send("POST \(path) HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
        if framing.hasPrefix("T") { client.send("fffff\r\n") }
        let time = drip(120, on: client)
        #expect(time >= .milliseconds(50) && time < .seconds(10))
        #expect(client.answer()?.status == 408)
      }
      #expect(server.counters.requests == 0)
      #expect(server.files == [])
    }
  }

  @Test func bodyAtTheMinimumRateIsTaken() async throws {
    try await SocketTestServer.run {
      $0.bodyRate = .init(grace: .milliseconds(500), bytesPerSecond: 100_000)
    } _: { _, port in
      let client = SocketClient(port: port)
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 800000\r\n\r\n")
      for _ in 0..<80 {
        #expect(!client.waitForInput(milliseconds: 8))
        client.send([UInt8](repeating: 7, count: 10_000))
      }
      #expect(client.answer()?.body.count == 800_000)
    }
  }

  @Test func idleConnectionIsClosedWithoutAWord() async throws {
    try await SocketTestServer.run {
      $0.idleTime = .milliseconds(40)
    } _: { _, port in
      let client = SocketClient(port: port)
      #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
      #expect(client.isClosedByServer())
    }
  }

  @Test func parkedRequestOutlivesAllDeadlines() async throws {
    try await SocketTestServer.run {
      $0.idleTime = .milliseconds(20)
      $0.headTime = .milliseconds(20)
      $0.bodyRate.grace = .milliseconds(20)
    } _: { server, port in
      let client = SocketClient(port: port)
      client.send("GET /park HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(!client.waitForInput(milliseconds: 100))
      server.lot.wakeAll()
      #expect(client.answer()?.text == "woken")
    }
  }

  @Test(arguments: [false, true])
  func clientThatDoesNotTakeItsAnswerIsCutOff(takesALittle: Bool) async throws {
    try await SocketTestServer.run {
      $0.answerStallTime = takesALittle ? .seconds(60) : .milliseconds(60)
      $0.answerRate = .init(grace: .milliseconds(150), bytesPerSecond: takesALittle ? 1 << 40 : 1)
      $0.largeAnswerRate = $0.answerRate
    } _: { server, port in
      server.write(SocketTestServer.pattern(count: 1 << 20), to: "data")
      let client = SocketClient(port: port, receiveBuffer: 4_096)
      client.send(String(repeating: "GET /count/4000000 HTTP/1.1\r\nHost: a\r\n\r\n", count: 4))
      var buffer = [UInt8](repeating: 0, count: 100)
      let isFreed = await SocketTestServer.eventually {
        if takesALittle { _ = client.receiveNow(&buffer) }
        return server.counters.connectionsAccepted == 1 && server.counters.connections == 0
      }
      #expect(isFreed)
    }
  }
}
