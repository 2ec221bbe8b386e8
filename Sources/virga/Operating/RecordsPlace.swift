import VirgaModel
import VirgaWire

/// The zone of a database that a command about records works in, reached.
struct RecordsPlace: Sendable {
  let access: OperatorAccess
  let choice: DatabaseChoice
  let arguments: Arguments

  var zoneName: String { arguments.value("--zone") ?? ZoneName.default.rawValue }

  /// The public database and default zones have none.
  var hasFeed: Bool { !choice.isPublic && zoneName != ZoneName.default.rawValue }

  /// Records of one request: fewer than the service takes, so that one slow request is a short one.
  static let recordsPerCall = 100
  /// The most that one page of an answer is asked for; the service ends it earlier where it likes.
  static let resultsPerCall = 200

  /// Performs an operation of the web service in the zone.
  /// - Throws: If the whole or the first item that failed did.
  func call(_ operation: String, _ request: [String: Any]) async throws -> [[String: Any]] {
    let answer = try await answer(operation, request)
    return try namingZone { try Self.records(answer) }
  }

  /// The same with all of the answer.
  func answer(_ operation: String, _ request: [String: Any]) async throws -> [UInt8] {
    var body = request
    body["zoneID"] = ["zoneName": zoneName]
    return try await send("POST", "operate", [(name: "operation", value: operation)], ProtocolJSON.bytes(body))
  }

  func versions() async throws -> [[String: Any]] {
    let query = [(name: "zone", value: zoneName), (name: "record", value: arguments.operands[0])]
    let answer = try await send("GET", "history", query)
    return try namingZone { try Self.records(answer) }
  }

  private func send(
    _ method: String, _ path: String, _ query: [(name: String, value: String)], _ body: [UInt8] = []
  ) async throws -> [UInt8] {
    let result: Result<[UInt8], any Error>
    do {
      result = .success(try await access.send(method, path, query: choice.query + query, body: body))
    } catch {
      result = .failure(error)
    }
    return try namingZone { try result.get() }
  }

  /// Says which zone is meant where the service says that there is none.
  private func namingZone<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let failure as Failure where failure.message.hasSuffix(Reason.zoneNotFound) {
      throw Failure(failure.code, "\(failure.message): \(zoneName)")
    }
  }

  // MARK: Pages

  /// Gives the records of the zone page by page, without an index, until `body` wants no more.
  func eachPage(_ body: ([[String: Any]]) throws -> Bool) async throws {
    if hasFeed { return try await eachChange(since: nil) { records, _ in try body(records) } }
    var marker: String?
    repeat {
      let query = [(name: "zone", value: zoneName)] + (marker.map { [(name: "marker", value: $0)] } ?? [])
      let page = try ProtocolJSON.object(try await send("GET", "zone-records", query))
      guard try body(page["records"] as? [[String: Any]] ?? []) else { return }
      marker = page["continuationMarker"] as? String
    } while marker != nil
  }

  /// Gives the pages of the zone's change feed, each with the token behind it, until `body` wants no more.
  func eachChange(since token: String?, _ body: ([[String: Any]], _ token: String) throws -> Bool) async throws {
    var token = token
    while true {
      var zone: [String: Any] = ["zoneID": ["zoneName": zoneName], "resultsLimit": Self.recordsPerCall]
      zone["syncToken"] = token
      let answer = try ProtocolJSON.object(
        try await send(
          "POST", "operate", [(name: "operation", value: "changes/zone")], ProtocolJSON.bytes(["zones": [zone]])))
      guard let page = (answer["zones"] as? [[String: Any]])?.first else {
        throw Failure(.unavailable, "the answer does not come from a Virga server")
      }
      try namingZone { if page["serverErrorCode"] != nil { throw Failure(.failed, "\(page["reason"] ?? "")") } }
      guard let next = page["syncToken"] as? String else {
        throw Failure(.unavailable, "the answer does not come from a Virga server")
      }
      token = next
      guard try body(page["records"] as? [[String: Any]] ?? [], next), page["moreComing"] as? Bool == true else {
        return
      }
    }
  }

  // MARK: Records of an answer

  /// - Throws: If one of them failed.
  static func records(_ answer: [UInt8]) throws -> [[String: Any]] {
    let records = try items(answer)
    if let failure = records.lazy.compactMap(refusal).first { throw Failure(.failed, failure) }
    return records
  }

  /// The records of an answer, those that failed too.
  static func items(_ answer: [UInt8]) throws -> [[String: Any]] {
    try ProtocolJSON.object(answer)["records"] as? [[String: Any]] ?? []
  }

  /// Why a record of an answer failed; `nil` if it did not.
  static func refusal(_ record: [String: Any]) -> String? {
    guard record["serverErrorCode"] != nil else { return nil }
    let reason = "\(record["reason"] ?? "")"
    return (record["recordName"] as? String).map { "\($0): \(reason)" } ?? reason
  }

  func show(_ records: [[String: Any]]) {
    for record in records { ProtocolJSON.print(record, onOneLine: arguments.has("--json")) }
  }

  /// - Throws: If there are failures: one by its reason alone if nothing else was asked for, else all in a list.
  static func check(_ failures: [String], of count: Int, _ what: String) throws(Failure) {
    guard !failures.isEmpty else { return }
    if count == 1 { throw Failure(.failed, failures[0]) }
    throw Failure(
      .failed,
      "\(failures.count) of \(count) records were \(what):\n" + failures.map { "  \($0)" }.joined(separator: "\n"))
  }
}
