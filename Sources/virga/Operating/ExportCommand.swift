import Foundation
import Glibc
import VirgaAuth
import VirgaCommandLine
import VirgaModel
import VirgaServerSQLite

/// `virga export`: everything of one person, as they may ask for it.
enum ExportCommand {
  static let format = "virga-export-1"

  private static let spec = CommandSpec(
    name: "virga export",
    summary:
      "Writes all data of one person into a new folder: export.json and the files of assets. The server may be "
      + "running.",
    operands: ["USER", "FOLDER"],
    options: [OperatorAccess.folderOption],
    notes: """
      USER is an account or one of its users' record names (_…). virga import saves an export.

      Exit codes: 0 done · 1 no such person · 64 wrong arguments · 65 damaged data · 73 a folder cannot be used
      """)

  static let commands = [Command(spec, run)]

  private static func run(_ arguments: Arguments) async throws {
    let folder = arguments.value("--data") ?? "./virga-data"
    let person = try Person(arguments.operands[0], in: folder)
    let target = arguments.operands[1]
    guard mkdir(target, 0o700) == 0, mkdir(target + "/assets", 0o700) == 0 else {
      throw Failure(.unwritable, "\(target) exists already or cannot be made")
    }
    // A copy of the database is read, so that all is of one moment and the server goes on.
    let copy = target + "/.copy"
    // With everybody's data and the server's key: whatever happens, it does not stay.
    var isDone = false
    defer { try? FileManager.default.removeItem(atPath: isDone ? copy : target) }
    _ = try await BackupCommand.copy(from: folder, to: copy)
    let access = try OperatorAccess(folder: copy)
    defer { access.close() }
    var databases: [[String: Any]] = []
    try await Terminal.following("Reading", .things("records")) { meter in
      for (container, user) in person.users {
        for environment in VirgaModel.Environment.allCases {
          let reader = Reader(
            access: access, container: container, environment: environment, user: user, meter: meter)
          databases += try await reader.all()
        }
      }
    }
    var account: Any = NSNull()
    if let name = person.account {
      account = try ProtocolJSON.object(
        try await access.send("GET", "account-copy", query: [(name: "account", value: name)]))
    }
    let assets = try await copyAssets(of: databases, from: copy, to: target)
    let export: [String: Any] = [
      "format": format, "account": person.account ?? "", "devices": person.devices.sorted(), "databases": databases,
      "accountCopy": account,
    ]
    do {
      try Data(ProtocolJSON.text(export).utf8).write(to: URL(fileURLWithPath: target + "/export.json"))
    } catch {
      throw Failure(.unwritable, "cannot write \(target)/export.json")
    }
    isDone = true
    let records = databases.flatMap { ($0["zones"] as? [[String: Any]]) ?? [] }
      .reduce(0) { $0 + (($1["records"] as? [Any])?.count ?? 0) }
    Terminal.print("Exported \(records) records and \(assets) assets to \(target).")
  }

  /// Reads the databases of a user in a container.
  private struct Reader {
    let access: OperatorAccess
    let container: String
    let environment: VirgaModel.Environment
    let user: String
    let meter: ProgressMeter

    func all() async throws -> [[String: Any]] {
      var databases: [[String: Any]] = []
      var zones: [[String: Any]] = []
      for zone in try await call("private", "zones/list", [:])["zones"] as? [[String: Any]] ?? [] {
        guard let id = zone["zoneID"] as? [String: Any], let name = id["zoneName"] as? String else { continue }
        let records = try await records(of: name)
        guard name != ZoneName.default.rawValue || !records.isEmpty else { continue }
        zones.append(["zone": name, "records": records, "keys": try await keys(of: name)])
      }
      let subscriptions = try await subscriptions(in: "private")
      if !zones.isEmpty || !subscriptions.isEmpty {
        databases.append(describe("private", zones, ["subscriptions": subscriptions]))
      }
      let query = [
        (name: "container", value: container), (name: "environment", value: environment.rawValue),
        (name: "database", value: "public"), (name: "user", value: user),
      ]
      let records = try await pages(query)
      let watched = try await self.subscriptions(in: "public")
      if !records.isEmpty || !watched.isEmpty {
        let zones = [["zone": ZoneName.default.rawValue, "records": records] as [String: Any]]
        databases.append(describe("public", zones, ["subscriptions": watched]))
      }
      return databases
    }

    private func subscriptions(in database: String) async throws -> [Any] {
      try await call(database, "subscriptions/list", [:])["subscriptions"] as? [Any] ?? []
    }

    private func describe(_ database: String, _ zones: [[String: Any]], _ more: [String: Any]) -> [String: Any] {
      var value: [String: Any] = [
        "container": container, "environment": environment.rawValue, "database": database, "user": user, "zones": zones,
      ]
      value.merge(more) { old, _ in old }
      return value
    }

    private func records(of zone: String) async throws -> [[String: Any]] {
      let query = [
        (name: "container", value: container), (name: "environment", value: environment.rawValue),
        (name: "user", value: user), (name: "zone", value: zone),
      ]
      return try await pages(query)
    }

    /// The last of each name. Names are compared by their bytes: texts that look alike may be two names.
    static func newest(of records: [[String: Any]]) -> [[String: Any]] {
      var seen: Set<RecordName> = []
      return records.reversed().filter { seen.insert(RecordName($0["recordName"] as? String ?? "")).inserted }
        .reversed()
    }

    /// All pages of a zone's records. One that changed between two of them came twice; its newest state counts.
    private func pages(_ query: [(name: String, value: String)]) async throws -> [[String: Any]] {
      var records: [[String: Any]] = []
      var marker: String?
      repeat {
        let more = marker.map { [(name: "marker", value: $0)] } ?? []
        let page = try ProtocolJSON.object(try await access.send("GET", "zone-records", query: query + more))
        let found = page["records"] as? [[String: Any]] ?? []
        records += found
        meter.advance(by: Int64(found.count))
        marker = page["continuationMarker"] as? String
      } while marker != nil
      return Self.newest(of: records)
    }

    /// The keys of a zone, sealed, without what is between its owner and those it is shared with: an import is not shared.
    private func keys(of zone: String) async throws -> [[String: Any]] {
      let query = [
        (name: "container", value: container), (name: "environment", value: environment.rawValue),
        (name: "user", value: user), (name: "zone", value: zone),
      ]
      let answer = try ProtocolJSON.object(try await access.send("GET", "zone-keys", query: query))
      return (answer["items"] as? [[String: Any]] ?? []).filter { item in
        let name = item["name"] as? String ?? ""
        return name.hasPrefix("key/") || name.hasPrefix("before/")
      }
    }

    private func call(_ database: String, _ operation: String, _ body: [String: Any]) async throws -> [String: Any] {
      let query = [
        (name: "container", value: container), (name: "environment", value: environment.rawValue),
        (name: "database", value: database), (name: "user", value: user), (name: "operation", value: operation),
      ]
      return try ProtocolJSON.object(
        try await access.send("POST", "operate", query: query, body: ProtocolJSON.bytes(body)))
    }
  }

  private static func copyAssets(of databases: Any, from source: String, to target: String) async throws -> Int {
    var checksums: Set<String> = []
    func collect(_ value: Any) {
      if let object = value as? [String: Any] {
        if let checksum = object["fileChecksum"] as? String { checksums.insert(checksum) }
        object.values.forEach(collect)
      } else if let list = value as? [Any] {
        list.forEach(collect)
      }
    }
    collect(databases)
    try await Terminal.following("Copying assets", .things("files"), total: Int64(checksums.count)) { meter in
      for checksum in checksums.sorted() {
        meter.advance()
        guard let digest = Data(base64Encoded: checksum) else { continue }
        let name = Hex.encode(Array(digest))
        do {
          try FileManager.default.copyItem(
            atPath: "\(source)/assets/\(name.prefix(2))/\(name)", toPath: "\(target)/assets/\(name)")
        } catch { throw Failure(.damaged, "the bytes of asset \(name) are missing or cannot be copied") }
      }
    }
    return checksums.count
  }
}
