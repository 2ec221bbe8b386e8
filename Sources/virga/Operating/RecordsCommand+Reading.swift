extension RecordsCommand {
  static func list(_ place: RecordsPlace) async throws {
    let limit = try limit(of: place.arguments)
    let type = place.arguments.value("--type")
    var left = limit
    var hasMore = false
    try await place.eachPage { records in
      for record in records where record["deleted"] as? Bool != true {
        if let type, record["recordType"] as? String != type { continue }
        guard left > 0 else {
          hasMore = true
          return false
        }
        left -= 1
        show(record, of: place)
      }
      return true
    }
    if hasMore { sayMore(limit) }
  }

  /// A record on one line.
  private static func show(_ record: [String: Any], of place: RecordsPlace) {
    if place.arguments.has("--json") { return ProtocolJSON.print(record, onOneLine: true) }
    func text(_ key: String) -> String { record[key] as? String ?? "" }
    Terminal.print([text("recordName"), text("recordType"), text("recordChangeTag")].joined(separator: "  "))
  }

  static func sayMore(_ limit: Int) {
    Terminal.complain("virga: there are more than these \(limit); to print them, give a higher --limit or none")
  }

  static func changes(_ place: RecordsPlace) async throws {
    let limit = try limit(of: place.arguments)
    let isJSON = place.arguments.has("--json")
    var left = limit
    var last = place.arguments.value("--since")
    var hasMore = false
    try await place.eachChange(since: last) { records, token in
      // A token stands behind a whole page: a part of one could not be gone on from.
      guard left >= records.count || left == limit else {
        hasMore = true
        return false
      }
      left -= records.count
      last = token
      for record in records {
        if isJSON {
          ProtocolJSON.print(record, onOneLine: true)
        } else {
          let isDeleted = record["deleted"] as? Bool == true
          let tag = record["recordChangeTag"] as? String ?? ""
          Terminal.print(
            "\(isDeleted ? "deleted" : "saved  ")  \(record["recordName"] as? String ?? "")"
              + (isDeleted ? "" : "  \(record["recordType"] as? String ?? "")  \(tag)"))
        }
      }
      hasMore = left <= 0
      return left > 0
    }
    if isJSON {
      ProtocolJSON.print(["syncToken": last ?? "", "moreComing": hasMore] as [String: Any], onOneLine: true)
    } else {
      Terminal.print("Token: \(last ?? "")")
    }
  }

  static func get(_ place: RecordsPlace) async throws {
    let names = try RecordNames(place.arguments).names
    var failures: [String] = []
    for start in stride(from: 0, to: names.count, by: RecordsPlace.recordsPerCall) {
      let part = names[start..<min(start + RecordsPlace.recordsPerCall, names.count)]
      for record in try await lookedUp(part, place) {
        if let refusal = RecordsPlace.refusal(record) { failures.append(refusal) } else { place.show([record]) }
      }
    }
    try RecordsPlace.check(failures, of: names.count, "not found")
  }

  static func lookedUp(_ names: ArraySlice<String>, _ place: RecordsPlace) async throws -> [[String: Any]] {
    try RecordsPlace.items(
      try await place.answer("records/lookup", ["records": names.map { ["recordName": $0] }]))
  }

  static func query(_ place: RecordsPlace) async throws {
    let arguments = place.arguments
    guard let type = arguments.value("--type") else { throw Failure.usage(query.name, "--type is missing") }
    let limit = try limit(of: arguments)
    let filters = try arguments.values("--filter").map { text in
      guard let filter = (try? ProtocolJSON.value(Array(text.utf8))) as? [String: Any] else {
        throw Failure.usage(query.name, "--filter must be a JSON object with comparator, fieldName and fieldValue")
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
      request["resultsLimit"] = min(left, RecordsPlace.resultsPerCall)
      let answer = try await place.answer("records/query", request)
      let found = try RecordsPlace.records(answer)
      place.show(found)
      left -= found.count
      request["continuationMarker"] = try ProtocolJSON.object(answer)["continuationMarker"]
    } while left > 0 && request["continuationMarker"] != nil
    if request["continuationMarker"] != nil { sayMore(limit) }
  }

  static func history(_ place: RecordsPlace) async throws { place.show(try await place.versions()) }
}
