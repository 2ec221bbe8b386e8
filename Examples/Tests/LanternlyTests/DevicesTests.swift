import Foundation
import Testing

@testable import LanternlyCore

/// Devices that sync through a server process.
@Suite(.serialized)
struct DevicesTests {
  @Test func anEditMadeOfflineReachesTheOtherDevice() throws {
    let fleet = try Fleet()
    let picture = try fleet.folder.write(Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }), to: "p.png")
    #expect(try fleet.lanternly("phone", "new", "--text", "base\n\nmiddle\n\nend", "--attach", picture).code == 0)
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    #expect(try fleet.shown("laptop") == fleet.shown("phone"))
    #expect(try fleet.shown("laptop").values.first?.last == "p.png true")
    let name = try #require(try fleet.store("phone").entries().first).id.name

    fleet.stopServer(SIGTERM)
    let offline = try fleet.lanternly("phone", "sync")
    #expect(offline.code == ExitCode.notSynced.rawValue)
    #expect(offline.output.contains("the server cannot be reached: \(fleet.url): "))
    #expect(try fleet.lanternly("phone", "edit", name, "--restore", "0").code == ExitCode.notFound.rawValue)
    let text = try #require(try fleet.store("phone").entries().first).entry.text
    try fleet.lanternly("phone", "edit", name, "--text", text.replacingOccurrences(of: "base", with: "phone's"))
    try fleet.lanternly("laptop", "edit", name, "--tag", "seen")
    // C111, C112: what waits is not called synced, and a later success clears the failure.
    #expect(try fleet.lanternly("phone", "sync").code == ExitCode.notSynced.rawValue)
    #expect(try fleet.store("phone").status().state == .attention)
    #expect(try fleet.store("phone").status().pendingSaves == 1)

    try fleet.startServer()
    for device in ["phone", "laptop", "phone"] { #expect(try fleet.lanternly(device, "sync").code == 0) }
    #expect(try fleet.shown("laptop") == fleet.shown("phone"))
    #expect(try fleet.shown("laptop").values.first?.contains("seen") == true)
    #expect(try fleet.shown("laptop").values.first?.first?.hasPrefix("phone's") == true)
    #expect(try fleet.store("phone").status().state == .synced)
    #expect(try fleet.store("phone").status().notes.lastError == nil)
  }

  /// C103: imported on both before either knows of the other: one copy of everything, and no file travels twice.
  @Test func anImportOnTwoDevicesIsOneDiary() throws {
    let fleet = try Fleet()
    let export = fleet.folder.path + "/export"
    #expect(try BuiltProgram.start("sample-export", [export, "6", "32"]).waited == 0)
    for device in ["phone", "laptop"] { #expect(try fleet.lanternly(device, "import", export).code == 0) }
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    for device in ["laptop", "phone"] { #expect(try fleet.lanternly(device, "sync").code == 0) }
    #expect(try fleet.shown("laptop").count == 6)
    #expect(try fleet.shown("laptop") == fleet.shown("phone"))
    #expect(try fleet.store("laptop").conflictCount() == 0)
    #expect(try fleet.lanternly("laptop", "import", export).output.contains("Already there: 6 entries."))
    #expect(try fleet.store("laptop").status().state == .synced)
  }

  /// C18: photos of an import that its text does not show come back with their entry.
  @Test func anEditBringsADeletedEntryBackWithItsPhotos() throws {
    let fleet = try Fleet()
    try fleet.folder.write("bytes", to: "x/photos/b.png")
    try fleet.folder.write(
      #"""
      {"entries": [{"uuid": "0BDDD6CDA43C4A9AA2681517CC35AD9D", "creationDate": "2020-01-03T10:00:00Z",
        "text": "no link", "photos": [{"identifier": "P1", "md5": "b", "type": "png"}]}]}
      """#, to: "x/j.json")
    #expect(try fleet.lanternly("phone", "import", fleet.folder.path + "/x").code == 0)
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    #expect(try fleet.lanternly("phone", "delete", "0bddd6").code == 0)
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try fleet.store("phone").allAttachments().isEmpty)
    #expect(try fleet.lanternly("laptop", "edit", "0bddd6", "--append", "and more").code == 0)
    for device in ["laptop", "phone"] {
      let result = try fleet.lanternly(device, "sync")
      #expect(result.code == 0, "\(result.output)")
    }
    #expect(try fleet.shown("phone") == fleet.shown("laptop"))
    #expect(try fleet.shown("phone").values.first == ["no link\n\nand more", "b.png true"])
  }

  /// C61: a text beyond the limit of a record is kept here and refused alone, and both are said.
  @Test func aTextThatIsTooLargeStopsNothingElse() throws {
    let fleet = try Fleet()
    let large = String(repeating: "seven  ", count: 160_000)
    let path = try fleet.folder.write(large, to: "large.txt")
    let script = "\"$1\" --home \"$2\" new < \"$3\""
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script, "sh", BuiltProgram.path("lanternly"), fleet.home("phone"), path]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    #expect(process.waited == 0)
    #expect(try fleet.lanternly("phone", "new", "--text", "small").code == 0)
    let result = try fleet.lanternly("phone", "sync")
    #expect(result.code == ExitCode.notSynced.rawValue)
    let status = try fleet.store("phone").status()
    #expect(status.state == .attention)
    #expect(status.pendingSaves == 1)
    #expect(status.refused.count == 1)
    #expect(status.refused.first?.error?.contains("limitExceeded") == true)
    try fleet.join("laptop", to: "phone")
    try fleet.lanternly("laptop", "sync")
    #expect(try fleet.shown("laptop").values.map { $0[0] } == ["small"])
    #expect(try fleet.shown("phone").count == 2)
  }

  /// C66: large files are read in pieces, on their way into the diary and to the server.
  @Test func largeFilesAreNotHeldInMemory() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "first")
    let base = try fleet.lanternly("phone", "sync").peakBytes
    var words = ["--home", fleet.home("phone"), "new", "--text", "large"]
    for number in 0..<6 {
      let path = try fleet.folder.write(Data(count: 25 << 20) + Data([UInt8(number)]), to: "f\(number).bin")
      words += ["--attach", path]
    }
    let log = fleet.folder.path + "/new.out"
    #expect(try fleet.start("lanternly", words, "phone", output: log).waited == 0)
    let sync = try fleet.lanternly("phone", "sync")
    #expect(sync.code == 0)
    #expect(sync.peakBytes - base < 64 << 20, "\(sync.peakBytes) against \(base)")
    try fleet.join("laptop", to: "phone")
    let download = try fleet.lanternly("laptop", "sync")
    #expect(download.code == 0)
    #expect(download.peakBytes - base < 64 << 20, "\(download.peakBytes) against \(base)")
    #expect(try fleet.shown("laptop") == fleet.shown("phone"))
  }

  /// Kills server and devices at random while they sync; afterwards nothing is missing.
  @Test func killedSyncsLoseNothing() throws {
    let fleet = try Fleet()
    let export = fleet.folder.path + "/export"
    #expect(try BuiltProgram.start("sample-export", [export, "40", "48"]).waited == 0)
    try fleet.lanternly("phone", "new", "--text", "first")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    try fleet.lanternly("phone", "import", export)
    var random = Seeded(7)
    for round in 0..<8 {
      try fleet.lanternly("laptop", "new", "--text", "round \(round)")
      let device = round % 2 == 0 ? "phone" : "laptop"
      let words = ["--home", fleet.home(device), "sync"]
      let sync = try fleet.start("lanternly", words, device, output: fleet.folder.path + "/s.out")
      // The kill comes at any moment of the run, which has no event for each.
      usleep(UInt32.random(in: 20_000...400_000, using: &random))
      if Bool.random(using: &random) {
        kill(sync.processIdentifier, SIGKILL)
      } else {
        fleet.stopServer(SIGKILL)
        sync.waitUntilExit()
        try fleet.startServer()
      }
      sync.waitUntilExit()
    }
    for device in ["phone", "laptop", "phone"] {
      let result = try fleet.lanternly(device, "sync")
      #expect(result.code == 0, "\(result.output)")
    }
    let (phone, laptop) = (try fleet.shown("phone"), try fleet.shown("laptop"))
    #expect(phone == laptop)
    #expect(phone.count == 1 + 40 + 8)
    #expect(phone.values.flatMap { $0 }.filter { $0.hasSuffix(" true") }.count == 40)
    #expect(try fleet.store("phone").conflictCount() == 0)
  }

  @Test func aWatchingDeviceShowsWhatArrivesAndSurvivesTheServer() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "first")
    try fleet.lanternly("phone", "sync")
    try fleet.join("laptop", to: "phone")
    let log = fleet.folder.path + "/watch.out"
    let watch = try fleet.start("lanternly", ["--home", fleet.home("laptop"), "watch"], "laptop", output: log)
    defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
    func waits(for text: String) -> Bool { Awaiting.text(text, in: log) }
    #expect(waits(for: "first"))
    #expect(try fleet.lanternly("laptop", "sync").code == ExitCode.busy.rawValue)
    #expect(try fleet.lanternly("laptop", "new", "--text", "from the laptop").code == 0)
    #expect(waits(for: "sent "))
    fleet.stopServer(SIGKILL)
    #expect(waits(for: "cannot be reached"))
    #expect(try fleet.store("laptop").status().state == .attention)
    try fleet.startServer()
    try fleet.lanternly("phone", "new", "--text", "second")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(waits(for: "second"))
    kill(watch.processIdentifier, SIGTERM)
    #expect(watch.waited == 0)
  }

  /// A device whose place in the feed is lost reads everything again and sends nothing twice.
  @Test func aLostPlaceInTheFeedCostsAReadingOnly() throws {
    let fleet = try Fleet()
    let picture = try fleet.folder.write("bytes", to: "p.png")
    for text in ["one", "two", "three"] { try fleet.lanternly("phone", "new", "--text", text, "--attach", picture) }
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    try fleet.lanternly("laptop", "sync")
    let before = try fleet.shown("laptop")
    try fleet.lanternly("phone", "new", "--text", "four")
    try fleet.lanternly("phone", "sync")
    try fleet.store("laptop").set("engine-state", Array("no state".utf8))
    let result = try fleet.lanternly("laptop", "sync")
    #expect(result.code == 0)
    #expect(result.output.contains("Sent 0, received 1."))
    #expect(try fleet.shown("laptop") == fleet.shown("phone"))
    #expect(try fleet.shown("laptop").count == before.count + 1)
  }

  /// Who has the diary taken off the server does not find it there again, and loses nothing.
  @Test func aPurgedDiaryIsNotSentAgainUntilTheUserSaysSo() throws {
    let fleet = try Fleet()
    let picture = try fleet.folder.write("bytes", to: "p.png")
    try fleet.lanternly("phone", "new", "--text", "one", "--attach", picture)
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    let user = try #require(try fleet.store("phone").notes().user)
    func zones() throws -> String {
      try fleet.virga(
        "phone", "zones", "list", "--data", fleet.folder.path + "/server", "--container",
        DiarySync.containerIdentifier, "--user", user
      ).output
    }
    #expect(try zones().contains("Diary"))
    let plan = try fleet.folder.write(
      #"{"faults": [{"when": {"operation": "changes/database", "times": 1}, "do": {"purgeZone": true, "zone": "Diary"}}]}"#,
      to: "faults.json")
    fleet.stopServer(SIGTERM)
    try fleet.startServer("--faults", plan)
    try fleet.lanternly("phone", "new", "--text", "two")
    for _ in 0..<2 {
      let result = try fleet.lanternly("phone", "sync")
      #expect(result.code == ExitCode.notSynced.rawValue && result.output.contains("sync --again"), "\(result)")
    }
    try fleet.lanternly("phone", "new", "--text", "three")
    for device in ["phone", "laptop", "phone"] {
      #expect(try fleet.lanternly(device, "sync").code == ExitCode.notSynced.rawValue)
      #expect(try fleet.store(device).status().state == .purged)
    }
    // A device that knows of no purge would watch for ever.
    if try fleet.store("laptop").status().state == .purged {
      #expect(try fleet.lanternly("laptop", "watch").code == ExitCode.notSynced.rawValue)
    }
    #expect(try !zones().contains("Diary"))
    #expect(try fleet.shown("phone").count == 3 && fleet.shown("laptop").count == 1)
    #expect(try fleet.lanternly("phone", "status").output.contains("sync --again"))

    #expect(try fleet.lanternly("phone", "sync", "--again").code == 0)
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try fleet.lanternly("laptop", "sync").code == ExitCode.notSynced.rawValue)
    #expect(try fleet.lanternly("laptop", "sync", "--again").code == 0)
    #expect(try fleet.shown("phone") == fleet.shown("laptop") && fleet.shown("phone").count == 3)
    #expect(try fleet.store("laptop").conflictCount() == 0)
  }

  /// A save tells it where the fetch before did not.
  @Test func aDiaryThatIsPurgedDuringASyncIsNotSentAgain() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    let plan = try fleet.folder.write(
      #"{"faults": [{"when": {"operation": "records/modify", "times": 1}, "do": {"purgeZone": true}}]}"#,
      to: "faults.json")
    fleet.stopServer(SIGTERM)
    try fleet.startServer("--faults", plan)
    try fleet.lanternly("phone", "new", "--text", "two")
    for _ in 0..<2 { #expect(try fleet.lanternly("phone", "sync").code == ExitCode.notSynced.rawValue) }
    #expect(try fleet.store("phone").status().state == .purged)
    #expect(try fleet.shown("phone").count == 2)
  }

  /// Texts with odd characters arrive as they were written.
  @Test func oddTextsTravelUnchanged() throws {
    let fleet = try Fleet()
    let odd =
      #"quote \" back\\slash tab\t nul\u0000 bell\u0007 family \ud83d\udc68\u200d\ud83d\udc69 zwsp\u200b accent e\u0301 line\u2028"#
    let journal = try fleet.folder.write(
      #"{"entries": [{"uuid": "A1", "creationDate": "1900-02-28T23:59:59Z", "text": "\#(odd)"},"#
        + #" {"uuid": "A2", "creationDate": "9999-12-31T23:59:59Z", "text": "", "tags": ["ñ", "日本"]}]}"#, to: "j.json")
    #expect(try fleet.lanternly("phone", "import", journal).code == 0)
    let result = try fleet.lanternly("phone", "sync")
    #expect(result.code == 0, "\(result.output)")
    try fleet.join("laptop", to: "phone")
    try fleet.lanternly("laptop", "sync")
    let (phone, laptop) = (try fleet.store("phone").entries(), try fleet.store("laptop").entries())
    #expect(phone.map(\.entry) == laptop.map(\.entry))
    #expect(phone.map { Array($0.entry.text.utf8) } == laptop.map { Array($0.entry.text.utf8) })
    #expect(laptop.contains { $0.entry.text.contains("\u{0}") })
  }

  /// C112: a device that was let go says that it has no account, keeps its diary, and can join again.
  @Test func aRemovedDeviceSaysSo() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "of the phone")
    try fleet.lanternly("phone", "sync")
    try fleet.join("laptop", to: "phone")
    try fleet.lanternly("laptop", "sync")
    let devices = try fleet.virga("phone", "account", "devices").output.split(separator: "\n")
    let laptop = try #require(devices.first { $0.contains("laptop") }?.split(separator: " ").first)
    #expect(try fleet.virga("phone", "account", "remove", String(laptop), "--yes").code == 0)
    try fleet.lanternly("laptop", "new", "--text", "of the laptop")
    for _ in 0..<2 {
      let result = try fleet.lanternly("laptop", "sync")
      #expect(result.code == ExitCode.noAccount.rawValue)
      #expect(result.output.contains("this device was removed from its account"), "\(result.output)")
      #expect(result.output.contains("See: virga account show --home \(fleet.home("laptop"))/virga"))
    }
    #expect(try fleet.lanternly("laptop", "watch").output.contains("this device was removed from its account"))
    let status = try fleet.lanternly("laptop", "status").output
    #expect(status.contains("this device was removed from its account"))
    #expect(status.contains("See: virga account show --home "))
    #expect(try fleet.store("laptop").status().state == .noAccount)
    #expect(try fleet.store("laptop").status().pendingSaves == 1)
    #expect(try fleet.shown("laptop").count == 2)
  }

  /// C112: so does one that a server does not know any more, whose data were put back to those of before.
  @Test func aDeviceThatTheServerForgotSaysSo() throws {
    let fleet = try Fleet()
    let (data, kept) = (fleet.folder.path + "/server", fleet.folder.path + "/kept")
    fleet.stopServer(SIGTERM)
    try FileManager.default.copyItem(atPath: data, toPath: kept)
    try fleet.startServer()
    try fleet.lanternly("phone", "new", "--text", "one")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    fleet.stopServer(SIGTERM)
    try FileManager.default.moveItem(atPath: data, toPath: data + "-newer")
    try FileManager.default.moveItem(atPath: kept, toPath: data)
    try fleet.startServer()
    try fleet.lanternly("phone", "new", "--text", "two")
    for _ in 0..<2 {
      let result = try fleet.lanternly("phone", "sync")
      #expect(result.code == ExitCode.noAccount.rawValue)
      #expect(result.output.contains("the server no longer knows this device"), "\(result.output)")
      #expect(result.output.contains("See: virga account show --home \(fleet.home("phone"))/virga"), "\(result.output)")
    }
    #expect(try fleet.lanternly("phone", "watch").code == ExitCode.noAccount.rawValue)
    let status = try fleet.lanternly("phone", "status").output
    #expect(status.contains("the server no longer knows this device"), "\(status)")
    #expect(try fleet.store("phone").status().pendingSaves == 1)
    // A server that is away takes nothing back, and one that knows the device again does.
    fleet.stopServer(SIGTERM)
    #expect(try fleet.lanternly("phone", "sync").output.contains("the server no longer knows this device"))
    try FileManager.default.removeItem(atPath: data)
    try FileManager.default.moveItem(atPath: data + "-newer", toPath: data)
    try fleet.startServer()
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try fleet.store("phone").status().state == .synced)
  }

  /// A server that made no accounts and now does is asked again.
  @Test func aRefusalIsNotForEver() throws {
    let fleet = try Fleet()
    #expect(try fleet.virga("phone", "account", "show").code == 0)
    fleet.stopServer(SIGTERM)
    try fleet.startServer("--enrolment", "closed")
    try fleet.lanternly("laptop", "new", "--text", "of the laptop")
    for _ in 0..<2 {
      let result = try fleet.lanternly("laptop", "sync")
      #expect(result.code == ExitCode.noAccount.rawValue)
      #expect(result.output.contains("the server does not give this device an account: "), "\(result.output)")
    }
    fleet.stopServer(SIGTERM)
    #expect(try fleet.lanternly("laptop", "sync").code == ExitCode.noAccount.rawValue)
    try fleet.startServer()
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    #expect(try fleet.store("laptop").status().state == .synced)
  }

  /// What the program advises where the diary's file is damaged.
  @Test func aDiaryThatWasMovedAwayComesAgain() throws {
    let fleet = try Fleet()
    let picture = try fleet.folder.write("bytes", to: "p.png")
    try fleet.lanternly("phone", "new", "--text", "synced", "--attach", picture)
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    let before = try fleet.shown("phone")
    for ending in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: fleet.home("phone") + "/diary.sqlite" + ending)
    }
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try fleet.shown("phone") == before)
    #expect(before.values.first?.last == "p.png true")
  }

  /// A device that wrote alone and then joins brings its entries along.
  @Test func aDeviceThatJoinsLaterBringsItsDiary() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "of the phone")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.lanternly("tablet", "new", "--text", "of the tablet")
    #expect(try fleet.lanternly("tablet", "sync").code == 0)
    let log = fleet.folder.path + "/invite.out"
    let invitation = try fleet.start("virga", ["account", "invite", "--yes"], "phone", output: log)
    defer { if invitation.isRunning { invitation.terminate() } }
    let code = Awaiting.line("Code: ", in: log)
    #expect(try fleet.virga("tablet", "account", "join", try #require(code), "--replace").code == 0)
    for device in ["tablet", "phone"] { #expect(try fleet.lanternly(device, "sync").code == 0) }
    #expect(try fleet.shown("phone").values.map { $0[0] }.sorted() == ["of the phone", "of the tablet"])
    #expect(try fleet.shown("phone") == fleet.shown("tablet"))
  }
}

extension Process {
  /// The code with which it ended.
  var waited: Int32 {
    waitUntilExit()
    return terminationStatus
  }
}
