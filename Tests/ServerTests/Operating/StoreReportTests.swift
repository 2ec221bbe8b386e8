import FoundationEssentials
import Testing
import VirgaModel

@testable import VirgaServer

// C117
@Suite struct StoreReportTests {
  @Test(arguments: StoreKind.allCases)
  func theLinesAddUpToTheStoresSize(kind: StoreKind) async throws {
    let store = try kind.open()
    for user in ["_ann", "_bob"] as [UserName] {
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: user)
      try await store.write { transaction in
        try transaction.put(DatabaseRow(key: key, incarnation: 1))
        var zone = ZoneRow(database: key, name: "Diary", incarnation: 1)
        try transaction.put(&zone)
        try transaction.put(AssetRow(checksum: "sum\(user)", size: 5_000, uploaded: Timestamp(milliseconds: 0)))
        for number in 1...2_000 {
          // The second user's records are ten times as long.
          let text = String(repeating: "x", count: user == "_ann" ? 50 : 500)
          var record = StoredRecord(
            name: RecordName("r\(number)"), type: number % 4 == 0 ? "Tag" : "Note", sequence: Int64(number),
            created: stamp(1, user: user), modified: stamp(1, user: user),
            fieldsJSON: Array(#"{"t":{"value":"\#(text)","type":"STRING"}}"#.utf8))
          if number == 1 {
            let file = #"{"fileChecksum":"sum\#(user)","size":5000}"#
            record.fieldsJSON = Array(#"{"f":{"value":\#(file),"type":"ASSETID"}}"#.utf8)
            record.assetChecksums = ["sum\(user)"]
          }
          try transaction.put(record, in: zone, replacing: nil, keepsVersion: true)
        }
      }
    }
    let report = try await store.read { try StoreReport(of: $0) }
    #expect(report.lines.map(\.records) == [1_500, 500, 1_500, 500])
    #expect(report.lines.map(\.assetBytes) == [5_000, 0, 5_000, 0])
    #expect(report.unreferencedAssets == 0)
    let sum = report.lines.reduce(report.otherBytes + report.freeBytes) { $0 + $1.recordBytes }
    #expect(sum == report.databaseBytes)
    if let folder = store.folder {
      let file = try FileManager.default.attributesOfItem(atPath: folder.path + "/virga.sqlite")[.size] as? Int64
      let log = try FileManager.default.attributesOfItem(atPath: folder.path + "/virga.sqlite-wal")[.size] as? Int64
      #expect(report.databaseBytes <= (file ?? 0) + (log ?? 0))
    }
    // Nearly all of it is records, and the long ones take what they take.
    let bytes = report.lines.map(\.recordBytes)
    #expect(report.otherBytes * 5 < report.databaseBytes)
    #expect(bytes[2] > 3 * bytes[0])
  }
}
