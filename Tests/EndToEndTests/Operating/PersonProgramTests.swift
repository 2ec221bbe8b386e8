import Foundation
import TestSupport
import Testing
import VirgaAuth
import VirgaSQLite

/// C117: one person's data are taken out whole, can be put in again, and go without leaving a byte.
@Suite(.timeLimit(.minutes(2))) struct PersonProgramTests {
  private static let zone = #""zoneID":{"zoneName":"Diary"}"#

  private func account(_ server: ServerProcess, home: String) async throws -> String {
    let end = try await ProgramRun.run(server.account("show", "--json", home: home))
    let object = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    return try #require(object?["account"] as? String)
  }

  /// Names are compared by their bytes, also where they look alike.
  @Test func namesThatLookAlikeAreExportedBoth() async throws {
    let server = try await ServerProcess()
    let client = try await WebService(server, home: "phone")
    _ = try client.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(Self.zone)}}]}"#)
    let names = ["caf\u{e9}", "cafe\u{301}"]
    let operations = names.map {
      #"{"operationType":"create","record":{"recordName":"\#($0)","recordType":"Note"}}"#
    }
    let saved = try client.call(
      "records/modify", #"{\#(Self.zone),"operations":[\#(operations.joined(separator: ","))]}"#)
    #expect("\(saved)".contains("serverErrorCode") == false, "\(saved)")
    let folder = server.folder.path + "/export"
    let end = try await ProgramRun.run(
      ["export", try await account(server, home: "phone"), folder, "--data", server.data])
    #expect(end.code == 0, "\(end.errors)")
    var found: Set<[UInt8]> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder) where path.hasSuffix(".json") {
      let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(path)"))
      for name in names where data.range(of: Data("\"\(name)\"".utf8)) != nil { found.insert(Array(name.utf8)) }
    }
    #expect(found.count == 2)
  }

  /// Saves a record with a text and an asset of that text, a public record, and a record of two versions.
  private func fill(_ server: ServerProcess, home: String, text: String) async throws -> WebService {
    let client = try await WebService(server, home: home)
    func modify(_ operations: String, zone: String = Self.zone) throws {
      let answer = try client.call(
        "records/modify", "{\(zone.isEmpty ? "" : zone + ",")\"operations\":[\(operations)]}")
      let records = answer.json["records"] as? [[String: Any]] ?? []
      #expect(!records.isEmpty && records.allSatisfy { $0["serverErrorCode"] == nil }, "\(answer)")
    }
    _ = try client.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(Self.zone)}}]}"#)
    let token = #"{"recordName":"photo","recordType":"Photo","fieldName":"file"}"#
    let upload = try client.call("assets/upload", #"{\#(Self.zone),"tokens":[\#(token)]}"#)
    let url = try #require((upload.json["tokens"] as? [[String: Any]])?.first?["url"] as? String)
    let target = String(url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" })
    let sent = try RawConnection(port: server.port)
      .request(requestBytes("POST", target, body: Array("asset of \(text)".utf8)))
    let receipt = try JSONSerialization.jsonObject(with: Data(sent.body)) as? [String: Any]
    let asset = String(
      decoding: try JSONSerialization.data(withJSONObject: #require(receipt?["singleFile"])), as: UTF8.self)
    try modify(
      #"{"operationType":"create","record":{"recordName":"photo","recordType":"Photo","fields":{"file":{"value":\#(asset)}}}}"#
    )
    for version in ["first", "second"] {
      try modify(
        #"{"operationType":"forceUpdate","record":{"recordName":"note","recordType":"Note","fields":{"text":{"value":"\#(version) \#(text)"}}}}"#
      )
    }
    try modify(
      #"{"operationType":"create","record":{"recordName":"child","recordType":"Note","fields":{"of":{"value":{"recordName":"photo","action":"DELETE_SELF"}}}}}"#
    )
    _ = try client.call(
      "subscriptions/modify",
      #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all-\#(text)","subscriptionType":"database"}}]}"#
    )
    // What is watched in the public database is the person's as well.
    for database in ["private", "public"] {
      let kind = #""subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"]"#
      let subscription = #"{"subscriptionID":"\#(database)-\#(text)",\#(kind)}"#
      let answer = try client.call(
        "subscriptions/modify", #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#,
        in: database)
      #expect("\(answer)".contains("serverErrorCode") == false, "\(answer)")
    }
    return client
  }

  private func bytes(of folder: String) throws -> Data {
    var all = Data()
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() {
      let file = URL(fileURLWithPath: "\(folder)/\(path)")
      if try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
        all += try Data(contentsOf: file)
      }
    }
    return all
  }

  /// Whoever is erased is in no share any more, and what they shared is gone for others.
  @Test(arguments: ["guest", "owner"]) func sharesForgetWhoIsErased(erased: String) async throws {
    let server = try await ServerProcess()
    let owner = try await WebService(server, home: "owner")
    _ = try owner.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(Self.zone)}}]}"#)
    let saved = try owner.call(
      "records/modify",
      #"{\#(Self.zone),"operations":[{"operationType":"create","record":{"recordName":"trip","recordType":"Trip"}},"#
        + #"{"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share","#
        + #""forRecord":{"recordName":"trip"},"publicPermission":"READ_WRITE"}}]}"#)
    let records = try #require(saved.json["records"] as? [[String: Any]])
    let guid = try #require(records.last?["shortGUID"] as? String, "\(saved.json)")
    let address = "\(server.endpoint)/share/iCloud.virga.test/development/\(guid)"
    #expect(try await ProgramRun.run(server.account("accept", address, home: "guest")).code == 0)
    let guest = try await WebService(server, home: "guest")
    let zones = try #require(try guest.call("zones/list", in: "shared").json["zones"] as? [[String: Any]])
    let id = try #require(zones.first?["zoneID"] as? [String: Any])
    let theirs = #""zoneID":{"zoneName":"Diary","ownerRecordName":"\#(id["ownerRecordName"] ?? "")"}"#
    let written = try guest.call(
      "records/modify",
      #"{\#(theirs),"operations":[{"operationType":"forceUpdate","record":{"recordName":"trip","recordType":"Trip","fields":{"to":{"value":"Rome"}}}}]}"#,
      in: "shared")
    #expect("\(written)".contains("serverErrorCode") == false, "\(written)")
    let token = try guest.call("changes/database", in: "shared").json["syncToken"] as? String
    let account = try await account(server, home: erased)
    let export = server.folder.path + "/export"
    #expect(try await ProgramRun.run(["export", account, export, "--data", server.data]).code == 0)
    await server.terminate()
    let end = try await ProgramRun.run(["erase", account, "--data", server.data, "--yes"])
    #expect(end.code == 0, "\(end.errors)")
    try await server.restart()
    guard erased == "guest" else {
      let left = try WebService(guest, at: server)
      let list = try left.call("zones/list", in: "shared")
      #expect(list.status == 200 && (list.json["zones"] as? [Any])?.isEmpty == true, "\(list)")
      let changes = try left.call("changes/database", #"{"syncToken":"\#(token ?? "")"}"#, in: "shared")
      #expect(changes.json["serverErrorCode"] as? String == "BAD_REQUEST", "the feed begins anew: \(changes)")
      #expect(
        try left.call("records/lookup", #"{\#(theirs),"records":[{"recordName":"trip"}]}"#, in: "shared").status == 404)
      return
    }
    let left = try WebService(owner, at: server)
    let found = try left.call(
      "records/lookup", #"{\#(Self.zone),"records":[{"recordName":"share"},{"recordName":"trip"}]}"#)
    let share = try #require((found.json["records"] as? [[String: Any]])?.first, "\(found)")
    let people = try #require(share["participants"] as? [[String: Any]])
    #expect(people.count == 1 && people.first?["type"] as? String == "OWNER", "\(people)")
    #expect("\(found)".contains("Rome"))
  }

  @Test func aPersonIsExportedErasedAndImportedAgain() async throws {
    let server = try await ServerProcess()
    _ = try await fill(server, home: "ann", text: "annswords")
    let client = try await fill(server, home: "bob", text: "bobswords")
    let ann = try await account(server, home: "ann")
    // A record of somebody else names her account.
    _ = try client.call(
      "records/modify",
      #"{\#(Self.zone),"operations":[{"operationType":"create","record":{"recordName":"about","recordType":"Note","fields":{"text":{"value":"friend \#(ann) of mine"}}}}]}"#
    )
    let export = server.folder.path + "/export"
    let exported = try await ProgramRun.run(["export", ann, export, "--data", server.data])
    #expect(exported.output == "Exported 3 records and 1 assets to \(export).\n", "\(exported.errors)")
    let json = try String(contentsOfFile: export + "/export.json", encoding: .utf8)
    #expect(!json.contains("bobswords"))
    for part in ["second annswords", "all-annswords", "private-annswords", "public-annswords"] {
      #expect(json.contains(part))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: export + "/assets").count == 1)

    #expect(try await ProgramRun.run(["erase", ann, "--data", server.data, "--yes"]).code == 75)
    await server.terminate()
    let erased = try await ProgramRun.run(["erase", ann, "--data", server.data, "--yes"])
    #expect(erased.code == 0, "\(erased.errors)")
    let left = try bytes(of: server.data)
    #expect(left.range(of: Data("annswords".utf8)) == nil)
    #expect(left.range(of: Data(ann.utf8)) == nil)
    #expect(left.range(of: Data("second bobswords".utf8)) != nil)
    #expect(left.range(of: Data("friend _erased of mine".utf8)) != nil)
    #expect(left.range(of: Data("asset of bobswords".utf8)) != nil)
    #expect(try await ProgramRun.run(["erase", ann, "--data", server.data, "--yes"]).code == 1)
    // As if it had been killed before the files went.
    try Connection(path: server.data + "/virga.sqlite").execute(
      "INSERT INTO entity (kind, key, owner, value) VALUES ('setting', 'erasure.unfinished', '', x'')")
    let file = URL(fileURLWithPath: "\(server.data)/assets/ab/ab01")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("asset of annswords".utf8).write(to: file)
    let finished = try await ProgramRun.run(["erase", ann, "--data", server.data])
    #expect(finished.code == 0 && finished.output.hasPrefix("Finished an erasure"), "\(finished)")
    #expect(try bytes(of: server.data).range(of: Data("annswords".utf8)) == nil)
    #expect(try bytes(of: server.data).range(of: Data("asset of bobswords".utf8)) != nil)
    #expect(try await ProgramRun.run(["erase", ann, "--data", server.data, "--yes"]).code == 1)

    // The other one goes on, and takes what was exported.
    try await server.restart()
    let bob = try await account(server, home: "bob")
    let place = ["--data", server.data, "--endpoint", server.endpoint]
    let imported = try await ProgramRun.run(["import", export, "--user", bob] + place)
    #expect(imported.output == "Imported 3 records.\n", "\(imported.errors)")
    let again = server.folder.path + "/again"
    #expect(try await ProgramRun.run(["export", bob, again, "--data", server.data]).code == 0)
    let text = try String(contentsOfFile: again + "/export.json", encoding: .utf8)
    for part in ["second annswords", "all-annswords", "private-annswords", "public-annswords"] {
      #expect(text.contains(part))
    }
    let assets = try bytes(of: again + "/assets")
    #expect(assets.range(of: Data("asset of annswords".utf8)) != nil)
  }
}
