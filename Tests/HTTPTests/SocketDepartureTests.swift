import Glibc
import Testing

@testable import VirgaHTTP

@Suite struct SocketDepartureTests {
  @Test(arguments: [false, true])
  func clientThatLeavesFreesItsParkedRequest(byReset: Bool) async throws {
    try await SocketTestServer.run { server, port in
      var clients = (0..<20).map { _ in SocketClient(port: port) }
      for client in clients { client.send("GET /park HTTP/1.1\r\nHost: a\r\n\r\n") }
      #expect(await SocketTestServer.eventually { server.lot.count == 20 })
      if byReset {
        for client in clients {
          var option = linger(l_onoff: 1, l_linger: 0)
          setsockopt(client.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
      }
      clients = []
      #expect(await SocketTestServer.eventually { server.counters.connections == 0 })
      #expect(await SocketTestServer.eventually { server.counters.requestsUnderWay == 0 })
      #expect(server.lot.count == 0)
      #expect(server.lot.cancellations == 20)
    }
  }

  @Test func clientThatEndsItsSendingLeavesItsParkedRequest() async throws {
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      client.send("GET /park HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(await SocketTestServer.eventually { server.lot.count == 1 })
      client.endSending()
      #expect(client.isClosedByServer())
      #expect(await SocketTestServer.eventually { server.counters.requestsUnderWay == 0 })
    }
  }

  @Test func requestsSentBeforeTheEndAreAnsweredIfTheAnswersAreReady() async throws {
    try await SocketTestServer.run { _, port in
      let client = SocketClient(port: port)
      client.send(String(repeating: "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", count: 3))
      client.endSending()
      for _ in 0..<3 { #expect(client.answer()?.text == "hello") }
      #expect(client.isClosedByServer())
    }
  }

  @Test func parkedRequestBehindDataAndTheEndIsFreed() async throws {
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /park HTTP/1.1\r\nHost: a\r\n\r\nGET /hello")
      client.endSending()
      #expect(client.answer()?.text == "hello")
      #expect(client.isClosedByServer())
      #expect(await SocketTestServer.eventually { server.counters.requestsUnderWay == 0 })
    }
  }

  @Test func handlerLearnsWhetherItsAnswerWasSent() async throws {
    try await SocketTestServer.run { server, port in
      let client = SocketClient(port: port)
      #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
      #expect(await SocketTestServer.eventually { server.outcomes.all == [true] })
      #expect(client.ask("GET /file/0/9 HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 404)
      #expect(client.ask("GET /bad-field HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 500)
      #expect(await SocketTestServer.eventually { server.outcomes.all == [true, false, false] })
      do {
        let leaving = SocketClient(port: port)
        leaving.send("GET /park HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await SocketTestServer.eventually { server.lot.count == 1 })
      }
      #expect(await SocketTestServer.eventually { server.outcomes.all == [true, false, false, false] })
      do {
        let leaving = SocketClient(port: port, receiveBuffer: 4_096)
        leaving.send("GET /count/30000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(leaving.waitForInput())
      }
      #expect(await SocketTestServer.eventually { server.outcomes.all == [true, false, false, false, false] })
    }
  }

  @Test func uploadThatIsBrokenOffLeavesNoFile() async throws {
    try await SocketTestServer.run { server, port in
      do {
        let client = SocketClient(port: port)
        client.send("POST /store HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        client.send([UInt8](repeating: 1, count: 300_000))
        #expect(await SocketTestServer.eventually { server.files.count == 1 })
      }
      #expect(await SocketTestServer.eventually { server.files.isEmpty && server.counters.connections == 0 })
      #expect(server.counters.requests == 0)
    }
  }

  @Test func clientThatLeavesInTheMiddleOfAFileFreesIt() async throws {
    try await SocketTestServer.run { server, port in
      server.write(SocketTestServer.pattern(count: 30_000_000), to: "data")
      do {
        let client = SocketClient(port: port, receiveBuffer: 4_096)
        client.send("GET /file/0/30000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.waitForInput())
      }
      #expect(await SocketTestServer.eventually { server.counters.connections == 0 })
    }
  }

  @Test func thousandParkedRequestsAreWoken() async throws {
    try await SocketTestServer.run { server, port in
      let clients = (0..<1_000).map { _ in SocketClient(port: port) }
      for client in clients { client.send("GET /park HTTP/1.1\r\nHost: a\r\n\r\n") }
      #expect(await SocketTestServer.eventually { server.lot.count == 1_000 })
      #expect(server.counters.requestsUnderWay == 1_000)
      server.lot.wakeAll()
      let answered = clients.filter { $0.answer()?.text == "woken" }
      #expect(answered.count == 1_000)
      #expect(await SocketTestServer.eventually { server.counters.requestsUnderWay == 0 })
      #expect(server.counters.connections == 1_000)
    }
  }

  @Test func stopAnswersParkedRequestsAndClosesTheRest() async throws {
    let clients = try await SocketTestServer.run(drain: .seconds(8)) { server, port in
      let clients = (0..<4).map { _ in SocketClient(port: port) }
      #expect(clients[0].ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
      clients[1].send("GET /park HTTP/1.1\r\nHost: a\r\n\r\n")
      clients[2].send("GET /park HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(await SocketTestServer.eventually { server.lot.count == 2 })
      #expect(await SocketTestServer.eventually { server.counters.connectionsAccepted == 4 })
      return clients
    }
    #expect(clients[0].isClosedByServer())
    for client in clients[1...2] {
      let answer = client.answer()
      #expect(answer?.text == "cancelled")
      #expect(answer?.fields["connection"] == "close")
      #expect(client.isClosedByServer())
    }
    #expect(clients[3].isClosedByServer())
  }

  @Test func requestThatIsUnderWayWhenTheServerStopsIsStillAnswered() async throws {
    let server = SocketTestServer()
    let http = HTTPServer(handler: server)
    let port = try http.start(host: "127.0.0.1", port: 0)
    let client = SocketClient(port: port)
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
    #expect(await SocketTestServer.eventually { http.counters.bytesReceived > 50 })
    async let stopped: Void = http.stop(drain: .seconds(8))
    client.send("def")
    let answer = client.answer()
    #expect(answer?.text == "abcdef")
    client.endSending()
    await stopped
    #expect(client.isClosedByServer())
  }

  @Test func stopEndsInTimeWhateverHandlersDo() async throws {
    let server = SocketTestServer()
    let http = HTTPServer(handler: server)
    let port = try http.start(host: "127.0.0.1", port: 0)
    let client = SocketClient(port: port)
    client.send("GET /stubborn HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(await SocketTestServer.eventually { server.lot.count == 1 })
    let start = ContinuousClock.now
    await http.stop(drain: .milliseconds(50))
    #expect(ContinuousClock.now - start < .seconds(4))
    #expect(client.isClosedByServer())
    server.lot.wakeAll()
    await http.stop(drain: .zero)
    // The port is free again.
    let next = HTTPServer(handler: server)
    #expect(try next.start(host: "127.0.0.1", port: port) == port)
    await next.stop(drain: .zero)
  }
}
