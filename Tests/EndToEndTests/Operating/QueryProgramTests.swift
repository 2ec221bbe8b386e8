import Foundation
import TestSupport
import Testing

/// `virga records query`, beside the running server and without one.
@Suite(.timeLimit(.minutes(2))) struct QueryProgramTests {
  private let server: ServerProcess
  private let place: [String]

  init() async throws {
    server = try await ServerProcess()
    let client = try await WebService(server, home: "home", container: "iCloud.a")
    let zone = #""zoneID":{"zoneName":"Diary"}"#
    _ = try client.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
    let operations = (0..<450).map { number in
      let fields =
        #"{"n":{"value":\#(number),"type":"INT64"},"half":{"value":\#(number % 2),"type":"INT64"},"#
        + #""text":{"value":"day \#(number)","type":"STRING"}}"#
      let record = #"{"recordName":"r\#(number)","recordType":"Note","fields":\#(fields)}"#
      return #"{"operationType":"create","record":\#(record)}"#
    }
    for start in [0, 150, 300] {
      let body = #"{\#(zone),"operations":[\#(operations[start..<start + 150].joined(separator: ","))]}"#
      let answer = try client.call("records/modify", body)
      try #require(answer.status == 200)
    }
    let shown = try await ProgramRun.run(server.account("show", "--json", home: "home"))
    let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
    place = [
      "--container", "iCloud.a", "--user", try #require(object?["account"] as? String), "--data", server.data,
      "--endpoint", server.endpoint, "--zone", "Diary", "--json",
    ]
  }

  private func query(_ words: String...) async throws -> (names: [String], end: ProgramRun.End) {
    let end = try await ProgramRun.run(["records", "query"] + words + place)
    let names = try end.output.split(separator: "\n").compactMap { line in
      (try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["recordName"] as? String
    }
    return (names, end)
  }

  private static func filter(_ comparator: String, _ field: String, _ value: String) -> String {
    #"{"comparator":"\#(comparator)","fieldName":"\#(field)","fieldValue":{"value":\#(value)}}"#
  }

  @Test(arguments: [true, false]) func recordsAreFoundByFiltersInOrder(isServing: Bool) async throws {
    if !isServing { await server.terminate() }
    let few = try await query(
      "--type", "Note", "--filter", Self.filter("LESS_THAN", "n", "6"), "--filter", Self.filter("EQUALS", "half", "1"),
      "--sort", "-n")
    #expect(few.names == ["r5", "r3", "r1"], "\(few.end.errors)")
    let word = try await query("--type", "Note", "--filter", Self.filter("CONTAINS_ALL_TOKENS", "text", #""DAY 7""#))
    #expect(word.names == ["r7"])
    let none = try await query("--type", "Note", "--filter", Self.filter("EQUALS", "n", "-1"))
    #expect(none.names == [] && none.end.code == 0)
  }

  /// C80
  @Test func allPagesArePrintedOrWhatIsLeftIsSaid() async throws {
    let all = Self.filter("GREATER_THAN", "n", "-1")
    let names = (0..<450).map { "r\($0)" }
    let whole = try await query("--type", "Note", "--filter", all, "--sort", "n")
    #expect(whole.names == names && whole.end.errors.isEmpty, "\(whole.end.errors)")
    for limit in [1, 200, 201, 449, 450, 1_000] {
      let found = try await query("--type", "Note", "--filter", all, "--sort", "n", "--limit", "\(limit)")
      #expect(found.names == Array(names.prefix(limit)))
      #expect(found.end.code == 0 && found.end.errors.contains("there are more than these \(limit)") == (limit < 450))
    }
  }

  /// C78
  @Test func whatCannotBeAskedIsSaid() async throws {
    let index = try await query("--type", "Note", "--filter", Self.filter("EQUALS", "___createTime", "5"))
    #expect(index.end.code == 1)
    #expect(
      index.end.errors.contains(
        #"needs the index QUERYABLE there, by the schema line: "___createTime" TIMESTAMP QUERYABLE"#))
    let type = try await query("--type", "None", "--filter", Self.filter("EQUALS", "n", "5"))
    #expect(type.end.code == 1 && type.end.errors == "virga: Did not find record type: None\n")
    for words in [[], ["--type", "Note", "--limit", "0"], ["--type", "Note", "--filter", "n == 5"]] as [[String]] {
      #expect(try await ProgramRun.run(["records", "query"] + words + place).code == 64)
    }
  }
}
