import Foundation
import TestSupport
import Testing

/// C127: a small file system for temporary files stops nothing.
@Suite(.timeLimit(.minutes(3)), .enabled(if: SmallDisk.isAvailable, "mounting a small disk needs root"))
struct SmallTemporaryFolderTests {
  private static let recordCount = 6_000

  @Test func everyCommandWorksWithLittleRoomForTemporaryFiles() async throws {
    let disk = try #require(SmallDisk(kilobytes: 256))
    let environment = ["TMPDIR": disk.path]
    let server = try await ServerProcess(environment: environment)
    let client = try await WebService(server, home: "home")
    let zone = #""zoneID":{"zoneName":"Diary"}"#
    _ = try client.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
    let text = String(repeating: "rain ", count: 400)
    for start in stride(from: 0, to: Self.recordCount, by: 200) {
      let operations = (start..<start + 200).map { number in
        let fields = #"{"n":{"value":\#(number * 7_919 % Self.recordCount)},"text":{"value":"\#(text)"}}"#
        let record = #"{"recordName":"r\#(number)","recordType":"Note","fields":\#(fields)}"#
        return #"{"operationType":"create","record":\#(record)}"#
      }
      let answer = try client.call(
        "records/modify", #"{\#(zone),"operations":[\#(operations.joined(separator: ","))]}"#)
      try #require(answer.status == 200, "\(answer.json)")
    }
    let shown = try await ProgramRun.run(server.account("show", "--json", home: "home"))
    let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
    let account = try #require(object?["account"] as? String)
    let place = ["--container", "iCloud.virga.test", "--user", account, "--zone", "Diary", "--data", server.data]

    func run(_ words: String...) async throws -> ProgramRun.End {
      let end = try await ProgramRun.run(words, environment: environment)
      #expect(end.code == 0, "\(words) \(end.errors)")
      return end
    }
    for isServing in [true, false] {
      if !isServing { await server.terminate() }
      let all = #"{"comparator":"GREATER_THAN","fieldName":"n","fieldValue":{"value":-1}}"#
      let query = ["records", "query", "--type", "Note", "--filter", all, "--sort", "-n", "--limit", "500", "--json"]
      let found = try await ProgramRun.run(query + place, environment: environment)
      #expect(found.code == 0 && found.output.split(separator: "\n").count == 500, "\(found.errors)")
      #expect(try await run("stats", "--data", server.data).output.contains("Note"))
    }
    let backup = server.folder.path + "/backup"
    _ = try await run("backup", backup, "--data", server.data)
    let restored = server.folder.path + "/restored"
    _ = try await run("restore", backup, "--data", restored)
    #expect(try await run("stats", "--data", restored).output.contains(" \(Self.recordCount) "))
    _ = try await run("erase", account, "--yes", "--data", restored)
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
  }
}
