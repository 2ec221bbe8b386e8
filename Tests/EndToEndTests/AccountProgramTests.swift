import Foundation
import Glibc
import TestSupport
import Testing
import VirgaAuth

@Suite(.timeLimit(.minutes(2))) struct AccountProgramTests {
  private func description(_ end: ProgramRun.End) throws -> AccountMessages.Description {
    try JSONDecoder().decode(AccountMessages.Description.self, from: Data(end.output.utf8))
  }

  /// Starts `account invite` and gives the code that it shows.
  private func invite(_ server: ServerProcess, home: String, _ words: String...) async throws -> (ProgramRun, String) {
    let run = try ProgramRun(
      ["account", "invite"] + words + ["--endpoint", server.endpoint, "--home", "\(server.folder.path)/\(home)"])
    let code = try await run.printed { text in
      text.firstMatch(of: /Code: ([^\n]+)\n/).map { String($0.output.1) }
    }
    return (run, code)
  }

  @Test func deviceJoinsByCodeOnceTheOtherSaysYes() async throws {
    let server = try await ServerProcess()
    let (inviting, code) = try await invite(server, home: "phone")
    let joining = try ProgramRun(server.account("join", code, "--name", "laptop", home: "laptop"))
    let shown = try await joining.printed { text in
      text.firstMatch(of: /fingerprint: ([0-9a-f ]+)\n/).map { String($0.output.1) }
    }
    let seen = try await inviting.printed { text in
      text.firstMatch(of: /asks to join: laptop\nIts fingerprint: +([0-9a-f ]+)\n/).map { String($0.output.1) }
    }
    #expect(seen == shown)
    inviting.type("y")
    #expect(await inviting.end().code == 0)
    #expect(await joining.end().code == 0)
    let phone = try description(try await ProgramRun.run(server.account("show", "--json", home: "phone")))
    let laptop = try description(try await ProgramRun.run(server.account("show", "--json", home: "laptop")))
    #expect(phone.account == laptop.account)
    #expect(laptop.devices.first { $0.isThisDevice }?.name == "laptop")
    #expect(phone.devices.count == 2)
  }

  /// The other device has no settings of this one.
  @Test func whatTheOtherDeviceTypesNamesTheServer() async throws {
    let server = try await ServerProcess()
    let (inviting, code) = try await invite(server, home: "phone")
    let line = "virga account join \(code) --endpoint \(server.endpoint)\n"
    try await inviting.printed { $0.contains(line) ? () : nil }
    let made = try await ProgramRun.run(server.account("invite", "--new-account", home: "phone"))
    #expect(made.output.contains(/virga account join [A-Z0-9-]+ --endpoint http/), "\(made)")
  }

  @Test func aSettingThatIsMisspeltOrNoAddressIsTold() async throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/config.json"
    func show(_ settings: String) async throws -> ProgramRun.End {
      try Data(settings.utf8).write(to: URL(fileURLWithPath: file))
      return try await ProgramRun.run(["account", "show", "--home", folder.path])
    }
    let misspelt = try await show(#"{"endpont":"http://127.0.0.1:1","endpoint":"http://127.0.0.1:1"}"#)
    #expect(misspelt.code == 69)
    #expect(misspelt.errors.hasPrefix("virga: \(file) has an unknown setting: endpont\n"), "\(misspelt)")
    let wrong = try await show(#"{"endpoint":"ftp://x"}"#)
    #expect(
      wrong.code == 78 && wrong.errors.hasPrefix("virga: \(file): the server's address must begin with"), "\(wrong)")
  }

  @Test(arguments: ["n", "", nil])
  func deviceStaysOutUnlessTheOtherSaysYes(answer: String?) async throws {
    let server = try await ServerProcess()
    let (inviting, code) = try await invite(server, home: "phone")
    let joining = try ProgramRun(server.account("join", code, home: "laptop"))
    try await inviting.printed { $0.contains("asks to join") ? () : nil }
    if let answer { inviting.type(answer) } else { inviting.closeInput() }
    #expect(await inviting.end().code == 1)
    let end = await joining.end()
    #expect(end.code == 1)
    #expect(end.errors == "virga: the other device refused\n")
  }

  @Test func scriptsPairWithoutAsking() async throws {
    let server = try await ServerProcess()
    let (inviting, code) = try await invite(server, home: "phone", "--yes")
    let joined = try await ProgramRun.run(server.account("join", code, "--json", home: "laptop"))
    #expect(joined.code == 0)
    #expect(await inviting.end().code == 0)
    let enrolled = try JSONDecoder().decode(AccountMessages.Enrolled.self, from: Data(joined.output.utf8))
    let devices = try await ProgramRun.run(server.account("devices", home: "phone"))
    #expect(devices.output.contains(enrolled.device.rawValue))
  }

  @Test func removedDeviceIsToldSoAndJoinsAgain() async throws {
    let server = try await ServerProcess()
    let (inviting, code) = try await invite(server, home: "phone", "--yes")
    let joined = try await ProgramRun.run(server.account("join", code, "--json", home: "laptop"))
    _ = await inviting.end()
    let device = try JSONDecoder().decode(AccountMessages.Enrolled.self, from: Data(joined.output.utf8)).device
    #expect(try await ProgramRun.run(server.account("remove", device.rawValue, "--yes", home: "phone")).code == 0)

    let refused = try await ProgramRun.run(server.account("show", home: "laptop"))
    #expect(refused.code == 77)
    #expect(refused.errors.contains("this device was removed from its account"))

    let (again, second) = try await invite(server, home: "phone", "--yes")
    #expect(try await ProgramRun.run(server.account("join", second, home: "laptop")).code == 1)
    #expect(try await ProgramRun.run(server.account("join", second, "--replace", home: "laptop")).code == 0)
    #expect(await again.end().code == 0)
    #expect(try await ProgramRun.run(server.account("show", home: "laptop")).code == 0)
  }

  @Test func unknownDeviceIsNotRemoved() async throws {
    let server = try await ServerProcess()
    let end = try await ProgramRun.run(server.account("remove", "nobody", home: "phone"))
    #expect(end.code == 1)
    #expect(end.errors.contains("there is no device nobody (see virga account devices)"))
  }

  @Test func wrongCodeIsRefused() async throws {
    let server = try await ServerProcess()
    for code in ["ABCD-EFGH", "short"] {
      let end = try await ProgramRun.run(server.account("join", code, home: "laptop"))
      #expect(end.code == 1)
      #expect(end.errors == "virga: the code is wrong, used or too old; ask for a new one\n")
    }
  }

  @Test func twoProcessesOfOneHomeMakeOneAccountAtFirstUse() async throws {
    let server = try await ServerProcess()
    let runs = try (0..<6).map { _ in try ProgramRun(server.account("show", "--json", home: "phone")) }
    var accounts: Set<String> = []
    for run in runs {
      let end = await run.end()
      #expect(end.code == 0, "\(end.errors)")
      accounts.insert(try description(end).account.rawValue)
    }
    #expect(accounts.count == 1)
  }

  @Test func invitingServerPrintsTheFirstCodeUntilItIsUsed() async throws {
    let server = try await ServerProcess(options: ["--enrolment", "invite"])
    let found = server.greeting.firstMatch(of: /virga account join ([A-Z0-9-]+)/)
    let code = String(try #require(found).output.1)
    let refused = try await ProgramRun.run(server.account("show", home: "phone"))
    #expect(refused.code == 77)
    #expect(refused.errors.contains("only with an enrolment code"))
    #expect(try await ProgramRun.run(server.account("join", code, home: "phone")).code == 0)
    #expect(try await ProgramRun.run(server.account("join", code, home: "thief")).code == 1)

    let made = try await ProgramRun.run(server.account("invite", "--new-account", "--json", home: "phone"))
    let next = try JSONDecoder().decode(AccountMessages.Code.self, from: Data(made.output.utf8)).code
    await server.terminate()
    try await server.restart()
    #expect(!server.greeting.contains("makes the first account"))
    #expect(try await ProgramRun.run(server.account("join", next, home: "guest")).code == 0)
  }

  @Test func closedServerTakesNobodyNew() async throws {
    let server = try await ServerProcess(options: ["--enrolment", "closed"])
    let end = try await ProgramRun.run(server.account("show", home: "phone"))
    #expect(end.code == 77)
    #expect(end.errors.contains("this server takes no new accounts"))
  }

  @Test func tokensHaveTheProtocolsFormats() async throws {
    let server = try await ServerProcess(options: ["--container", "iCloud.a"])
    let end = try await ProgramRun.run(server.account("token", "--container", "iCloud.a", "--json", home: "phone"))
    let tokens = try JSONDecoder().decode(AccountMessages.Tokens.self, from: Data(end.output.utf8))
    #expect(tokens.apiToken.wholeMatch(of: /[0-9a-f]{64}/) != nil)
    #expect(tokens.webAuthToken.wholeMatch(of: /158__54__[A-Za-z0-9+\/=_]{91,}/) != nil)
    let other = try await ProgramRun.run(server.account("token", "--container", "iCloud.b", home: "phone"))
    #expect(other.code == 1)
    #expect(other.errors.contains("this server does not serve container iCloud.b"))
  }

  @Test func serverThatIsNotThereIsNamed() async throws {
    let server = try await ServerProcess()
    await server.terminate()
    let end = try await ProgramRun.run(server.account("show", home: "phone"))
    #expect(end.code == 69)
    #expect(end.errors.hasPrefix("virga: cannot reach \(server.endpoint): "))
  }

  @Test func whatTheDeviceKnowsIsShownWithoutTheServer() async throws {
    let server = try await ServerProcess()
    let before = try description(try await ProgramRun.run(server.account("show", "--json", home: "phone")))
    await server.terminate()
    let end = try await ProgramRun.run(server.account("show", home: "phone"))
    #expect(end.code == 0)
    #expect(end.errors.hasPrefix("virga: cannot reach \(server.endpoint): "))
    let device = try #require(before.devices.first { $0.isThisDevice }).id
    #expect(end.output == "Account  \(before.account)\nDevice   \(device)\nServer   \(before.server)\n")
    let json = try await ProgramRun.run(server.account("show", "--json", home: "phone"))
    #expect(json.output.contains(#""isServerReached":false"#) && json.output.contains(before.account.rawValue))
    #expect(try await ProgramRun.run(server.account("devices", home: "phone")).code == 69)
  }

  @Test func aHomeBelowMissingFoldersIsMade() async throws {
    let server = try await ServerProcess(options: ["--enrolment", "invite"])
    let code = try #require(server.greeting.firstMatch(of: /virga account join ([A-Z0-9-]+)/)).output.1
    let end = try await ProgramRun.run(server.account("join", String(code), home: "not/yet/there"))
    #expect(end.code == 0, "\(end.errors)")
    #expect(FileManager.default.fileExists(atPath: server.folder.path + "/not/yet/there/device.key"))
  }

  @Test func aShareIsAcceptedByItsAddress() async throws {
    let server = try await ServerProcess()
    let owner = try await WebService(server, home: "owner")
    let zone = #""zoneID":{"zoneName":"Trips"}"#
    _ = try owner.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
    let saved = try owner.call(
      "records/modify",
      #"{\#(zone),"operations":[{"operationType":"create","record":{"recordName":"trip","recordType":"Trip"}},"#
        + #"{"operationType":"create","record":{"recordType":"cloudkit.share","forRecord":{"recordName":"trip"},"#
        + #""publicPermission":"READ_WRITE","fields":{"cloudkit.title":{"value":"Rome"}}}}]}"#)
    let records = try #require(saved.json["records"] as? [[String: Any]])
    let guid = try #require(records.last?["shortGUID"] as? String, "\(saved.json)")
    let address = "\(server.endpoint)/share/iCloud.virga.test/development/\(guid)"
    let page = try RawConnection(port: server.port).request(
      requestBytes("GET", "/share/iCloud.virga.test/development/\(guid)"))
    #expect(page.status == 200 && page.text.contains("Rome"))
    // The address says where the server is.
    func accept(_ address: String) async throws -> ProgramRun.End {
      try await ProgramRun.run(["account", "accept", address, "--home", server.folder.path + "/guest"])
    }
    let accepted = try await accept(address)
    #expect(accepted.output == "Accepted 'Rome' in iCloud.virga.test.\n", "\(accepted.errors)")
    let guest = try await WebService(server, home: "guest")
    let zones = try guest.call("zones/list", in: "shared").json["zones"] as? [[String: Any]]
    #expect(zones?.count == 1)
    let wrong = try await accept(address + "x")
    #expect(wrong.code == 1 && wrong.errors.contains("the share was not accepted"))
    let none = try await accept("https://example.com/somewhere")
    #expect(none.code == 64 && none.errors.contains("is not the address of a share"))
  }

  /// Whoever writes an address may pose as a server that hands on what is signed: to such a one nothing is.
  @Test func anAddressOfAShareMovesNoServer() async throws {
    let server = try await ServerProcess(options: ["--host", "0.0.0.0", "--enrolment", "open"])
    let owner = try await WebService(server, home: "owner")
    let zone = #""zoneID":{"zoneName":"Trips"}"#
    _ = try owner.call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
    let saved = try owner.call(
      "records/modify",
      #"{\#(zone),"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share","#
        + #""recordName":"cloudkit.zoneshare","publicPermission":"READ_ONLY"}}]}"#)
    let records = try #require(saved.json["records"] as? [[String: Any]])
    let guid = try #require(records.last?["shortGUID"] as? String, "\(saved.json)")
    #expect(try await ProgramRun.run(server.account("show", home: "guest")).code == 0)
    let home = server.folder.path + "/guest"
    let file = URL(fileURLWithPath: home + "/account.json")
    let before = try Data(contentsOf: file)
    func accept(
      _ host: String, _ words: String..., environment: [String: String] = [:]
    ) async throws -> ProgramRun.End {
      let address = "http://\(host):\(server.port)/share/iCloud.virga.test/development/\(guid)"
      return try await ProgramRun.run(
        ["account", "accept", address, "--home", home] + words, environment: environment)
    }
    let there = "http://127.0.0.2:\(server.port)"
    let refused = try await accept("127.0.0.2")
    #expect(refused.code == 1)
    #expect(
      refused.errors
        == "virga: the server at \(there) claims to be your server at \(server.endpoint); nothing about you "
        + "was sent there; to accept at your server: --endpoint \(server.endpoint); only if the server has moved: "
        + "--endpoint \(there)\n")
    #expect(try Data(contentsOf: file) == before)
    #expect(try await accept("127.0.0.2", "--endpoint", server.endpoint).code == 0)
    #expect(try Data(contentsOf: file) == before)
    // All names of this machine are one, and the one that is known stays.
    #expect(try await accept("localhost").code == 0)
    #expect(try Data(contentsOf: file) == before)
    // The device's user may say where it is.
    #expect(try await accept("127.0.0.2", environment: ["VIRGA_ENDPOINT": there]).code == 0)
    #expect(try await accept("127.0.0.1", "--endpoint", server.endpoint).code == 0)
    #expect(try Data(contentsOf: file) == before)
  }

  @Test func homeThatOthersMayReadIsRefused() async throws {
    let server = try await ServerProcess()
    #expect(try await ProgramRun.run(server.account("show", home: "phone")).code == 0)
    #expect(chmod(server.folder.path + "/phone/device.key", 0o644) == 0)
    let end = try await ProgramRun.run(server.account("show", home: "phone"))
    #expect(end.code == 78)
    #expect(end.errors.contains("is open to other users"))
  }

  @Test func environmentNamesHomeAndServer() async throws {
    let server = try await ServerProcess()
    let environment = ["VIRGA_HOME": server.folder.path + "/phone", "VIRGA_ENDPOINT": server.endpoint]
    #expect(try await ProgramRun.run(["account", "show"], environment: environment).code == 0)
    #expect(FileManager.default.fileExists(atPath: server.folder.path + "/phone/device.key"))
  }
}
