import Foundation
import TestSupport
import VirgaServerSQLite

/// What it costs to find a few records among few and among many.
enum QueryCost {
  private static let sizes = [1_000, 10_000, 100_000]
  /// Records that every query finds.
  private static let matches = 20
  private static let rounds = 101

  private struct Cost {
    var query: Double
    var sorted: Double
    var lookup: Double
  }

  static func measure(on server: ServerUnderTest) throws {
    var first: Cost?
    for size in sizes {
      let cost = try cost(size, on: server)
      let base = first ?? cost
      first = base
      let label = "of \(size) records"
      let of = "of the cost at \(sizes[0])"
      report("query that finds \(matches) \(label)", cost.query, base.query, of)
      report("the same, sorted", cost.sorted, base.sorted, of)
      report("lookup of \(matches) \(label)", cost.lookup, base.lookup, of)
    }
  }

  private static func report(_ what: String, _ seconds: Double, _ base: Double, _ of: String) {
    Bench.report(what, "\(Bench.microseconds(seconds)) µs", seconds / base, of)
  }

  private static func cost(_ size: Int, on server: ServerUnderTest) throws -> Cost {
    let zone = "Query\(size)"
    try Workload.makeZone(zone, on: server)
    let groups = size / matches
    let items = (0..<size).map { number in
      // Each group is spread over the whole zone.
      let fields =
        #"{"day":{"value":\#(number),"type":"INT64"},"group":{"value":\#(number % groups),"type":"INT64"},"#
        + #""text":{"value":"virga over the hills \#(number)","type":"STRING"}}"#
      return Workload.Item(name: "record-\(number)", fields: Array(fields.utf8))
    }
    _ = try Workload.upload(items, batch: 400, zone: zone, to: server)
    let connection = try RawConnection(port: server.port)
    func median(_ operation: String, _ body: (Int) -> String) throws -> Double {
      let requests = (0...rounds).map {
        requestBytes("POST", server.target(operation), body: Array(body($0 * 7_919 % groups).utf8))
      }
      // The first makes the index.
      try ask(requests[0], connection)
      let times = try requests.dropFirst().map { request in try seconds { try ask(request, connection) } }
      return times.sorted()[times.count / 2]
    }
    func filter(_ group: Int) -> String {
      #""zoneID":{"zoneName":"\#(zone)"},"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","#
        + #""fieldName":"group","fieldValue":{"value":\#(group),"type":"INT64"}}]"#
    }
    return Cost(
      query: try median("records/query") { "{\(filter($0))}}" },
      sorted: try median("records/query") { #"{\#(filter($0)),"sortBy":[{"fieldName":"day","ascending":false}]}}"# },
      lookup: try median("records/lookup") { group in
        let names = (0..<matches).map { #"{"recordName":"record-\#(group + $0 * groups)"}"# }
        return #"{"zoneID":{"zoneName":"\#(zone)"},"records":[\#(names.joined(separator: ","))]}"#
      })
  }

  private static func ask(_ request: [UInt8], _ connection: RawConnection) throws {
    let answer = try connection.request(request)
    let found = answer.body.count(of: #""recordChangeTag""#)
    guard answer.status == 200, found == matches else {
      throw BenchError("\(found) records: \(String(decoding: answer.body.prefix(300), as: UTF8.self))")
    }
  }
}

extension SharedReads {
  /// The same in a store of its own.
  static func measure(in folder: String) throws {
    let store = try SQLiteStore(folder: folder)
    defer { store.close() }
    try measure(on: store)
  }
}
