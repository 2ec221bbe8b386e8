import Glibc
import Testing

@testable import VirgaHTTP

@Suite struct SocketLimitTests {
  @Test(arguments: [false, true])
  func connectionBeyondTheLimitIsTurnedAway(perAddress: Bool) async throws {
    try await SocketTestServer.run {
      if perAddress { $0.connectionsPerAddressMax = 3 } else { $0.connectionsMax = 3 }
      $0.countsLoopback = perAddress
    } _: { server, port in
      var clients = (0..<3).map { _ in SocketClient(port: port) }
      for client in clients { #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200) }
      let turnedAway = SocketClient(port: port)
      #expect(turnedAway.answer()?.status == 503)
      #expect(turnedAway.isClosedByServer())
      #expect(server.counters.connectionsRefused == 1)
      clients.removeLast()
      #expect(await SocketTestServer.eventually { server.counters.connections == 2 })
      let client = SocketClient(port: port)
      #expect(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
    }
  }

  @Test func processWithoutDescriptorsTurnsClientsAwayAndRecovers() async {
    await #expect(processExitsWith: .success) {
      let handler = SocketTestServer()
      let server = HTTPServer(handler: handler)
      let port = try server.start(host: "127.0.0.1", port: 0)
      let client = SocketClient(port: port)
      precondition(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)

      let late = SocketClient.unconnected()
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let full = rlimit(rlim_cur: 3, rlim_max: limit.rlim_max)
      withUnsafePointer(to: full) { _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), $0) }
      late.connect(port: port)
      // Not one descriptor fits: the client waits until accepting is tried again.
      precondition(!late.waitForInput(milliseconds: 50))
      precondition(client.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      precondition(late.ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)

      // With a reserve of one, a client is turned away at once.
      let another = SocketClient.unconnected()
      var filled: [Int32] = []
      while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { filled.append(descriptor) }
      another.connect(port: port)
      precondition(another.answer()?.status == 503)
      for descriptor in filled { close(descriptor) }
      precondition(SocketClient(port: port).ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n")?.status == 200)
      await server.stop(drain: .zero)
      exit(EXIT_SUCCESS)
    }
  }

  @Test func serverWithTooFewDescriptorsDoesNotStart() async {
    await #expect(processExitsWith: .success) {
      var limit = rlimit(rlim_cur: 100, rlim_max: 100)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      do throws(HTTPServerError) {
        try HTTPServer(handler: SocketTestServer()).start(host: "127.0.0.1", port: 0)
      } catch {
        precondition(error == .tooFewDescriptors(limit: 100))
        exit(EXIT_SUCCESS)
      }
    }
  }
}
