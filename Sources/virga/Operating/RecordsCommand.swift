import Foundation
import VirgaModel
import VirgaWire

/// `virga records …`: anybody's records, for whoever runs the server.
enum RecordsCommand {
  private typealias Option = CommandSpec.Option

  private static let zone = Option(name: "--zone", value: "NAME", help: "The zone. Default: _defaultZone.")
  private static let json = Option(name: "--json", value: nil, help: "Print each record as JSON on one line.")

  private static func spec(
    _ name: String, _ summary: String, operands: [String] = [], _ options: [Option] = []
  ) -> CommandSpec {
    CommandSpec(
      name: "virga records \(name)", summary: summary, operands: operands,
      options: DatabaseChoice.options + [zone] + options + [json] + OperatorAccess.options,
      notes: OperatorAccess.notes)
  }

  private static let get = spec("get", "Prints a record.", operands: ["NAME"])
  private static let query = spec(
    "query", "Prints records of a type, by the indexes that its schema declares.",
    [
      Option(name: "--type", value: "TYPE", help: "The record type."),
      Option(
        name: "--filter", value: "JSON", help: "A filter as the web service takes it; may be repeated.",
        isRepeatable: true),
      Option(name: "--sort", value: "FIELD", help: "Sorts by a field; -FIELD sorts descending."),
      Option(name: "--limit", value: "N", help: "At most so many. Default: 100."),
    ])
  private static let put = spec(
    "put", "Saves a record over whatever is there; its JSON (recordName, recordType, fields) comes from a file.",
    [Option(name: "--file", value: "FILE", help: "The record; - is standard input. Default: -.")])
  private static let delete = spec("delete", "Deletes a record; its versions are kept for a while.", operands: ["NAME"])
  private static let history = spec(
    "history", "Prints the versions of a record that are still kept, newest first.", operands: ["NAME"])
  private static let restore = spec(
    "restore", "Saves an earlier version of a record as its newest.", operands: ["NAME"],
    [Option(name: "--tag", value: "TAG", help: "The version's change tag. Default: the newest one that was replaced.")])

  private static let help = """
    The records of anybody, for whoever runs the server.

    Usage: virga records get NAME | query --type TYPE | put | delete NAME | history NAME | restore NAME

    Each explains itself with --help.
    """

  static func run(_ words: [String]) async throws {
    let rest = Array(words.dropFirst())
    switch words.first {
    case "get": try await perform(rest, get, get)
    case "query": try await perform(rest, query, query)
    case "put": try await perform(rest, put, put)
    case "delete": try await perform(rest, delete, delete)
    case "history": try await perform(rest, history, history)
    case "restore": try await perform(rest, restore, restore)
    case "help", "--help", "-h": Terminal.print(help)
    case nil: throw Failure.usage("virga records", "a command is missing")
    case let word?: throw Failure.usage("virga records", "unknown command \(word)")
    }
  }

  /// A command's database, reached.
  private struct Place {
    let access: OperatorAccess
    let choice: DatabaseChoice
    let arguments: Arguments

    var zoneName: String { arguments.value("--zone") ?? ZoneName.default.rawValue }

    /// Performs an operation of the web service in the zone.
    /// - Throws: If the whole or the first item that failed did.
    func call(_ operation: String, _ request: [String: Any]) async throws -> [[String: Any]] {
      let answer = try await answer(operation, request)
      return try namingZone { try RecordsCommand.records(answer) }
    }

    /// Says which zone is meant where the service says that there is none.
    private func namingZone<Value>(_ body: () throws -> Value) throws -> Value {
      do { return try body() } catch let failure as Failure where failure.message.hasSuffix(Reason.zoneNotFound) {
        throw Failure(failure.code, "\(failure.message): \(zoneName)")
      }
    }

    /// The same with all of the answer.
    func answer(_ operation: String, _ request: [String: Any]) async throws -> [UInt8] {
      var body = request
      body["zoneID"] = ["zoneName": zoneName]
      let result: Result<[UInt8], any Error>
      do {
        result = .success(
          try await access.send(
            "POST", "operate", query: choice.query + [(name: "operation", value: operation)],
            body: ProtocolJSON.bytes(body)))
      } catch {
        result = .failure(error)
      }
      return try namingZone { try result.get() }
    }

    func versions() async throws -> [[String: Any]] {
      let query = choice.query + [(name: "zone", value: zoneName), (name: "record", value: arguments.operands[0])]
      let result: Result<[UInt8], any Error>
      do { result = .success(try await access.send("GET", "history", query: query)) } catch { result = .failure(error) }
      return try namingZone { try RecordsCommand.records(try result.get()) }
    }

    func show(_ records: [[String: Any]]) {
      for record in records { ProtocolJSON.print(record, onOneLine: arguments.has("--json")) }
    }
  }

  private static func records(_ answer: [UInt8]) throws -> [[String: Any]] {
    let records = try ProtocolJSON.object(answer)["records"] as? [[String: Any]] ?? []
    if let failure = records.first(where: { $0["serverErrorCode"] != nil }) {
      let reason = "\(failure["reason"] ?? "")"
      throw Failure(.failed, (failure["recordName"] as? String).map { "\($0): \(reason)" } ?? reason)
    }
    return records
  }

  private static func perform(
    _ words: [String], _ spec: CommandSpec, _ body: (Place) async throws -> Void
  ) async throws {
    let arguments = try Arguments(words, for: spec)
    if arguments.wantsHelp { return Terminal.print(spec.help) }
    let choice = try DatabaseChoice(arguments)
    let access = try await OperatorAccess(arguments)
    defer { access.close() }
    try await body(Place(access: access, choice: choice, arguments: arguments))
  }

  // MARK: Commands

  private static func get(_ place: Place) async throws {
    let names = place.arguments.operands.map { ["recordName": $0] }
    place.show(try await place.call("records/lookup", ["records": names]))
  }

  private static func query(_ place: Place) async throws {
    let arguments = place.arguments
    guard let type = arguments.value("--type") else { throw Failure.usage(query.name, "--type is missing") }
    let limit = arguments.value("--limit").map { Int($0) } ?? 100
    guard let limit, limit > 0 else { throw Failure.usage(query.name, "--limit is a number above 0") }
    let filters = try arguments.values("--filter").map { text in
      guard let filter = (try? ProtocolJSON.value(Array(text.utf8))) as? [String: Any] else {
        throw Failure.usage(query.name, "--filter is a JSON object with comparator, fieldName and fieldValue")
      }
      return filter
    }
    var body: [String: Any] = ["recordType": type, "filterBy": filters]
    if let field = arguments.value("--sort") {
      let isDescending = field.hasPrefix("-")
      body["sortBy"] = [["fieldName": isDescending ? String(field.dropFirst()) : field, "ascending": !isDescending]]
    }
    // The service ends a page where it likes.
    var left = limit
    var request: [String: Any] = ["query": body]
    repeat {
      request["resultsLimit"] = left
      let answer = try await place.answer("records/query", request)
      let found = try records(answer)
      place.show(found)
      left -= found.count
      request["continuationMarker"] = try ProtocolJSON.object(answer)["continuationMarker"]
    } while left > 0 && request["continuationMarker"] != nil
  }

  private static func put(_ place: Place) async throws {
    let path = place.arguments.value("--file") ?? "-"
    let data = path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
    guard let data else { throw Failure(.unreadable, "\(path) cannot be read") }
    let object: Any
    do throws(WireError) { object = try ProtocolJSON.value(Array(data)) } catch {
      let name = path == "-" ? "standard input" : path
      throw Failure(.damaged, "\(name) is not JSON: expected \(error.expected) at byte \(error.offset)")
    }
    let record = try await checked(object, of: path == "-" ? "standard input" : path, place)
    place.show(try await save(record, place))
  }

  /// A record replaces all of another: a slip of the pen must not become a record without fields. Keys of an app's own
  /// are taken where the record that is there has them too.
  private static func checked(_ object: Any, of path: String, _ place: Place) async throws -> [String: Any] {
    guard let record = object as? [String: Any] else {
      throw Failure(.damaged, "\(path) is JSON, but not the object of one record")
    }
    guard let name = record["recordName"] as? String, !name.isEmpty else {
      throw Failure(.damaged, "\(path): recordName is missing")
    }
    var unknown = RecordJSON.unknownKeys(of: record)
    if !unknown.isEmpty {
      let answer = try await place.answer("records/lookup", ["records": [["recordName": name]]])
      let stored = (try ProtocolJSON.object(answer)["records"] as? [[String: Any]])?.first ?? [:]
      unknown.removeAll { stored[$0] != nil }
    }
    guard unknown.isEmpty else {
      throw Failure(.damaged, "\(path): a record has no key \(unknown.joined(separator: ", "))")
    }
    guard record["fields"] is [String: Any] else {
      throw Failure(.damaged, "\(path): fields is missing or no object; a record without any has \"fields\":{}")
    }
    return record
  }

  private static func save(_ record: [String: Any], _ place: Place) async throws -> [[String: Any]] {
    let operation: [String: Any] = ["operationType": "forceReplace", "record": RecordJSON.change(of: record)]
    return try await place.call("records/modify", ["operations": [operation]])
  }

  private static func delete(_ place: Place) async throws {
    let record = ["recordName": place.arguments.operands[0]]
    // The service calls one that was never there deleted.
    _ = try await place.call("records/lookup", ["records": [record]])
    place.show(
      try await place.call(
        "records/modify", ["operations": [["operationType": "forceDelete", "record": record] as [String: Any]]]))
  }

  private static func history(_ place: Place) async throws { place.show(try await place.versions()) }

  private static func restore(_ place: Place) async throws {
    let name = place.arguments.operands[0]
    let versions = try await place.versions()
    let tag = place.arguments.value("--tag")
    let older = versions.dropFirst().first { tag == nil || $0["recordChangeTag"] as? String == tag }
    guard let version = older else {
      throw Failure(
        .failed, tag.map { "\(name) has no earlier version \($0)" } ?? "\(name) has no earlier version that is kept")
    }
    place.show(try await save(version, place))
  }
}
