import Foundation
import Synchronization
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
    let (port, target) = (server.port, server.target("records/modify"))
    let tally = Mutex((accepted: 0, conflicts: 0, fault: BenchError?.none))
    let elapsed = seconds {
      let group = DispatchGroup()
      for number in 0..<clients {
        group.enter()
        let thread = Thread {
          defer { group.leave() }
          do {
            var client = try Client(number, knowing: start, port: port, target: target)
            for _ in 0..<each { try client.add() }
            let conflicts = client.conflicts
            tally.withLock {
              $0.accepted += each
              $0.conflicts += conflicts
            }
          } catch {
            tally.withLock { $0.fault = BenchError("client \(number): \(error)") }
          }
        }
        thread.start()
      }
      group.wait()
    }
    let (accepted, conflicts, fault) = tally.withLock { $0 }
    if let fault { throw fault }
    let sum = try known(RawConnection(port: server.port), server).reduce(0) { $0 + $1.count }
    return Outcome(
      rate: Double(accepted) / elapsed, conflictsPerUpdate: Double(conflicts) / Double(accepted), lost: accepted - sum)
  }

  /// What is known of a counter.
  struct Counter {
    var tag: String
    var count: Int

    /// Reads the first record of an answer.
    init(_ text: Substring) throws {
      guard let tag = text.value(after: #""recordChangeTag":""#, upTo: "\""),
        let field = text.range(of: #""n":{"#),
        let count = text[field.upperBound...].value(after: #""value":"#, upTo: ",").flatMap({ Int($0) })
      else { throw BenchError(String(text.prefix(300))) }
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
    return try parts.map { try Counter($0[...]) }
  }

  private struct Client {
    private let connection: RawConnection
    private let target: String
    private var counters: [Counter]
    private var dice: SplitMix64
    private(set) var conflicts = 0

    init(_ number: Int, knowing counters: [Counter], port: UInt16, target: String) throws {
      connection = try RawConnection(port: port)
      self.target = target
      self.counters = counters
      dice = SplitMix64(seed: UInt64(number))
    }

    /// Adds one to some counter, however often that has to be tried.
    mutating func add() throws {
      let index = Int.random(in: 0..<records, using: &dice)
      while true {
        let counter = counters[index]
        let record =
          #"{"recordName":"c\#(index)","recordType":"Note","recordChangeTag":"\#(counter.tag)","#
          + #""fields":{"n":{"value":\#(counter.count + 1),"type":"INT64"}}}"#
        let body =
          #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[{"operationType":"update","record":\#(record)}]}"#
        let answer = try connection.request(
          requestBytes("POST", target, body: Array(body.utf8), headers: "X-Virga-Extensions: 1\r\n"))
        let text = String(decoding: answer.body, as: UTF8.self)
        guard let server = text.range(of: #""serverRecord":"#) else {
          counters[index] = try Counter(text[...])
          return
        }
        conflicts += 1
        counters[index] = try Counter(text[server.upperBound...])
      }
    }
  }
}

extension Substring {
  /// The text between two others.
  fileprivate func value(after start: String, upTo end: Character) -> String? {
    guard let range = range(of: start) else { return nil }
    return String(self[range.upperBound...].prefix { $0 != end })
  }
}
