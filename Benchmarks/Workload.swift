import CLinux
import Foundation
import Synchronization
import TestSupport

/// What is done to the server.
enum Workload {
  struct Item {
    let name: String
    /// The record's fields as JSON, about 500 bytes.
    let fields: [UInt8]
  }

  static func records(_ count: Int) -> [Item] {
    let filler = String(repeating: "rain that never reaches the ground ", count: 9)
    return (1...count).map { number in
      let fields = """
        {"body":{"value":"\(filler)\(number)","type":"STRING"},"count":{"value":\(number),"type":"INT64"},\
        "due":{"value":\(1_700_000_000_000 + number),"type":"TIMESTAMP"},"score":{"value":\(number).5,"type":"DOUBLE"}}
        """
      return Item(name: "record-\(number)", fields: Array(fields.utf8))
    }
  }

  static func makeZone(_ zone: String, on server: ServerUnderTest) throws {
    let body = zoneBody(zone)
    let answer = try RawConnection(port: server.port).request(
      requestBytes("POST", server.target("zones/modify"), body: Array(body.utf8)))
    precondition(answer.status == 200, String(decoding: answer.body, as: UTF8.self))
  }

  static func zoneBody(_ zone: String) -> String {
    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(zone)"}}}]}"#
  }

  static func modifyBody(_ items: some Sequence<Item>, zone: String, atomic: Bool = true) -> [UInt8] {
    var body = Array(#"{"zoneID":{"zoneName":"\#(zone)"},"atomic":\#(atomic),"desiredKeys":[],"operations":["#.utf8)
    var isFirst = true
    for item in items {
      if !isFirst { body.append(UInt8(ascii: ",")) }
      isFirst = false
      body += Array(
        #"{"operationType":"create","record":{"recordName":"\#(item.name)","recordType":"Note","fields":"#.utf8)
      body += item.fields
      body += Array("}}".utf8)
    }
    body += Array("]}".utf8)
    return body
  }

  /// Records a second. Each client has a connection of its own and an equal part of the batches.
  static func upload(
    _ records: [Item], batch: Int, zone: String, clients: Int = 1, to server: ServerUnderTest
  ) throws -> Double {
    let requests = stride(from: 0, to: records.count, by: batch).map { start in
      requestBytes(
        "POST", server.target("records/modify"),
        body: modifyBody(records[start..<min(start + batch, records.count)], zone: zone), headers: server.session)
    }
    let elapsed = seconds {
      let group = DispatchGroup()
      for client in 0..<clients {
        let mine = stride(from: client, to: requests.count, by: clients).map { requests[$0] }
        let port = server.port
        group.enter()
        let thread = Thread {
          defer { group.leave() }
          guard let connection = try? RawConnection(port: port) else { preconditionFailure("no connection") }
          for request in mine {
            guard let answer = try? connection.request(request) else { preconditionFailure("no answer") }
            precondition(answer.status == 200, String(decoding: answer.body.prefix(500), as: UTF8.self))
          }
        }
        thread.start()
      }
      group.wait()
    }
    return Double(records.count) / elapsed
  }

  /// Records a second over one connection, from no token to the last page.
  static func download(zone: String, page: Int, from server: ServerUnderTest) throws -> Double {
    let connection = try RawConnection(port: server.port)
    var token = ""
    var count = 0
    let elapsed = try seconds {
      while true {
        let body = #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"}\#(token)}],"resultsLimit":\#(page)}"#
        let answer = try connection.request(
          requestBytes(
            "POST", server.target("changes/zone"), body: Array(body.utf8), headers: "X-Virga-Page: \(page)\r\n"))
        precondition(answer.status == 200)
        count += answer.body.count(of: #""recordChangeTag""#)
        let tail = String(decoding: answer.body.suffix(300), as: UTF8.self)
        guard let range = tail.range(of: #""syncToken":""#) else { preconditionFailure(tail) }
        token = #","syncToken":"\#(tail[range.upperBound...].prefix { $0 != "\"" })""#
        if !tail.contains(#""moreComing":true"#) { break }
      }
    }
    precondition(count == 20_000, "\(count) records came")
    return Double(count) / elapsed
  }

  /// Requests that each save one new record.
  private static func saves(_ count: Int, client: Int, zone: String, on server: ServerUnderTest) -> [[UInt8]] {
    let run = UUID().uuidString.prefix(6)
    return records(count).map { item in
      requestBytes(
        "POST", server.target("records/modify"),
        body: modifyBody([Item(name: "\(run)-\(client)-\(item.name)", fields: item.fields)], zone: zone))
    }
  }

  /// One client saves new records one by one: the median time of a save in seconds, and saves a second.
  static func singleSaves(
    _ count: Int, zone: String, to server: ServerUnderTest
  ) throws -> (median: Double, rate: Double) {
    let requests = saves(count, client: 0, zone: zone, on: server)
    let connection = try RawConnection(port: server.port)
    let times = try requests.map { request in
      try seconds {
        guard try connection.request(request).status == 200 else { throw BenchError("a save was refused") }
      }
    }
    return (median(times), Double(count) / times.reduce(0, +))
  }

  /// Median seconds of a request that the server answers without doing anything.
  static func emptyRoundTrip(to server: ServerUnderTest) throws -> Double {
    let connection = try RawConnection(port: server.port)
    let request = requestBytes("OPTIONS", "/health")
    return median(
      try (0..<300).map { _ in
        try seconds { _ = try connection.request(request) }
      })
  }

  /// Saves a second of many clients, each of which saves new records one by one.
  static func saveRate(clients: Int, each: Int, zone: String, to server: ServerUnderTest) throws -> Double {
    let behaviours = (0..<clients).map { client -> LoadDriver.Behaviour in
      var requests = saves(each, client: client, zone: zone, on: server)[...]
      return { _ in requests.popFirst() }
    }
    return Double(clients * each) / (try LoadDriver.run(behaviours, port: server.port))
  }

  private static func pushURL(
    on server: ServerUnderTest, client: String, credentials: String? = nil
  ) throws -> String {
    let target = "/device/1/\(ServerUnderTest.container)/development/tokens/create\(credentials ?? server.credentials)"
    let body = #"{"apnsEnvironment":"development","clientId":"\#(client)"}"#
    let answer = try RawConnection(port: server.port).request(requestBytes("POST", target, body: Array(body.utf8)))
    guard let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any],
      let text = object["webcourierURL"] as? String, let url = URL(string: text)
    else { throw BenchError("tokens/create: \(String(decoding: answer.body, as: UTF8.self))") }
    return url.path + (url.query.map { "?\($0)" } ?? "")
  }

  /// Median seconds from the answer to a save until a parked poll hears of it, and of one poll by changes/database.
  static func pushLatency(zone: String, on server: ServerUnderTest) throws -> (push: Double, poll: Double) {
    let subscribe =
      #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all","#
      + #""subscriptionType":"zone","zoneWide":true,"notificationInfo":{"shouldSendContentAvailable":true}}}]}"#
    let connection = try RawConnection(port: server.port)
    let made = try connection.request(
      requestBytes("POST", server.target("subscriptions/modify"), body: Array(subscribe.utf8)))
    precondition(made.status == 200, String(decoding: made.body, as: UTF8.self))
    let poll = try pushURL(on: server, client: "reader")
    let reader = try RawConnection(port: server.port)
    var pushes: [Double] = []
    var polls: [Double] = []
    for number in 0..<100 {
      try reader.send(requestBytes("GET", poll))
      usleep(2_000)
      let item = Item(name: "push-\(UUID().uuidString)", fields: Array(#"{"n":{"value":\#(number)}}"#.utf8))
      let target = server.target("records/modify") + "&clientId=writer"
      let saved = try connection.request(requestBytes("POST", target, body: modifyBody([item], zone: zone)))
      precondition(saved.status == 200)
      pushes.append(
        try seconds {
          let push = try reader.receive()
          precondition(push.status == 200 && !push.body.isEmpty)
        })
      polls.append(
        try seconds {
          let answer = try connection.request(
            requestBytes("POST", server.target("changes/database"), body: Array("{}".utf8)))
          precondition(answer.status == 200)
        })
    }
    return (median(pushes), median(polls))
  }

  /// Megabytes a second for assets of 1 MB over one connection.
  static func assets(count: Int, on server: ServerUnderTest) throws -> (up: Double, down: Double) {
    try makeZone("Assets", on: server)
    let connection = try RawConnection(port: server.port)
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    var downloads: [String] = []
    var up = 0.0
    for number in 0..<count {
      for offset in stride(from: 0, to: bytes.count, by: 64) {
        bytes[offset] = UInt8(truncatingIfNeeded: number &+ offset)
      }
      bytes[1] = UInt8(truncatingIfNeeded: number)
      let ask =
        #"{"zoneID":{"zoneName":"Assets"},"tokens":[{"recordName":"a\#(number)","recordType":"Photo","#
        + #""fieldName":"file"}]}"#
      let tokens = try connection.request(requestBytes("POST", server.target("assets/upload"), body: Array(ask.utf8)))
      guard let object = try JSONSerialization.jsonObject(with: Data(tokens.body)) as? [String: Any],
        let text = (object["tokens"] as? [[String: Any]])?.first?["url"] as? String, let url = URL(string: text)
      else { throw BenchError("assets/upload: \(String(decoding: tokens.body, as: UTF8.self))") }
      let request = requestBytes("POST", url.path + "?" + (url.query ?? ""), body: bytes)
      var receipt: [UInt8] = []
      up += try seconds { receipt = try connection.request(request).body }
      guard let answer = try JSONSerialization.jsonObject(with: Data(receipt)) as? [String: Any],
        let file = answer["singleFile"]
      else { throw BenchError("upload: \(String(decoding: receipt, as: UTF8.self))") }
      let value = try JSONSerialization.data(withJSONObject: file)
      let fields = #"{"file":{"type":"ASSETID","value":\#(String(decoding: value, as: UTF8.self))}}"#
      let save = Item(name: "a\(number)", fields: Array(fields.utf8))
      var body = String(decoding: modifyBody([save], zone: "Assets"), as: UTF8.self)
      body = body.replacingOccurrences(of: #""desiredKeys":[],"#, with: "")
        .replacingOccurrences(of: #""recordType":"Note""#, with: #""recordType":"Photo""#)
      let saved = try connection.request(requestBytes("POST", server.target("records/modify"), body: Array(body.utf8)))
      let text2 = String(decoding: saved.body, as: UTF8.self)
      guard let range = text2.range(of: #""downloadURL":""#) else { throw BenchError("no download URL: \(text2)") }
      let link = text2[range.upperBound...].prefix { $0 != "\"" }.replacingOccurrences(of: "\\/", with: "/")
      guard let parsed = URL(string: link) else { throw BenchError("bad URL \(link)") }
      downloads.append(parsed.path + "?" + (parsed.query ?? ""))
    }
    let down = try seconds {
      for target in downloads {
        let answer = try connection.request(requestBytes("GET", target))
        precondition(answer.status == 200 && answer.body.count == 1 << 20)
      }
    }
    return (Double(count) / up, Double(count) / down)
  }

  /// Bytes of resident memory for one parked poll.
  static func parkedPolls(_ count: Int, on server: ServerUnderTest) throws -> Int {
    // A user has at most 100 push tokens.
    let targets = try stride(from: 0, to: count, by: 100).flatMap { first in
      let credentials = try server.signIn(device: "reader-\(first)")
      return try (first..<min(first + 100, count)).map {
        try pushURL(on: server, client: "parked-\($0)", credentials: credentials)
      }
    }
    let before = server.residentBytes
    let connections = try targets.map { target in
      let connection = try RawConnection(port: server.port)
      try connection.send(requestBytes("GET", target))
      return connection
    }
    usleep(500_000)
    let after = server.residentBytes
    return withExtendedLifetime(connections) { max(0, after - before) / count }
  }
}
