import Foundation
import Testing

@testable import LanternlyCore

/// What a person at a terminal sees.
struct ScreenTests {
  @Test(arguments: [
    ("", 0), ("plain", 5), ("e\u{301}", 1), ("日本", 4), ("👨‍👩‍👧", 2), ("❤️", 2), ("한글", 4), ("a\u{200B}b", 2), ("Ｆ", 2),
  ]) func textsTakeTheColumnsThatTerminalsGiveThem(text: String, width: Int) {
    #expect(TextWidth.of(text) == width)
  }

  @Test(arguments: [("short", 5, "short"), ("longer", 5, "long…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("a", 0, "")])
  func textsAreCutBetweenLetters(text: String, width: Int, cut: String) {
    #expect(TextWidth.cut(text, to: width) == cut)
    #expect(TextWidth.of(TextWidth.cut(text, to: width)) <= width)
  }

  @Test(arguments: [40, 60, 80, 200]) func aListFitsTheTerminal(width: Int) async throws {
    let program = ProgramUnderTest(screen: Screen(width: width))
    let file = try program.folder.write("picture", to: "lake.png")
    for text in [String(repeating: "long words ", count: 40), String(repeating: "日本", count: 40), "short"] {
      await program.run(
        "new", "--text", text, "--tag", "a tag that is long", "--tag", "another tag of the entry", "--attach", file,
        "--star")
    }
    let lines = await program.run("list").lines
    #expect(lines.count == 3)
    for line in lines { #expect(TextWidth.of(line) <= width, "\(line)") }
    #expect(lines.allSatisfy { $0.contains("★") })
    if width > 40 { #expect(lines.allSatisfy { $0.hasSuffix("+1") }) }
    if width == 200 { #expect(lines.contains { $0.contains("[a tag that is long, another tag of the entry]") }) }
  }

  @Test func coloursAreForTerminalsAlone() async throws {
    func list(_ screen: Screen) async -> String {
      let program = ProgramUnderTest(screen: screen)
      await program.run("new", "--text", "one", "--tag", "t")
      return await program.run("list").output
    }
    #expect(await list(Screen(width: 80, hasColour: true)).contains("\u{1B}[36m"))
    #expect(await !list(Screen(width: 80)).contains("\u{1B}"))
    #expect(await !list(Screen()).contains("\u{1B}"))
  }

  private func shown(_ home: String, _ words: [String], environment: [String: String]) throws -> String {
    let terminal = try TerminalProcess(
      BuiltProgram.path("lanternly"), ["--home", home] + words,
      environment: ["TERM": "xterm", "PATH": "/usr/bin:/bin"].merging(environment) { _, new in new })
    #expect(terminal.waited() == 0)
    return terminal.screen
  }

  @Test func aTerminalGetsColoursUnlessItsUserWantsNone() async throws {
    let program = ProgramUnderTest()
    await program.run("new", "--text", "one")
    #expect(try shown(program.home, ["list"], environment: [:]).contains("\u{1B}[36m"))
    #expect(try shown(program.home, ["list"], environment: ["NO_COLOR": ""]).contains("\u{1B}[36m"))
    #expect(try !shown(program.home, ["list"], environment: ["NO_COLOR": "1"]).contains("\u{1B}"))
    #expect(try !shown(program.home, ["list"], environment: ["TERM": "dumb"]).contains("\u{1B}"))
    #expect(try !shown(program.home, ["list", "--json"], environment: [:]).contains("\u{1B}"))
  }

  @Test func longOutputGoesThroughThePager() async throws {
    let program = ProgramUnderTest()
    for number in 0..<50 { await program.run("new", "--text", "entry \(number)") }
    let pager = ["PAGER": "sed 's/^/paged: /'"]
    for words in [["list"], ["search", "entry"], ["show", try program.name()]] {
      #expect(try shown(program.home, words, environment: pager).contains("paged: "), "\(words)")
    }
    #expect(try !shown(program.home, ["list", "--json"], environment: pager).contains("paged: "))
    #expect(try !shown(program.home, ["list"], environment: ["PAGER": ""]).contains("paged: "))
    // Somebody who has read enough ends nothing in disorder.
    #expect(try shown(program.home, ["list"], environment: ["PAGER": "head -n 2"]).contains("entry "))
    #expect(try shown(program.home, ["list"], environment: ["PAGER": "true"]) == "")
  }

  @Test(arguments: [
    ("![](attachment:0123456789abcdef0123456789abcdef)\nAt the lake", "At the lake"),
    ("![](attachment:0123456789abcdef0123456789abcdef) At the lake", "At the lake"),
    ("# Day ![the lake](attachment:0123456789abcdef0123456789abcdef)", "Day the lake"),
    ("[song.mp3](attachment:0123456789abcdef0123456789abcdef)", "song.mp3"),
    ("see [this](https://example.org/a_(b)) [x", "see this) [x"), ("[] (a) ![", "[] (a) !["),
  ]) func titlesHoldTheWordsOfLinks(text: String, title: String) {
    let written = Written(moment: .never, zone: "GMT")
    #expect(Entry(text: text, written: written, edited: EditTimes(all: .never)).title == title)
  }

  @Test(arguments: [
    (-5.0, "This device's clock is 5 seconds behind the server's. Correct it."),
    (61, "This device's clock is 1 minute and 1 second ahead of the server's. Correct it."),
    (7_200, "This device's clock is 2 hours ahead of the server's. Correct it."),
    (-90_061, "This device's clock is 1 day and 1 hour behind the server's. Correct it."),
  ]) func aClockThatIsWrongIsToldInWords(skew: Double, words: String) {
    #expect(Presentation(texts: .english).clockSkew(skew) == words)
    #expect(!Presentation(texts: .spanish).clockSkew(skew).contains("{"))
  }
}

/// Short names, drafts and standard input.
struct NameAndDraftTests {
  let program = ProgramUnderTest(environment: ["EDITOR": "any"])

  @Test func shortNamesAreLongEnoughToNameOne() async throws {
    let store = try program.store()
    let entry = Entry(text: "a", written: Written(moment: .now, zone: "GMT"), edited: EditTimes(all: .now))
    let names = ["0123456700", "0123456701", "012345671", "0123456"].map { $0 + String(repeating: "f", count: 22) }
    for name in names { try store.save(EntryID(name), base: nil, edited: entry, at: .now) }
    let list = await program.run("list").lines.map { String($0.prefix { $0 != " " }) }
    #expect(Set(list) == ["0123456700", "0123456701", "012345671", "0123456f"])
    for (short, name) in zip(["0123456700", "0123456701", "012345671", "0123456f"], names) {
      #expect(try store.shortName(name) == short)
      #expect(await program.run("show", short).output.hasPrefix(name))
    }
    let ambiguous = await program.run("show", "01234567")
    #expect(ambiguous.problems == ["Several entries begin with 01234567: 0123456700 0123456701 012345671"])
    #expect(await program.run("edit", "012345671", "--star").output == "Changed entry 012345671.")
  }

  @Test func anEditReadsStandardInputIfItSaysSo() async throws {
    await program.run("new", "--text", "-", input: "first\n")
    let name = try program.name()
    #expect(try program.store().entries().map(\.entry.text) == ["first"])
    #expect(await program.run("edit", name, "--append", "-", input: "more\n\n").code == 0)
    #expect(try program.store().entries().map(\.entry.text) == ["first\n\nmore\n"])
    #expect(await program.run("edit", name, "--text", "-", input: "second\n").code == 0)
    #expect(try program.store().entries().map(\.entry.text) == ["second"])
    // An empty input is a slip, and no wish to empty the entry.
    #expect(await program.run("edit", name, "--text", "-", input: "").code == 1)
    #expect(try program.store().entries().map(\.entry.text) == ["second"])
  }

  @Test func aTextThatADeadTerminalLeftIsToldOf() async throws {
    let editor = try program.folder.write(
      "#!/bin/sh\necho 'words of an hour' >\"$1\"\necho ready >/dev/tty\nread -r line </dev/tty\n", to: "editor")
    chmod(editor, 0o700)
    do {
      let terminal = try TerminalProcess(
        BuiltProgram.path("lanternly"), ["--home", program.home, "new"],
        environment: ["EDITOR": editor, "PATH": "/usr/bin:/bin"])
      #expect(terminal.shows("ready"))
      // As long as somebody writes, there is nothing to tell.
      #expect(await program.run("list").problems.isEmpty)
    }
    // The terminal is gone, and the program with it.
    let temporary = program.home + "/tmp"
    let deadline = ContinuousClock.now + .seconds(20)
    var told: [String] = []
    while told.isEmpty && ContinuousClock.now < deadline {
      told = await program.run("list").problems
      // The other process ends meanwhile, which the next run finds out.
      usleep(20_000)
    }
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: temporary).first { $0.hasSuffix(".md") })
    let path = "\(temporary)/\(name)"
    #expect(
      told == [
        "A text that was not saved is in \(path). To save it: \(program.command) new --text - <\(path) Then delete "
          + "the file."
      ])
    for words in [["status"], ["new", "--text", "other"]] { #expect(await program.run(words: words).problems == told) }
    #expect(await program.run("status", "--json").problems.isEmpty)
    // As it says.
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "\(BuiltProgram.path("lanternly")) --home \(program.home) new --text - <\(path) >/dev/null",
    ]
    try process.run()
    #expect(process.waited == 0)
    unlink(path)
    #expect(try program.store().entries().map(\.entry.text).sorted() == ["other", "words of an hour"])
    #expect(await program.run("list").problems.isEmpty)
  }

  @Test func aDraftThatSaysNothingNewIsNotToldOf() async throws {
    await program.run("new", "--text", "known")
    let name = try program.name().prefix(8)
    try program.folder.write("known\n", to: "phone/tmp/entry-\(name)-1.md")
    try program.folder.write(" \n", to: "phone/tmp/entry-\(name)-2.md")
    #expect(await program.run("list").problems.isEmpty)
    let path = try program.folder.write("known, and more", to: "phone/tmp/entry-\(name)-3.md")
    #expect(await program.run("list").problems.first?.contains("edit \(name) --text - <\(path)") == true)
  }

  /// Without `HOME` the password database knows the user's folder.
  @Test func theHomeIsFoundWithoutItsVariable() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "-u", "HOME", "-u", "LANTERNLY_HOME", BuiltProgram.path("lanternly"), "list", "--tag", "none of mine",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.currentDirectoryURL = URL(fileURLWithPath: program.folder.path)
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let folder = getpwuid(getuid()).flatMap { $0.pointee.pw_dir }.map { String(cString: $0) } ?? ""
    // Whether or not the user who runs the tests keeps a diary, it is not looked for in the current folder.
    #expect(
      text.contains("There is no diary in \(folder)/.lanternly.") || text.contains("Nothing found.")
        || text.contains("The diary is empty."))
    #expect(!FileManager.default.fileExists(atPath: program.folder.path + "/.lanternly"))
  }

  @Test func aReasonThatRefusesManyIsToldOnce() async throws {
    for number in 0..<12 { await program.run("new", "--text", "entry \(number)") }
    let store = try program.store()
    for row in try store.outbox() { try store.noteRefusal(of: row.record, "quotaExceeded: \(row.record) is too much") }
    let first = try #require(try store.outbox().first)
    try store.noteRefusal(of: first.record, "permissionFailure: not yours")
    let lines = await program.run("status").lines
    let refusals = lines.filter { $0.contains("efused") }
    #expect(refusals.count == 2, "\(lines)")
    #expect(
      refusals.contains {
        $0.hasPrefix("The server refused 11 changes: the account has no space left (quotaExceeded).")
      })
    #expect(
      refusals.contains { $0 == "Refused by the server: \(first.record.prefix(8)): not yours (permissionFailure)" })
  }

  @Test func aDeviceInItsFirstSyncSaysSo() async throws {
    await program.run("new", "--text", "a")
    let store = try program.store()
    let entry = try #require(try store.entries().first)
    try store.willSend([(entry.id, entry.entry)])
    #expect(await program.run("status").output.contains("The first sync was cut off. The next one continues it."))
    let lock = try SyncLock(store.home.syncLock)
    let output = await program.run("status").output
    #expect(output.contains("The first sync is running.") && !output.contains("cut off"), "\(output)")
    withExtendedLifetime(lock) {}
  }
}
