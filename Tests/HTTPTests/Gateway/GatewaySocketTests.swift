import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// The front behind real sockets.
@Suite(.timeLimit(.minutes(1))) struct GatewaySocketTests {
  private func run(
    _ configure: (inout GatewayConfiguration) -> Void = { _ in },
    _ body: (GatewayWorld, UInt16) async throws -> Void
  ) async throws {
    let world = try await GatewayWorld(configure)
    try await world.makeZone()
    let server = HTTPServer(handler: world.front)
    let port = try server.start(host: "127.0.0.1", port: 0)
    let result: Result<Void, any Error>
    do { result = .success(try await body(world, port)) } catch { result = .failure(error) }
    await server.stop(drain: .milliseconds(500))
    try result.get()
  }

  private func head(_ method: String, _ target: String, _ fields: String = "") -> String {
    "\(method) \(target) HTTP/1.1\r\nHost: server.example\r\n\(fields)\r\n"
  }

  private func touch(_ world: GatewayWorld) async throws {
    let body =
      #"{"zoneID":"Trips","operations":[{"operationType":"forceUpdate","record":{"recordName":"r","recordType":"T"}}]}"#
    _ = try await world.call(.recordsModify, body, query: "?clientId=writer")
  }

  @Test func bytesAreStreamedUpAndDown() async throws {
    try await run { world, port in
      var dice = SplitMix64(seed: 9)
      let content = (0..<(5 << 20)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      let client = SocketClient(port: port)
      client.send(head("POST", try await world.uploadTarget(), "Content-Length: \(content.count)\r\n"))
      client.send(content)
      let receipt = try AssetReceipt(decoding: try #require(client.answer()).body)
      #expect(receipt.size == Int64(content.count))
      let urls = SignedURLs(place: .base(""), secrets: world.front.secrets)
      let target = urls.downloadURL(
        checksum: receipt.fileChecksum, size: receipt.size, expires: world.clock.now + .seconds(60))
      client.send(head("GET", target))
      #expect(client.answer()?.body == content)
      client.send(head("GET", target, "Range: bytes=1000000-1000009\r\n"))
      let part = try #require(client.answer())
      #expect(part.status == 206)
      #expect(part.body == Array(content[1_000_000...1_000_009]))
      client.send(head("HEAD", target))
      #expect(client.answer(hasBody: false)?.fields["content-length"] == "\(content.count)")
      #expect(try world.files(in: "uploads").isEmpty)
    }
  }

  @Test func anUploadThatIsRefusedOrCutOffLeavesNothing() async throws {
    try await run({ $0.assetBytesMax = 1_000 }) { world, port in
      let large = SocketClient(port: port)
      large.send(head("POST", try await world.uploadTarget(), "Transfer-Encoding: chunked\r\n"))
      large.send("800\r\n\(String(repeating: "x", count: 0x800))\r\n0\r\n\r\n")
      #expect(large.answer()?.status == 413)
      let forged = SocketClient(port: port)
      forged.send(head("PUT", "/assets/1/upload?t=a.b", "Content-Length: 5\r\n") + "12345")
      #expect(forged.answer()?.status == 403)
      var cut: SocketClient? = SocketClient(port: port)
      cut?.send(head("POST", try await world.uploadTarget(), "Content-Length: 900\r\n") + "only so much")
      cut = nil
      // The loop that reads the end of the cut upload answers this only afterwards or beside it; both ends leave no file.
      try await world.until { try world.files(in: "uploads").isEmpty }
      #expect(try world.files(in: "assets").isEmpty)
    }
  }

  @Test func aNotificationLeavesTheQueueOnceItWasSent() async throws {
    try await run { world, port in
      let target = try await world.makePushTarget()
      let token = String(target.split(separator: "/")[2])
      let client = SocketClient(port: port)
      client.send(head("GET", target))
      try await world.untilParked(1)
      try await touch(world)
      #expect(client.answer()?.text.contains("\"ck\"") == true)
      try await world.until { world.front.polls.delivered == 1 }
      #expect(world.waiting(token) == 1)
      await world.front.removeDelivered()
      #expect(world.waiting(token) == 0)
    }
  }

  @Test func aClientThatLeftWhileParkedLosesNothing() async throws {
    try await run { world, port in
      let target = try await world.makePushTarget()
      var gone: SocketClient? = SocketClient(port: port)
      gone?.send(head("GET", target))
      try await world.untilParked(1)
      gone = nil
      try await world.untilParked(0)
      try await touch(world)
      let client = SocketClient(port: port)
      client.send(head("GET", target))
      #expect(client.answer()?.text.contains("\"ck\"") == true)
    }
  }

  @Test func aDrainAnswersParkedPolls() async throws {
    let world = try await GatewayWorld()
    let server = HTTPServer(handler: world.front)
    let port = try server.start(host: "127.0.0.1", port: 0)
    let client = SocketClient(port: port)
    client.send(head("GET", try await world.makePushTarget()))
    try await world.untilParked(1)
    await server.stop(drain: .seconds(5))
    let answer = client.answer()
    #expect(answer?.status == 200)
    #expect(answer?.body == [])
  }

  @Test func malformedRequestsGetTheProtocolsBody() async throws {
    try await run { _, port in
      let client = SocketClient(port: port)
      client.send("POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
      let answer = try #require(client.answer())
      #expect(answer.status == 400)
      #expect(ServiceError(decoding: answer.body, status: 400).code == .badRequest)
    }
  }
}
