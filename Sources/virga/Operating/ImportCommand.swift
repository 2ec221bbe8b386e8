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
    notes: OperatorAccess.notes)

  private static let recordsPerCall = 100

  static func run(_ words: [String]) async throws {
    let arguments = try Arguments(words, for: spec)
    if arguments.wantsHelp { return Terminal.print(spec.help) }
    guard let user = arguments.value("--user") else { throw Failure.usage(spec.name, "--user is missing") }
    let folder = arguments.operands[0]
    guard let data = FileManager.default.contents(atPath: folder + "/export.json") else {
      throw Failure(.unreadable, "\(folder)/export.json cannot be read")
    }
    let export = try ProtocolJSON.object(Array(data))
    guard export["format"] as? String == ExportCommand.format else {
      throw Failure(.damaged, "\(folder)/export.json is no export that this version knows")
    }
    let access = try await OperatorAccess(arguments)
    defer { access.close() }
    var count = 0
    for database in export["databases"] as? [[String: Any]] ?? [] {
      var writer = Writer(access: access, folder: folder, database: database, user: user)
      count += try await writer.all()
    }
    Terminal.print("Imported \(count) records.")
  }

  /// Saves one database of an export.
  private struct Writer {
    let access: OperatorAccess
    let folder: String
    let database: [String: Any]
    let user: String

    mutating func all() async throws -> Int {
      var count = 0
      for zone in database["zones"] as? [[String: Any]] ?? [] {
        guard let name = zone["zone"] as? String, let records = zone["records"] as? [[String: Any]] else { continue }
        if name != ZoneName.default.rawValue {
          let operation: [String: Any] = ["operationType": "create", "zone": ["zoneID": ["zoneName": name]]]
          _ = try await call("zones/modify", ["operations": [operation]])
        }
        count += try await save(records, zone: name)
      }
      let subscriptions = (database["subscriptions"] as? [[String: Any]] ?? []).map {
        ["operationType": "create", "subscription": ownerless($0)] as [String: Any]
      }
      if !subscriptions.isEmpty { _ = try await call("subscriptions/modify", ["operations": subscriptions]) }
      return count
    }

    /// Records that refer to others may come before them: they are tried again once the others are there.
    private func save(_ records: [[String: Any]], zone: String) async throws -> Int {
      var waiting: [[String: Any]] = []
      for record in records { waiting.append(try await prepared(record, zone: zone)) }
      while !waiting.isEmpty {
        var failed: [[String: Any]] = []
        var reason = ""
        for start in stride(from: 0, to: waiting.count, by: ImportCommand.recordsPerCall) {
          let part = Array(waiting[start..<min(start + ImportCommand.recordsPerCall, waiting.count)])
          let operations = part.map { ["operationType": "forceReplace", "record": $0] as [String: Any] }
          let answer = try await call(
            "records/modify", ["zoneID": ["zoneName": zone], "atomic": false, "operations": operations])
          for (record, result) in zip(part, answer["records"] as? [[String: Any]] ?? []) {
            guard result["serverErrorCode"] != nil else { continue }
            failed.append(record)
            reason = "\(record["recordName"] ?? ""): \(result["reason"] ?? "")"
          }
        }
        guard failed.count < waiting.count else { throw Failure(.failed, reason) }
        waiting = failed
      }
      return records.count
    }

    /// The record as a request has it, its assets uploaded.
    private func prepared(_ record: [String: Any], zone: String) async throws -> [String: Any] {
      var change = record.filter { ["recordName", "recordType", "fields", "parent"].contains($0.key) }
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
        let bytes = FileManager.default.contents(atPath: "\(folder)/assets/\(Hex.encode(Array(digest)))")
      else { throw Failure(.damaged, "the bytes of an asset of \(record["recordName"] ?? "") are missing") }
      let token: [String: Any] = [
        "recordName": record["recordName"] ?? "", "recordType": record["recordType"] ?? "", "fieldName": field,
      ]
      let answer = try await call("assets/upload", ["zoneID": ["zoneName": zone], "tokens": [token]])
      guard let url = (answer["tokens"] as? [[String: Any]])?.first?["url"] as? String else {
        throw Failure(.failed, "the server takes no asset")
      }
      let receipt = try ProtocolJSON.object(try await access.upload(Array(bytes), to: url))
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

    private func call(_ operation: String, _ body: [String: Any]) async throws -> [String: Any] {
      let query = [
        (name: "container", value: database["container"] as? String ?? ""),
        (name: "environment", value: database["environment"] as? String ?? ""),
        (name: "database", value: database["database"] as? String ?? ""), (name: "user", value: user),
        (name: "operation", value: operation),
      ]
      return try ProtocolJSON.object(
        try await access.send("POST", "operate", query: query, body: try ProtocolJSON.bytes(body)))
    }
  }
}
