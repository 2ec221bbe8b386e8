import Foundation
import TestSupport
import Testing

/// A slip of the pen in a name is told, and does nothing.
@Suite(.timeLimit(.minutes(2))) struct NameProgramTests {
  private let server: ServerProcess
  private let client: WebService
  private let account: String

  init() async throws {
    server = try await ServerProcess()
    client = try await WebService(server, home: "home", container: "iCloud.a")
    for database in ["private", "public"] {
      let operation = #"{"operationType":"create","record":{"recordName":"n","recordType":"Note"}}"#
      let answer = try client.call("records/modify", #"{"operations":[\#(operation)]}"#, in: database)
      #expect("\(answer)".contains("serverErrorCode") == false, "\(answer)")
    }
    let shown = try await ProgramRun.run(server.account("show", "--json", home: "home"))
    let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
    account = try #require(object?["account"] as? String)
  }

  private func run(_ words: String...) async throws -> ProgramRun.End {
    try await ProgramRun.run(words + ["--data", server.data])
  }

  private func userName() async throws -> String {
    let listed = try await run("users", "list", "--container", "iCloud.a")
    return try #require(listed.output.firstMatch(of: /user   (_[0-9a-f]{32})/).map { String($0.output.1) })
  }

  @Test func nobodyIsExportedErasedOrImportedFor() async throws {
    let export = server.folder.path + "/export"
    for name in ["_nobody", "_\(String(repeating: "0", count: 32))", "_erased", "_", "nobody"] {
      let end = try await run("export", name, export)
      #expect(end.code == 1 && end.errors.contains("there is no account and no user \(name)"), "\(end)")
      #expect(!FileManager.default.fileExists(atPath: export))
    }
    #expect(try await run("export", try await userName(), export).code == 0)
    for user in ["nobody", "_nobody"] {
      let end = try await run("import", export, "--user", user)
      #expect(end.code == 1 && end.errors.contains("there is no user '\(user)'"), "\(end)")
    }
    #expect(try await run("stats").output.contains("_nobody") == false)
    let user = try await userName()
    await server.terminate()
    #expect(try await run("erase", "_nobody", "--yes").code == 1)
    #expect(try await run("erase", user, "--yes").code == 0)
    #expect(try await run("erase", user, "--yes").code == 1)
  }

  @Test func nobodyHasRolesOrPublicRecords() async throws {
    for name in ["nobody", "_nobody"] {
      let roles = try await run("users", "roles", name, "--container", "iCloud.a")
      #expect(roles.code == 1 && roles.errors.contains("there is no user '\(name)'"), "\(roles)")
    }
    #expect(try await run("users", "roles", account, "--container", "iCloud.a").code == 0)
    #expect(try await run("users", "roles", try await userName(), "--container", "iCloud.a").code == 0)
    let place = ["--container", "iCloud.a", "--database", "public", "--data", server.data]
    let nobody = try await ProgramRun.run(["records", "get", "n", "--user", "_nobody"] + place)
    #expect(nobody.code == 1 && nobody.errors.contains("there is no user '_nobody'"))
    #expect(try await ProgramRun.run(["records", "get", "n"] + place).code == 0)
  }

  @Test func aContainerOfWhichThereIsNothingIsTold() async throws {
    let text = "the server has nothing for container iCloud.typo; is the name right?"
    let place = ["--endpoint", server.endpoint, "--home", "\(server.folder.path)/home", "--container"]
    let file = server.folder.path + "/schema.ckdb"
    try "DEFINE SCHEMA RECORD TYPE Note (text STRING);".write(toFile: file, atomically: true, encoding: .utf8)
    for words in [["deploy", "--yes"], ["reset", "--yes"]] {
      let end = try await ProgramRun.run(["schema"] + words + place + ["iCloud.typo"])
      #expect(end.code == 1 && end.errors.contains(text) && end.output.isEmpty, "\(end)")
      #expect(try await ProgramRun.run(["schema"] + words + place + ["iCloud.a"]).code == 0)
    }
    for words in [["validate", "--file", file], ["export"], ["diff"]] {
      let end = try await ProgramRun.run(["schema"] + words + place + ["iCloud.typo"])
      #expect(end.code == 0 && end.errors.contains(text), "\(end)")
    }
    let known = try await ProgramRun.run(["schema", "export"] + place + ["iCloud.a"])
    #expect(known.code == 0 && known.errors.isEmpty, "\(known)")
    let users = try await run("users", "list", "--container", "iCloud.typo")
    #expect(users.code == 0 && users.errors.contains(text))
    #expect(try await run("users", "list", "--container", "iCloud.a").errors.isEmpty)
    for kind in ["tokens", "keys"] {
      let end = try await run(kind, "list", "--container", "iCloud.typo")
      #expect(end.code == 0 && end.errors.contains(text), "\(end)")
      #expect(try await run(kind, "list", "--container", "iCloud.a").errors.isEmpty)
    }
  }

  /// What no address can name is refused where it is chosen.
  @Test(arguments: ["a/b", "iCloud y", "_x", "1a"]) func containersAreNamedAlikeEverywhere(name: String) async throws {
    let key = server.folder.path + "/public.pem"
    try Data("no key".utf8).write(to: URL(fileURLWithPath: key))
    for words in [
      ["tokens", "create"], ["tokens", "list"], ["keys", "add", key], ["keys", "list"], ["users", "list"],
      ["users", "roles", "_x"], ["zones", "list", "--user", "_x"],
    ] {
      let end = try await ProgramRun.run(words + ["--container", name, "--data", server.data])
      #expect(end.code == 64 && end.errors.contains("--container "), "\(end)")
    }
    let token = try await ProgramRun.run(server.account("token", "--container", name, home: "home"))
    #expect(token.code == 1 && token.errors.contains("container "), "\(token)")
    let serving = try await ProgramRun.run(["serve", "--ephemeral", "--port", "0", "--container", name])
    #expect(serving.code == 64 && serving.errors.contains("--container "), "\(serving)")
  }

  // MARK: Records

  private func records(_ words: String..., input: String? = nil) async throws -> ProgramRun.End {
    let place = ["--container", "iCloud.a", "--user", account, "--data", server.data]
    let run = try ProgramRun(["records"] + words + place)
    if let input { run.type(input) }
    run.closeInput()
    return await run.end()
  }

  @Test(arguments: [
    (#"{"recordName":"n","recordType":"Note","feilds":{"text":{"value":"x"}}}"#, "a record has no key feilds"),
    (#"{"recordName":"n","recordType":"Note","fields":{},"parnet":{}}"#, "a record has no key parnet"),
    (#"{"recordName":"n","recordType":"Note"}"#, "fields is missing"),
    (#"{"recordName":"n","recordType":"Note","fields":[]}"#, "fields is missing or not an object"),
    (#"{"recordType":"Note","fields":{}}"#, "standard input: recordName is missing"),
    (#"[]"#, "standard input is JSON, but not an object with one record"),
    (#"{"recordName":"n", oops}"#, "standard input is not JSON: "),
  ])
  func aRecordIsNotEmptiedByATypingError(input: String, text: String) async throws {
    let before = try await records("get", "n").output
    let end = try await records("put", input: input)
    #expect(end.code == 65 && end.errors.contains(text), "\(end)")
    #expect(try await records("get", "n").output == before)
  }

  @Test func whatWasGotCanBePut() async throws {
    let got = try await records("get", "n", "--json").output
    #expect(try await records("put", input: got).code == 0)
  }

  /// A double that happens to be whole is no integer, and the last digits count.
  @Test func numbersAreCarriedAsTheyAre() async throws {
    let fields = [
      #""double":{"type":"DOUBLE","value":1.0}"#, #""int":{"type":"INT64","value":9007199254740993}"#,
      #""list":{"type":"DOUBLE_LIST","value":[2.0,0.1]}"#, #""long":{"type":"DOUBLE","value":0.30000000000000004}"#,
      #""tiny":{"type":"DOUBLE","value":5e-324}"#, #""untyped":{"value":3.0}"#,
    ]
    let untyped = #""untyped":{"type":"DOUBLE","value":3.0}"#
    let record = #"{"recordName":"m","recordType":"Measure","fields":{\#(fields.joined(separator: ","))}}"#
    func check(_ end: ProgramRun.End) {
      #expect(end.code == 0)
      for field in fields.dropLast() + [untyped] { #expect(end.output.contains(field), "\(end)") }
    }
    check(try await records("put", "--json", input: record))
    let got = try await records("get", "m", "--json")
    check(got)
    check(try await records("put", "--json", input: got.output))
    #expect(try await records("put", input: #"{"recordName":"m","recordType":"Measure","fields":{}}"#).code == 0)
    check(try await records("restore", "m", "--json"))
    let export = server.folder.path + "/export"
    #expect(try await run("export", account, export).code == 0)
    #expect(try await records("delete", "m", "--yes").code == 0)
    #expect(try await run("import", export, "--user", account).code == 0)
    check(try await records("get", "m", "--json"))
    let filter = #"{"comparator":"EQUALS","fieldName":"long","fieldValue":{"value":0.30000000000000004}}"#
    check(try await records("query", "--type", "Measure", "--filter", filter, "--json"))
    let schema = try await ProgramRun.run([
      "schema", "export", "--container", "iCloud.a", "--endpoint", server.endpoint, "--home",
      server.folder.path + "/home",
    ])
    #expect(schema.output.contains(/untyped +DOUBLE/), "\(schema)")
  }

  /// What an app wrote beside the fields outlives all that puts a record back.
  @Test func keysOfAnAppsOwnAreKept() async throws {
    let record = #"{"recordName":"own","recordType":"Note","fields":{},"appKey":{"deep":[1]}}"#
    _ = try client.call("records/modify", #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
    let kept = #""appKey":{"deep":[1]}"#
    let got = try await records("get", "own", "--json").output
    #expect(got.contains(kept))
    let put = try await records("put", "--json", input: got)
    #expect(put.code == 0 && put.output.contains(kept), "\(put)")
    let plain = #"{"recordName":"own","recordType":"Note","fields":{}}"#
    #expect(try await records("put", "--json", input: plain).output.contains("appKey") == false)
    #expect(try await records("restore", "own", "--json").output.contains(kept))
    let export = server.folder.path + "/export"
    #expect(try await run("export", account, export).code == 0)
    #expect(try await records("put", "--json", input: plain).code == 0)
    #expect(try await run("import", export, "--user", account).code == 0)
    #expect(try await records("get", "own", "--json").output.contains(kept))
  }

  @Test func aRecordThatIsNotThereIsNotDeleted() async throws {
    let end = try await records("delete", "typo", "--yes")
    #expect(end.code == 1 && end.errors == "virga: typo: Record not found\n" && end.output.isEmpty, "\(end)")
    #expect(try await records("delete", "n", "--yes").code == 0)
  }

  @Test func aZoneThatIsNotThereIsNamed() async throws {
    for words in [["get", "n"], ["history", "n"], ["delete", "n", "--yes"], ["query", "--type", "Note"]] {
      let place = ["--container", "iCloud.a", "--user", account, "--data", server.data, "--zone", "Typo"]
      let end = try await ProgramRun.run(["records"] + words + place)
      #expect(end.code == 1 && end.errors.contains("Zone does not exist: Typo"), "\(words) \(end)")
    }
    let place = ["--container", "iCloud.a", "--user", account, "--data", server.data]
    let end = try await ProgramRun.run(["zones", "delete", "Typo", "--yes"] + place)
    #expect(end.code == 1 && end.errors == "virga: Typo: Zone does not exist\n", "\(end)")
  }
}
