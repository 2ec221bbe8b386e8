import Foundation
import Glibc
import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaWire

@Suite(.timeLimit(.minutes(2))) struct OperatorProgramTests {
  private func run(_ server: ServerProcess, _ words: String...) async throws -> ProgramRun.End {
    try await ProgramRun.run(words + ["--endpoint", server.endpoint, "--home", server.folder.path + "/operator"])
  }

  private func decoded<Value: Decodable>(_ end: ProgramRun.End) throws -> Value {
    #expect(end.code == 0, "\(end.errors)")
    return try JSONDecoder().decode(Value.self, from: Data(end.output.utf8))
  }

  /// The objects of a list: one on each line.
  private func lines<Value: Decodable>(_ end: ProgramRun.End) throws -> [Value] {
    #expect(end.code == 0, "\(end.errors)")
    return try end.output.split(separator: "\n").map { try JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
  }

  @Test func tokensAreMadeListedAndRevoked() async throws {
    let server = try await ServerProcess()
    let made: OperatorMessages.Token = try decoded(
      try await run(
        server, "tokens", "create", "--container", "iCloud.a", "--name", "site", "--origin", "https://app.example",
        "--json"))
    let token = try #require(made.token)
    let listed = try await run(server, "tokens", "list")
    #expect(listed.output == "\(made.id)  iCloud.a  development  site  https://app.example  post message\n")
    let connection = try RawConnection(port: server.port)
    let path = "/database/1/iCloud.a/development/public/records/lookup?ckAPIToken=\(token)"
    let body = Array(#"{"records":[]}"#.utf8)
    #expect(try connection.request(requestBytes("POST", path, body: body)).status == 200)
    #expect(try await run(server, "tokens", "revoke", made.id, "--yes").code == 0)
    #expect(try connection.request(requestBytes("POST", path, body: body)).status == 401)
    let again = try await run(server, "tokens", "revoke", made.id, "--yes")
    #expect(again.code == 1 && again.errors.contains("there is no API token"))
    let wrong = try await run(server, "tokens", "create", "--container", "iCloud.a", "--callback", "ftp://x")
    #expect(wrong.code == 1 && wrong.errors.contains("callback must begin with https://"))
  }

  @Test func keysAreAddedFromFilesAndSign() async throws {
    let server = try await ServerProcess()
    let key = try SigningKey.generate()
    let (secret, open) = (server.folder.path + "/key.pem", server.folder.path + "/public.pem")
    try Data(try key.pem().utf8).write(to: URL(fileURLWithPath: secret))
    try Data(try key.publicKey.pem().utf8).write(to: URL(fileURLWithPath: open))
    let refused = try await run(server, "keys", "add", secret, "--container", "iCloud.a")
    #expect(refused.code == 1 && refused.errors.contains("holds a private key"))
    let added: OperatorMessages.Key = try decoded(
      try await run(server, "keys", "add", open, "--container", "iCloud.a", "--json"))
    #expect(added.name == "public.pem")
    let target = "/database/1/iCloud.a/development/public/zones/list"
    let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    let headers = try SignedRequest.headers(keyID: added.id, key: key, target: target, body: [], now: now)
    let lines = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
    let connection = try RawConnection(port: server.port)
    let request = Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(lines)\r\n".utf8)
    #expect(try connection.request(request).status == 200)
    #expect(
      try await run(server, "keys", "list").output == "\(added.id)  iCloud.a  development  \(added.user)  public.pem\n")
    #expect(try await run(server, "keys", "remove", added.id, "--yes").code == 0)
    #expect(try connection.request(request).status == 401)
  }

  @Test func usersAreListed() async throws {
    let server = try await ServerProcess()
    _ = try await ProgramRun.run(server.account("show", "--name", "phone", home: "phone"))
    let accounts: [OperatorMessages.Account] = try lines(try await run(server, "users", "list", "--json"))
    #expect(accounts.flatMap { $0.devices.map(\.name) }.contains("phone"))
    #expect(try await run(server, "users", "list").output.contains("  phone\n"))
  }

  /// The token of the server that was named is printed, or none: whoever runs another one must not get this one's.
  @Test func aNamedServerGetsItsOwnTokenWhateverTheFolderInTheEnvironment() async throws {
    let (server, other) = (try await ServerProcess(), try await ServerProcess())
    let token = ["operator", "token"]
    let own = try await ProgramRun.run(token + ["--data", server.data])
    let named = try await ProgramRun.run(
      token + ["--endpoint", other.endpoint], environment: ["VIRGA_DATA": server.data])
    let others = try await ProgramRun.run(token + ["--data", other.data])
    #expect(own.code == 0 && others.code == 0 && own.output != others.output)
    #expect(named.output == others.output, "\(named)")
    let folder = try await ProgramRun.run(token, environment: ["VIRGA_DATA": server.data])
    #expect(folder.output == own.output)
  }

  @Test func theServerOfADataFolderIsFoundByTheFolder() async throws {
    let server = try await ServerProcess()
    let made = try await ProgramRun.run(
      ["tokens", "create", "--container", "iCloud.a", "--name", "here", "--data", server.data])
    #expect(made.code == 0, "\(made.errors)")
    #expect(try await run(server, "tokens", "list").output.contains("  here  "))
    // A server that was killed leaves word of itself behind; the next one on another port says where it is.
    await server.kill()
    let other = try await ServerProcess(data: server.data)
    #expect(other.port != server.port)
    let listed = try await ProgramRun.run(["tokens", "list", "--data", server.data])
    #expect(listed.code == 0 && listed.output.contains("  here  "), "\(listed.errors)")
    await other.terminate()
    #expect(!FileManager.default.fileExists(atPath: server.data + "/server.json"))
    #expect(try await ProgramRun.run(["tokens", "list", "--data", server.data]).output.contains("  here  "))
  }

  @Test func theTokenOfAFolderGoesToItsOwnServerAlone() async throws {
    let (server, stranger) = (try await ServerProcess(), try await ServerProcess(options: ["--log"]))
    let end = try await ProgramRun.run(
      ["tokens", "list", "--data", server.data, "--endpoint", stranger.endpoint])
    #expect(end.code == 69)
    #expect(end.errors.contains("is not the one that uses \(server.data)"))
    let log = await stranger.terminate().errors
    #expect(log.contains("/virga/1/identity") && !log.contains("/virga/1/operator/"))
    let gone = try await ProgramRun.run(
      ["tokens", "list", "--data", server.data, "--endpoint", stranger.endpoint])
    #expect(gone.code == 69 && gone.errors.contains("cannot reach"))
  }

  /// A developer types no token: the server of the same user is found, in memory too, and by the address of its clients.
  @Test(arguments: [[], ["--ephemeral"], ["--base-url", "http://sync.example:1"]])
  func theServerOfTheSameUserIsFound(options: [String]) async throws {
    let server = try await ServerProcess(options: options)
    let plan = #"{"faults":[{"name":"slow","when":{"operation":"zones/list"},"do":{"throttle":9}}]}"#
    let file = server.folder.path + "/faults.json"
    try plan.write(toFile: file, atomically: true, encoding: .utf8)
    for endpoint in options.contains("--base-url")
      ? ["http://sync.example:1"] : [server.endpoint, "http://localhost:\(server.port)"]
    {
      let set = try await ProgramRun.run(["faults", "set", file, "--endpoint", endpoint])
      #expect(set.code == 0 && set.output.contains(#""name":"slow""#), "\(set)")
      #expect(try await ProgramRun.run(["schema", "export", "--container", "a", "--endpoint", endpoint]).code == 0)
    }
    #expect(try await ProgramRun.run(["faults", "show", "--endpoint", server.endpoint]).output.contains("slow"))
    #expect(try await !ProgramRun.run(["faults", "clear", "--endpoint", server.endpoint]).output.contains("slow"))
    let wrong = try await ProgramRun.run(["faults", "set", "/nonexistent", "--endpoint", server.endpoint])
    #expect(wrong.code == 66)
    // A server that was killed left word of itself; what has its port now is not asked with its token.
    await server.kill()
    let next = try await ServerProcess(port: server.port, options: ["--ephemeral", "--log"])
    #expect(try await ProgramRun.run(["faults", "show", "--endpoint", next.endpoint]).code == 0)
    let note = ProgramRun.state + "/virga/servers/\(next.port).json"
    let stale = #"{"endpoint":"\#(next.endpoint)","folder":"\#(server.data)"}"#
    if FileManager.default.fileExists(atPath: server.data) {
      try stale.write(toFile: note, atomically: true, encoding: .utf8)
      let refused = try await ProgramRun.run(["faults", "show", "--endpoint", next.endpoint])
      #expect(refused.code == 69 && refused.errors.contains("is not the one that uses"), "\(refused)")
    }
    await next.terminate()
  }

  @Test func rolesAreShownAndGiven() async throws {
    let server = try await ServerProcess()
    _ = try await ProgramRun.run(server.account("show", "--name", "phone", home: "phone"))
    let account = try #require(
      (try lines(try await run(server, "users", "list", "--json")) as [OperatorMessages.Account]).first)
    let file = server.folder.path + "/roles.ckdb"
    let schema = "DEFINE SCHEMA CREATE ROLE Editor; CREATE ROLE Reader;"
    try Data(schema.utf8).write(to: URL(fileURLWithPath: file))
    let imported = try await run(server, "schema", "import", "--file", file, "--container", "iCloud.a")
    #expect(imported.code == 0, "\(imported.errors)")
    func roles(_ words: String..., user: String? = nil) async throws -> ProgramRun.End {
      try await ProgramRun.run(
        ["users", "roles", user ?? account.account?.rawValue ?? "", "--container", "iCloud.a", "--data", server.data]
          + words)
    }
    #expect(try await roles().output.isEmpty)
    #expect(try await roles("--set", "Reader,Editor").output == "Editor\nReader\n")
    #expect(try await roles().output == "Editor\nReader\n")
    let unknown = try await roles("--set", "Owner")
    #expect(unknown.code == 1 && unknown.errors.contains("creates no role 'Owner'"))
    #expect(try await roles("--set", "none").output.isEmpty)
    #expect(try await roles().output.isEmpty)
    let nobody = try await roles("--set", "Editor", user: "nobody")
    #expect(nobody.code == 1 && nobody.errors.contains("there is no user 'nobody'"))
  }

  @Test func aWebTokenEndsWithTheAPITokenItWasMadeWith() async throws {
    let server = try await ServerProcess()
    func tokens() async throws -> AccountMessages.Tokens {
      try decoded(
        try await ProgramRun.run(server.account("token", "--container", "iCloud.a", "--json", home: "phone")))
    }
    let old = try await tokens()
    let connection = try RawConnection(port: server.port)
    func status(_ api: String, _ web: String) throws -> Int {
      let query = "ckAPIToken=\(api)&ckWebAuthToken=\(web.percentEncodedPathSegment)"
      let path = "/database/1/iCloud.a/development/private/zones/list?\(query)"
      return try connection.request(requestBytes("POST", path, body: Array("{}".utf8))).status
    }
    #expect(try status(old.apiToken, old.webAuthToken) == 200)
    let listed: [OperatorMessages.Token] = try lines(try await run(server, "tokens", "list", "--json"))
    #expect(try await run(server, "tokens", "revoke", try #require(listed.first).id, "--yes").code == 0)
    let new = try await tokens()
    #expect(new.apiToken != old.apiToken)
    #expect(try status(new.apiToken, new.webAuthToken) == 200)
    #expect(try status(new.apiToken, old.webAuthToken) == 421)
  }

  @Test func whoIsNotTheOperatorIsTold() async throws {
    let server = try await ServerProcess(options: ["--enrolment", "closed"])
    let end = try await run(server, "users", "list")
    #expect(end.code == 0, "the operator of a server needs no account there")
    let other = try await ProgramRun.run(
      ["users", "list", "--endpoint", server.endpoint], environment: ["XDG_STATE_HOME": server.folder.path])
    #expect(
      other.code == 77 && other.errors.contains("on the server's machine give --data and its folder"), "\(other.errors)"
    )
    await server.terminate()
    #expect(try await run(server, "users", "list").code == 69)
  }

  @Test(arguments: ["y", "n"]) func pageIsSignedInByADevice(answer: String) async throws {
    let server = try await ServerProcess(options: ["--sign-in-minutes", "5"])
    let made: OperatorMessages.Token = try decoded(
      try await run(server, "tokens", "create", "--container", "iCloud.a", "--name", "site", "--json"))
    let connection = try RawConnection(port: server.port)
    func post<Answer: Decodable>(_ call: String, _ body: String) throws -> Answer {
      let response = try connection.request(requestBytes("POST", "/virga/1/sign-in/\(call)", body: Array(body.utf8)))
      return try JSONDecoder().decode(Answer.self, from: Data(response.body))
    }
    let digest = SHA256.hexDigest(of: made.token ?? "")
    let begun: SignInMessages.Started = try post(
      "start", #"{"container":"iCloud.a","token":"\#(digest)","origin":"https://app.example"}"#)
    let approving = try ProgramRun(server.account("approve", begun.code, home: "phone"))
    try await approving.printed { text in
      text.contains("Container  iCloud.a\nPage       https://app.example\nKnown as   site\n") ? () : nil
    }
    approving.type(answer)
    let end = await approving.end()
    let state: SignInMessages.State = try post("wait", #"{"ticket":"\#(begun.ticket)"}"#)
    guard answer == "y" else {
      #expect(end.code == 1 && end.errors.contains("the page was not signed in"))
      #expect(state.state == .refused)
      return
    }
    #expect(end.code == 0, "\(end.errors)")
    #expect(state.state == .accepted)
    let given: SignInMessages.HandOver = try post(
      "collect", #"{"ticket":"\#(begun.ticket)","keepsSignedIn":false}"#)
    let seconds = Double(given.expires.milliseconds) / 1_000 - Date().timeIntervalSince1970
    #expect(given.way == .message && (240...300).contains(seconds))
    let wrong = try await ProgramRun.run(server.account("approve", begun.code, home: "phone"))
    #expect(wrong.code == 1 && wrong.errors.contains("the code is wrong, used or too old"))
  }

  @Test func logHoldsNoSecrets() async throws {
    let server = try await ServerProcess(options: ["--log"])
    let made: OperatorMessages.Token = try decoded(
      try await run(server, "tokens", "create", "--container", "iCloud.virga.test", "--json"))
    let tokens = try await ProgramRun.run(
      server.account("token", "--container", "iCloud.virga.test", "--json", home: "phone"))
    let pair = try JSONDecoder().decode(AccountMessages.Tokens.self, from: Data(tokens.output.utf8))
    let service = try await WebService(server, home: "phone")
    #expect(try service.call("zones/list").status == 200)
    let connection = try RawConnection(port: server.port)
    let wrong = "/database/1/iCloud.virga.test/development/private/zones/list?ckAPIToken=\(made.token ?? "")"
    #expect(try connection.request(requestBytes("POST", wrong, body: Array("{}".utf8))).status == 421)
    let end = await server.terminate()
    #expect(end.errors.contains("/zones/list 200"))
    for secret in [made.token ?? "-", pair.apiToken, pair.webAuthToken] {
      #expect(!end.errors.contains(secret) && !end.errors.contains(secret.prefix(24)))
    }
  }
}
