extension RecordsCommand {
  /// On which condition `put` saves.
  private enum Condition {
    case none
    case tag(String)
    case ownTag
    case new

    init(_ arguments: Arguments) throws(Failure) {
      let given = ["--if-tag", "--if-unchanged", "--if-new"].filter(arguments.has)
      guard given.count < 2 else {
        throw .usage(arguments.spec.name, "use either \(given[0]) or \(given[1])")
      }
      switch given.first {
      case "--if-tag": self = .tag(arguments.value("--if-tag") ?? "")
      case "--if-unchanged": self = .ownTag
      case "--if-new": self = .new
      default: self = .none
      }
    }

    func operation(_ record: [String: Any]) -> [String: Any] {
      var change = RecordJSON.change(of: record)
      switch self {
      case .none: return ["operationType": "forceReplace", "record": change]
      case .new: return ["operationType": "create", "record": change]
      case .tag(let tag): change["recordChangeTag"] = tag
      case .ownTag: change["recordChangeTag"] = record["recordChangeTag"]
      }
      return ["operationType": "replace", "record": change]
    }
  }

  /// So that a request stays far below what the service takes.
  private static let bytesPerCall = 1 << 20

  static func put(_ place: RecordsPlace) async throws {
    let condition = try Condition(place.arguments)
    let input = try RecordInput(path: place.arguments.value("--file") ?? "-")
    if case .tag = condition, input.records.count != 1 {
      throw Failure.usage(put.name, "--if-tag works for one record only; for several, use --if-unchanged")
    }
    let records = try await checked(input, place)
    if case .ownTag = condition {
      for (record, name) in zip(records, input.places) where record["recordChangeTag"] as? String == nil {
        throw Failure(.damaged, "\(name): recordChangeTag is missing")
      }
    }
    var waiting: [[String: Any]] = []
    var bytes = 0
    var failures: [String] = []
    func send() async throws {
      guard !waiting.isEmpty else { return }
      failures += try await save(waiting, place)
      (waiting, bytes) = ([], 0)
    }
    for record in records {
      let operation = condition.operation(record)
      let size = ProtocolJSON.bytes(operation).count
      if waiting.count == RecordsPlace.recordsPerCall || bytes + size > bytesPerCall { try await send() }
      waiting.append(operation)
      bytes += size
    }
    try await send()
    try RecordsPlace.check(failures, of: records.count, "not saved")
  }

  /// - Returns: Why records were refused; the others were saved and printed.
  private static func save(_ operations: [[String: Any]], _ place: RecordsPlace) async throws -> [String] {
    var request: [String: Any] = ["operations": operations]
    if operations.count > 1 { request["atomic"] = false }
    var failures: [String] = []
    for record in try RecordsPlace.items(try await place.answer("records/modify", request)) {
      if let refusal = RecordsPlace.refusal(record) { failures.append(refusal) } else { place.show([record]) }
    }
    return failures
  }

  /// A record replaces all of another: a slip of the pen must not become a record without fields. Keys of an app's own
  /// are taken where the record that is there has them too.
  private static func checked(_ input: RecordInput, _ place: RecordsPlace) async throws -> [[String: Any]] {
    for (record, name) in zip(input.records, input.places) {
      guard let recordName = record["recordName"] as? String, !recordName.isEmpty else {
        throw Failure(.damaged, "\(name): recordName is missing")
      }
      var unknown = RecordJSON.unknownKeys(of: record)
      if !unknown.isEmpty {
        let stored = try await lookedUp([recordName], place).first ?? [:]
        unknown.removeAll { stored[$0] != nil }
      }
      guard unknown.isEmpty else {
        throw Failure(.damaged, "\(name): a record has no key \(unknown.joined(separator: ", "))")
      }
      guard record["fields"] is [String: Any] else {
        throw Failure(
          .damaged, "\(name): fields is missing or not an object; for a record without fields write \"fields\":{}")
      }
    }
    return input.records
  }

  static func delete(_ place: RecordsPlace) async throws {
    let input = try RecordNames(place.arguments)
    let names = input.names
    if input.isFromStandardInput, !place.arguments.has("--yes") {
      throw Failure.usage(
        delete.name, "names from standard input need --yes, because the question cannot be answered there")
    }
    let what = names.count == 1 ? "record \(names[0])" : "\(names.count) records"
    try place.arguments.confirm("Delete \(what) of zone \(place.zoneName)?", "nothing was deleted")
    var failures: [String] = []
    for start in stride(from: 0, to: names.count, by: RecordsPlace.recordsPerCall) {
      let part = names[start..<min(start + RecordsPlace.recordsPerCall, names.count)]
      // The service calls one that was never there deleted.
      let found = try await lookedUp(part, place)
      failures += found.compactMap(RecordsPlace.refusal)
      let operations = found.filter { RecordsPlace.refusal($0) == nil }.map { record in
        ["operationType": "forceDelete", "record": ["recordName": record["recordName"] ?? ""]] as [String: Any]
      }
      if !operations.isEmpty { failures += try await save(operations, place) }
    }
    try RecordsPlace.check(failures, of: names.count, "not deleted")
  }

  static func restore(_ place: RecordsPlace) async throws {
    let name = place.arguments.operands[0]
    let versions = try await place.versions()
    let tag = place.arguments.value("--tag")
    let older = versions.dropFirst().first { tag == nil || $0["recordChangeTag"] as? String == tag }
    guard let version = older else {
      throw Failure(
        .failed, tag.map { "\(name) has no earlier version \($0)" } ?? "no earlier version of \(name) is kept")
    }
    let operation = ["operationType": "forceReplace", "record": RecordJSON.change(of: version)] as [String: Any]
    place.show(try await place.call("records/modify", ["operations": [operation]]))
  }
}
