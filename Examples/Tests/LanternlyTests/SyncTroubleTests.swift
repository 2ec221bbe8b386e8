import Foundation
import Testing

@testable import LanternlyCore

/// Syncs that do not bring everything say so.
@Suite(.serialized)
struct SyncTroubleTests {
  private func restart(_ fleet: Fleet, faults: String) throws {
    let plan = try fleet.folder.write(#"{"faults": [\#(faults)]}"#, to: "faults.json")
    fleet.stopServer(SIGTERM)
    try fleet.startServer("--faults", plan)
  }

  /// The account's keys, and what they were sealed to.
  private func loseKeys(_ fleet: Fleet, _ device: String) throws {
    let folder = fleet.home(device) + "/virga"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
      $0.hasSuffix(".keys") || $0.hasSuffix(".box")
    }
    #expect(names.count == 2)
    for name in names { try FileManager.default.removeItem(atPath: folder + "/" + name) }
  }

  /// C112: the failure of one zone is none of the whole fetch, but the diary is that zone.
  @Test func aZoneThatCannotBeReadIsNotSynced() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    try restart(fleet, faults: #"{"when": {"operation": "changes/zone"}, "do": {"error": "ACCESS_DENIED"}}"#)
    let result = try fleet.lanternly("laptop", "sync")
    #expect(result.code == ExitCode.notSynced.rawValue)
    #expect(result.output.contains("Not synced: "), "\(result.output)")
    #expect(try fleet.store("laptop").status().state == .attention)
    fleet.stopServer(SIGTERM)
    try fleet.startServer()
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    #expect(try fleet.shown("laptop") == fleet.shown("phone"))
  }

  /// A device that was in the account before it had keys.
  @Test func entriesWithoutTheirKeyAreToldAndComeWithIt() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "known")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    try loseKeys(fleet, "laptop")
    try fleet.lanternly("phone", "new", "--text", "unread")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    for _ in 0..<2 {
      let result = try fleet.lanternly("laptop", "sync")
      #expect(result.code == ExitCode.notSynced.rawValue)
      #expect(result.output.contains("Not readable on this device: 1 entry."), "\(result.output)")
    }
    let status = try fleet.lanternly("laptop", "status").output
    #expect(
      status.contains("Some data are not on this device yet.") && status.contains(" join CODE --replace"), "\(status)")
    #expect(try fleet.store("laptop").status().locked == 1)

    // Its own edit meets one that it cannot read, which has emptied nothing.
    let name = try #require(try fleet.store("laptop").entries().first).id.name
    try fleet.lanternly("phone", "edit", name, "--append", "and more")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.lanternly("laptop", "edit", name, "--mood", "4")
    for _ in 0..<2 {
      let result = try fleet.lanternly("laptop", "sync")
      #expect(result.code == ExitCode.notSynced.rawValue)
      #expect(result.output.contains("this device cannot read yet what another device wrote"), "\(result.output)")
    }
    #expect(try fleet.shown("laptop") == [name: ["known"]])
    #expect(try fleet.store("laptop").conflictCount() == 0)

    try fleet.join("laptop", to: "phone", "--replace")
    let result = try fleet.lanternly("laptop", "sync")
    #expect(result.code == 0, "\(result.output)")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try fleet.shown("laptop") == fleet.shown("phone"))
    #expect(try fleet.shown("laptop")[name]?.first == "known\n\nand more")
    #expect(try fleet.store("phone").entries().map(\.entry.mood).contains(4))
    #expect(try fleet.store("laptop").status().locked == 0)
  }

  /// Whoever runs the server puts a text in the clear in the place of an encrypted one.
  @Test func textThatNoDeviceEncryptedIsNotShownAndIsToldAsSuch() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "known")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.join("laptop", to: "phone")
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    let name = try #require(try fleet.store("laptop").entries().first).id.name
    let place = [
      "--data", fleet.serverData, "--container", DiarySync.containerIdentifier, "--zone", DiaryRecord.zoneName,
      "--user", try fleet.store("phone").notes().user ?? "",
    ]
    let found = try fleet.virga("operator", ["records", "get", name, "--json"] + place).output
    var record = try #require(try JSONSerialization.jsonObject(with: Data(found.utf8)) as? [String: Any], "\(found)")
    var fields = try #require(record["fields"] as? [String: Any])
    fields["text"] = ["value": "I OWE THE SERVER 1000 EUR", "type": "STRING", "isEncrypted": true] as [String: Any]
    record["fields"] = fields
    let file = fleet.home("operator") + "/forged.json"
    try JSONSerialization.data(withJSONObject: record).write(to: URL(fileURLWithPath: file))
    let put = try fleet.virga("operator", ["records", "put", "--file", file] + place)
    #expect(put.code == 0, "\(put.output)")

    for _ in 0..<2 {
      let result = try fleet.lanternly("laptop", "sync")
      #expect(result.code == ExitCode.notSynced.rawValue)
      #expect(result.output.contains("Not encrypted by your devices: 1 entry, not shown"), "\(result.output)")
      #expect(!result.output.contains("Not readable on this device"))
    }
    #expect(try fleet.shown("laptop") == [name: ["known"]])
    let status = try fleet.lanternly("laptop", "status", "--json").output
    #expect(status.filter { !$0.isWhitespace }.contains("\"notEncrypted\":[\"\(name)\"]"), "\(status)")
    // An edit that meets it is not lost, and sends nothing over it.
    try fleet.lanternly("laptop", "edit", name, "--append", "and more")
    let result = try fleet.lanternly("laptop", "sync")
    #expect(result.output.contains("was not encrypted by your devices"), "\(result.output)")
    #expect(try fleet.shown("laptop") == [name: ["known\n\nand more"]])
    for text in [try fleet.lanternly("laptop", "show", name).output, try fleet.lanternly("laptop", "list").output] {
      #expect(!text.contains("1000 EUR"))
    }
  }

  @Test func whatTheServerAsksToWaitHoldsForTheNextSyncToo() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    try restart(fleet, faults: #"{"when": {"operation": "records/modify", "call": 1}, "do": {"throttle": 40}}"#)
    for _ in 0..<2 {
      let result = try fleet.lanternly("phone", "sync")
      #expect(result.code == ExitCode.notSynced.rawValue)
      #expect(
        result.output.contains(
          /The server asks this device to wait until \d\d:\d\d:\d\d\. Nothing is sent before then\./))
    }
    let store = try fleet.store("phone")
    #expect(try store.status().pendingSaves == 1)
    #expect(try fleet.lanternly("phone", "status").output.contains("The server asks this device to wait until "))
    #expect(try fleet.lanternly("phone", "status", "--json").output.contains(#""heldUntil" : ""#))
    // A clock that was set back does not make it longer.
    let failure = try #require(try store.notes().lastError)
    #expect(try store.notes().heldUntil(Moment(milliseconds: failure.at.milliseconds - 1)) == nil)
    try store.updateNotes { $0.lastError?.retryAt = failure.at }
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try !fleet.lanternly("phone", "status").output.contains("asks this device to wait"))
  }

  @Test func aWatchWaitsAsAnotherProcessWasAsked() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    let store = try fleet.store("phone")
    func hold(_ seconds: Double) throws {
      try store.updateNotes { notes in
        notes.lastError = SyncNotes.Failure(code: "requestRateLimited", message: "", record: nil, at: .now)
        notes.lastError?.retryAt = Moment.now.after(seconds: seconds)
      }
    }
    try hold(600)
    let log = fleet.folder.path + "/watch.out"
    func shows(_ text: String) -> Bool { Awaiting.text(text, in: log) }
    let watch = try fleet.start("lanternly", ["--home", fleet.home("phone"), "watch"], "phone", output: log)
    defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
    #expect(shows("The server asks this device to wait until"))
    #expect(try store.status().pendingSaves == 1)
    try hold(0)
    #expect(shows("sent  "))
    kill(watch.processIdentifier, SIGTERM)
    #expect(watch.waited == 0)
  }

  @Test func theServersReasonIsTold() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    try restart(
      fleet,
      faults: #"""
        {"when": {"operation": "records/modify"},
          "do": {"error": "TRY_AGAIN_LATER", "reason": "the server's disk is full"}}
        """#)
    let output = try fleet.lanternly("phone", "sync").output
    #expect(
      output.contains("Not synced: the server cannot accept it now: the server's disk is full (serviceUnavailable)"),
      "\(output)")
  }

  @Test func aTextThatIsTooLongStaysAndHoldsNothingUp() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "short")
    let store = try fleet.store("phone")
    var entry = try #require(try store.entries().first).entry
    // What is told of a text at once is what the server says later.
    for (name, count) in [("a0", 1_100_000), ("a1", 790_000), ("a2", Entry.textBytesMax)] {
      entry.text = String(repeating: "a", count: count)
      #expect(entry.isTooLongToSync == (name != "a2"))
      try store.save(EntryID(name), base: nil, edited: entry, at: .now)
    }
    let result = try fleet.lanternly("phone", "sync")
    #expect(result.code == ExitCode.notSynced.rawValue)
    for name in ["a0", "a1"] {
      let command = "lanternly --home \(fleet.home("phone")) edit \(name)"
      let problem = "Entry \(name) is too long to be sent. It stays only on this device. Split it: \(command)"
      #expect(result.output.contains(problem), "\(result.output)")
      #expect(try fleet.lanternly("phone", "status").output.contains(problem))
    }
    #expect(!result.output.contains("The next sync sends them"), "\(result.output)")
    #expect(try store.outbox().map(\.record).sorted() == ["a0", "a1"])
  }

  @Test func aFailureOfTheDiscIsInTheStatusToo() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    try fleet.lanternly("phone", "new", "--text", "two")
    try fleet.store("phone").write { rows in
      try rows.connection.execute(
        """
        CREATE TRIGGER full BEFORE UPDATE ON entry WHEN NEW.system_fields IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'no space'); END;
        """)
    }
    #expect(try fleet.lanternly("phone", "sync").code == ExitCode.failure.rawValue)
    #expect(try fleet.store("phone").status().state == .attention)
    #expect(try fleet.lanternly("phone", "status").output.contains("no space"))
    try fleet.store("phone").write { try $0.connection.execute("DROP TRIGGER full") }
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try fleet.store("phone").status().state == .synced)
  }

  @Test func aStrayFileAmongTheAttachmentsStopsNothing() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    let stray = try fleet.folder.write("x", to: "phone/attachments/.DS_Store")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(FileManager.default.fileExists(atPath: stray))
  }

  @Test func aWatchAsksForFilesThatAreMissing() throws {
    let fleet = try Fleet()
    let picture = try fleet.folder.write("bytes", to: "p.png")
    try fleet.lanternly("phone", "new", "--text", "one", "--attach", picture)
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    let store = try fleet.store("phone")
    let sha256 = try #require(try store.allAttachments().first).attachment.sha256
    store.home.files.remove(sha256: sha256)
    try store.write { _ = try $0.connection.run("UPDATE attachment SET has_file = 0") }
    #expect(try store.status().state == .pending)
    #expect(try fleet.lanternly("phone", "status").output.contains("Some data are not on this device yet."))
    let log = fleet.folder.path + "/watch.out"
    let watch = try fleet.start("lanternly", ["--home", fleet.home("phone"), "watch"], "phone", output: log)
    defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
    _ = try Awaiting.until { try store.status().missingFiles == 0 }
    #expect(store.home.files.contains(sha256: sha256))
    #expect(try store.status().missingFiles == 0)
    kill(watch.processIdentifier, SIGTERM)
    #expect(watch.waited == 0)
  }
}
