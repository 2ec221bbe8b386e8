import Foundation
import TestSupport
import Testing

/// What whoever runs a server does from a shell, beside the running server and without one.
@Suite(.timeLimit(.minutes(2))) struct OperatingProgramTests {
  private func run(_ words: String..., input: String? = nil) async throws -> ProgramRun.End {
    guard let input else { return try await ProgramRun.run(words) }
    let run = try ProgramRun(words)
    run.type(input)
    run.closeInput()
    return await run.end()
  }

  private func account(_ server: ServerProcess) async throws -> String {
    let end = try await ProgramRun.run(server.account("show", "--json", home: "home"))
    let object = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    return try #require(object?["account"] as? String)
  }

  @Test func recordsAreManagedBesideAServerAndWithoutOne() async throws {
    let server = try await ServerProcess()
    let place = [
      "--container", "iCloud.a", "--user", try await account(server), "--data", server.data, "--endpoint",
      server.endpoint,
    ]
    func records(_ words: String..., input: String? = nil) async throws -> ProgramRun.End {
      let all = ["records"] + words + place + ["--zone", "Diary", "--json"]
      guard let input else { return try await ProgramRun.run(all) }
      let run = try ProgramRun(all)
      run.type(input)
      run.closeInput()
      return await run.end()
    }
    func zones(_ words: String...) async throws -> ProgramRun.End {
      try await ProgramRun.run(["zones"] + words + place)
    }
    let nobody = try await ProgramRun.run(
      ["zones", "list", "--container", "iCloud.a", "--user", "_typo", "--data", server.data])
    #expect(nobody.code == 1 && nobody.errors.contains("there is no user '_typo' in container iCloud.a"))
    #expect(try await zones("create", "Diary").output == "Diary\n")
    for text in ["one", "two"] {
      let saved = try await records(
        "put", input: #"{"recordName":"r","recordType":"Note","fields":{"text":{"value":"\#(text)"}}}"#)
      #expect(saved.code == 0, "\(saved.errors)")
    }
    #expect(try await records("get", "r").output.contains(#""value":"two""#))

    await server.terminate()
    let history = try await records("history", "r").output.split(separator: "\n")
    #expect(history.count == 2)
    #expect(try await records("restore", "r").code == 0)
    #expect(try await records("get", "r").output.contains(#""value":"one""#))
    #expect(try await records("delete", "r", "--yes").code == 0)
    let gone = try await records("get", "r")
    #expect(gone.code == 1)
    #expect(gone.errors == "virga: r: Record not found\n")
    #expect(try await zones("list").output == "_defaultZone\nDiary\n")
    #expect(try await zones("delete", "Diary", "--yes").code == 0)
    #expect(try await zones("list").output == "_defaultZone\n")
    #expect(try await run("stats", "--data", server.folder.path).code == 73)
  }

  // C29
  @Test func aBackupOfARunningServerIsWholeAndOldTokensExpire() async throws {
    let server = try await ServerProcess()
    let client = try await WebService(server, home: "home")
    let zone = #""zoneID":{"zoneName":"Diary"}"#
    _ = try client.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
    func save(_ name: String) throws -> String? {
      let record = #"{"recordName":"\#(name)","recordType":"Note"}"#
      let answer = try client.call(
        "records/modify", #"{\#(zone),"operations":[{"operationType":"create","record":\#(record)}]}"#)
      return ((answer.json["records"] as? [[String: Any]])?.first)?["recordChangeTag"] as? String
    }
    _ = try save("before")
    let backup = server.folder.path + "/backup"
    #expect(try await run("backup", backup, "--data", server.data).code == 0)
    #expect(try await run("backup", backup, "--data", server.data).code == 73)
    let lostTag = try save("after")
    func changes(_ client: WebService, since token: String?) throws -> [String: Any] {
      let part = token.map { #","syncToken":"\#($0)""# } ?? ""
      let answer = try client.call("changes/zone", #"{"zones":[{\#(zone)\#(part)}]}"#)
      return try #require((answer.json["zones"] as? [[String: Any]])?.first)
    }
    let token = try #require(try changes(client, since: nil)["syncToken"] as? String)
    await server.kill()

    let restored = server.folder.path + "/restored"
    #expect(try await run("restore", backup, "--data", restored).code == 0)
    #expect(try await run("restore", backup, "--data", restored).code == 73)
    let second = try await ServerProcess(data: restored)
    let again = try WebService(client, at: second)
    #expect(try changes(again, since: token)["serverErrorCode"] as? String == "BAD_REQUEST")
    let page = try changes(again, since: nil)
    #expect((page["records"] as? [[String: Any]])?.compactMap { $0["recordName"] as? String } == ["before"])
    // No tag that the lost time gave is given again.
    let record = #"{"recordName":"other","recordType":"Note"}"#
    let saved = try again.call(
      "records/modify", #"{\#(zone),"operations":[{"operationType":"create","record":\#(record)}]}"#)
    let tag = ((saved.json["records"] as? [[String: Any]])?.first)?["recordChangeTag"] as? String
    #expect(tag != nil && tag != lostTag)
  }

  /// Whoever was removed after the backup is let in by it, unless the former folder says who that was.
  @Test func aRestoreRemovesAgainWhatTheFormerFolderHasRemoved() async throws {
    let server = try await ServerProcess()
    func make(_ name: String) async throws -> String {
      let words = ["tokens", "create", "--container", "iCloud.a", "--name", name, "--json", "--data", server.data]
      let end = try await ProgramRun.run(words)
      let object = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
      return try #require(object?["id"] as? String)
    }
    let (kept, revoked) = (try await make("kept"), try await make("revoked"))
    let backup = server.folder.path + "/backup"
    #expect(try await run("backup", backup, "--data", server.data).code == 0)
    #expect(try await run("tokens", "revoke", revoked, "--yes", "--data", server.data).code == 0)
    await server.kill()
    func restored(_ name: String, _ more: String...) async throws -> (output: String, tokens: String) {
      let data = "\(server.folder.path)/\(name)"
      let end = try await ProgramRun.run(["restore", backup, "--data", data] + more)
      #expect(end.code == 0, "\(end)")
      return (end.output, try await run("tokens", "list", "--data", data).output)
    }
    let open = try await restored("open")
    #expect(open.tokens.contains(kept) && open.tokens.contains(revoked))
    #expect(open.output.contains("that were removed after the backup are back"))
    let closed = try await restored("closed", "--removals", server.data)
    #expect(closed.tokens.contains(kept) && !closed.tokens.contains(revoked))
    #expect(closed.output.contains("0 devices, 1 API tokens, 0 keys"))
    // A folder of another server would have all removed.
    let stranger = try await ServerProcess()
    let words = ["restore", backup, "--data", server.folder.path + "/new", "--removals", stranger.data]
    let refused = try await ProgramRun.run(words)
    #expect(refused.code == 66 && refused.errors.contains("does not belong to the same server"), "\(refused)")
  }

  @Test func aRestoreThatWasCutOffIsNotServed() async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path + "/data/restoring", withIntermediateDirectories: true)
    let end = try await run("serve", "--port", "0", "--data", folder.path + "/data")
    #expect(end.code == 65 && end.errors.contains("run virga restore again"), "\(end.errors)")
  }

  @Test func aDeviceIsNotTheOperatorOfPeoplesData() async throws {
    let server = try await ServerProcess()
    let words = [
      "zones", "list", "--container", "iCloud.a", "--user", try await account(server), "--endpoint", server.endpoint,
      "--home", "\(server.folder.path)/home",
    ]
    // Who cannot read the server's folder, such as another user, has nothing but a device.
    let end = try await ProgramRun.run(words, environment: ["XDG_STATE_HOME": server.folder.path + "/other"])
    #expect(end.code == 77 && end.errors.contains("there is no server of this user at \(server.endpoint)"))
    #expect(try await ProgramRun.run(words).code == 0, "its own user needs nothing else")
  }

  @Test func logsNameRequestsAndHoldNoData() async throws {
    let server = try await ServerProcess(options: ["--log=json"])
    let client = try await WebService(server, home: "home")
    _ = try client.call("records/lookup", #"{"records":[{"recordName":"very-private"}]}"#)
    // Whoever knows the address of an open share can join it.
    for secret in [
      "/share/iCloud.virga.test/development/0123-secret", "/%73hare/iCloud.virga.test/development/4567-secret",
    ] {
      _ = try RawConnection(port: server.port).request(requestBytes("GET", secret))
    }
    let end = await server.terminate()
    let lines = try end.errors.split(separator: "\n").filter { $0.hasPrefix("{") }.map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
    }
    let lookup = try #require(lines.first { ($0["path"] as? String)?.hasSuffix("records/lookup") == true })
    #expect(lookup["status"] as? Int == 200)
    #expect((lookup["request"] as? String)?.count == 36)
    #expect(lines.allSatisfy { $0["request"] != nil && $0["time"] != nil })
    #expect(lines.count { $0["path"] as? String == "/share/…" } == 2)
    for text in ["very-private", "ckAPIToken", "0123-secret", "4567-secret"] { #expect(!end.errors.contains(text)) }
  }

  @Test func metricsAreReadByAMonitor() async throws {
    let server = try await ServerProcess()
    let client = try await WebService(server, home: "home")
    _ = try client.call("zones/list")
    let connection = try RawConnection(port: server.port)
    #expect(try connection.request(requestBytes("GET", "/metrics")).status == 403)
    let token = try await ProgramRun.run(["operator", "token", "--endpoint", server.endpoint]).output
    #expect(try await ProgramRun.run(["operator", "token", "--data", server.data]).output == token)
    let bearer = "Authorization: Bearer \(token.trimmingCharacters(in: .newlines))\r\n"
    let text = try connection.request(requestBytes("GET", "/metrics", headers: bearer)).text
    for line in [
      #"virga_answers_total{operation="zones/list",status="2xx"} 1"#, "virga_polls_parked 0",
      "virga_store_writes_waiting 0", "# TYPE virga_answer_seconds histogram",
    ] { #expect(text.contains(line), "\(line) is missing in \(text)") }
    #expect(!text.contains("virga_store_commits_total 0\n"))
  }
}
