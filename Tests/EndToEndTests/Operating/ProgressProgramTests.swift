import Foundation
import TestSupport
import Testing

/// Long work says on a terminal how far it is, and nowhere else.
@Suite(.timeLimit(.minutes(3))) struct ProgressProgramTests {
  @Test func anImportShowsHowFarItIs() async throws {
    let server = try await ServerProcess()
    let client = try await WebService(server, home: "home")
    let zone = #""zoneID":{"zoneName":"Diary"}"#
    _ = try client.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
    let text = String(repeating: "rain ", count: 100)
    for start in stride(from: 0, to: 12_000, by: 200) {
      let operations = (start..<start + 200).map { number in
        let record = #"{"recordName":"r\#(number)","recordType":"Note","fields":{"text":{"value":"\#(text)"}}}"#
        return #"{"operationType":"create","record":\#(record)}"#
      }
      let body = #"{\#(zone),"operations":[\#(operations.joined(separator: ","))]}"#
      try #require(try client.call("records/modify", body).status == 200)
    }
    let shown = try await ProgramRun.run(server.account("show", "--json", home: "home"))
    let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
    let account = try #require(object?["account"] as? String)
    await server.terminate()
    let export = server.folder.path + "/export"
    #expect(try await ProgramRun.run(["export", account, export, "--data", server.data]).errors.isEmpty)

    let terminal = try PseudoTerminal(columns: 79)
    defer { terminal.close() }
    let words = ["import", export, "--user", account, "--data", server.data]
    let line = #"exec "$0" "$@" 2>\#(terminal.path)"#
    let end = try await ProgramRun.run(["-c", line, ProgramRun.path] + words, program: "/bin/sh")
    #expect(end.code == 0 && end.output == "Imported 12000 records.\n", "\(end)")
    let screen = terminal.text()
    #expect(screen.contains("\rSaving  ["), "\(screen)")
    #expect(screen.contains(" / 12000 records  ") && screen.contains("%"))
    #expect(screen.hasSuffix("\r\u{1B}[K"), "the line stays: \(screen.suffix(100))")
    // Into a file or a pipe nothing is written.
    #expect(try await ProgramRun.run(words).errors.isEmpty)
  }
}
