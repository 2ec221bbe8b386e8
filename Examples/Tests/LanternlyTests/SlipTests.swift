import Foundation
import Testing

@testable import LanternlyCore

/// Slips of the hand are told, and cost nothing.
struct SlipTests {
  let program = ProgramUnderTest()

  @Test(arguments: [
    ["list"], ["show", "a"], ["search", "a"], ["status"], ["conflicts"], ["edit", "a"], ["delete", "a"],
  ])
  func aFolderWithoutADiaryIsNotMadeOne(words: [String]) async {
    let result = await program.run(words: words)
    #expect(
      result.problems == [
        "There is no diary in \(program.home). To make it, write the first entry: \(program.command) new"
      ])
    #expect(result.code == ExitCode.notFound.rawValue)
    #expect(!FileManager.default.fileExists(atPath: program.home))
  }

  @Test func aDatabaseThatBecameEmptyIsDamage() async throws {
    let file = try program.folder.write("picture", to: "lake.png")
    await program.run("new", "--text", "a", "--attach", file)
    let database = program.home + "/diary.sqlite"
    for ending in ["-wal", "-shm"] { unlink(database + ending) }
    #expect(truncate(database, 0) == 0)
    for words in [["list"], ["new", "--text", "b"]] {
      let result = await program.run(words: words)
      #expect(result.code == 1)
      #expect(result.problems.first?.hasPrefix("The diary \(database) is damaged: the file is empty.") == true)
    }
    // Cut off before anything was in it, it is a new one.
    try FileManager.default.removeItem(atPath: program.home + "/attachments")
    #expect(await program.run("new", "--text", "b").code == 0)
  }

  @Test func optionsThatExcludeEachOtherAreRefused() async throws {
    await program.run("new", "--text", "a")
    let name = try program.name()
    for (words, options) in [
      (["--text", "x", "--append", "y"], "--text or --append"), (["--star", "--unstar"], "--star or --unstar"),
      (["--text", "x", "--restore", "1"], "--text or --restore"),
    ] {
      let result = await program.run(words: ["edit", name] + words)
      #expect(result.problems == ["Use either \(options). See: lanternly help edit"])
      #expect(result.code == ExitCode.usage.rawValue)
    }
    #expect(try program.store().entries().map(\.entry.text) == ["a"])
  }

  @Test func anEmptiedTextIsNotSaved() async throws {
    let program = ProgramUnderTest(environment: ["EDITOR": "any"])
    await program.run("new", "--text", "a")
    let name = try program.name()
    let problem =
      "The text is empty: the entry stays as it was. To delete it: \(program.command) delete \(name.prefix(8))"
    for result in [
      await program.run("edit", name, "--text", " \n"), await program.run("edit", name, editing: { _ in "" }),
    ] {
      #expect(result.problems == [problem])
      #expect(result.code == 1)
    }
    #expect(try program.store().entries().map(\.entry.text) == ["a"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: program.home + "/tmp").isEmpty)
    // An entry of a picture alone has an empty text once that goes.
    let file = try program.folder.write("picture", to: "lake.png")
    #expect(await program.run("edit", name, "--text", "", "--attach", file).code == 0)
    #expect(await program.run("edit", name, "--detach", "lake.png").code == 0)
    #expect(try program.store().entries().map(\.entry.text) == [""])
  }

  @Test func anEditorThatLeavesNoFileIsTold() async throws {
    let program = ProgramUnderTest(environment: ["EDITOR": "any"])
    for code in [Int32(0), 1] {
      let result = await program.run(
        "new",
        withEditor: { path in
          unlink(path)
          return code
        })
      #expect(result.problems == ["The editor left no file. Nothing was changed."])
      #expect(result.code == 1)
    }
  }

  @Test func anEntryWhoseOutputIsClosedIsNamed() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", #""$1" --home "$2" new --text a >&- 2>"$2.err""#, "sh", BuiltProgram.path("lanternly"), program.home,
    ]
    try process.run()
    #expect(process.waited == 1)
    let name = try program.name("a")
    #expect(
      try String(contentsOfFile: program.home + ".err", encoding: .utf8)
        == "Added entry \(name.prefix(8)).\nThe command was done, but its output could not be written.\n")
  }

  @Test(arguments: [("-", "-"), ("#", "#"), ("* * *", "***"), ("\n***\nafter", "after"), ("![](attachment:a)", "")])
  func aTextOfSignsIsItsOwnTitle(text: String, title: String) {
    let written = Written(moment: .never, zone: "GMT")
    #expect(Entry(text: text, written: written, edited: EditTimes(all: .never)).title == title)
  }

  @Test func aTextThatNoRecordHoldsIsToldAtOnce() async throws {
    let long = String(repeating: "word ", count: 220_000)
    let added = await program.run("new", input: long)
    let name = String(try program.name().prefix(8))
    let problem = "The text is too long for other devices. Split it: \(program.command) edit \(name)"
    #expect(added.code == 0)
    #expect(added.problems == [problem])
    #expect(await program.run("edit", name, "--append", "more").problems == [problem])
    #expect(await program.run("edit", name, "--star").problems.isEmpty)
    let path = try program.folder.write(
      #"{"entries": [{"uuid": "A", "creationDate": "2020-01-03T10:00:00Z", "text": "\#(long)"}]}"#, to: "j.json")
    #expect(await program.run("import", path).output.contains("entry A: its text is too long"))
    #expect(
      await program.run("import", path).lines == ["Imported: 0 entries, 0 attachments.", "Already there: 1 entry."])
  }
}

/// Exports that cannot be used, in part or at all.
struct OddExportTests {
  let program = ProgramUnderTest()

  @Test func anArchiveThatHoldsANameTwiceIsRefused() async throws {
    let archive = program.folder.path + "/twice.zip"
    let script = """
      import sys, warnings, zipfile
      warnings.simplefilter('ignore')
      with zipfile.ZipFile(sys.argv[1], 'w') as z:
          for text in 'ab': z.writestr('Journal.json', '{"entries": []}')
      """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script, archive]
    try process.run()
    guard process.waited == 0 else { return }
    let result = await program.run("import", archive)
    #expect(result.problems == ["The archive \(archive) was refused: it contains Journal.json twice."])
    #expect(result.code == ExitCode.badInput.rawValue)
  }

  @Test func pipesAndDevicesAreRefused() async throws {
    let pipe = program.folder.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    try program.folder.write("x", to: "folder/readme.txt")
    #expect(mkfifo(program.folder.path + "/folder/j.json", 0o600) == 0)
    for (path, named) in [
      (pipe, pipe), ("/dev/zero", "/dev/zero"),
      ("\(program.folder.path)/folder", "\(program.folder.path)/folder/j.json"),
    ] {
      let result = await program.run("import", path)
      #expect(result.problems == ["The file \(named) cannot be read: it is a pipe or a device"])
      #expect(result.code == ExitCode.notFound.rawValue)
    }
  }

  @Test func whereNothingCanBeUsedTheInputIsBad() async throws {
    let entry = try program.folder.write("<plist>", to: "A.doentry")
    let result = await program.run("import", entry)
    #expect(result.code == ExitCode.badInput.rawValue)
    #expect(result.output.contains("Skipped: 1."))
    #expect(await program.run("import", entry, "--json").code == ExitCode.badInput.rawValue)
  }

  @Test func aStrayJSONFileIsSkippedAndNamed() async throws {
    let journal = #"{"entries": [{"uuid": "A", "creationDate": "2020-01-03T10:00:00Z", "text": "a"}]}"#
    let folder = program.folder.path + "/x"
    try program.folder.write(#"{"window": 7}"#, to: "x/settings.json")
    #expect(await program.run("import", folder).code == ExitCode.badInput.rawValue)
    try program.folder.write(journal, to: "x/Trip/Trip.json")
    let nested = await program.run("import", folder)
    #expect(nested.code == 0)
    #expect(nested.lines.first == "Imported: 1 entry, 0 attachments.")
    #expect(nested.output.contains("settings.json: it has no entries"))
    try program.folder.write(journal, to: "x/Journal.json")
    #expect(await program.run("import", folder).output.contains("Already there: 1 entry."))
  }

  @Test func whatWasImportedBeforeIsNotToldAgain() async throws {
    let path = try program.folder.write(
      #"""
      {"entries": [{"uuid": "A", "creationDate": "2020-01-03T10:00:00Z", "timeZone": "Mars/X", "tags": 5},
        {"uuid": "B", "creationDate": "soon"}, {"uuid": "C"}]}
      """#, to: "j.json")
    let first = await program.run("import", path)
    #expect(first.output.contains("Warnings: 3."))
    #expect(first.output.contains("entry B: its date cannot be read"))
    #expect(first.output.contains("entry C: it has no date"))
    let again = await program.run("import", path)
    #expect(!again.output.contains("Warnings"))
    #expect(again.output.contains("Skipped: 2."))
  }
}
