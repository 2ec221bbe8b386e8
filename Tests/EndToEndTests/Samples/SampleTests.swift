import Foundation
import Testing
import VirgaAuth

/// Apps in the shape of Apple's public samples, compiled in both language modes from the same files, on a real server.
@Suite(.timeLimit(.minutes(2))) struct SampleTests {
  enum Mode: String, CaseIterable {
    case swift5, swift6
  }

  /// An app on a device: each has a folder of its own; people have a home, which their devices share.
  private struct App {
    let server: ServerProcess
    let mode: Mode
    let name: String
    var person = "alice"
    var device = "phone"

    func on(_ device: String, of person: String = "alice") -> App {
      var copy = self
      (copy.device, copy.person) = (device, person)
      return copy
    }

    /// Launches the app for one action, and gives the lines that it prints.
    func callAsFunction(_ words: String..., environment: [String: String] = [:]) async throws -> [String] {
      let folder = "\(server.folder.path)/\(person)-\(device)-\(name)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      var variables = [
        "VIRGA_ENDPOINT": server.endpoint, "VIRGA_HOME": "\(server.folder.path)/\(person)",
        "VIRGA_CONTAINER": "iCloud.samples",
      ]
      variables.merge(environment) { _, new in new }
      let end = try await ProgramRun.run(
        [name, folder] + words, program: "samples-\(mode)", environment: variables)
      #expect(end.code == 0, "\(words): \(end.output)\(end.errors)")
      return end.output.split(separator: "\n").map(String.init)
    }
  }

  private func app(_ name: String, _ mode: Mode) async throws -> App {
    App(server: try await ServerProcess(options: ["--ephemeral"]), mode: mode, name: name)
  }

  @Test(arguments: Mode.allCases) func aContactListSyncs(mode: Mode) async throws {
    let phone = try await app("contacts", mode)
    let laptop = phone.on("laptop")
    #expect(try await phone("put", "p1", "Ada") == ["signed in: true", "person: p1 Ada"])
    #expect(try await laptop("sync") == ["signed in: true", "person: p1 Ada"])
    // An edit made offline is sent by the next launch, and meets another one.
    #expect(try await phone("put", "p1", "Ada L.", "--offline") == ["person: p1 Ada L."])
    #expect(try await laptop("put", "p1", "Countess Ada") == ["person: p1 Countess Ada"])
    _ = try await phone("sync")
    let merged = "person: p1 Ada L. / Countess Ada"
    #expect(try await phone("sync") == [merged])
    #expect(try await laptop("sync") == [merged])
    #expect(try await laptop("remove", "p1") == [])
    #expect(try await phone("sync") == [])
    await phone.server.terminate()
  }

  @Test(arguments: Mode.allCases) func aPantryFollowsItsZone(mode: Mode) async throws {
    let phone = try await app("pantry", mode)
    #expect(
      try await phone("add", "i1", "flour")
        == ["subscribed", "saved: true", "fetched: 1 changed, 0 deleted", "item: i1 flour"])
    let laptop = phone.on("laptop")
    #expect(
      try await laptop("add", "i2", "salt").suffix(3) == [
        "fetched: 2 changed, 0 deleted", "item: i1 flour", "item: i2 salt",
      ])
    #expect(try await phone("delete", "i1") == ["fetched: 1 changed, 1 deleted", "item: i2 salt"])
    #expect(try await laptop("look") == ["fetched: 0 changed, 1 deleted", "item: i2 salt"])
    #expect(try await laptop("look") == ["fetched: 0 changed, 0 deleted", "item: i2 salt"])
    await phone.server.terminate()
  }

  @Test(arguments: Mode.allCases) func anAlbumIsShared(mode: Mode) async throws {
    let alice = try await app("albums", mode)
    let bob = alice.on("phone", of: "bob")
    let user = try #require(try await bob("whoami").first { $0.hasPrefix("user: ") }).dropFirst(6)
    _ = try await alice("create", "a1", "Summer")
    let shared = try await alice("share", "a1", String(user))
    let url = try #require(shared.first { $0.hasPrefix("url: http") }).dropFirst(5)
    #expect(
      try await bob("join", String(url))
        == ["invited to: Summer as writer", "shared: a1 Summer", "shared: a1-1 first page"])
    #expect(try await bob("edit", "by Bob") == ["shared: a1 Summer", "shared: a1-1 by Bob"])
    #expect(try await alice("look") == ["mine: a1 Summer", "mine: a1-1 by Bob"])
    #expect(try await bob("leave") == [])
    #expect(try await alice("look") == ["mine: a1 Summer", "mine: a1-1 by Bob"])
    await alice.server.terminate()
  }

  @Test(arguments: Mode.allCases) func stationsAreFoundByQueries(mode: Mode) async throws {
    let app = try await app("stations", mode)
    _ = try await app("save", "Nord:1", "Nordbahnhof:2", "Sued:1", "Nordring:1")
    let stranger = app.on("phone", of: "bob")
    #expect(
      try await stranger("search", "Nord") == ["station: Nord 1", "station: Nordbahnhof 2", "station: Nordring 1"])
    #expect(try await stranger("count", "1") == ["count: 3"])
    #expect(try await stranger("either") == ["refused"])
    await app.server.terminate()
  }

  @Test(arguments: Mode.allCases) func aPhotoTravelsAsAFile(mode: Mode) async throws {
    let phone = try await app("photos", mode)
    #expect(try await phone("add", "p1", "Cat") == ["progress ends with: 1.0"])
    let laptop = phone.on("laptop")
    #expect(try await laptop("titles", "p1") == ["title: Cat, image: left out"])
    #expect(try await laptop("get", "p1") == ["photo: Cat 300000 true"])
    _ = try await laptop("clear", "p1")
    #expect(try await phone("get", "p1") == ["no file"])
    await phone.server.terminate()
  }

  @Test(arguments: Mode.allCases) func aVaultKeepsEncryptedValues(mode: Mode) async throws {
    let phone = try await app("vault", mode)
    _ = try await phone("put", "s1", "Doctor", "555-0100")
    #expect(try await phone.on("laptop")("get", "s1") == ["secret: Doctor 555-0100", "plain value: none"])
    #expect(try await phone("search", "555-0100") == ["refused: true"])
    await phone.server.terminate()
  }

  @Test(arguments: Mode.allCases) func anOlderAppWorksWithItsBlocks(mode: Mode) async throws {
    let app = try await app("ledger", mode)
    #expect(try await app("setup") == ["account: true true", "zones: 1 true", "all zones: 2"])
    let entered = try await app("enter", "rent=700", "food=120.5")
    #expect(entered.sorted() == ["entry: food true", "entry: rent true", "saved: 2 true"])
    #expect(try await app("conflict", "rent") == ["first: saved", "second: true true", "conflict: true server 701"])
    #expect(try await app("total") == ["query: true true", "total: 821.5 of 2"])
    // 6.6
    #expect(try await app("zones") == ["zones: Ledger _defaultZone"])
    await app.server.terminate()
  }

  @Test(arguments: Mode.allCases) func theLaterMeasurementWins(mode: Mode) async throws {
    let phone = try await app("pulse", mode)
    let watch = phone.on("watch")
    #expect(try await phone("measure", "b1", "60", "2000") == ["beat: b1 60"])
    // The watch measured earlier and comes later: it takes the phone's value, and sends it with the new tag.
    #expect(try await watch("measure", "b1", "90", "1000") == ["beat: b1 60"])
    #expect(try await watch("measure", "b1", "75", "3000") == ["beat: b1 75"])
    #expect(try await phone.on("tablet")("push") == ["handled: true, another's: false", "beat: b1 75"])
    await phone.server.terminate()
  }

  @Test(arguments: Mode.allCases) func tasksGoTogetherOrNotAtAll(mode: Mode) async throws {
    let app = try await app("tasks", mode)
    #expect(try await app("plan", "House", "Roof", "Door") == ["saved: 3"])
    #expect(try await app("finish") == ["changed before: []", "finished: Roof 1"])
    #expect(try await app("all or nothing") == ["task-0: true false", "fresh: false true"])
    #expect(try await app("open") == ["open: Door", "subscribed: [\"main-zone\"]"])
    #expect(try await app("drop") == ["left: 0"])
    await app.server.terminate()
  }

  @Test(arguments: Mode.allCases) func aConflictIsMergedByItsThreeRecords(mode: Mode) async throws {
    let app = try await app("merge", mode)
    _ = try await app("start")
    #expect(try await app("race") == ["merged: mine theirs a+b+c"])
    await app.server.terminate()
  }

  /// With the tokens of CloudKit Web Services an app needs no device of ours, and makes none.
  @Test(arguments: Mode.allCases) func anAppWorksWithTokensAlone(mode: Mode) async throws {
    let phone = try await app("contacts", mode)
    _ = try await phone("put", "p1", "Ada")
    let words = phone.server.account("token", "--container", "iCloud.samples", "--json", home: "alice")
    let tokens = try JSONDecoder().decode(
      AccountMessages.Tokens.self, from: Data(try await ProgramRun.run(words).output.utf8))
    let web = phone.on("web", of: "nobody")
    let variables = ["VIRGA_API_TOKEN": tokens.apiToken, "VIRGA_WEB_AUTH_TOKEN": tokens.webAuthToken]
    #expect(
      try await web("put", "p2", "Bob", environment: variables) == [
        "signed in: true", "person: p1 Ada", "person: p2 Bob",
      ])
    #expect(try await phone("sync") == ["person: p1 Ada", "person: p2 Bob"])
    #expect(!FileManager.default.fileExists(atPath: "\(phone.server.folder.path)/nobody/device.key"))
    await phone.server.terminate()
  }

  /// Without a server, or with an address that says nothing, the app is told so and goes on.
  @Test(arguments: Mode.allCases) func withoutTheServerTheAppGoesOn(mode: Mode) async throws {
    let phone = try await app("contacts", mode)
    _ = try await phone("put", "p1", "Ada")
    await phone.server.terminate()
    #expect(try await phone("put", "p1", "Ada L.", "--offline") == ["person: p1 Ada L."])
  }
}
