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

  private func head(_ count: Int, path: String = "/echo", from address: String? = nil) -> String {
    let forwarded = address.map { "X-Forwarded-For: \($0)\r\n" } ?? ""
    return "POST \(path) HTTP/1.1\r\nHost: a\r\n\(forwarded)Content-Length: \(count)\r\n\r\n"
  }

  private let large = [UInt8](repeating: 65, count: 900_000)

  @Test func largeBodiesAreTakenAsFarAsThereIsMemoryForThem() async throws {
    try await SocketTestServer.run {
      $0.bodyMemoryBytesMax = 4 << 20
      $0.countsLoopback = true
    } _: { server, port in
      // What is answered has given its memory back.
      for _ in 0..<6 {
        let client = SocketClient(port: port)
        client.send(head(large.count))
        client.send(large)
        #expect(client.answer()?.body.count == large.count)
        #expect(await SocketTestServer.eventually { server.counters.memoryBytes == 0 })
      }
      let before = server.counters.bytesReceived
      let waiting = SocketClient(port: port)
      waiting.send(head(large.count + 1))
      waiting.send(large)
      #expect(await SocketTestServer.eventually { server.counters.bytesReceived >= before + large.count })
      let other = SocketClient(port: port)
      other.send(head(large.count))
      other.send(large)
      #expect(other.answer()?.status == 503)
      let small = SocketClient(port: port)
      #expect(small.ask(head(5) + "hello")?.text == "hello")
      waiting.send([65])
      #expect(waiting.answer()?.body.count == large.count + 1)
    }
  }

  /// The handler goes on with a request whose client has left, and so does what it holds.
  @Test func memoryOfABodyComesBackWhenItsHandlerIsDone() async throws {
    try await SocketTestServer.run {
      $0.bodyMemoryBytesMax = 1 << 20
    } _: { server, port in
      var left: SocketClient? = SocketClient(port: port)
      left?.send(head(large.count, path: "/stubborn"))
      left?.send(large)
      #expect(await SocketTestServer.eventually { server.lot.count == 1 })
      left = nil
      #expect(await SocketTestServer.eventually { server.counters.connections == 0 })
      func answer() -> Int? {
        let client = SocketClient(port: port)
        client.send(head(large.count))
        client.send(large)
        return client.answer()?.status
      }
      #expect(answer() == 503)
      server.lot.wakeAll()
      #expect(await SocketTestServer.eventually { server.counters.requestsUnderWay == 0 })
      #expect(answer() == 200)
    }
  }

  /// All of a machine's programs have one address, and a proxy on it speaks for many others.
  @Test func bodiesOfThisMachineAreBoundedByTheWholeMemoryOnly() async throws {
    try await SocketTestServer.run {
      $0.bodyMemoryBytesMax = 3 << 20
    } _: { server, port in
      var parked: [SocketClient] = []
      func park(from address: String?) async {
        let client = SocketClient(port: port)
        client.send(head(large.count, path: "/park", from: address))
        client.send(large)
        parked.append(client)
      }
      await park(from: nil)
      await park(from: nil)
      #expect(await SocketTestServer.eventually { server.lot.count == 2 })
      await park(from: "192.0.2.1")
      #expect(parked.last?.answer()?.status == 503, "a quarter for an address that a proxy names")
      await park(from: nil)
      #expect(await SocketTestServer.eventually { server.lot.count == 3 })
      await park(from: nil)
      #expect(parked.last?.answer()?.status == 503)
      server.lot.wakeAll()
      for client in parked[..<2] { #expect(client.answer()?.status == 200) }
    }
  }

  @Test func firstPartOfEachBodyIsForNothingAndTheRoomBehindItsEndIsNot() throws {
    let memory = BodyMemory(max: 100, perAddressMax: 60, countsLoopback: false)
    let start = Instant(nanoseconds: 0)
    let free = BodyMemory.freeBytes
    let one = BodyShare(of: memory, for: "one")
    try one.grow(to: free, now: start)
    #expect(memory.total == 0)
    try one.grow(to: free + 60, now: start)
    #expect(memory.total == 60)
    #expect(throws: HTTPRefusal.crowded) { try one.grow(to: free + 61, now: start) }
    let here = BodyShare(of: memory, for: "127.0.0.1")
    #expect(throws: HTTPRefusal.crowded) { try here.grow(to: free + 41, now: start) }
    one.giveBack()
    try here.grow(to: free + 100, now: start)
    #expect(memory.total == 100)

    var receiver = try BodyReceiver(
      buffering: .length(300_000), limit: 1 << 20, chunkLimits: HTTPConfiguration().chunkLimits, began: .never)
    var offset = 0
    try receiver.take([UInt8](repeating: 65, count: 100_000).span, from: &offset)
    #expect(receiver.bytesInMemory >= 200_000)
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("2001:db8:1:2:3:4:5:6", "20.1.d.b8.0.1.0.2/64"),
    ("2001:db8:1:2::", "20.1.d.b8.0.1.0.2/64"), ("[2001:db8:1:2::9]", "20.1.d.b8.0.1.0.2/64"),
    ("2001:db8:1:3::", "20.1.d.b8.0.1.0.3/64"), ("::ffff:192.0.2.1", "192.0.2.1"), ("a:b", "a:b"), ("", ""),
    ("::1", "::1"),
    ("[::1]", "::1"),
  ])
  func addressesOfOneIPv6NetworkCountAsOne(text: String, counted: String) {
    #expect(SocketAddress.counted(text) == counted)
  }

  @Test func connectionsOfOneIPv6NetworkAreCountedTogether() {
    let quota = ConnectionQuota(max: 10, perAddressMax: 2, countsLoopback: false)
    #expect(quota.take("2001:db8::1") && quota.take("2001:db8::2"))
    #expect(!quota.take("2001:db8::3"))
    #expect(quota.take("2001:db8:0:1::1"))
    quota.release("2001:db8::1")
    #expect(quota.take("2001:db8::3"))
    for _ in 0..<3 { #expect(quota.take("::1")) }
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
