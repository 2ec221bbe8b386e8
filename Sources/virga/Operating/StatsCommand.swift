import Foundation
import VirgaCommandLine
import VirgaServer
import VirgaServerSQLite

/// `virga stats`: what fills the store.
enum StatsCommand {
  private static let spec = CommandSpec(
    name: "virga stats",
    summary:
      "Shows records and bytes by user, zone and type. The lines add up to the size of the store. The server may be "
      + "running.",
    options: [
      OperatorAccess.folderOption,
      .init(name: "--json", value: nil, help: "Print JSON on one line."),
    ],
    notes: "Exit codes: 0 done · 64 wrong arguments · 65 damaged data · 73 no data in the folder")

  static let commands = [Command(spec, run)]

  private static func run(_ arguments: Arguments) throws {
    let folder = arguments.value("--data") ?? "./virga-data"
    try OperatorAccess.checkFolder(folder)
    let report: StoreReport
    do { report = try StoppedStore.read(folder) { try StoreReport(of: $0) } } catch {
      throw Storage.unreadable(folder, error)
    }
    if arguments.has("--json") { return try Terminal.print(json: report) }
    Terminal.print(table(report))
  }

  private static func table(_ report: StoreReport) -> String {
    var rows = [["container", "user", "zone", "type", "records", "deleted", "versions", "bytes", "assets", "bytes"]]
    for line in report.lines {
      rows.append(
        [
          "\(line.container)/\(line.environment)", line.user.isEmpty ? "(public)" : line.user, line.zone, line.type,
          "\(line.records)", "\(line.tombstones)", "\(line.versions)", "\(line.recordBytes)", "\(line.assets)",
          "\(line.assetBytes)",
        ])
    }
    func rest(_ name: String, _ bytes: Int64, _ assets: Int = 0, _ assetBytes: Int64 = 0) {
      rows.append([name, "", "", "", "", "", "", "\(bytes)", "\(assets)", "\(assetBytes)"])
    }
    rest("accounts, schemas, subscriptions", report.otherBytes)
    rest("free", report.freeBytes)
    rest("assets without a record", 0, report.unreferencedAssets, report.unclaimedAssetBytes)
    let assets = report.lines.reduce(report.unreferencedAssets) { $0 + $1.assets }
    rest("all", report.databaseBytes, assets, report.assetBytes)
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      row.indices.map { column in
        let padding = String(repeating: " ", count: widths[column] - row[column].count)
        return column < 4 ? row[column] + padding : padding + row[column]
      }.joined(separator: "  ")
    }.joined(separator: "\n")
  }
}
