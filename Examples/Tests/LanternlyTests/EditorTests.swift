import Foundation
import Synchronization
import Testing

@testable import LanternlyCore

/// What is written in the user's editor.
struct EditorTests {
  let program = ProgramUnderTest(environment: ["EDITOR": "any"])

  private func editor(_ script: String) throws -> String {
    let path = try program.folder.write("#!/bin/sh\n" + script, to: "editor")
    chmod(path, 0o700)
    return path
  }

  private func writeInTerminal(_ script: String) throws -> TerminalProcess {
    try TerminalProcess(
      BuiltProgram.path("lanternly"), ["--home", program.home, "new"],
      environment: ["VISUAL": "", "EDITOR": try editor(script), "PATH": "/usr/bin:/bin"])
  }

  private var drafts: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: program.home + "/tmp").sorted() }
  }

  @Test func theEditorReadsFromTheTerminal() throws {
    let terminal = try writeInTerminal(
      #"""
      echo ready >/dev/tty
      read -r line </dev/tty && echo "$line" >"$1"
      """#)
    #expect(terminal.shows("ready"))
    terminal.type("written by hand\n")
    #expect(terminal.shows("Added entry"), "\(terminal.screen)")
    #expect(terminal.waited() == 0)
    #expect(try program.store().entries().map(\.entry.text) == ["written by hand"])
  }

  @Test func anInterruptInTheEditorIsTheEditorsOwn() throws {
    let terminal = try writeInTerminal(
      #"""
      trap 'hit=yes' INT
      echo ready >/dev/tty
      while [ -z "$hit" ]; do read -r line </dev/tty; done
      echo interrupted >/dev/tty
      while [ -z "$line" ]; do read -r line </dev/tty; done
      echo "$line" >"$1"
      """#)
    #expect(terminal.shows("ready"))
    // The end of a line lets the shell see a signal that came just before it read.
    terminal.type("\u{3}\n")
    #expect(terminal.shows("interrupted"), "\(terminal.screen)")
    terminal.type("after that\n")
    #expect(terminal.shows("Added entry"), "\(terminal.screen)")
    #expect(terminal.waited() == 0)
    #expect(try program.store().entries().map(\.entry.text) == ["after that"])
  }

  @Test func anEmptyVisualHidesNoEditor() async {
    let program = ProgramUnderTest(environment: ["VISUAL": "", "EDITOR": "any"])
    #expect(await program.run("new", editing: { _ in "text" }).code == 0)
  }

  @Test(arguments: [
    ["--mood", "9"], ["--tag", " "], ["--attach", "/typo.jpg"], ["--date", "soon"], ["--zone", "Mars/X"],
  ]) func whatIsWrongIsSaidBeforeATextIsAskedFor(options: [String]) async throws {
    let isAsked = Mutex(false)
    let result = await program.run(words: ["new"] + options) { _ in
      isAsked.withLock { $0 = true }
      return "text"
    }
    #expect(result.code != 0)
    #expect(!isAsked.withLock { $0 })
  }

  @Test(arguments: [true, false]) func aTextThatIsNotSavedStaysInItsFile(isNew: Bool) async throws {
    await program.run("new", "--text", "before")
    try program.store().write { rows in
      try rows.connection.execute(
        """
        CREATE TRIGGER full BEFORE INSERT ON entry BEGIN SELECT RAISE(ABORT, 'no space'); END;
        """)
    }
    let words = isNew ? ["new"] : ["edit", try program.name()]
    let result = await program.run(words: words) { _ in "hours of work" }
    #expect(result.code == 1)
    let name = try #require(try drafts.first)
    #expect(result.problems.first?.hasSuffix("Your text is in \(program.home)/tmp/\(name)") == true, "\(result)")
    #expect(try String(contentsOfFile: program.home + "/tmp/" + name, encoding: .utf8) == "hours of work")
  }

  @Test func aFileThatVanishesMeanwhileCostsNoText() async throws {
    let file = try program.folder.write("picture", to: "lake.png")
    let result = await program.run("new", "--attach", file) { _ in
      unlink(file)
      return "text"
    }
    #expect(result.code == ExitCode.notFound.rawValue)
    let name = try #require(try drafts.first)
    #expect(
      result.problems == [
        "The file \(file) cannot be read: No such file or directory Your text is in \(program.home)/tmp/\(name)"
      ])
  }

  @Test func theFileGoesWhenTheDiaryHasTheText() async throws {
    #expect(await program.run("new", editing: { _ in "text" }).code == 0)
    #expect(await program.run("edit", try program.name(), editing: { $0 }).code == 0)
    #expect(await program.run("new", editing: { _ in " " }).code == 1)
    #expect(try drafts.isEmpty)
  }

  @Test func aTextThatIsNotUTF8IsKeptAsItIs() async throws {
    let bytes = Data("Espa".utf8) + [0xF1] + Data("a".utf8)
    let result = await program.run("new", writing: bytes)
    #expect(result.code == 1)
    let name = try #require(try drafts.first)
    #expect(
      result.problems == ["The text is not UTF-8. Nothing was changed. Your text is in \(program.home)/tmp/\(name)"])
    #expect(FileManager.default.contents(atPath: program.home + "/tmp/" + name) == bytes)
    let piped = Process()
    piped.executableURL = URL(fileURLWithPath: "/bin/sh")
    piped.arguments = [
      "-c", #"printf 'Espa\361a' | "$1" --home "$2" new 2>/dev/null"#, "sh", BuiltProgram.path("lanternly"),
      program.home,
    ]
    try piped.run()
    #expect(piped.waited == 1)
    #expect(try program.store().entries().isEmpty)
  }
}
