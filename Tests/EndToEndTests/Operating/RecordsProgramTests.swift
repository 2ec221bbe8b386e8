import Foundation
import TestSupport
import Testing

/// `virga records` over many records: from a feed, from JSON lines, under conditions; and what all lists have in common.
@Suite(.timeLimit(.minutes(3))) struct RecordsProgramTests {
  private let server: ServerProcess
  private let client: WebService
  private let account: String
  private let environment: [String: String]

  init() async throws {
    server = try await ServerProcess()
    client = try await WebService(server, home: "home", container: "iCloud.a")
    let zone = #""zoneID":{"zoneName":"Diary"}"#
    _ = try client.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
    let shown = try await ProgramRun.run(server.account("show", "--json", home: "home"))
    let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
    account = try #require(object?["account"] as? String)
    environment = ["VIRGA_CONTAINER": "iCloud.a", "VIRGA_DATA": server.data]
  }

  private func run(_ words: [String], input: String? = nil) async throws -> ProgramRun.End {
    let run = try ProgramRun(words, environment: environment)
    if let input { run.type(input) }
    run.closeInput()
    return await run.end()
  }

  private func records(
    _ words: String..., zone: String = "Diary", input: String? = nil
  ) async throws -> ProgramRun.End {
    try await run(["records"] + words + ["--user", account, "--zone", zone], input: input)
  }

  private func objects(_ end: ProgramRun.End) throws -> [[String: Any]] {
    try end.output.split(separator: "\n").map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
    }
  }

  private func names(_ end: ProgramRun.End) throws -> [String] {
    try objects(end).compactMap { $0["recordName"] as? String }
  }

  private static func line(_ name: String, _ text: String = "rain") -> String {
    #"{"recordName":"\#(name)","recordType":"Note","fields":{"text":{"value":"\#(text)"}}}"#
  }

  // MARK: Lists

  /// Without any index: the type has none here.
  @Test(arguments: ["Diary", "_defaultZone"]) func allRecordsOfAZoneAreListed(zone: String) async throws {
    let wanted = (0..<450).map { "r\($0)" }
    let put = try await records(
      "put", "--json", zone: zone, input: wanted.map { Self.line($0) }.joined(separator: "\n"))
    #expect(try put.code == 0 && names(put) == wanted, "\(put.errors)")
    #expect(try await records("delete", "r7", "--yes", zone: zone).code == 0)
    let other = #"{"recordName":"other","recordType":"Tag","fields":{}}"#
    #expect(try await records("put", zone: zone, input: other).code == 0)
    let rest = wanted.filter { $0 != "r7" }
    for isServing in [true, false] {
      if !isServing { await server.terminate() }
      let all = try await records("list", "--json", zone: zone)
      #expect(try all.code == 0 && all.errors.isEmpty && names(all) == rest + ["other"], "\(all.errors)")
      #expect(try names(try await records("list", "--type", "Tag", "--json", zone: zone)) == ["other"])
      let some = try await records("list", "--limit", "201", zone: zone)
      #expect(some.output.split(separator: "\n").count == 201 && some.output.hasPrefix("r0  Note  "))
      #expect(some.errors == "virga: there are more than these 201; to print them, give a higher --limit or none\n")
      #expect(try await records("list", "--limit", "450", zone: zone).errors.isEmpty)
    }
  }

  @Test func changesGoOnFromTheTokenOfTheLastCall() async throws {
    #expect(try await records("put", input: (0..<250).map { Self.line("r\($0)") }.joined(separator: "\n")).code == 0)
    let first = try objects(try await records("changes", "--json"))
    #expect(first.count == 251 && first.last?["moreComing"] as? Bool == false)
    let token = try #require(first.last?["syncToken"] as? String)
    #expect(try await records("put", input: Self.line("r3", "snow")).code == 0)
    #expect(try await records("delete", "r4", "--yes").code == 0)
    let second = try objects(try await records("changes", "--since", token, "--json"))
    #expect(second.dropLast().compactMap { $0["recordName"] as? String } == ["r3", "r4"])
    #expect(second[1]["deleted"] as? Bool == true)
    let text = try await records("changes", "--since", token).output.split(separator: "\n")
    #expect(text.count == 3 && text[0].hasPrefix("saved    r3  Note  ") && text[1] == "deleted  r4", "\(text)")
    #expect(text[2].hasPrefix("Token: "))
    // In parts, which end with a page.
    var names: Set<String> = []
    var part = try objects(try await records("changes", "--limit", "100", "--json"))
    var calls = 1
    while part.last?["moreComing"] as? Bool == true {
      names.formUnion(part.compactMap { $0["recordName"] as? String })
      let token = try #require(part.last?["syncToken"] as? String)
      part = try objects(try await records("changes", "--limit", "100", "--since", token, "--json"))
      calls += 1
    }
    names.formUnion(part.compactMap { $0["recordName"] as? String })
    #expect(names.subtracting(["r4"]).count == 249 && calls > 1)
    let wrong = try await records("changes", "--since", "nonsense")
    #expect(wrong.code == 1 && !wrong.errors.isEmpty)
    #expect(try await records("changes", zone: "_defaultZone").errors.contains("cannot get changes in default zone"))
  }

  // MARK: Several records

  @Test func severalNamesAndLinesAreTaken() async throws {
    #expect(
      try await records("put", input: [Self.line("a"), Self.line("b"), Self.line("c")].joined(separator: "\n\n")).code
        == 0)
    let got = try await records("get", "a", "c", "--json")
    #expect(try got.code == 0 && names(got) == ["a", "c"])
    let some = try await records("get", "a", "x", "y", "--json")
    #expect(try some.code == 1 && names(some) == ["a"])
    #expect(
      some.errors
        == "virga: 2 of 3 records were not found:\n  x: Record not found\n  y: Record not found\n", "\(some.errors)")
    let again = try await records("get", "--file", "-", "--json", input: got.output)
    #expect(again.output == got.output)
    let file = server.folder.path + "/names.jsonl"
    try got.output.write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try await records("delete", "--file", file, "--yes").code == 0)
    #expect(try names(try await records("list", "--json")) == ["b"])
    let gone = try await records("delete", "b", "a", "--yes", "--json")
    #expect(gone.code == 1 && gone.errors == "virga: 1 of 2 records were not deleted:\n  a: Record not found\n")
    #expect(try await records("list").output.isEmpty)
    #expect(try await records("get").code == 64)
    #expect(try await records("get", "a", "--file", file).code == 64)
    #expect(try await records("get", "--file", "/nonexistent").code == 66)
  }

  @Test func oneLineThatIsWrongIsNamedAndNothingIsSaved() async throws {
    let lines = [Self.line("a"), Self.line("b"), #"{"recordName":"c", oops}"#]
    let end = try await records("put", input: lines.joined(separator: "\n"))
    #expect(end.code == 65 && end.errors.contains("standard input, line 3 is not JSON: "), "\(end)")
    let empty = try await records("put", input: Self.line("a") + "\n" + #"{"recordType":"Note","fields":{}}"#)
    #expect(empty.code == 65 && empty.errors.contains("standard input, line 2: recordName is missing"), "\(empty)")
    #expect(try await records("list").output.isEmpty)
  }

  /// What the server refuses is named; the rest is saved.
  @Test func aRefusedRecordStopsNoOther() async throws {
    let wrong = #"{"recordName":"_b","recordType":"Note","fields":{}}"#
    let end = try await records(
      "put", "--json", input: [Self.line("a"), wrong, Self.line("c")].joined(separator: "\n"))
    #expect(end.code == 1 && end.errors.hasPrefix("virga: 1 of 3 records were not saved:\n  _b: "), "\(end)")
    #expect(try names(end) == ["a", "c"])
  }

  // MARK: Conditions

  @Test func aRecordIsSavedOnlyUnderItsTag() async throws {
    func put(_ text: String, _ words: String...) async throws -> ProgramRun.End {
      try await run(
        ["records", "put", "--json", "--user", account, "--zone", "Diary"] + words, input: Self.line("n", text))
    }
    func tag(_ end: ProgramRun.End) throws -> String {
      try #require(try objects(end).first?["recordChangeTag"] as? String, "\(end)")
    }
    let first = try await put("one", "--if-new")
    #expect(first.code == 0)
    let taken = try await put("two", "--if-new")
    #expect(taken.code == 1 && taken.errors.contains("n: "), "\(taken)")
    let old = try tag(first)
    let second = try await put("two", "--if-tag", old)
    #expect(second.code == 0)
    let stale = try await put("three", "--if-tag", old)
    #expect(stale.code == 1 && !stale.errors.isEmpty && stale.output.isEmpty, "\(stale)")
    #expect(try await records("get", "n").output.contains("two"))
    // With the tag that a record's own JSON has.
    let got = try await records("get", "n", "--json").output
    #expect(try await records("put", "--if-unchanged", input: got).code == 0)
    let late = try await records("put", "--if-unchanged", input: got)
    #expect(late.code == 1 && !late.errors.isEmpty)
    #expect(try await records("put", "--if-unchanged", input: Self.line("n")).code == 65)
    let two = try await records("put", "--if-tag", old, input: Self.line("a") + "\n" + Self.line("b"))
    #expect(two.code == 64 && two.errors.contains("--if-tag works for one record only"))
    #expect(try await put("x", "--if-tag", old, "--if-new").code == 64)
  }

  // MARK: What all commands have in common

  @Test func variablesOfTheEnvironmentAreDefaults() async throws {
    #expect(try await run(["zones", "list", "--user", account]).output == "_defaultZone\nDiary\n")
    #expect(try await run(["stats"]).code == 0)
    let other = try await run(["zones", "list", "--user", account, "--container", "iCloud.b"])
    #expect(other.code == 0 && other.output == "_defaultZone\n", "\(other)")
    let wrong = try await run(["stats", "--data", "/nonexistent"])
    #expect(wrong.code == 73)
    // A server that is named is meant, whatever the folder is.
    let away = try await run([
      "tokens", "list", "--endpoint", "http://127.0.0.1:1", "--home", server.folder.path + "/h",
    ])
    #expect(away.code == 69, "\(away)")
    let none = try await ProgramRun.run(["zones", "list", "--user", account, "--data", server.data])
    #expect(none.code == 64 && none.errors.contains("--container is missing"))
  }

  @Test func containersAreListed() async throws {
    #expect(try await run(["tokens", "create", "--container", "iCloud.token"]).code == 0)
    #expect(try await records("put", input: Self.line("a")).code == 0)
    for isServing in [true, false] {
      if !isServing { await server.terminate() }
      let list = try await run(["containers", "list"])
      #expect(list.output == "iCloud.a  development: 1 user\niCloud.token  no data\n", "\(list)")
      let objects = try objects(try await run(["containers", "list", "--json"]))
      #expect(objects.map { $0["container"] as? String } == ["iCloud.a", "iCloud.token"])
    }
  }

  /// Every list with `--json` is one object a line.
  @Test func listsHaveOneForm() async throws {
    #expect(try await records("put", input: Self.line("a")).code == 0)
    for name in ["x", "y"] { #expect(try await run(["tokens", "create", "--name", name]).code == 0) }
    let place = ["--user", account, "--zone", "Diary"]
    for words in [
      ["tokens", "list"], ["users", "list"], ["containers", "list"], ["zones", "list", "--user", account],
      ["records", "list"] + place, ["records", "changes"] + place, ["records", "history", "a"] + place,
      ["records", "get", "a"] + place,
    ] {
      let end = try await run(words + ["--json"])
      #expect(try end.code == 0 && !objects(end).isEmpty, "\(words) \(end)")
    }
    let devices = try await ProgramRun.run(server.account("devices", "--json", home: "home"))
    #expect(try objects(devices).count == 1)
  }

  /// Nothing is lost by a slip: without an answer nothing happens.
  @Test func whatCannotBeUndoneIsAskedFor() async throws {
    #expect(try await records("put", input: Self.line("a")).code == 0)
    let made = try objects(try await run(["tokens", "create", "--name", "site", "--json"]))
    let token = try #require(made.first?["id"] as? String)
    let device = try #require(
      try objects(try await ProgramRun.run(server.account("devices", "--json", home: "home"))).first?["id"] as? String)
    let place = ["--user", account, "--zone", "Diary"]
    for (words, question) in [
      (["records", "delete", "a"] + place, "Delete record a of zone Diary?"),
      (["zones", "delete", "Diary", "--user", account], "Delete zone Diary with all its records?"),
      (["tokens", "revoke", token], "Revoke API token 'site' of iCloud.a and its sign-ins?"),
      (server.account("remove", device, home: "home"), "Remove it?"),
      (["erase", account], "Erase all data of \(account) for good?"),
    ] {
      for answer in ["n", nil] {
        let end = try await run(words, input: answer)
        #expect(end.code == 1 && end.errors.contains(question), "\(words) \(end)")
        #expect(end.errors.contains("; to answer yes, add --yes"), "\(end)")
      }
    }
    #expect(try names(try await records("list", "--json")) == ["a"])
    #expect(try await run(["tokens", "list"]).output.contains(token))
    #expect(try await run(["records", "delete", "--file", "-"] + place, input: Self.line("a")).code == 64)
    #expect(try await run(["records", "delete", "a"] + place, input: "y").code == 0)
    #expect(try await run(["tokens", "revoke", token], input: "yes").code == 0)
  }

  @Test func identifiersMayBeCut() async throws {
    var tokens: [String] = []
    for name in ["x", "y"] {
      let made = try objects(try await run(["tokens", "create", "--name", name, "--json"]))
      tokens.append(try #require(made.first?["id"] as? String))
    }
    let shared = zip(tokens[0], tokens[1]).prefix { $0 == $1 }.count
    let end = try await run(["tokens", "revoke", String(tokens[0].prefix(shared + 1)), "--yes"])
    #expect(end.code == 0, "\(end)")
    #expect(try await run(["tokens", "list"]).output.contains(tokens[0]) == false)
    // Every identifier begins so.
    #expect(try await run(["tokens", "create", "--name", "z"]).code == 0)
    for (words, text) in [
      (["tokens", "revoke", "zz", "--yes"], "there is no API token zz (see virga tokens list)"),
      (["keys", "remove", "zz", "--yes"], "there is no key zz (see virga keys list)"),
      (server.account("remove", "zz", "--yes", home: "home"), "there is no device zz (see virga account devices)"),
    ] {
      let end = try await run(words)
      #expect(end.code == 1 && end.errors == "virga: \(text)\n", "\(end)")
    }
    let all = try await run(["tokens", "revoke", "", "--yes"])
    #expect(all.code == 1 && all.errors.contains("3 API tokens begin with "), "\(all)")
    let device = try objects(try await ProgramRun.run(server.account("devices", "--json", home: "home")))[0]
    let id = try #require(device["id"] as? String)
    let removed = try await ProgramRun.run(server.account("remove", String(id.prefix(6)), "--yes", home: "home"))
    // The device is found, and stays: it is the only one.
    #expect(removed.code != 0 && removed.errors.contains("last device"), "\(removed)")
  }

  /// What is not there ends with 1, whatever it is; a file that is not there with 66.
  @Test func whatIsMissingEndsWithOneCode() async throws {
    let place = ["--user", account, "--zone", "Diary"]
    for words in [
      ["records", "get", "x"] + place, ["records", "history", "x"] + place, ["records", "restore", "x"] + place,
      ["records", "delete", "x", "--yes"] + place, ["records", "list", "--user", account, "--zone", "None"],
      ["records", "changes", "--user", account, "--zone", "None"],
      ["records", "list", "--user", "_none", "--zone", "Diary"],
      ["zones", "delete", "None", "--yes", "--user", account], ["zones", "list", "--user", "_none"],
      ["tokens", "revoke", "x", "--yes"], ["keys", "remove", "x", "--yes"], ["users", "roles", "_none"],
      ["export", "_none", server.folder.path + "/export"], ["erase", "_none", "--yes"],
    ] {
      let end = try await run(words)
      #expect(end.code == 1 && !end.errors.isEmpty && end.output.isEmpty, "\(words) \(end)")
    }
    for words in [
      ["records", "put", "--file", "/nonexistent"] + place, ["records", "get", "--file", "/nonexistent"] + place,
      ["keys", "add", "/nonexistent"], ["schema", "validate", "--file", "/nonexistent"],
      ["import", "/nonexistent", "--user", account],
    ] {
      #expect(try await run(words).code == 66, "\(words)")
    }
    for words in [
      ["stats"], ["export", "_x", "/tmp/x"], ["erase", "_x", "--yes"], ["backup", "/tmp/x"], ["tokens", "list"],
    ] {
      #expect(try await run(words + ["--data", "/nonexistent"]).code == 73, "\(words)")
    }
  }
}
