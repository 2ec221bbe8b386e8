import Foundation
import TestSupport

/// Many clients that add to the same few counters, each with what it last knew: most saves meet a conflict, are made
/// anew over the record that the conflict brought, and sent again.
enum ConflictStorm {
  private static let clients = 16
  private static let records = 50
  private static let zone = "Storm"

  struct Outcome {
    /// Accepted updates a second.
    var rate: Double
    var conflictsPerUpdate: Double
    /// Updates that were accepted and are not in the counters.
    var lost: Int
  }

  /// - Parameter each: Updates that each client makes.
  static func run(each: Int, on server: ServerUnderTest) throws -> Outcome {
    try Workload.makeZone(zone, on: server)
    let items = (0..<records).map {
      Workload.Item(name: "c\($0)", fields: Array(#"{"n":{"value":0,"type":"INT64"}}"#.utf8))
    }
    _ = try Workload.upload(items, batch: records, zone: zone, to: server)
    let start = try known(RawConnection(port: server.port), server)
    let target = server.target("records/modify")
    let all = (0..<clients).map { Client($0, knowing: start, each: each, target: target) }
    let elapsed = try LoadDriver.run(all.map { client in { try client.next(after: $0) } }, port: server.port)
    let (accepted, conflicts) = (clients * each, all.reduce(0) { $0 + $1.conflicts })
    let sum = try known(RawConnection(port: server.port), server).reduce(0) { $0 + $1.count }
    return Outcome(
      rate: Double(accepted) / elapsed, conflictsPerUpdate: Double(conflicts) / Double(accepted), lost: accepted - sum)
  }

  /// What is known of a counter.
  struct Counter {
    var tag: String
    var count: Int

    /// Reads the first record of an answer, or the one behind `start`.
    init(_ answer: [UInt8], from start: Int = 0) throws {
      guard let tag = answer.text(after: #""recordChangeTag":""#, from: start),
        let count = answer.number(after: #""n":{"value":"#, from: start)
      else { throw BenchError(String(decoding: answer[start...].prefix(500), as: UTF8.self)) }
      (self.tag, self.count) = (tag, count)
    }
  }

  private static func known(_ connection: RawConnection, _ server: ServerUnderTest) throws -> [Counter] {
    let names = (0..<records).map { #"{"recordName":"c\#($0)"}"# }.joined(separator: ",")
    let body = #"{"zoneID":{"zoneName":"\#(zone)"},"records":[\#(names)]}"#
    let answer = try connection.request(
      requestBytes("POST", server.target("records/lookup"), body: Array(body.utf8)))
    let parts = String(decoding: answer.body, as: UTF8.self).components(separatedBy: #"{"recordName":"c"#).dropFirst()
    guard parts.count == records else { throw BenchError("\(parts.count) counters") }
    return try parts.map { try Counter(Array($0.utf8)) }
  }

  private final class Client {
    private let target: String
    private var counters: [Counter]
    private var dice: SplitMix64
    private var left: Int
    /// The counter that the request under way adds to.
    private var index = 0
    private(set) var conflicts = 0

    init(_ number: Int, knowing counters: [Counter], each: Int, target: String) {
      self.target = target
      self.counters = counters
      left = each
      dice = SplitMix64(seed: UInt64(number))
    }

    /// Adds one to some counter, however often that has to be tried, and then to the next.
    func next(after answer: [UInt8]?) throws -> [UInt8]? {
      if let answer, let server = answer.offset(of: #""serverRecord":"#) {
        conflicts += 1
        counters[index] = try Counter(answer, from: server)
      } else {
        if let answer { counters[index] = try Counter(answer) }
        guard left > 0 else { return nil }
        left -= 1
        index = Int.random(in: 0..<records, using: &dice)
      }
      let counter = counters[index]
      let record =
        #"{"recordName":"c\#(index)","recordType":"Note","recordChangeTag":"\#(counter.tag)","#
        + #""fields":{"n":{"value":\#(counter.count + 1),"type":"INT64"}}}"#
      let body = #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[{"operationType":"update","record":\#(record)}]}"#
      return requestBytes("POST", target, body: Array(body.utf8), headers: "X-Virga-Extensions: 1\r\n")
    }
  }
}
