import Foundation
import VirgaAuth
import VirgaCommandLine
import VirgaModel

/// `virga import`: saves what `virga export` wrote, for the same person or another.
enum ImportCommand {
  private static let spec = CommandSpec(
    name: "virga import",
    summary: "Saves the records, assets and subscriptions of an export. Existing records are overwritten.",
    operands: ["FOLDER"],
    options: [.init(name: "--user", value: "USER", help: "The account to save them for.")]
      + OperatorAccess.options,
    notes: """
      For the account of the export, the keys for encrypted values come back. If the account is gone, it comes back with its
      devices. For another account, records with values that a device encrypted are left out and named, because nobody there
      could read them. Shares are also left out and named: share again. What cannot be saved is named. Everything else is saved.

      \(OperatorAccess.notes)
      """)

  private static let recordsPerCall = 100
  private static let subscriptionsPerCall = 100

  static let commands = [Command(spec, run)]

  private static func run(_ arguments: Arguments) async throws {
    guard let user = arguments.value("--user") else { throw Failure.usage(spec.name, "--user is missing") }
    let folder = arguments.operands[0]
    let export = try Self.export(in: folder)
    let databases = export["databases"] as? [[String: Any]] ?? []
    // A user is another one in each container, and an account's on each server.
    let account = export["account"] as? String ?? ""
    let isOwn = !account.isEmpty && (user == account || databases.contains { $0["user"] as? String == user })
    let access = try await OperatorAccess(arguments)
    defer { access.close() }
    let hasKeys = isOwn ? try await restoreAccount(export, access) : false
    let writers = databases.map {
      Writer(access: access, folder: folder, database: $0, user: isOwn ? account : user, bringsKeys: hasKeys)
    }
    // Before anything is saved: a name that is nobody's would make a person.
    for writer in writers { try await writer.checkUser() }
    let total = databases.flatMap { $0["zones"] as? [[String: Any]] ?? [] }
      .reduce(0) { $0 + (($1["records"] as? [Any])?.count ?? 0) }
    let report = try await Terminal.following("Saving", .things("records"), total: Int64(total)) { meter in
      var report = Report()
      for writer in writers { try await writer.all(&report, meter) }
      return report
    }
    Terminal.print("Imported \(report.count) records.")
    if !report.omissions.isEmpty {
      Terminal.complain(
        "Not imported, because they belong to the old zone or user; share again:\n"
          + report.omissions.map { "  \($0)" }.joined(separator: "\n"))
    }
    if !report.unreadable.isEmpty {
      let way = isOwn ? "" : " Import them for their own account: --user \(account)."
      Terminal.complain(
        "Not imported, because no device of this account has the key for their encrypted values.\(way)\n"
          + report.unreadable.map { "  \($0)" }.joined(separator: "\n"))
    }
    guard report.failures.isEmpty else {
      throw Failure(
        .failed, "some could not be imported:\n" + report.failures.map { "  \($0)" }.joined(separator: "\n"))
    }
  }

  /// Makes the export's account again if it is not there, and puts its keys back.
  /// - Returns: Whether the account goes on with the keys of the export.
  private static func restoreAccount(_ export: [String: Any], _ access: OperatorAccess) async throws -> Bool {
    guard let copy = export["accountCopy"] as? [String: Any] else { return false }
    let answer = try ProtocolJSON.object(
      try await access.send("POST", "account-copy", query: [], body: ProtocolJSON.bytes(copy)))
    return answer["hasSameKeys"] as? Bool ?? false
  }

  private static func export(in folder: String) throws(Failure) -> [String: Any] {
    let path = folder + "/export.json"
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure(.unreadable, "\(path) cannot be read")
    }
    guard let object = try? ProtocolJSON.value(Array(data)) else {
      throw Failure(.damaged, "\(path) is not JSON")
    }
    guard let export = object as? [String: Any], export["format"] as? String == ExportCommand.format else {
      throw Failure(.damaged, "\(path) is not an export that this version can read")
    }
    return export
  }

  /// What came of it.
  private struct Report {
    /// Records that were saved.
    var count = 0
    /// What is left out on purpose.
    var omissions: [String] = []
    /// Records with values that nobody could open.
    var unreadable: [String] = []
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
    /// Whether the export's keys of encrypted values are put back.
    let bringsKeys: Bool

    private func part(_ name: String) -> String { database[name] as? String ?? "" }
    private var name: String { "\(part("container"))/\(part("environment"))/\(part("database"))" }

    /// - Throws: If the user is nobody.
    func checkUser() async throws { _ = try await call("zones/list", [:], in: "private") }

    func all(_ report: inout Report, _ meter: ProgressMeter) async throws {
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
          let keys = try await keys(of: zone, named: zoneName)
          try await save(records, zone: zoneName, having: keys, &report, meter)
        }
      }
      var subscriptions = (database["subscriptions"] as? [[String: Any]] ?? [])[...]
      while !subscriptions.isEmpty {
        let part = subscriptions.prefix(ImportCommand.subscriptionsPerCall)
        subscriptions = subscriptions.dropFirst(part.count)
        try await report.attempt("\(name) subscriptions") { try await save(part, &$0) }
      }
    }

    /// The names of the keys that devices have or will find in a zone.
    private func keys(of zone: [String: Any], named name: String) async throws -> Set<KeyID> {
      guard part("database") == "private" else { return [] }
      let query = query + [(name: "zone", value: name)]
      let items = bringsKeys ? zone["keys"] as? [[String: Any]] ?? [] : []
      let answer = try ProtocolJSON.object(
        items.isEmpty
          ? try await access.send("GET", "zone-keys", query: query)
          : try await access.send("POST", "zone-keys", query: query, body: ProtocolJSON.bytes(["items": items])))
      return Set(
        (answer["items"] as? [[String: Any]] ?? []).compactMap { item in
          let parts = (item["name"] as? String ?? "").split(separator: "/").map(String.init)
          return parts.count == 3 && parts[0] == "key" ? KeyID(parts[2]) : nil
        })
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
    private func save(
      _ records: [[String: Any]], zone: String, having keys: Set<KeyID>, _ report: inout Report, _ meter: ProgressMeter
    ) async throws {
      var refused: [(record: [String: Any], reason: String)] = []
      for start in stride(from: 0, to: records.count, by: ImportCommand.recordsPerCall) {
        let part = records[start..<min(start + ImportCommand.recordsPerCall, records.count)]
        let ready = try await prepared(part, zone: zone, having: keys, &report)
        let failed = try await save(ready[...], zone: zone)
        report.count += ready.count - failed.count
        refused += failed
        meter.advance(by: Int64(part.count))
      }
      while !refused.isEmpty {
        let waiting = refused.map(\.record)
        refused = []
        for start in stride(from: 0, to: waiting.count, by: ImportCommand.recordsPerCall) {
          refused += try await save(
            waiting[start..<min(start + ImportCommand.recordsPerCall, waiting.count)], zone: zone)
        }
        report.count += waiting.count - refused.count
        guard refused.count < waiting.count else {
          report.failures += refused.map { "\(place($0.record, zone)): \($0.reason)" }
          return
        }
      }
    }

    /// The records of which there is nothing against saving them, as a request has them.
    private func prepared(
      _ records: ArraySlice<[String: Any]>, zone: String, having keys: Set<KeyID>, _ report: inout Report
    ) async throws -> [[String: Any]] {
      var ready: [[String: Any]] = []
      for record in records where !isLeftOut(record, zone: zone, &report) {
        if needsKey(record, otherThan: keys) {
          report.unreadable.append(place(record, zone))
          continue
        }
        try await report.attempt(place(record, zone)) { _ in ready.append(try await prepared(record, zone: zone)) }
      }
      return ready
    }

    /// - Returns: Those that were refused. Records that are too many or too large for one request go in several.
    private func save(
      _ records: ArraySlice<[String: Any]>, zone: String
    ) async throws -> [(record: [String: Any], reason: String)] {
      if records.isEmpty { return [] }
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

    /// Whether a device encrypted a value of the record under a key that is not among these.
    private func needsKey(_ record: [String: Any], otherThan keys: Set<KeyID>) -> Bool {
      (record["fields"] as? [String: [String: Any]] ?? [:]).values.contains { field in
        guard (field["type"] as? String)?.hasPrefix("ENCRYPTED_") == true, let text = field["value"] as? String,
          let head = CanonicalBase64.decode(text).flatMap({ SealedValueHead($0) })
        else { return false }
        return !keys.contains(head.key)
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
        throw Failure(.failed, "the server does not accept assets")
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

    private var query: [(name: String, value: String)] {
      [
        (name: "container", value: part("container")), (name: "environment", value: part("environment")),
        (name: "user", value: user),
      ]
    }

    private func call(
      _ operation: String, _ body: [String: Any], in database: String? = nil
    ) async throws -> [String: Any] {
      let query =
        query + [
          (name: "database", value: database ?? part("database")), (name: "userMustExist", value: "true"),
          (name: "operation", value: operation),
        ]
      return try ProtocolJSON.object(
        try await access.send("POST", "operate", query: query, body: ProtocolJSON.bytes(body)))
    }
  }
}
