import Foundation
import Synchronization
import Testing
import VirgaCommandLine

@testable import LanternlyCore

/// The diary in the hands of other programs.
struct ExportTests {
  let program = ProgramUnderTest()

  private func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  private func names(_ path: String) throws -> [String] { try Folder.names(in: path) }

  /// A diary with all that an entry can have.
  private func fill() async throws {
    let photo = try program.folder.write("a photo", to: "lake.png")
    let text = try program.folder.write("a list", to: "list.txt")
    await program.run(
      "new", "--text", #"# At the lake: "blue" \ back\. and \- dashes"#, "--date", "2026-11-30 18:05", "--zone",
      "Europe/Madrid", "--tag", "rain", "--tag", "ñ, \"quoted\"", "--mood", "4", "--star", "--place", "The lake",
      "--attach", photo, "--attach", text)
    await program.run(
      "new", "--text", "see [that](entry:\(try program.name()))", "--date", "1900-02-28", "--zone", "GMT")
    let journal = try program.folder.write(
      #"""
      {"entries": [{"uuid": "not hexadecimal", "creationDate": "2020-01-03T10:00:00Z", "text": "imported",
        "location": {"latitude": 51.123456789012344, "longitude": -0.1, "country": "Spain"},
        "weather": {"temperatureCelsius": 21.5, "conditionsDescription": "Clear"}}]}
      """#, to: "j.json")
    await program.run("import", journal)
  }

  @Test func anExportIsReadAgainAsItWas() async throws {
    try await fill()
    let folder = program.folder.path + "/out"
    let result = await program.run("export", folder)
    #expect(result.lines == ["Exported: 3 entries, 2 attachments, to \(folder)"])
    let other = ProgramUnderTest("other")
    #expect(await other.run("import", folder).lines == ["Imported: 3 entries, 2 attachments."])
    let (here, there) = (try program.store(), try other.store())
    #expect(try here.entries().map(\.id) == there.entries().map(\.id))
    for (one, two) in zip(try here.entries(), try there.entries()) {
      #expect(one.entry.text == two.entry.text)
      #expect(one.entry.written == two.entry.written && one.entry.modified == two.entry.modified)
      #expect(one.entry.tagNames == two.entry.tagNames && one.entry.mood == two.entry.mood)
      #expect(one.entry.place == two.entry.place && one.entry.weather == two.entry.weather)
      #expect(one.entry.isStarred == two.entry.isStarred && one.entry.device == two.entry.device)
      let files = try [here, there].map { try $0.attachments(of: one.id).map(\.attachment) }
      #expect(files[0].map(\.id) == files[1].map(\.id) && files[0].map(\.sha256) == files[1].map(\.sha256))
      #expect(files[0].map(\.fileName) == files[1].map(\.fileName) && files[0].map(\.kind) == files[1].map(\.kind))
    }
    // In the diary that it came from it changes nothing.
    let before = try here.outbox()
    let again = await program.run("import", folder)
    #expect(again.lines == ["Imported: 0 entries, 0 attachments.", "Already there: 3 entries."])
    #expect(try here.outbox() == before)
  }

  /// A kept text shows the photos of the entry that it was forked from, in an export too, and takes none of them away from it.
  @Test func aKeptTextTakesItsPhotosAlong() async throws {
    let photo = try program.folder.write("a photo", to: "lake.png")
    await program.run("new", "--text", "Lake", "--attach", photo)
    let store = try program.store()
    let original = try #require(try store.entries().first)
    var copy = original.entry
    copy.copyOf = original.id
    copy.text = "Other words. " + copy.text
    let id = EntryID(String(repeating: "c0", count: 16))
    try store.save(id, base: nil, edited: copy, at: .now)
    let listed = await program.run("list", "--json").output
    #expect(
      listed.components(separatedBy: "\"lake.png\"").count == 3 && !listed.contains("\"missing\""), "\(listed)")
    let folder = program.folder.path + "/out"
    #expect(await program.run("export", folder).lines == ["Exported: 2 entries, 2 attachments, to \(folder)"])
    #expect(try !read(folder + "/Journal.json").contains("(attachment:"))
    let other = ProgramUnderTest("other")
    #expect(await other.run("import", folder).lines == ["Imported: 2 entries, 2 attachments."])
    let there = try other.store()
    for stored in try there.entries() {
      let files = try there.attachments(of: stored.id)
      #expect(files.count == 1 && files[0].attachment.entry == stored.id)
      #expect(stored.entry.text.contains("attachment:\(files[0].attachment.id.name)"), "\(stored.entry.text)")
    }
    // In the diary that it came from it changes nothing.
    await program.run("import", folder)
    #expect(try store.allAttachments().map(\.attachment.entry) == [original.id])
  }

  @Test func eachEntryIsAMarkdownFileBesideItsPhotos() async throws {
    try await fill()
    let folder = program.folder.path + "/out"
    #expect(await program.run("export", folder, "--format", "markdown").code == 0)
    #expect(try names(folder) == ["entries", "files", "photos"])
    #expect(try names(folder + "/entries") == ["1900", "2020", "2026"])
    let id = try program.name("# At")
    let name = "2026-11-30 At the lake blue back and - dashes \(id).md"
    #expect(try names(folder + "/entries/2026") == [name])
    let page = try read(folder + "/entries/2026/" + name)
    let photo = Digest.md5(Array("a photo".utf8)) + ".png"
    #expect(page.hasPrefix("---\ndate: 2026-11-30T18:05:00+01:00\ntimezone: \"Europe/Madrid\"\nid: \(id)\n"), "\(page)")
    #expect(page.contains(#"tags: ["rain", "ñ, \"quoted\""]"#) && page.contains("\nstarred: true\nmood: 4\n"))
    #expect(page.contains("![](../../photos/\(photo))"))
    #expect(try read(folder + "/photos/" + photo) == "a photo")
    #expect(!page.contains("attachment:"))
  }

  @Test func theJSONIsThatOfDayOne() async throws {
    try await fill()
    let folder = program.folder.path + "/out"
    #expect(await program.run("export", folder, "--format", "json", "--since", "2026-01-01").code == 0)
    #expect(try names(folder) == ["Journal.json", "files", "photos"])
    let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/Journal.json"))
    let journal = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let entries = try #require(journal["entries"] as? [[String: Any]])
    #expect(entries.count == 1)
    #expect(entries[0]["creationDate"] as? String == "2026-11-30T17:05:00Z")
    #expect(entries[0]["uuid"] as? String == (try program.name("# At")).uppercased())
    #expect((entries[0]["text"] as? String)?.contains("![](dayone-moment://") == true)
    let photos = try #require(entries[0]["photos"] as? [[String: Any]])
    #expect(photos.first?["md5"] as? String == Digest.md5(Array("a photo".utf8)))
  }

  @Test func anExportWritesOverNothing() async throws {
    await program.run("new", "--text", "a")
    let folder = program.folder.path + "/out"
    try program.folder.write("mine", to: "out/mine.txt")
    let result = await program.run("export", folder)
    #expect(result.code == 1 && result.problems == ["The folder \(folder) is not empty. Give another one."])
    #expect(try names(folder) == ["mine.txt"])
    #expect(await program.run("export", folder + "/mine.txt/x").code == 1)
    #expect(
      await program.run("export", program.folder.path + "/new", "--format", "pdf").code == ExitCode.usage.rawValue)
  }

  @Test func filesThatAreNotHereAreTold() async throws {
    let photo = try program.folder.write("a photo", to: "lake.png")
    await program.run("new", "--text", "a", "--attach", photo)
    try program.store().write { _ = try $0.connection.run("UPDATE attachment SET has_file = 0") }
    let result = await program.run("export", program.folder.path + "/out")
    #expect(result.code == 0)
    #expect(
      result.problems == ["Not exported, because they are not on this device: 1 attachment. A sync may bring them."])
    let name = try program.name()
    #expect(
      await program.run("open", name).problems == [
        "The file lake.png is not on this device yet. The next sync brings it."
      ])
  }

  @Test func filesAreOpenedUnderTheirNames() async throws {
    let photo = try program.folder.write("a photo", to: "lake.png")
    let list = try program.folder.write("a list", to: "list.txt")
    await program.run("new", "--text", "a", "--attach", photo, "--attach", list)
    let name = try program.name()
    let opened = Opened()
    let result = await program.run(words: ["open", name]) { _ in nil }
    #expect(result.code == 1 && result.problems[0].contains("xdg-open ended with code 1. The file is "))
    #expect(await program.run("open", name, withEditor: { opened.add($0) }).code == 0)
    #expect(opened.all.map { ($0.path as NSString).lastPathComponent } == ["lake.png", "list.txt"])
    #expect(opened.all.map(\.text) == ["a photo", "a list"])
    #expect(await program.run("open", name, "list.txt", withEditor: { opened.add($0) }).output == "Opened list.txt.")
    #expect(await program.run("open", name, "no.txt").code == ExitCode.notFound.rawValue)
    // The diary's own file is another one, which nothing changes.
    let stored = try #require(try program.store().allAttachments().first)
    #expect(try program.store().home.files.contains(sha256: stored.attachment.sha256))
    await program.run("new", "--text", "bare")
    let bare = try program.name("bare")
    #expect(await program.run("open", bare).problems == ["Entry \(bare.prefix(8)) has no files."])
    // What was opened goes after a day.
    program.clock.withLock { $0 = Moment.now.after(seconds: 2 * 86_400) }
    await program.run("new", "--text", "later")
    #expect(try names(program.home + "/tmp").isEmpty)
  }

  private final class Opened: Sendable {
    private let files = Mutex<[(path: String, text: String)]>([])
    var all: [(path: String, text: String)] { files.withLock { $0 } }
    func add(_ path: String) -> Int32 {
      let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      files.withLock { $0.append((path, text)) }
      return 0
    }
  }
}

/// Help, completions and manual pages come from one table.
struct SupportTests {
  let program = ProgramUnderTest()

  @Test(arguments: CommandShape.all.map(\.name)) func everyCommandExplainsItself(name: String) async throws {
    for language in ["C", "es"] {
      let program = ProgramUnderTest(environment: ["LANG": language])
      let help = await program.run("help", name).output
      #expect(await program.run(name, "--help").output == help)
      #expect(help.contains(language == "C" ? "Usage: lanternly \(name)" : "Uso: lanternly \(name)"), "\(help)")
      let shape = try #require(CommandShape.all.first { $0.name == name })
      for option in shape.options.keys { #expect(help.contains("  --\(option)"), "--\(option) in \(help)") }
      #expect(await program.run("help").output.contains("  \(name)"))
    }
  }

  static let completions: [(line: String, word: String)] = [
    ("lanternly ", "export"), ("lanternly inv", "invite"), ("lanternly edit --unt", "--untag"),
    ("lanternly --home /x list --st", "--starred"), ("lanternly export --format ", "markdown"),
    ("lanternly device ", "name"), ("lanternly completion ", "fish"), ("lanternly help conf", "conflicts"),
  ]

  /// The script for a shell, in a folder of its own; `nil` where the shell is not installed, which is said.
  private func completion(_ shell: Shell) async throws -> (path: String, run: ShellRun)? {
    guard let path = ShellRun.path(of: shell.rawValue) else { return nil }
    let run = try ShellRun()
    let file = run.folder + "/" + shell.fileName(for: "lanternly")
    #expect(await program.run("completion", shell.rawValue, "--file", file).code == 0)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(await program.run("completion", shell.rawValue).output.hasPrefix(text.prefix(200)))
    return (path, run)
  }

  private func offered(_ end: ShellRun.End) -> [String] {
    #expect(end.errors.isEmpty, "\(end.errors)")
    return end.output.split(separator: "\n").map { $0.prefix { $0 != "\t" }.trimmingCharacters(in: .whitespaces) }
  }

  @Test(arguments: completions) func bashCompletes(line: String, word: String) async throws {
    guard let (path, run) = try await completion(.bash) else { return }
    defer { run.remove() }
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map { "'\($0)'" }.joined(separator: " ")
    let script = """
      source ./\(Shell.bash.fileName(for: "lanternly")); COMP_WORDS=(\(words)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _lanternly; printf '%s\\n' "${COMPREPLY[@]}"
      """
    let end = try run.run(path, ["--norc", "-uc", script])
    #expect(offered(end).contains(word))
  }

  @Test(arguments: completions) func fishCompletes(line: String, word: String) async throws {
    guard let (path, run) = try await completion(.fish) else { return }
    defer { run.remove() }
    let script = "source ./\(Shell.fish.fileName(for: "lanternly")); complete -C '\(line)'"
    let end = try run.run(path, ["--no-config", "-c", script])
    #expect(offered(end).contains(word))
  }

  @Test(arguments: completions) func zshCompletes(line: String, word: String) async throws {
    guard let (path, run) = try await completion(.zsh) else { return }
    defer { run.remove() }
    let driver = try run.write(ZshDriver.text, to: "driver.zsh")
    let end = try run.run(path, ["-f", driver, run.folder, line])
    #expect(offered(end).contains(word))
  }

  @Test func manualPagesAreWrittenForEachCommand() async throws {
    let folder = program.folder.path + "/man"
    #expect(await program.run("manual", folder).code == 0)
    let names = try Folder.names(in: folder)
    #expect(names.contains("lanternly.1"))
    for shape in CommandShape.all { #expect(names.contains("lanternly-\(shape.name).1")) }
    #expect(try String(contentsOfFile: folder + "/lanternly.1", encoding: .utf8).contains("VIRGA_CA_FILE"))
    try checkPages(names.map { "\(folder)/\($0)" })
    #expect(await program.run("completion", "tcsh").code == ExitCode.usage.rawValue)
    #expect(await program.run("completion", "zsh").output.hasPrefix("#compdef lanternly"))
    #expect(!FileManager.default.fileExists(atPath: program.home))
  }

  /// `mandoc` finds no fault in the pages, and `man` shows them without a complaint.
  private func checkPages(_ pages: [String]) throws {
    let run = try ShellRun()
    defer { run.remove() }
    if let mandoc = ShellRun.path(of: "mandoc") {
      let end = try run.run(mandoc, ["-T", "lint", "-W", "warning"] + pages)
      #expect(end.code == 0 && end.output.isEmpty, "\(end.output)")
    }
    guard let man = ShellRun.path(of: "man"), let page = pages.first(where: { $0.hasSuffix("lanternly-export.1") })
    else {
      return
    }
    let shown = try run.run(man, ["--warnings", "-E", "utf-8", "-l", page])
    #expect(shown.code == 0 && shown.errors.isEmpty && shown.output.contains("lanternly export"), "\(shown)")
  }

  /// The line comes on standard error, and only where somebody sits.
  @Test func aLongImportShowsHowFarItIs() throws {
    let folder = TemporaryFolder()
    let entries = (0..<4_000).map { index in
      #"{"uuid": "E\#(index)", "creationDate": "2020-01-03T10:00:00Z", "text": "entry \#(index)"}"#
    }
    let path = try folder.write(#"{"entries": [\#(entries.joined(separator: ","))]}"#, to: "j.json")
    let terminal = try TerminalProcess(
      BuiltProgram.path("lanternly"), ["--home", folder.path + "/phone", "import", path],
      environment: ["TERM": "xterm", "LC_ALL": "C"])
    #expect(terminal.shows("Imported: 4000 entries"), "\(terminal.screen.suffix(500))")
    #expect(terminal.waited() == 0)
    #expect(terminal.screen.contains(" / 4000 entries"), "\(terminal.screen.prefix(500))")
  }

  private func screen(_ words: [String], environment: [String: String]) throws -> String {
    let terminal = try TerminalProcess(
      BuiltProgram.path("lanternly"), words,
      environment: ["TERM": "xterm", "LC_ALL": "C", "PATH": "/usr/bin:/bin"].merging(environment) { $1 })
    #expect(terminal.waited() == 0)
    return terminal.screen
  }

  @Test func aLongExportShowsHowFarItIs() async throws {
    let entries = (0..<1_500).map { index in
      #"{"uuid": "E\#(index)", "creationDate": "2020-01-03T10:00:00Z", "text": "entry \#(index)"}"#
    }
    let path = try program.folder.write(#"{"entries": [\#(entries.joined(separator: ","))]}"#, to: "j.json")
    await program.run("import", path)
    let out = program.folder.path + "/out"
    let shown = try screen(["--home", program.home, "export", out], environment: [:])
    #expect(shown.contains(" / 1500 entries") && shown.contains("\u{1B}[K"), "\(shown.suffix(300))")
    let log = program.folder.path + "/log"
    let silent = try BuiltProgram.start("lanternly", ["--home", program.home, "export", out + "2"], output: log)
    #expect(silent.waited == 0)
    #expect(try !String(contentsOfFile: log, encoding: .utf8).contains("\u{1B}"))
  }

  @Test func aLongSyncShowsHowFarItIs() throws {
    let fleet = try Fleet()
    let plan = #"{"faults": [{"when": {"operation": "records/modify"}, "do": {"latency": 0.7}}]}"#
    fleet.stopServer(SIGTERM)
    try fleet.startServer("--faults", try fleet.folder.write(plan, to: "faults.json"))
    func write(_ number: Int) throws { try fleet.lanternly("phone", "new", "--text", "entry \(number)") }
    for number in 0..<3 { try write(number) }
    let shown = try screen(["--home", fleet.home("phone"), "sync"], environment: fleet.environment("phone"))
    #expect(shown.contains(" / 3 changes") && shown.contains("\u{1B}[K"), "\(shown)")
    for number in 3..<6 { try write(number) }
    let silent = try fleet.lanternly("phone", "sync")
    #expect(silent.code == 0 && !silent.output.contains("\u{1B}"), "\(silent.output)")
  }
}
