import Glibc
import Testing

@testable import VirgaHTTP

/// Answers that nobody reads: what they take is bounded, and they go when others need the room.
@Suite(.timeLimit(.minutes(2))) struct SocketAnswerMemoryTests {
  private static let answerBytes = 24 << 20

  private func ask(_ port: UInt16) -> SocketClient {
    let client = SocketClient(port: port, receiveBuffer: 4_096)
    client.send("GET /count/\(Self.answerBytes) HTTP/1.1\r\nHost: a\r\n\r\n")
    return client
  }

  @Test func answersThatNobodyReadTakeNoMoreThanTheirMemory() async throws {
    let max = 60 << 20
    try await SocketTestServer.run {
      $0.bodyMemoryBytesMax = max
    } _: { server, port in
      var clients: [SocketClient] = []
      for count in 1...5 {
        clients.append(ask(port))
        #expect(await SocketTestServer.eventually { server.counters.requests == count })
        #expect(await SocketTestServer.eventually { server.counters.requestsUnderWay == 0 })
        #expect(server.counters.memoryBytes <= max)
      }
      #expect(server.counters.memoryBytes > 2 * Self.answerBytes - 2 * BodyMemory.freeBytes - 1)
      #expect(clients[4].answer()?.status == 503, "there is no room, and nobody was stalled for long")
      clients = []
      #expect(await SocketTestServer.eventually { server.counters.memoryBytes == 0 })
    }
  }

  @Test func aReaderThatStallsMakesRoomForOneThatReads() async throws {
    try await SocketTestServer.run {
      $0.bodyMemoryBytesMax = 32 << 20
    } _: { server, port in
      let stalled = ask(port)
      #expect(await SocketTestServer.eventually { server.counters.memoryBytes > 0 })
      let early = SocketClient(port: port)
      early.send("GET /count/\(Self.answerBytes) HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(early.skipAnswer() ?? 0 < 1_000, "a refusal")
      // It has its time first.
      let start = ContinuousClock.now
      var served: Int?
      while served != Self.answerBytes, ContinuousClock.now - start < .seconds(20) {
        var nothing = pollfd(fd: -1, events: 0, revents: 0)
        poll(&nothing, 1, 100)
        let reader = SocketClient(port: port)
        reader.send("GET /count/\(Self.answerBytes) HTTP/1.1\r\nHost: a\r\n\r\n")
        served = reader.skipAnswer()
      }
      #expect(served == Self.answerBytes && ContinuousClock.now - start >= .seconds(1))
      #expect(await SocketTestServer.eventually { server.counters.answersEnded == 1 })
      #expect(stalled.skipAnswer() ?? 0 < Self.answerBytes)
      #expect(server.outcomes.all.contains(false))
    }
  }

  /// One that takes a little now and then does not hold an answer for hours.
  @Test func aLargeAnswerHasALeastRate() async throws {
    try await SocketTestServer.run {
      $0.largeAnswerRate = .init(grace: .milliseconds(300), bytesPerSecond: 1 << 30)
    } _: { server, port in
      let client = ask(port)
      #expect(
        await SocketTestServer.eventually {
          server.counters.connectionsAccepted == 1 && server.counters.connections == 0
        })
      #expect(server.counters.memoryBytes == 0)
      #expect(client.skipAnswer() ?? 0 < Self.answerBytes)
    }
  }

  @Test(arguments: [(159, true), (160, true), (161, false)])
  func answersAreBoundedTogetherWithBodies(count: Int, fits: Bool) throws {
    let memory = BodyMemory(max: 200, perAddressMax: 200, countsLoopback: true)
    let free = BodyMemory.freeBytes
    let start = Instant(nanoseconds: 0)
    let body = BodyShare(of: memory, for: "a")
    try body.grow(to: free + 40, now: start)
    let share = memory.share(ofAnswer: free + count, to: "b", now: start) { _ in }
    #expect((share != nil) == fits)
    if let share { memory.giveBack(share) }
    #expect(memory.total == 40)
  }

  @Test func theSlowestAnswerGoesFirstAndOnlyOneThatIsSlow() throws {
    let memory = BodyMemory(max: 300, perAddressMax: 300, countsLoopback: true)
    let free = BodyMemory.freeBytes
    let start = Instant(nanoseconds: 0)
    let ended = Outcomes()
    let quick = try #require(memory.share(ofAnswer: free + 100, to: "quick", now: start) { _ in ended.append(true) })
    let slow = try #require(memory.share(ofAnswer: free + 100, to: "slow", now: start) { _ in ended.append(false) })
    let slower = try #require(memory.share(ofAnswer: free + 100, to: "slower", now: start) { _ in ended.append(false) })
    #expect(memory.share(ofAnswer: free + 1, to: "new", now: start + .seconds(1)) { _ in } == nil, "all are young")
    let later = start + .seconds(3)
    quick.note(sent: 10 << 20, now: later)
    slow.note(sent: 60_000, now: later)
    slower.note(sent: 10_000, now: later)
    #expect(memory.share(ofAnswer: free + 100, to: "new", now: later) { _ in } != nil)
    #expect(ended.all == [false] && memory.total == 300)
    memory.giveBack(slower)
    #expect(memory.total == 300, "it had given its room back when it went")
    #expect(memory.share(ofAnswer: free + 100, to: "new", now: later) { _ in } != nil)
    #expect(memory.share(ofAnswer: free + 100, to: "new", now: later) { _ in } == nil, "what is left is read quickly")
    #expect(ended.all == [false, false])
  }
}
