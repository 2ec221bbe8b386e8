import Foundation
import Glibc
import TestSupport
import Testing
import VirgaSQLite

@Suite(.timeLimit(.minutes(2))) struct ServeTests {
  @Test func startsInUnderASecondAndSaysWhatToTryNext() async throws {
    var fastest = Duration.seconds(60)
    for _ in 0..<3 {
      let start = ContinuousClock.now
      let server = try await ServerProcess(options: ["--container", "iCloud.com.example.Diary"])
      fastest = min(fastest, ContinuousClock.now - start)
      #expect(server.greeting.contains("serves \(server.endpoint)\n"))
      #expect(server.greeting.contains("Data:         \(server.data)\n"))
      #expect(server.greeting.contains("New accounts: open to everybody"))
      #expect(server.greeting.contains("virga account show --endpoint \(server.endpoint)\n"))
      #expect(server.greeting.contains("virga account token --container iCloud.com.example.Diary"))
      await server.terminate()
    }
    #expect(fastest < .seconds(1))
  }

  @Test(arguments: [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT"), (SIGHUP, "SIGHUP")])
  func signalEndsItWithSuccess(signal: Int32, name: String) async throws {
    let server = try await ServerProcess()
    let end = await server.terminate(signal)
    #expect(end.code == 0)
    #expect(end.errors == "\(name): finishing open requests\n")
  }

  /// As `nohup` starts a program: the end of the terminal is not its end.
  @Test func whoIgnoresTheEndOfATerminalGoesOn() async throws {
    let folder = try TemporaryFolder()
    let line = #"trap "" HUP; exec "$0" serve --port 0 --data "$1""#
    let run = try ProgramRun(["-c", line, ProgramRun.path, folder.path + "/data"], program: "/bin/sh")
    let port = try await run.printed { text in
      text.firstMatch(of: /http:\/\/127.0.0.1:([0-9]+)\n/).flatMap { UInt16($0.output.1) }
    }
    run.signal(SIGHUP)
    for _ in 1...3 {
      let answer = try RawConnection(port: port).request(requestBytes("GET", "/healthz"))
      #expect(answer.status == 200)
    }
    run.signal(SIGTERM)
    let end = await run.end()
    #expect(end.code == 0 && end.errors == "SIGTERM: finishing open requests\n")
  }

  /// As `timeout` sends them: to the process, and at once to its group.
  @Test func signalsThatComeTogetherAreOneWish() async throws {
    let server = try await ServerProcess()
    server.run.signal(SIGINT)
    let end = await server.terminate(SIGTERM)
    #expect(end.code == 0)
    #expect(end.errors.hasSuffix(": finishing open requests\n"))
  }

  @Test func closedServerSuggestsNothingThatItRefuses() async throws {
    let server = try await ServerProcess(options: ["--enrolment", "closed"])
    #expect(!server.greeting.contains("virga account"))
    #expect(server.greeting.contains("virga users list --data \(server.data)"))
  }

  @Test func parkedRequestDoesNotHoldUpTheEnd() async throws {
    let server = try await ServerProcess()
    let inviting = try ProgramRun(server.account("invite", home: "phone"))
    try await inviting.printed { $0.contains("Waiting") ? () : nil }
    let start = ContinuousClock.now
    #expect(await server.terminate().code == 0)
    #expect(ContinuousClock.now - start < .seconds(8), "it answers parked requests instead of waiting for them")
    #expect(await inviting.end().code != 0)
  }

  @Test func dataAndAccountsOutliveACrash() async throws {
    let server = try await ServerProcess()
    let before = try await ProgramRun.run(server.account("show", "--json", home: "phone"))
    #expect(before.code == 0)
    await server.kill()
    try await server.restart()
    let after = try await ProgramRun.run(server.account("show", "--json", home: "phone"))
    // The server's time goes on.
    #expect(after.output.replacing(/"now":\d+/, with: "") == before.output.replacing(/"now":\d+/, with: ""))
  }

  @Test func ephemeralServerLeavesNothing() async throws {
    let server = try await ServerProcess(options: ["--ephemeral"])
    #expect(server.greeting.contains("in memory"))
    #expect(try await ProgramRun.run(server.account("show", home: "phone")).code == 0)
    await server.terminate()
    #expect(!FileManager.default.fileExists(atPath: server.data))
  }

  @Test func logHasALineForEachRequestWithoutItsTokens() async throws {
    let server = try await ServerProcess(options: ["--log"])
    _ = try await ProgramRun.run(server.account("show", home: "phone"))
    let errors = await server.terminate().errors
    #expect(errors.contains(/127\.0\.0\.1 POST \/virga\/1\/enrol 200 [0-9]+ µs [0-9A-F-]{36}\n/))
    #expect(errors.contains(/127\.0\.0\.1 GET \/virga\/1\/account 200 [0-9]+ µs [0-9A-F-]{36}\n/))
  }

  @Test func quietServerLogsNothing() async throws {
    let server = try await ServerProcess()
    _ = try await ProgramRun.run(server.account("show", home: "phone"))
    #expect(await server.terminate().errors == "SIGTERM: finishing open requests\n")
  }

  // MARK: Refusals, each with one line and a code of its own

  private func refusal(_ arguments: [String], code: Int32, _ text: String) async throws {
    let end = try await ProgramRun.run(["serve"] + arguments)
    #expect(end.code == code)
    #expect(end.output == "")
    #expect(end.errors.hasPrefix("virga: "))
    #expect(end.errors.contains(text), "\(end.errors)")
    #expect(end.errors.split(separator: "\n").count == 1)
  }

  @Test func portInUse() async throws {
    let server = try await ServerProcess()
    let other = try TemporaryFolder()
    try await refusal(
      ["--data", other.path + "/d", "--port", "\(server.port)"], code: 69, "port \(server.port) of 127.0.0.1 is in use")
    #expect(try await ProgramRun.run(server.account("show", home: "phone")).code == 0)
  }

  @Test func hostThatIsNotThisMachine() async throws {
    try await refusal(["--ephemeral", "--host", "192.0.2.1"], code: 68, "192.0.2.1 is not an address of this machine")
  }

  /// As an address of IPv6 stands in URLs.
  @Test func hostInBracketsIsTheSameWithout() async throws {
    let server = try await ServerProcess(options: ["--host", "[::1]"])
    #expect(server.greeting.contains("serves http://[::1]:\(server.port)\n"), "\(server.greeting)")
    #expect(server.greeting.contains("open to everybody who can reach the address"), "\(server.greeting)")
    #expect(try await ProgramRun.run(["users", "list", "--data", server.data]).code == 0)
    let shown = try await ProgramRun.run([
      "account", "show", "--endpoint", "http://[::1]:\(server.port)", "--home", server.folder.path + "/phone",
    ])
    #expect(shown.code == 0, "\(shown)")
  }

  @Test func bodyMemoryHoldsTheLargestRequest() async throws {
    try await refusal(
      ["--ephemeral", "--body-memory", "33554431"], code: 64, "--body-memory must be at least 33554432 bytes")
    let server = try await ServerProcess(options: ["--body-memory", "33554432"])
    let client = try await WebService(server, home: "phone")
    let text = String(repeating: "x", count: 900_000)
    let saves = (0..<8).map {
      #"{"operationType":"create","record":{"recordName":"r\#($0)","recordType":"T","fields":{"t":{"value":"\#(text)"}}}}"#
    }
    #expect(try client.call("records/modify", #"{"operations":[\#(saves.joined(separator: ","))]}"#).status == 200)
  }

  @Test func folderThatCannotBeMade() async throws {
    let folder = try TemporaryFolder()
    try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
    try await refusal(["--data", folder.path + "/file/data", "--port", "0"], code: 73, folder.path + "/file/data")
    try await refusal(["--data", "/proc/data", "--port", "0"], code: 73, "/proc/data")
  }

  @Test func folderOfAnotherServer() async throws {
    let server = try await ServerProcess()
    try await refusal(["--data", server.data, "--port", "0"], code: 75, "another server uses")
    #expect(try await ProgramRun.run(server.account("show", home: "phone")).code == 0)
  }

  /// The folder of a server that has ended well.
  private func usedFolder() async throws -> (server: ServerProcess, database: String) {
    let server = try await ServerProcess()
    _ = try await ProgramRun.run(server.account("show", home: "phone"))
    await server.terminate()
    let database = server.data + "/virga.sqlite"
    // Whatever is still in the log would repair a damaged file.
    try Connection(path: database).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return (server, database)
  }

  @Test func dataOfANewerVersion() async throws {
    let (server, database) = try await usedFolder()
    do {
      let connection = try Connection(path: database)
      try connection.execute("PRAGMA user_version = 999")
    }
    try await refusal(["--data", server.data, "--port", "0"], code: 76, "(layout 999")
  }

  @Test(arguments: ["garbage", "truncated", "missing", "empty"])
  func damagedDatabase(damage: String) async throws {
    let (server, database) = try await usedFolder()
    switch damage {
    case "garbage": try Data(repeating: 0x5a, count: 20_000).write(to: URL(fileURLWithPath: database))
    case "truncated": #expect(truncate(database, 5_000) == 0)
    case "missing": try FileManager.default.removeItem(atPath: database)
    default: #expect(truncate(database, 0) == 0)
    }
    try await refusal(["--data", server.data, "--port", "0"], code: 65, "virga.sqlite")
  }

  @Test func nobodyElseReadsTheData() async throws {
    let folder = try TemporaryFolder()
    let data = folder.path + "/data"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
    #expect(chmod(data, 0o755) == 0)
    let server = try await ServerProcess(data: data)
    _ = try await ProgramRun.run(server.account("show", home: "phone"))
    var files = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: data) {
      var status = stat()
      #expect(stat(data + "/" + name, &status) == 0)
      #expect(status.st_mode & 0o077 == 0, "\(name)")
      files += 1
    }
    #expect(files >= 4)
  }

  @Test func serversKeyDamagedOrOpen() async throws {
    let (server, _) = try await usedFolder()
    let key = server.data + "/secret.key"
    #expect(chmod(key, 0o644) == 0)
    try await refusal(["--data", server.data, "--port", "0"], code: 77, "\(key) is open to other users (mode 644)")
    #expect(chmod(key, 0o600) == 0 && truncate(key, 5) == 0)
    try await refusal(["--data", server.data, "--port", "0"], code: 65, "\(key) is damaged")
  }
}

@Suite(.timeLimit(.minutes(1))) struct ArgumentTests {
  @Test(
    arguments: [
      ([], "a command is missing"), (["nothing"], "unknown command nothing"), (["--port"], "unknown command --port"),
      (["version", "x"], "unexpected argument x"), (["serve", "--port"], "--port needs a value"),
      (["serve", "--port="], "--port needs a value"), (["serve", "--port", "--log"], "--port needs a value"),
      (["serve", "--port", "65536"], "--port must be a number from 0 to 65535, not 65536"),
      (["serve", "--port", "-1"], "--port must be a number"), (["serve", "--prot", "1"], "unknown option --prot"),
      (["serve", "-p", "1"], "unknown option -p"), (["serve", "--log=1"], "--log must be one of text, json, not 1"),
      (["serve", "--port", "1", "--port", "2"], "--port was given twice"), (["serve", "x"], "unexpected argument x"),
      (["serve", "--enrolment", "all"], "--enrolment must be one of open, invite, closed, not all"),
      (["serve", "--ephemeral", "--data", "d"], "use either --data or --ephemeral"),
      (["serve", "--container", "_x"], "--container does not begin with an ASCII letter"),
      (["serve", "--base-url", "a.example"], "--base-url must begin with http:// or https://"),
      (["serve", "--base-url", "https://"], "--base-url must be the address of a server"),
      (["serve", "--base-url", "https://a b/"], "--base-url must be the address of a server"),
      (["serve", "--base-url", "https://a/?x=1"], "--base-url must be the address of a server"),
      (["serve", "--base-url", "https://a/#y"], "--base-url must be the address of a server"),
      (["help", "nothing"], "unknown command nothing"),
      (["account"], "a command is missing"), (["account", "nothing"], "unknown command nothing"),
      (["account", "join"], "CODE is missing"), (["account", "remove"], "DEVICE is missing"),
      (["account", "join", "A", "B"], "unexpected argument B"), (["account", "token"], "--container is missing"),
      (["account", "show", "--yes"], "unknown option --yes"),
    ] as [([String], String)])
  func wrongArgumentsGetOneLineAndCode64(arguments: [String], text: String) async throws {
    let end = try await ProgramRun.run(arguments)
    #expect(end.code == 64)
    #expect(end.output == "")
    #expect(end.errors.hasPrefix("virga: \(text)"), "\(end.errors)")
    #expect(end.errors.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    ["--help"], ["-h"], ["help"], ["help", "serve"], ["help", "account", "join"], ["help", "account"],
    ["help", "version"], ["serve", "--help"], ["serve", "--port", "1", "-h"], ["account", "--help"],
    ["account", "show", "--help"], ["account", "invite", "--help"], ["account", "join", "--help"],
    ["account", "devices", "--help"], ["account", "remove", "--help"], ["account", "token", "--help"],
  ])
  func helpIsThereForEveryCommand(arguments: [String]) async throws {
    let end = try await ProgramRun.run(arguments)
    #expect(end.code == 0)
    #expect(end.output.contains("Usage: virga"))
    #expect(end.errors == "")
  }

  @Test func versionIsPrinted() async throws {
    #expect(try await ProgramRun.run(["version"]).output.wholeMatch(of: /virga [0-9]+\.[0-9]+\.[0-9]+\n/) != nil)
  }
}
