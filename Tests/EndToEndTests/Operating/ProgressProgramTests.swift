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
    let reading = try await onTerminal([ProgramRun.path, "export", account, export, "--data", server.data])
    #expect(reading.contains("\rReading  ") && reading.contains(" records  "), "\(reading)")
    #expect(reading.hasSuffix("\r\u{1B}[K"))
    let again = try await ProgramRun.run(["export", account, export + "2", "--data", server.data])
    #expect(again.code == 0 && again.errors.isEmpty)

    let words = ["import", export, "--user", account, "--data", server.data]
    let screen = try await onTerminal([ProgramRun.path] + words)
    #expect(screen.contains("\rSaving  ["), "\(screen)")
    #expect(screen.contains(" / 12000 records  ") && screen.contains("%"))
    #expect(screen.hasSuffix("\r\u{1B}[K"), "the line stays: \(screen.suffix(100))")
    // Into a file or a pipe nothing is written.
    let silent = try await ProgramRun.run(words)
    #expect(silent.errors.isEmpty && silent.output == "Imported 12000 records.\n")
  }

  /// Runs a program whose standard error is a terminal; answers what that shows.
  private func onTerminal(_ words: [String]) async throws -> String {
    let terminal = try PseudoTerminal(columns: 79)
    defer { terminal.close() }
    let line = #"exec "$0" "$@" 2>\#(terminal.path)"#
    let end = try await ProgramRun.run(["-c", line] + words, program: "/bin/sh")
    #expect(end.code == 0, "\(end) \(terminal.text())")
    return terminal.text()
  }

  /// On a disk that takes a while to make bytes durable, which `strace` makes of any.
  @Test func copiesAndErasuresShowThatTheyGoOn() async throws {
    guard let strace = ShellRun.path(of: "strace") else { return }
    guard try await ProgramRun.run(["-qq", "-o", "/dev/null", "/bin/true"], program: strace).code == 0 else {
      return print("skipped: strace may not trace other processes here")
    }
    let slow = [
      strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
      "inject=fsync,fdatasync:delay_exit=800000", ProgramRun.path,
    ]
    let server = try await ServerProcess()
    let client = try await WebService(server, home: "home")
    let body = #"{"operations":[{"operationType":"create","record":{"recordName":"r","recordType":"Note"}}]}"#
    try #require(try client.call("records/modify", body).status == 200)
    let shown = try await ProgramRun.run(server.account("show", "--json", home: "home"))
    let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
    let account = try #require(object?["account"] as? String)
    await server.terminate()
    let folder = server.folder.path
    for (words, label) in [
      (["backup", folder + "/N", "--data", server.data], "\rCopying the database  "),
      (["restore", folder + "/backup", "--data", folder + "/N"], "\rCopying the database  "),
      (["erase", account, "--yes", "--data", folder + "/N"], "\rErasing  "),
    ] {
      func named(_ name: String) -> [String] { words.map { $0.replacing("/N", with: "/\(name)") } }
      let (first, second) = words[0] == "backup" ? ("backup", "backup2") : ("restored", "restored2")
      let screen = try await onTerminal(slow + named(first))
      #expect(screen.contains(label) && screen.hasSuffix("\r\u{1B}[K"), "\(words): \(screen)")
      let silent = try await ProgramRun.run(named(second))
      #expect(silent.code == 0 && silent.errors.isEmpty, "\(words): \(silent)")
    }
  }
}
