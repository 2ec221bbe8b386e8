import Foundation
import Synchronization
import TestSupport
import Testing

/// A server that is killed at any moment keeps its word: what it acknowledged is there, an atomic batch is there whole or
/// not at all, and no number of a zone is ever given twice.
@Suite struct KillTests {
  private static let kills = 50
  private static let writers = 4
  private static let batch = 3

  @Test func killsUnderLoadLoseNothingAcknowledged() async throws {
    let server = try await ServerProcess()
    let client = try await ScriptClient(server: server, container: "iCloud.virga.kill")
    _ = try client.call(
      "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Kill"}}}]}"#)
    var random = SplitMix64(seed: 42)
    var acknowledged: [String: Int] = [:]
    var nameOfTag: [String: String] = [:]

    for round in 0..<Self.kills {
      let load = Load(client: client, round: round)
      let threads = (0..<Self.writers).map { writer in load.start(writer: writer) }
      // The kill comes at any moment of the load, which has no event for each.
      try await Task.sleep(for: .milliseconds(Int.random(in: 5...80, using: &random)))
      await server.kill()
      for thread in threads { await thread.value }
      try await server.restart()

      for (name, tag) in load.acknowledged {
        let number = try #require(Int(tag, radix: 36))
        #expect(acknowledged.updateValue(number, forKey: name) == nil)
        let other = nameOfTag.updateValue(name, forKey: tag)
        #expect(other == nil, "tag \(tag) was given to \(other ?? "") and to \(name)")
      }
    }

    let found = try client.allRecords(zone: "Kill")
    for (name, number) in acknowledged {
      #expect(
        found[name] == number, "\(name) was acknowledged as \(number) and is \(found[name].map(String.init) ?? "gone")")
    }
    #expect(Set(found.values).count == found.count, "a number of the zone's sequence stands for two records")
    let batches = Dictionary(grouping: found.keys) { $0.prefix { $0 != "#" } }
    for (name, members) in batches {
      #expect(members.count == Self.batch, "batch \(name) is there by half: \(members.sorted())")
    }
    #expect(acknowledged.count >= Self.kills, "too little was written to say anything: \(acknowledged.count)")
    #expect(await server.terminate().code == 0)
  }

  /// Writers that go on until the server is gone.
  private final class Load: Sendable {
    private let client: ScriptClient
    private let round: Int
    private let saved = Mutex<[(String, String)]>([])

    init(client: ScriptClient, round: Int) {
      self.client = client
      self.round = round
    }

    /// Names and change tags of all records that the server acknowledged.
    var acknowledged: [(String, String)] { saved.withLock { $0 } }

    func start(writer: Int) -> Task<Void, Never> {
      Task.detached {
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            self.write(writer: writer)
            continuation.resume()
          }
        }
      }
    }

    private func write(writer: Int) {
      guard let connection = try? RawConnection(port: client.port) else { return }
      for number in 0... {
        let names = (0..<KillTests.batch).map { "\(round)-\(writer)-\(number)#\($0)" }
        let operations = names.map {
          #"{"operationType":"create","record":{"recordName":"\#($0)","recordType":"Note","#
            + #""fields":{"n":{"value":\#(number),"type":"INT64"}}}}"#
        }
        let body = #"{"zoneID":{"zoneName":"Kill"},"atomic":true,"operations":[\#(operations.joined(separator: ","))]}"#
        guard let answer = try? client.call("records/modify", body, on: connection),
          let records = answer["records"] as? [[String: Any]]
        else { return }
        let tags = records.compactMap { $0["recordChangeTag"] as? String }
        guard tags.count == names.count else { return }
        saved.withLock { $0 += zip(names, tags) }
      }
    }
  }
}
