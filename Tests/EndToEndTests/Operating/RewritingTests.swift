import Foundation
import Glibc
import Testing
import VirgaSQLite

/// The one time that a server rewrites a database which an earlier version made.
@Suite(.timeLimit(.minutes(3))) struct RewritingTests {
  /// Makes a server's database as large as one that takes a while, in the form of an earlier version.
  private func age(_ server: ServerProcess, megabytes: Int) throws {
    let connection = try Connection(path: server.data + "/virga.sqlite")
    for number in 0..<megabytes {
      try connection.run(
        "INSERT INTO entity (kind, key, owner, value) VALUES ('setting', ?, '', randomblob(1048576))",
        "filler.\(number)")
    }
    try connection.execute("PRAGMA auto_vacuum = NONE; VACUUM")
    #expect(try connection.first("PRAGMA auto_vacuum") { $0.int(0) } == 0)
  }

  private func form(_ server: ServerProcess) throws -> (vacuum: Int, fillers: Int, check: String) {
    let connection = try Connection(path: server.data + "/virga.sqlite")
    func number(_ sql: String) throws -> Int { try connection.first(sql) { $0.int(0) } ?? -1 }
    return (
      try number("PRAGMA auto_vacuum"), try number("SELECT count(*) FROM entity WHERE key LIKE 'filler.%'"),
      try connection.first("PRAGMA quick_check") { $0.text(0) } ?? ""
    )
  }

  @Test(arguments: [SIGKILL, SIGTERM]) func aRewriteThatIsStoppedBeginsAgainAtTheNextStart(signal: Int32) async throws {
    let server = try await ServerProcess()
    let client = try await WebService(server, home: "home")
    let body = #"{"operations":[{"operationType":"create","record":{"recordName":"kept","recordType":"Note"}}]}"#
    try #require(try client.call("records/modify", body).status == 200)
    #expect(await server.terminate().code == 0)
    let megabytes = 120
    try age(server, megabytes: megabytes)
    // Stopped as soon as it says what it does, and a little later.
    for pause in [0, 60] as [UInt32] {
      let run = try ProgramRun(["serve", "--port", "0", "--data", server.data])
      // Another process speaks when it does; the stop is to come right after.
      while !run.errorsSoFar.contains("\n") { usleep(1_000) }
      let told = run.errorsSoFar
      #expect(told.hasPrefix("rewriting \(server.data)/virga.sqlite (12"), "\(told)")
      #expect(
        told.contains(" MB) once") && told.contains("you may stop this, and the next start does it again"), "\(told)")
      // The rewriting has no event in its middle.
      usleep(pause * 1_000)
      run.signal(signal)
      #expect(await run.end().code == 128 + signal)
      let state = try form(server)
      #expect(state.fillers == megabytes && state.check == "ok")
      #expect(pause > 0 || state.vacuum == 0, "it was stopped on the way")
      if state.vacuum != 0 { break }
    }
    try await server.restart()
    let again = try await WebService(server, home: "home")
    let records = try again.call("records/lookup", #"{"records":[{"recordName":"kept"}]}"#).json["records"]
    #expect((records as? [[String: Any]])?.first?["recordType"] as? String == "Note", "\(records ?? "")")
    #expect(await server.terminate().code == 0)
    #expect(try form(server) == (2, megabytes, "ok"))
    // From then on there is nothing to rewrite, and nothing to say.
    try await server.restart()
    #expect(await server.terminate().errors == "SIGTERM: finishing open requests\n")
  }
}
