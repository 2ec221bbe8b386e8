import Foundation
import VirgaAuth
import VirgaModel

/// `virga import`: saves what `virga export` wrote, for the same person or another.
enum ImportCommand {
  private static let spec = CommandSpec(
    name: "virga import",
    summary: "Saves the records, assets and subscriptions of an export, over what is there.",
    operands: ["FOLDER"],
    options: [.init(name: "--user", value: "USER", help: "The account that they are saved for.")]
      + OperatorAccess.options,
    notes: """
      Shares are left out and named: share again what is to be shared. What cannot be saved is named as well, and all else is
      saved.

      \(OperatorAccess.notes)
      """)

  private static let recordsPerCall = 100
  private static let subscriptionsPerCall = 100

  static func run(_ words: [String]) async throws {
    let arguments = try Arguments(words, for: spec)
    if arguments.wantsHelp { return Terminal.print(spec.help) }
    guard let user = arguments.value("--user") else { throw Failure.usage(spec.name, "--user is missing") }
    let folder = arguments.operands[0]
    let databases = try databases(ofExport: folder)
    let access = try await OperatorAccess(arguments)
    defer { access.close() }
    let writers = databases.map { Writer(access: access, folder: folder, database: $0, user: user) }
    // Before anything is saved: a name that is nobody's would make a person.
    for writer in writers { try await writer.checkUser() }
    var report = Report()
    for writer in writers { try await writer.all(&report) }
    Terminal.print("Imported \(report.count) records.")
    if !report.omissions.isEmpty {
      Terminal.complain(
        "Not imported, since it cannot be another's: share again what is to be shared.\n"
          + report.omissions.map { "  \($0)" }.joined(separator: "\n"))
    }
    guard report.failures.isEmpty else {
      throw Failure(
        .failed, "not all could be imported:\n" + report.failures.map { "  \($0)" }.joined(separator: "\n"))
    }
  }

  private static func databases(ofExport folder: String) throws(Failure) -> [[String: Any]] {
    let path = folder + "/export.json"
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure(.unreadable, "\(path) cannot be read")
    }
    guard let object = try? ProtocolJSON.value(Array(data)) else {
      throw Failure(.damaged, "\(path) is not JSON")
    }
    guard let export = object as? [String: Any], export["format"] as? String == ExportCommand.format else {
      throw Failure(.damaged, "\(path) is no export that this version knows")
    }
    return export["databases"] as? [[String: Any]] ?? []
  }

  /// What came of it.
  private struct Report {
    /// Records that were saved.
    var count = 0
    /// What is left out on purpose.
    var omissions: [String] = []
    var failures: [String] = []

    /// Does a part of the work, and notes if the server or the export refuses it. What stands against all of the work
    /// ends it.
    mutating func attempt(_ what: String, _ body: (inout Report) async throws -> Void) async throws {
      do {
        try await body(&self)
      } catch let failure as Failure where [.failed, .damaged].contains(failure.code) {
        failures.append("\(what): \(failure.message)")
      }
    }
  }

  /// Saves one database of an export.
  private struct Writer {
    let access: OperatorAccess
    let folder: String
    let database: [String: Any]
    let user: String

    private func part(_ name: String) -> String { database[name] as? String ?? "" }
    private var name: String { "\(part("container"))/\(part("environment"))/\(part("database"))" }

    /// - Throws: If the user is nobody.
    func checkUser() async throws { _ = try await call("zones/list", [:], in: "private") }

    func all(_ report: inout Report) async throws {
      for zone in database["zones"] as? [[String: Any]] ?? [] {
        guard let zoneName = zone["zone"] as? String, let records = zone["records"] as? [[String: Any]] else {
          continue
        }
        try await report.attempt("\(name) zone \(zoneName)") { report in
          if zoneName != ZoneName.default.rawValue {
            let operation: [String: Any] = ["operationType": "create", "zone": ["zoneID": ["zoneName": zoneName]]]
            let answer = try await call("zones/modify", ["operations": [operation]])
            if let reason = reasons(answer["zones"]).first ?? nil { throw Failure(.failed, reason) }
          }
          try await save(records, zone: zoneName, &report)
        }
      }
      var subscriptions = (database["subscriptions"] as? [[String: Any]] ?? [])[...]
      while !subscriptions.isEmpty {
        let part = subscriptions.prefix(ImportCommand.subscriptionsPerCall)
        subscriptions = subscriptions.dropFirst(part.count)
        try await report.attempt("\(name) subscriptions") { try await save(part, &$0) }
      }
    }

    private func save(_ subscriptions: ArraySlice<[String: Any]>, _ report: inout Report) async throws {
      let operations = subscriptions.map {
        ["operationType": "create", "subscription": ownerless($0)] as [String: Any]
      }
      let answer = try await call("subscriptions/modify", ["operations": operations])
      for (subscription, reason) in zip(subscriptions, reasons(answer["subscriptions"])) {
        guard let reason else { continue }
        report.failures.append("\(name) subscription \(subscription["subscriptionID"] ?? ""): \(reason)")
      }
    }

    /// Why each item of an answer failed; `nil` for one that did not.
    private func reasons(_ items: Any?) -> [String?] {
      (items as? [[String: Any]] ?? []).map { item in
        item["serverErrorCode"].map { "\(item["reason"] ?? $0)" }
      }
    }

    /// Records that refer to others may come before them: they are tried again once the others are there.
    private func save(_ records: [[String: Any]], zone: String, _ report: inout Report) async throws {
      var waiting: [[String: Any]] = []
      for record in records where !isLeftOut(record, zone: zone, &report) {
        try await report.attempt(place(record, zone)) { _ in
          waiting.append(try await prepared(record, zone: zone))
        }
      }
      while !waiting.isEmpty {
        var failed: [(record: [String: Any], reason: String)] = []
        for start in stride(from: 0, to: waiting.count, by: ImportCommand.recordsPerCall) {
          let part = Array(waiting[start..<min(start + ImportCommand.recordsPerCall, waiting.count)])
          failed += try await save(part[...], zone: zone)
        }
        report.count += waiting.count - failed.count
        guard failed.count < waiting.count else {
          report.failures += failed.map { "\(place($0.record, zone)): \($0.reason)" }
          return
        }
        waiting = failed.map(\.record)
      }
    }

    /// - Returns: Those that were refused. Records that are too many or too large for one request go in several.
    private func save(
      _ records: ArraySlice<[String: Any]>, zone: String
    ) async throws -> [(record: [String: Any], reason: String)] {
      let operations = records.map { ["operationType": "forceReplace", "record": $0] as [String: Any] }
      do {
        let answer = try await call(
          "records/modify", ["zoneID": ["zoneName": zone], "atomic": false, "operations": operations])
        return zip(records, reasons(answer["records"])).compactMap { record, reason in reason.map { (record, $0) } }
      } catch let failure as Failure where failure.code == .failed {
        guard records.count > 1 else { return records.map { ($0, failure.message) } }
        let middle = records.startIndex + records.count / 2
        return try await save(records[..<middle], zone: zone) + save(records[middle...], zone: zone)
      }
    }

    /// Whether a record is not saved: a user's own, which the server makes, and shares, whose participants and address
    /// belong to the zone that they were made in.
    private func isLeftOut(_ record: [String: Any], zone: String, _ report: inout Report) -> Bool {
      switch record["recordType"] as? String {
      case RecordType.share.rawValue:
        report.omissions.append("\(place(record, zone)) (a share)")
        return true
      case RecordType.users.rawValue:
        let fields = (record["fields"] as? [String: Any] ?? [:]).keys.filter { $0 != "roles" }
        if !fields.isEmpty { report.omissions.append("\(place(record, zone)) (a user's own record)") }
        return true
      default: return false
      }
    }

    private func place(_ record: [String: Any], _ zone: String) -> String {
      "\(name) zone \(zone) record \(record["recordName"] ?? "")"
    }

    /// The record as a request has it, its assets uploaded.
    private func prepared(_ record: [String: Any], zone: String) async throws -> [String: Any] {
      var change = RecordJSON.change(of: record)
      var fields = change["fields"] as? [String: [String: Any]] ?? [:]
      for (name, field) in fields {
        let value = field["value"] ?? NSNull()
        if let asset = value as? [String: Any], asset["fileChecksum"] != nil {
          fields[name]?["value"] = try await upload(asset, of: record, field: name, zone: zone)
        } else if let list = value as? [[String: Any]], list.first?["fileChecksum"] != nil {
          var assets: [[String: Any]] = []
          for asset in list { assets.append(try await upload(asset, of: record, field: name, zone: zone)) }
          fields[name]?["value"] = assets
        } else {
          fields[name]?["value"] = ownerless(value)
        }
      }
      change["fields"] = fields
      if let parent = change["parent"] { change["parent"] = ownerless(parent) }
      return change
    }

    private func upload(
      _ asset: [String: Any], of record: [String: Any], field: String, zone: String
    ) async throws -> [String: Any] {
      guard let checksum = asset["fileChecksum"] as? String, let digest = Data(base64Encoded: checksum),
        case let path = "\(folder)/assets/\(Hex.encode(Array(digest)))",
        FileManager.default.isReadableFile(atPath: path)
      else { throw Failure(.damaged, "the bytes of an asset of \(record["recordName"] ?? "") are missing") }
      let token: [String: Any] = [
        "recordName": record["recordName"] ?? "", "recordType": record["recordType"] ?? "", "fieldName": field,
      ]
      let answer = try await call("assets/upload", ["zoneID": ["zoneName": zone], "tokens": [token]])
      guard let url = (answer["tokens"] as? [[String: Any]])?.first?["url"] as? String else {
        throw Failure(.failed, "the server takes no asset")
      }
      let receipt = try ProtocolJSON.object(try await access.upload(path, to: url))
      return receipt["singleFile"] as? [String: Any] ?? receipt
    }

    /// Zones without their owner, who may be another one here.
    private func ownerless(_ value: Any) -> Any {
      if let list = value as? [Any] { return list.map(ownerless) }
      guard var object = value as? [String: Any] else { return value }
      for (key, member) in object { object[key] = ownerless(member) }
      if object["zoneName"] != nil { object["ownerRecordName"] = nil }
      return object
    }

    private func call(
      _ operation: String, _ body: [String: Any], in database: String? = nil
    ) async throws -> [String: Any] {
      let query = [
        (name: "container", value: part("container")), (name: "environment", value: part("environment")),
        (name: "database", value: database ?? part("database")), (name: "user", value: user),
        (name: "userMustExist", value: "true"), (name: "operation", value: operation),
      ]
      return try ProtocolJSON.object(
        try await access.send("POST", "operate", query: query, body: ProtocolJSON.bytes(body)))
    }
  }
}
