import Foundation
import TestSupport
import Testing

/// A server that is killed between a commit and the delivery of what it caused loses no notification; one may come
/// twice.
@Suite(.timeLimit(.minutes(3))) struct OutboxTests {
  private static let subscribers = 3

  @Test(arguments: [
    (#""subscriptionType":"database""#, 20),
    (#""subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"]"#, 10),
  ])
  func everySubscriberHearsAfterAKill(subscription: String, kills: Int) async throws {
    let server = try await ServerProcess()
    let client = try await ScriptClient(server: server, container: "iCloud.virga.push")
    let zone = #""zoneID":{"zoneName":"Diary"}"#
    _ = try client.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
    // A query's record type must be known.
    _ = try client.call(
      "records/modify",
      #"{\#(zone),"operations":[{"operationType":"create","record":{"recordName":"first","recordType":"Note"}}]}"#)
    let answer = try client.call(
      "subscriptions/modify",
      #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all",\#(subscription)}}]}"#)
    #expect("\(answer)".contains("serverErrorCode") == false, "\(answer)")
    for round in 0..<kills {
      // New queues each time: what comes is of this round.
      let targets = try (0..<Self.subscribers).map { number in
        let answer = try client.call(
          "tokens/create", #"{"apnsEnvironment":"development","clientId":"listener\#(round)-\#(number)"}"#)
        let url = try #require(answer["webcourierURL"] as? String)
        return String(url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" })
      }
      // Every other time polls are parked when the change comes.
      let parked = round % 2 == 0 ? try targets.map { try Poll($0, port: server.port) } : []
      let record = #"{"recordName":"r\#(round)","recordType":"Note"}"#
      _ = try client.call(
        "records/modify", #"{\#(zone),"operations":[{"operationType":"create","record":\#(record)}]}"#)
      await server.kill()
      let heard = parked.map { $0.hears() }
      try await server.restart()
      for (number, target) in targets.enumerated() where parked.isEmpty || !heard[number] {
        #expect(try Poll(target, port: server.port).hears(), "subscriber \(number) after kill \(round)")
      }
    }
    #expect(await server.terminate().code == 0)
  }

  /// A long poll under way.
  private struct Poll {
    private let connection: RawConnection

    init(_ target: String, port: UInt16) throws {
      connection = try RawConnection(port: port)
      try connection.send(requestBytes("GET", target))
    }

    /// Whether a notification came, before the server went or the poll was over.
    func hears() -> Bool { (try? connection.receive())?.text.contains("\"ck\"") == true }
  }
}
