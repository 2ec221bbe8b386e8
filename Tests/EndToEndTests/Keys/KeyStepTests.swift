import Foundation
import Testing
import VirgaAuth

/// Each step of a key's life, stopped by a refusal and by a SIGKILL: what was there before or what comes after it is
/// there, never neither. The table is in `docs/decisions/encryption.md`.
@Suite(.timeLimit(.minutes(10))) struct KeyStepTests {
  /// One account with its devices, on a server that others use too.
  private struct People {
    let server: ServerProcess
    /// Begins the names of the homes, so that each attempt begins anew.
    let prefix: String

    func home(_ name: String) -> String { "\(prefix)-\(name)" }

    private func vault(_ device: String, _ words: [String], at endpoint: String?) -> (words: [String], [String: String])
    {
      let folder = "\(server.folder.path)/\(home(device))"
      return (
        ["vault", folder] + words,
        [
          "VIRGA_ENDPOINT": endpoint ?? server.endpoint, "VIRGA_HOME": folder, "VIRGA_CONTAINER": "iCloud.vault",
        ]
      )
    }

    func app(_ device: String, _ words: String...) async throws -> String {
      let (arguments, environment) = vault(device, words, at: nil)
      let end = try await ProgramRun.run(arguments, program: "samples-swift6", environment: environment)
      return end.output + (end.code == 0 ? "" : "code \(end.code) \(end.errors)")
    }

    func start(app device: String, _ words: String..., at endpoint: String) throws -> ProgramRun {
      let (arguments, environment) = vault(device, words, at: endpoint)
      let run = try ProgramRun(arguments, program: "samples-swift6", environment: environment)
      run.closeInput()
      return run
    }

    func account(_ device: String, _ words: String..., endpoint: String? = nil) -> [String] {
      ["account"] + words
        + ["--endpoint", endpoint ?? server.endpoint, "--home", "\(server.folder.path)/\(home(device))"]
    }

    func run(_ device: String, _ words: String...) async throws -> ProgramRun.End {
      try await ProgramRun.run(
        ["account"] + words + ["--endpoint", server.endpoint, "--home", "\(server.folder.path)/\(home(device))"])
    }

    /// Lets a device in; either side may be stopped.
    @discardableResult
    func join(
      _ device: String, to first: String = "phone", stoppingInviter: StepProxy? = nil, stoppingJoiner: StepProxy? = nil
    ) async throws -> Bool {
      let invite = try ProgramRun(account(first, "invite", "--yes", endpoint: stoppingInviter?.endpoint))
      stoppingInviter?.watch(invite)
      invite.closeInput()
      let code: String
      do {
        code = try await invite.printed { $0.firstMatch(of: /Code: ([0-9A-Z-]+)/).map { String($0.output.1) } }
      } catch { return false }
      let join = try ProgramRun(
        account(device, "join", code, "--name", device, "--replace", endpoint: stoppingJoiner?.endpoint))
      stoppingJoiner?.watch(join)
      join.closeInput()
      // Of two sides one may wait for the other, which is gone.
      if stoppingInviter != nil {
        _ = await invite.end()
        // Nothing tells whether this one waits or is about to end; it gets a moment to end by itself.
        try await Task.sleep(for: .milliseconds(300))
        join.signal(SIGKILL)
      }
      let joined = await join.end()
      invite.signal(SIGKILL)
      _ = await invite.end()
      return joined.code == 0
    }

    func id(of device: String) async throws -> String? {
      let shown = try await run("phone", "devices")
      return shown.output.split(separator: "\n").first { $0.hasSuffix("  \(device)") }
        .flatMap { $0.firstMatch(of: /[0-9a-f]{32}/).map { String($0.output) } }
    }

    func key(_ device: String) async throws -> String? {
      try await run(device, "show").output.firstMatch(of: /Key +([0-9a-f ]+)\n/).map { String($0.output.1) }
    }

    /// Whether a device reads what was written before, and writes what the other devices read.
    func works(_ device: String, readBy others: String..., reads: String = "before") async throws -> String? {
      let read = try await app(device, "get", reads)
      guard read.hasPrefix("secret: Before 555") else { return "\(device) does not read: \(read)" }
      let name = "by-\(device)-\(UUID().uuidString)"
      let put = try await app(device, "put", name, "Now", "777")
      guard put.isEmpty else { return "\(device) does not write: \(put)" }
      for other in others {
        let seen = try await app(other, "get", name)
        guard seen.hasPrefix("secret: Now 777") else { return "\(other) does not read what \(device) wrote: \(seen)" }
      }
      return nil
    }
  }

  /// Stops an operation at each of its steps, on new homes each time, until it gets through.
  private func eachStep(
    _ stop: StepProxy.Stop, of what: String, least: Int,
    _ body: (People, StepProxy) async throws -> Void
  ) async throws {
    let server = try await ServerProcess(options: ["--ephemeral", "--address-rate", "100000", "--user-rate", "100000"])
    var step = 0
    while true {
      let people = People(server: server, prefix: "\(what)-\(step)")
      let proxy = try StepProxy(to: server.port, stop, at: step)
      try await body(people, proxy)
      if !proxy.hasStopped { break }
      step += 1
    }
    #expect(step >= least, "\(what) has \(step) steps")
    await server.terminate()
  }

  @Test(arguments: StepProxy.Stop.allCases) func firstKey(stop: StepProxy.Stop) async throws {
    try await eachStep(stop, of: "first", least: 5) { people, proxy in
      let run = try people.start(app: "phone", "put", "before", "Before", "555", at: proxy.endpoint)
      proxy.watch(run)
      _ = await run.end()
      #expect(try await people.app("phone", "put", "before2", "Before", "555") == "", "\(proxy.steps)")
      #expect(try await people.works("phone", reads: "before2") == nil, "\(proxy.steps)")
    }
  }

  @Test(arguments: StepProxy.Stop.allCases, [true, false])
  func joining(stop: StepProxy.Stop, isInviter: Bool) async throws {
    try await eachStep(stop, of: "join", least: isInviter ? 5 : 2) { people, proxy in
      #expect(try await people.app("phone", "put", "before", "Before", "555") == "")
      try await people.join(
        "laptop", stoppingInviter: isInviter ? proxy : nil, stoppingJoiner: isInviter ? nil : proxy)
      #expect(try await people.works("phone") == nil, "\(proxy.steps)")
      #expect(try await people.join("laptop"), "\(proxy.steps)")
      #expect(try await people.works("laptop", readBy: "phone") == nil, "\(proxy.steps)")
    }
  }

  @Test(arguments: StepProxy.Stop.allCases) func removingAnotherDevice(stop: StepProxy.Stop) async throws {
    try await eachStep(stop, of: "remove", least: 6) { people, proxy in
      #expect(try await people.app("phone", "put", "before", "Before", "555") == "")
      for device in ["laptop", "tablet"] { try await people.join(device) }
      let laptop = try #require(try await people.id(of: "laptop"))
      let key = try await people.key("phone")
      let run = try ProgramRun(people.account("phone", "remove", laptop, "--yes", endpoint: proxy.endpoint))
      proxy.watch(run)
      run.closeInput()
      _ = await run.end()
      #expect(try await people.works("phone", readBy: "tablet") == nil, "\(proxy.steps)")
      #expect(try await people.works("tablet", readBy: "phone") == nil, "\(proxy.steps)")
      // Once more, whatever came of it: the device is gone, and the key another one.
      let again = try await people.run("phone", "remove", laptop, "--yes")
      #expect(again.code == 0, "\(proxy.steps): \(again.errors)")
      #expect(try await people.app("laptop", "get", "before").contains("code 1"), "\(proxy.steps)")
      #expect(try await people.works("tablet", readBy: "phone") == nil, "\(proxy.steps)")
      #expect(try await people.key("phone") == people.key("tablet"))
      #expect(try await people.key("phone") != key)
    }
  }

  @Test(arguments: StepProxy.Stop.allCases) func removingOneself(stop: StepProxy.Stop) async throws {
    try await eachStep(stop, of: "leave", least: 5) { people, proxy in
      #expect(try await people.app("phone", "put", "before", "Before", "555") == "")
      try await people.join("laptop")
      let laptop = try #require(try await people.id(of: "laptop"))
      let run = try ProgramRun(people.account("laptop", "remove", laptop, "--yes", endpoint: proxy.endpoint))
      proxy.watch(run)
      run.closeInput()
      _ = await run.end()
      #expect(try await people.works("phone") == nil, "\(proxy.steps)")
      // Who has to stay has lost nothing.
      if try await people.id(of: "laptop") != nil {
        #expect(try await people.works("laptop", readBy: "phone") == nil, "\(proxy.steps)")
        #expect(try await people.run("laptop", "remove", laptop, "--yes").code == 0, "\(proxy.steps)")
      }
      #expect(try await people.id(of: "laptop") == nil)
      #expect(try await people.works("phone") == nil, "\(proxy.steps)")
    }
  }

  /// The only device of an account stays, with its key.
  @Test func theOnlyDeviceIsNotRemovedAndItsKeyStays() async throws {
    let server = try await ServerProcess(options: ["--ephemeral"])
    let people = People(server: server, prefix: "only")
    #expect(try await people.app("phone", "put", "before", "Before", "555") == "")
    let shown = try await people.run("phone", "devices")
    let phone = String(try #require(shown.output.firstMatch(of: /[0-9a-f]{32}/)).output)
    let key = try await people.key("phone")
    let unasked = try await people.run("phone", "remove", phone)
    #expect(unasked.code == 1 && unasked.errors.contains("the device that you are typing on"), "\(unasked)")
    let refused = try await people.run("phone", "remove", phone, "--yes")
    #expect(refused.code == 1 && refused.errors.contains("the last device"), "\(refused)")
    #expect(try await people.key("phone") == key && key != nil)
    #expect(try await people.works("phone") == nil)
    #expect(try await people.join("laptop"))
    #expect(try await people.works("laptop", readBy: "phone") == nil)
    await server.terminate()
  }

  @Test(arguments: StepProxy.Stop.allCases) func beginningAnew(stop: StepProxy.Stop) async throws {
    try await eachStep(stop, of: "reset", least: 2) { people, proxy in
      #expect(try await people.app("phone", "put", "before", "Before", "555") == "")
      let run = try ProgramRun(people.account("phone", "reset-keys", "--yes", endpoint: proxy.endpoint))
      proxy.watch(run)
      run.closeInput()
      _ = await run.end()
      // Either nothing has changed, or the device has the new key and sends again what it has.
      let isThere = try await people.app("phone", "get", "before").hasPrefix("secret: Before 555")
      if !isThere { #expect(try await people.app("phone", "put", "before", "Before", "555") == "", "\(proxy.steps)") }
      #expect(try await people.works("phone") == nil, "\(proxy.steps)")
      #expect(try await people.run("phone", "reset-keys", "--yes").code == 0, "\(proxy.steps)")
      #expect(try await people.app("phone", "put", "before", "Before", "555") == "", "\(proxy.steps)")
      #expect(try await people.works("phone") == nil, "\(proxy.steps)")
    }
  }

  @Test(arguments: StepProxy.Stop.allCases) func acceptingAShare(stop: StepProxy.Stop) async throws {
    try await eachStep(stop, of: "accept", least: 2) { people, proxy in
      #expect(try await people.app("phone", "put", "before", "Before", "555") == "")
      let url = try await people.app("phone", "share").trimmingCharacters(in: .newlines)
      let end = proxy.endpoint
      let run = try ProgramRun(people.account("guest", "accept", url, endpoint: end))
      proxy.watch(run)
      run.closeInput()
      _ = await run.end()
      #expect(try await people.run("guest", "accept", url).code == 0, "\(proxy.steps)")
      #expect(try await people.app("guest", "shared", "before").hasPrefix("secret: Before 555"), "\(proxy.steps)")
    }
  }

  /// The owner's next save after a removal makes the zone another key and hands it to the participants.
  @Test(arguments: StepProxy.Stop.allCases) func handingOnAZonesKey(stop: StepProxy.Stop) async throws {
    try await eachStep(stop, of: "hand", least: 3) { people, proxy in
      #expect(try await people.app("phone", "put", "before", "Before", "555") == "")
      let url = try await people.app("phone", "share").trimmingCharacters(in: .newlines)
      #expect(try await people.run("guest", "accept", url).code == 0)
      #expect(try await people.app("guest", "shared", "before").hasPrefix("secret: Before 555"))
      try await people.join("laptop")
      let laptop = try #require(try await people.id(of: "laptop"))
      #expect(try await people.run("phone", "remove", laptop, "--yes").code == 0)
      let run = try people.start(app: "phone", "put", "after", "Before", "555", at: proxy.endpoint)
      proxy.watch(run)
      _ = await run.end()
      #expect(try await people.works("phone") == nil, "\(proxy.steps)")
      #expect(try await people.app("phone", "put", "after", "Before", "555") == "", "\(proxy.steps)")
      #expect(try await people.app("guest", "shared", "after").hasPrefix("secret: Before 555"), "\(proxy.steps)")
      #expect(try await people.app("guest", "shared", "before").hasPrefix("secret: Before 555"), "\(proxy.steps)")
    }
  }
}
