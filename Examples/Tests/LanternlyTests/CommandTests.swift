import Foundation
import Testing

@testable import LanternlyCore

struct CommandTests {
  let program = ProgramUnderTest()

  @Test func anEntryIsWrittenListedShownEditedAndDeleted() async throws {
    let added = await program.run(
      "new", "--text", "# First day\n\nRain.", "--date", "2026-11-30 18:05", "--zone", "Europe/Madrid", "--tag", "rain",
      "--star", "--mood", "4")
    #expect(added.code == 0)
    let name = try program.name()
    #expect(added.output == "Added entry \(name.prefix(8)).")
    let list = await program.run("list")
    #expect(list.output == "\(name.prefix(8))  Mon 30 Nov 2026, 18:05 ★  First day  [rain]")
    let page = await program.run("show", String(name.prefix(5)))
    #expect(page.lines[0].hasPrefix("\(name)\nMon 30 Nov 2026, 18:05 (Europe/Madrid) ★\nMood: 4 of 5\nTags: rain\n"))
    #expect(page.output.hasSuffix("# First day\n\nRain."))
    program.pass(seconds: 60)
    #expect(await program.run("edit", name, "--append", "Sun.", "--untag", "rain", "--unstar").code == 0)
    #expect(try program.store().entries().map(\.entry.text) == ["# First day\n\nRain.\n\nSun."])
    #expect(await program.run("search", "SUN", "day").lines.count == 1)
    #expect(await program.run("search", "snow").output == "Nothing found.")
    let versions = await program.run("show", name, "--versions")
    #expect(versions.output.contains("First day"))
    #expect(await program.run("edit", name, "--restore", "1").code == 0)
    #expect(try program.store().entries().map(\.entry.text) == ["# First day\n\nRain."])
    #expect(try program.store().entries().map(\.entry.tagNames) == [["rain"]])
    let deleted = await program.run("delete", name).output
    #expect(
      deleted
        == "Deleted entry \(name.prefix(8)). To bring it back: \(program.command) edit \(name.prefix(8)) --restore 3")
    #expect(
      await program.run("list").output == "The diary is empty. Write the first entry with: \(program.command) new")
    #expect(await program.run("edit", name, "--restore", "1").code == 0)
    #expect(try program.store().entries().count == 1)
  }

  @Test func dayAndHourAreThoseOfTheEntrysZone() async throws {
    await program.run("new", "--text", "a", "--date", "2026-01-01 00:30", "--zone", "Asia/Tokyo")
    let entry = try #require(try program.store().entries().first)
    #expect(entry.entry.written.moment.iso8601 == "2025-12-31T15:30:00.000Z")
    #expect(await program.run("list").output.contains("Thu 1 Jan 2026, 00:30"))
  }

  @Test func daysOfAListAreThoseOfTheEntriesZones() async throws {
    await program.run("new", "--text", "tokyo", "--date", "2026-01-01 00:30", "--zone", "Asia/Tokyo")
    await program.run("new", "--text", "honolulu", "--date", "2026-01-01 23:30", "--zone", "Pacific/Honolulu")
    let day = await program.run("list", "--since", "2026-01-01", "--until", "2026-01-01")
    #expect(day.lines.count == 2)
    #expect(await program.run("list", "--until", "2025-12-31").output == "Nothing found.")
    #expect(await program.run("list", "--since", "2026-01-02").output == "Nothing found.")
  }

  @Test(arguments: [
    ("2026-11-30T18:05:00-05:00", "2026-11-30T23:05:00.000Z"), ("2026-11-30T18:05+02:00", "2026-11-30T16:05:00.000Z"),
    ("2026-11-30T18:05:00Z", "2026-11-30T18:05:00.000Z"),
  ]) func aDateMayBringItsZone(date: String, moment: String) async throws {
    #expect(await program.run("new", "--text", "a", "--date", date).code == 0)
    #expect(try program.store().entries().map(\.entry.written.moment.iso8601) == [moment])
  }

  @Test func numbersFromElsewhereAreShownHoweverLarge() async throws {
    var entry = Entry(
      text: "hot", written: Written(moment: Moment(milliseconds: .min), zone: "Asia/Tokyo"),
      edited: EditTimes(all: Moment(milliseconds: .max)))
    entry.weather = Weather()
    entry.weather?.celsius = 1e30
    entry.mood = .max
    try program.store().save(EntryID("a0"), base: nil, edited: entry, at: Moment(milliseconds: .max))
    entry.written.moment = Moment(milliseconds: .max)
    try program.store().save(EntryID("a1"), base: nil, edited: entry, at: Moment(milliseconds: .min))
    #expect(await program.run("show", "a0").output.contains("Weather: 1e+30 °C"))
    for words in [["list"], ["list", "--json"], ["show", "a1"], ["show", "a0", "--json"], ["status"]] {
      #expect(await program.run(words: words).code == 0)
    }
  }

  @Test func outputThatCannotBeWrittenIsAFailure() throws {
    func run(_ script: String) throws -> Int32 {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", script, "sh", BuiltProgram.path("lanternly"), program.home]
      try process.run()
      return process.waited
    }
    #expect(try run(#""$1" --home "$2" new --text a >/dev/null"#) == 0)
    #expect(try run(#""$1" --home "$2" list >/dev/full 2>"$2.err""#) == 1)
    #expect(try String(contentsOfFile: program.home + ".err", encoding: .utf8) == "The output could not be written.\n")
    #expect(try run(#""$1" --home "$2" list >/dev/null"#) == 0)
  }

  @Test func theEditorGetsTheTextAndGivesItBack() async throws {
    let editor = ProgramUnderTest(environment: ["EDITOR": "any"])
    #expect(await editor.run("new", editing: { _ in "written there\n" }).code == 0)
    let name = try editor.name()
    #expect(await editor.run("edit", name, editing: { $0 + ", and more" }).code == 0)
    #expect(try editor.store().entries().map(\.entry.text) == ["written there, and more"])
    #expect(await editor.run("edit", name, editing: { $0 }).output == "Nothing changed.")
    let failed = await editor.run("edit", name)
    #expect(failed.code == 1)
    #expect(failed.problems[0].contains(editor.home + "/tmp/entry-"))
    #expect(await program.run("new").code == ExitCode.usage.rawValue)
    #expect(await program.run("new", input: "from a pipe").code == 0)
    #expect(await program.run("new", "--text", "  ").code == 1)
  }

  @Test func attachmentsAreCopiedLinkedAndDetached() async throws {
    let file = try program.folder.write("picture", to: "lake.png")
    #expect(await program.run("new", "--text", "Lake", "--attach", file).code == 0)
    let entry = try #require(try program.store().entries().first)
    let stored = try #require(try program.store().attachments(of: entry.id).first)
    #expect(entry.entry.text == "Lake\n\n![](attachment:\(stored.attachment.id.name))")
    #expect(stored.attachment.kind == .photo)
    let path = try program.store().home.files.path(sha256: stored.attachment.sha256)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "picture")
    #expect(await program.run("edit", entry.id.name, "--detach", "lake.png").code == 0)
    #expect(try program.store().entries().map(\.entry.text) == ["Lake"])
    #expect(try program.store().allAttachments().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(await program.run("edit", entry.id.name, "--attach", "/nowhere").code == ExitCode.notFound.rawValue)
    #expect(await program.run("edit", entry.id.name, "--attach", "/dev/zero").code == ExitCode.notFound.rawValue)
  }

  @Test func mistakesHaveTheirCodesAndWords() async throws {
    await program.run("new", "--text", "a")
    #expect(await program.run("show", "abc").code == 3)
    #expect(await program.run("show", "xyz").problems == ["There is no entry xyz."])
    #expect(await program.run("frob").code == 2)
    #expect(
      await program.run("new", "--text", "a", "--mood", "9").problems == [
        "9 is not a value for --mood. See: lanternly help new"
      ])
    #expect(await program.run("new", "--text", "a", "--zone", "Mars/X").code == 2)
    #expect(await program.run("list", "--since", "2026-02-30").code == 2)
    #expect(await program.run("import", "/nowhere").code == 3)
    #expect(try program.store().entries().count == 1)
    let spanish = ProgramUnderTest(environment: ["LANG": "es_ES.UTF-8"])
    await spanish.run("new", "--text", "a")
    #expect(await spanish.run("show", "abc").problems == ["No existe la entrada abc."])
    #expect(await spanish.run("help").output.hasPrefix("Lanternly, un diario"))
  }

  @Test(arguments: [
    (["new", "--date", "nonsense", "--text", "a"], "nonsense is not a value for --date. See: lanternly help new"),
    (["new", "--star=1"], "--star takes no value. See: lanternly help new"),
    (["edit", "12", "--text"], "--text needs a value. See: lanternly help edit"),
    (["list", "--limit", "1", "--limit", "2"], "--limit can be given only once. See: lanternly help list"),
    (["list", "--until", "soon"], "soon is not a value for --until. See: lanternly help list"),
    (["show"], "show needs an argument. See: lanternly help show"),
    (["conflicts", "resolve"], "conflicts resolve needs an argument. See: lanternly help conflicts"),
    (["conflicts", "frob"], "conflicts does not take frob. See: lanternly help conflicts"),
    (["help", "nope"], "There is no command nope. See: lanternly help"),
    (["--home"], "--home needs a value. See: lanternly help"),
  ]) func aMistakeNamesTheHelpThatFits(words: [String], problem: String) async {
    await program.run("new", "--text", "a")
    let result = await program.run(words: words)
    #expect(result.problems == [problem])
    #expect(result.code == ExitCode.usage.rawValue)
    #expect(result.lines.isEmpty)
  }

  @Test func whatCannotBeAttachedSaysWhy() async throws {
    let folder = program.folder.path
    #expect(
      await program.run("new", "--text", "a", "--attach", folder).problems == [
        "The file \(folder) cannot be read: Is a directory"
      ])
    let link = folder + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/etc/hosts")
    #expect(
      await program.run("new", "--text", "a", "--attach", link).problems == [
        "The file \(link) cannot be read: it is a link"
      ])
    #expect(
      await program.run("new", "--text", "a", "--attach", "/dev/null").problems == [
        "The file /dev/null cannot be read: it is a pipe or a device"
      ])
  }

  @Test func textFromElsewhereDoesNotDriveTheTerminal() async throws {
    await program.run("new", "--text", "a\u{1B}[31mred\u{7}", "--tag", "x\u{1B}c")
    #expect(await program.run("list").output.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 32 })
    #expect(await program.run("show", try program.name()).output.contains("\u{1B}") == false)
  }

  /// C111: what waits is counted, and the script's form says the same.
  @Test func statusCountsWhatWaits() async throws {
    for text in ["one", "two", "three"] { await program.run("new", "--text", text) }
    await program.run("edit", try program.name("one"), "--text", "one, again")
    let status = await program.run("status", "--json").output
    #expect(status.contains(#""saves" : 3"#))
    #expect(status.contains(#""state" : "neverSynced""#))
    let words = await program.run("status").output
    #expect(words.contains("Not synced yet"))
    #expect(words.contains("Waiting: 3 to save, 0 to delete"))
    #expect(words.contains("Last success: never."))
  }

  /// A watch that was killed leaves the time of a try behind that nobody will make.
  @Test func aNextTryIsTheOneOfARunningSync() async throws {
    await program.run("new", "--text", "one")
    try program.store().updateNotes { $0.nextTry = .now }
    let idle = await program.run("status", "--json").output
    #expect(!idle.contains("nextTry"))
    #expect(await program.run("status").output.contains("Next try: with the next \(program.command) sync"))
    let lock = try SyncLock(program.home + "/sync.lock")
    #expect(lock != nil)
    let running = await program.run("status").output
    #expect(running.contains("Next try: ") && !running.contains("with the next \(program.command) sync"))
    withExtendedLifetime(lock) {}
  }

  /// What a first sync brought before it was cut off is on the server too, and is not said to be here only.
  @Test func aFirstSyncThatWasCutOffIsToldAsSuch() async throws {
    for text in ["one", "two"] { await program.run("new", "--text", text) }
    let store = try program.store()
    let entries = try store.entries()
    try store.willSend([(entries[0].id, entries[0].entry)])
    #expect(try store.status().state == .pending)
    let saved = RemoteEntry(id: entries[0].id, entry: entries[0].entry, systemFields: [1], changedAt: Moment.now)
    let generation = try #require(try store.outbox().first { $0.record == saved.id.name }).generation
    try store.acknowledge(saved, generation: generation, at: .now)
    let status = await program.run("status").output
    #expect(status.contains("The first sync was cut off. The next one continues it."))
    #expect(!status.contains("on this device only"))
    #expect(status.contains("Waiting: 1 to save"))
    #expect(await program.run("status", "--json").output.contains(#""state" : "pending""#))
    try store.updateNotes { $0.lastSuccess = .now }
    #expect(await program.run("status").output.contains("Some changes are not sent yet."))
  }

  /// C103: importing again changes nothing; an edited entry is kept unless the export is newer.
  @Test func importingAgainChangesNothing() async throws {
    func export(_ text: String, modified: String) throws -> String {
      try program.folder.write("photo", to: "x/photos/b.png")
      try program.folder.write(
        #"""
        {"entries": [{"uuid": "0BDDD6CDA43C4A9AA2681517CC35AD9D", "creationDate": "2020-01-03T10:00:00Z",
          "modifiedDate": "\#(modified)", "text": "\#(text) ![](dayone-moment://P1)",
          "photos": [{"identifier": "P1", "md5": "b", "type": "png"}]}]}
        """#, to: "x/j.json")
      return program.folder.path + "/x"
    }
    let path = try export("first", modified: "2020-01-03T11:00:00Z")
    #expect(await program.run("import", path).lines.first == "Imported: 1 entry, 1 attachment.")
    let before = try program.store().outbox()
    let again = await program.run("import", path)
    #expect(again.lines.prefix(2) == ["Imported: 0 entries, 0 attachments.", "Already there: 1 entry."])
    #expect(try program.store().outbox() == before)
    await program.run("edit", "0bddd6", "--append", "mine")
    #expect(await program.run("import", path).output.contains("Kept, because edited here since: 1 entry."))
    #expect(try program.store().entries()[0].entry.text.hasSuffix("mine"))
    _ = try export("newer", modified: "2021-01-01T00:00:00Z")
    #expect(await program.run("import", path).output.contains("Kept, because edited here since: 1 entry."))
    _ = try export("newest", modified: "2027-01-01T00:00:00Z")
    #expect(await program.run("import", path).output.contains("Updated from a newer export: 1 entry."))
    #expect(try program.store().entries()[0].entry.text.hasPrefix("newest"))
    #expect(await program.run("show", "0bddd6", "--versions").output.contains("before an import"))
    #expect(try program.store().allAttachments().count == 1)
  }

  /// Media that the first import lacked come with the next one, shown or not; what was taken out stays out.
  @Test func aLaterImportBringsTheFilesThatWereMissing() async throws {
    let path = try program.folder.write(
      #"""
      {"entries": [{"uuid": "0BDDD6CDA43C4A9AA2681517CC35AD9D", "creationDate": "2020-01-03T10:00:00Z",
        "text": "no link", "photos": [{"identifier": "P1", "md5": "b", "type": "png"}]}]}
      """#, to: "x/j.json")
    #expect(await program.run("import", path).lines.first == "Imported: 1 entry, 0 attachments.")
    try program.folder.write("photo", to: "x/photos/b.png")
    #expect(await program.run("import", path).lines.first == "Imported: 0 entries, 1 attachment.")
    #expect(try program.store().allAttachments().count == 1)
    #expect(await program.run("edit", "0bddd6", "--detach", "b.png").output.hasPrefix("Changed"))
    #expect(await program.run("import", path).lines.first == "Imported: 0 entries, 0 attachments.")
    #expect(try program.store().allAttachments().isEmpty)
  }

  @Test func aCopyDoesNotDetachWhatIsItsOriginals() async throws {
    let file = try program.folder.write("picture", to: "lake.png")
    #expect(await program.run("new", "--text", "Lake", "--attach", file).code == 0)
    let store = try program.store()
    let original = try #require(try store.entries().first)
    var copy = original.entry
    copy.copyOf = original.id
    try store.save(EntryID("c0"), base: nil, edited: copy, at: .now)
    program.pass(seconds: 60)
    #expect(await program.run("edit", "c0", "--detach", "lake.png").code == 0)
    #expect(try store.stored(EntryID("c0"))?.entry.text == "Lake")
    #expect(try store.attachments(of: original.id).count == 1)
    #expect(try store.stored(original.id)?.entry == original.entry)
  }

  /// C103: a deleted entry does not come back with the export it came from.
  @Test func whatWasDeletedStaysDeleted() async throws {
    let path = try program.folder.write(
      #"{"entries": [{"uuid": "0BDDD6CDA43C4A9AA2681517CC35AD9D", "creationDate": "2020-01-03T10:00:00Z", "text": "a"}]}"#,
      to: "j.json")
    await program.run("import", path)
    await program.run("delete", "0bddd6")
    await program.run("import", path)
    #expect(try program.store().entries().isEmpty)
  }

  @Test func aBrokenExportChangesNothing() async throws {
    let path = try program.folder.write(#"{"entries": [{"uuid": "A", "#, to: "j.json")
    let result = await program.run("import", path)
    #expect(result.code == ExitCode.badInput.rawValue)
    #expect(result.problems == ["j.json is not valid JSON (line 1, column 28), so nothing was imported."])
    #expect(try program.store().status().entries == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: program.home + "/tmp").isEmpty)
  }

  @Test func whatIsCalledAnArchiveIsReadAsOne() async throws {
    let path = try program.folder.write("no archive at all", to: "bad.zip")
    let result = await program.run("import", path)
    #expect(result.code == ExitCode.badInput.rawValue)
    #expect(result.problems[0].hasPrefix("The archive \(path) cannot be read"), "\(result.problems)")
  }

  @Test func aDamagedDiaryIsNamed() async throws {
    await program.run("new", "--text", "a")
    let database = program.home + "/diary.sqlite"
    try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: database))
    for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + name) }
    let result = await program.run("list")
    #expect(result.code == 1)
    #expect(result.problems[0].hasPrefix("The diary \(database) is damaged: file is not a database."))
  }

  @Test func aForeignOrNewerDatabaseIsLeftAlone() async throws {
    await program.run("new", "--text", "a")
    let store = try program.store()
    try store.write { try $0.connection.execute("PRAGMA user_version = 99") }
    let result = await program.run("list")
    #expect(result.code == 1)
    #expect(
      result.problems == [
        "A later version of this program wrote the diary \(program.home)/diary.sqlite. Update the program."
      ])
  }
}
