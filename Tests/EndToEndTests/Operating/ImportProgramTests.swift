import Foundation
import TestSupport
import Testing

/// An export is saved again as far as it can be, and what cannot is named.
@Suite(.timeLimit(.minutes(2))) struct ImportProgramTests {
  private static let zone = #""zoneID":{"zoneName":"Diary"}"#
  private let server: ServerProcess
  private let export: String

  /// An export of somebody with a user record, a zone with the share of a record, a zone that is shared whole, and another.
  init() async throws {
    server = try await ServerProcess()
    export = server.folder.path + "/export"
    let client = try await WebService(server, home: "ann")
    func call(_ operation: String, _ body: String, in database: String = "private") throws {
      let answer = try client.call(operation, body, in: database)
      #expect(answer.status == 200 && "\(answer)".contains("serverErrorCode") == false, "\(answer)")
    }
    _ = try client.call("users/caller", in: "public")
    for name in ["Diary", "Whole", "Zoo"] {
      let zone = #""zoneID":{"zoneName":"\#(name)"}"#
      try call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
      let record = #"{"recordName":"in \#(name)","recordType":"Note"}"#
      try call("records/modify", #"{\#(zone),"operations":[{"operationType":"create","record":\#(record)}]}"#)
    }
    let share = #"{"recordName":"share","recordType":"cloudkit.share","forRecord":{"recordName":"in Diary"}}"#
    try call("records/modify", #"{\#(Self.zone),"operations":[{"operationType":"create","record":\#(share)}]}"#)
    let whole = #"{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share"}"#
    try call(
      "records/modify",
      #"{"zoneID":{"zoneName":"Whole"},"operations":[{"operationType":"create","record":\#(whole)}]}"#)
    let open = #"{"recordName":"open","recordType":"Note"}"#
    try call("records/modify", #"{"operations":[{"operationType":"create","record":\#(open)}]}"#, in: "public")
    let end = try await ProgramRun.run(["export", try await account("ann"), export, "--data", server.data])
    #expect(end.output == "Exported 7 records and 0 assets to \(export).\n", "\(end)")
  }

  private func account(_ home: String) async throws -> String {
    let end = try await ProgramRun.run(server.account("show", "--json", home: home))
    let object = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    return try #require(object?["account"] as? String)
  }

  private func importing(_ folder: String, for home: String) async throws -> ProgramRun.End {
    try await ProgramRun.run(["import", folder, "--user", try await account(home), "--data", server.data])
  }

  @Test(arguments: ["ann", "bob"]) func sharesAreLeftOutAndAllElseIsSaved(home: String) async throws {
    let end = try await importing(export, for: home)
    // What the first one made in the public database is still theirs.
    let isSamePerson = home == "ann"
    #expect(end.code == (isSamePerson ? 0 : 1), "\(end)")
    #expect(end.output == "Imported \(isSamePerson ? 4 : 3) records.\n")
    #expect(end.errors.contains("public zone _defaultZone record open: ") == !isSamePerson)
    #expect(end.errors.contains("private zone Diary record share (a share)"))
    #expect(end.errors.contains("private zone Whole record cloudkit.zoneshare (a share)"))
    let client = try await WebService(server, home: home)
    for name in ["Diary", "Whole", "Zoo"] {
      let found = try client.call(
        "records/lookup", #"{"zoneID":{"zoneName":"\#(name)"},"records":[{"recordName":"in \#(name)"}]}"#)
      #expect("\(found)".contains("serverErrorCode") == false, "\(found)")
    }
    // Once more is the same.
    #expect(try await importing(export, for: home).output == end.output)
  }

  @Test func whatCannotBeSavedIsNamedAndTheRestIs() async throws {
    let path = export + "/export.json"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let wrong = text.replacingOccurrences(of: #""in Diary""#, with: #""_in Diary""#)
      .replacingOccurrences(of: #""zone" : "Whole""#, with: #""zone" : "_Whole""#)
    #expect(wrong != text)
    try wrong.write(toFile: path, atomically: true, encoding: .utf8)
    let end = try await importing(export, for: "ann")
    #expect(end.code == 1 && end.output == "Imported 2 records.\n", "\(end)")
    #expect(end.errors.contains("zone Diary record _in Diary: record name begins with an underscore"), "\(end)")
    #expect(end.errors.contains("zone _Whole: zone name begins with an underscore"), "\(end)")
  }

  @Test func anExportThatIsCutOffIsDamaged() async throws {
    let path = export + "/export.json"
    #expect(truncate(path, 100) == 0)
    let end = try await importing(export, for: "bob")
    #expect(end.code == 65 && end.errors == "virga: \(path) is not JSON\n", "\(end)")
    try Data("[]".utf8).write(to: URL(fileURLWithPath: path))
    #expect(try await importing(export, for: "bob").code == 65)
    try FileManager.default.removeItem(atPath: path)
    #expect(try await importing(export, for: "bob").code == 66)
  }

  // MARK: Assets and subscriptions

  /// A server behind a proxy that does not run, and an export of a record with an asset there.
  private func proxied() async throws -> (server: ServerProcess, account: String, export: String) {
    let server = try await ServerProcess(options: ["--base-url", "http://127.0.0.1:9/sync"])
    let client = try await WebService(server, home: "ann")
    let token = #"{"recordName":"r","recordType":"Photo","fieldName":"file"}"#
    let answer = try client.call("assets/upload", #"{"tokens":[\#(token)]}"#).json
    let url = try #require((answer["tokens"] as? [[String: Any]])?.first?["url"] as? String)
    let target = try #require(url.firstRange(of: "/assets/1/").map { String(url[$0.lowerBound...]) })
    let bytes = [UInt8](repeating: 7, count: 300_000)
    let uploaded = try RawConnection(port: server.port).request(requestBytes("POST", target, body: bytes))
    let receipt = try #require(try JSONSerialization.jsonObject(with: Data(uploaded.body)) as? [String: Any])
    let file = try JSONSerialization.data(withJSONObject: receipt["singleFile"] ?? receipt)
    let fields = #"{"file":{"value":\#(String(decoding: file, as: UTF8.self)),"type":"ASSETID"}}"#
    let record = #"{"recordName":"r","recordType":"Photo","fields":\#(fields)}"#
    let saved = try client.call(
      "records/modify", #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
    #expect("\(saved)".contains("serverErrorCode") == false, "\(saved)")
    let shown = try await ProgramRun.run(server.account("show", "--json", home: "ann"))
    let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
    let account = try #require(object?["account"] as? String)
    let export = server.folder.path + "/export"
    let end = try await ProgramRun.run(["export", account, export, "--data", server.data])
    #expect(end.output == "Exported 1 records and 1 assets to \(export).\n", "\(end)")
    return (server, account, export)
  }

  /// Where devices find the server may be no place for its operator.
  @Test(arguments: [true, false]) func assetsGoWhereTheServerAnswered(isServing: Bool) async throws {
    let (server, account, export) = try await proxied()
    if !isServing { await server.terminate() }
    let end = try await ProgramRun.run(["import", export, "--user", account, "--data", server.data])
    #expect(end.code == 0 && end.output == "Imported 1 records.\n", "\(end)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: server.data + "/uploads").isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: export + "/assets").count == 1)
    let gone = try await ProgramRun.run(
      ["import", export, "--user", account, "--endpoint", "http://127.0.0.1:9"],
      environment: ["VIRGA_OPERATOR_TOKEN": "a token that is long enough"])
    #expect(gone.code == 69, "\(gone)")
  }

  @Test func anExportThatFailsLeavesNothing() async throws {
    let (server, account, export) = try await proxied()
    await server.terminate()
    let assets = server.data + "/assets"
    for name in try FileManager.default.contentsOfDirectory(atPath: assets) {
      try FileManager.default.removeItem(atPath: "\(assets)/\(name)")
    }
    let other = server.folder.path + "/other"
    let end = try await ProgramRun.run(["export", account, other, "--data", server.data])
    #expect(end.code == 65, "\(end)")
    #expect(!FileManager.default.fileExists(atPath: other))
    // What was there before is another's.
    #expect(try await ProgramRun.run(["export", account, export, "--data", server.data]).code == 73)
    #expect(FileManager.default.fileExists(atPath: export + "/export.json"))
  }

  @Test func moreSubscriptionsThanOneRequestTakesAreSaved() async throws {
    let subscriptions = (0..<450).map {
      #"{"subscriptionID":"s\#($0)","subscriptionType":"zone","zoneID":{"zoneName":"Zoo"}}"#
    }
    let database =
      #"{"container":"iCloud.virga.test","environment":"development","database":"private","zones":[],"#
      + #""subscriptions":[\#(subscriptions.joined(separator: ","))]}"#
    let text = #"{"format":"virga-export-1","databases":[\#(database)]}"#
    try Data(text.utf8).write(to: URL(fileURLWithPath: export + "/export.json"))
    let end = try await importing(export, for: "ann")
    #expect(end.code == 0 && end.errors.isEmpty, "\(end)")
    let client = try await WebService(server, home: "ann")
    let found = try client.call("subscriptions/list").json["subscriptions"] as? [Any]
    #expect(found?.count == 450)
  }
}
