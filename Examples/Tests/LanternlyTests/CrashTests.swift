import Foundation
import Testing

@testable import LanternlyCore

/// The program as a process of its own.
enum BuiltProgram {
  /// Beside the tests' bundle.
  static func path(_ name: String) -> String {
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
    return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
  }

  /// - Parameter name: A program of this package, or the path of any other.
  /// - Parameter output: A file for what the program prints; nowhere by default.
  static func start(
    _ name: String, _ arguments: [String], environment: [String: String] = [:], output: String? = nil
  ) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: name.hasPrefix("/") ? name : path(name))
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
    if let output { _ = FileManager.default.createFile(atPath: output, contents: nil) }
    let handle = output.flatMap { FileHandle(forWritingAtPath: $0) } ?? FileHandle.nullDevice
    process.standardOutput = handle
    process.standardError = handle
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return process
  }
}

struct CrashTests {
  /// Files without a row go once they are old; what an editor left stays.
  @Test func leftoversAreSweptLater() throws {
    let folder = TemporaryFolder()
    let store = try DiaryStore(home: DiaryHome(path: folder.path + "/phone"))
    let orphan = try store.home.files.adopt(try folder.write("orphan", to: "o"))
    for name in ["copy-1", "entry-1.md"] { try folder.write("x", to: "phone/tmp/\(name)") }
    try store.sweep(at: .now)
    #expect(store.home.files.contains(sha256: orphan.sha256))
    try store.sweep(at: Moment(milliseconds: Moment.now.milliseconds + 7_200_000))
    #expect(!store.home.files.contains(sha256: orphan.sha256))
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.home.temporary) == ["entry-1.md"])
  }

  /// An import that is killed again and again is whole after it ran to its end once.
  @Test func killedImportsAreCompletedByTheNext() throws {
    let folder = TemporaryFolder()
    let export = folder.path + "/export"
    #expect(try BuiltProgram.start("sample-export", [export, "150", "40"]).waited == 0)
    var random = Seeded(99)
    let home = folder.path + "/phone"
    for _ in 0..<12 {
      let process = try BuiltProgram.start("lanternly", ["--home", home, "import", export])
      // The kill comes at any moment of the run, which has no event for each.
      usleep(UInt32.random(in: 10_000...250_000, using: &random))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      for stored in try DiaryStore(home: DiaryHome(path: home)).allAttachments() {
        #expect(try DiaryStore(home: DiaryHome(path: home)).home.files.contains(sha256: stored.attachment.sha256))
      }
    }
    #expect(try BuiltProgram.start("lanternly", ["--home", home, "import", export]).waited == 0)
    #expect(try BuiltProgram.start("lanternly", ["--home", home + "2", "import", export]).waited == 0)
    let (killed, clean) = (
      try DiaryStore(home: DiaryHome(path: home)), try DiaryStore(home: DiaryHome(path: home + "2"))
    )
    #expect(try killed.entries() == clean.entries())
    #expect(try killed.allAttachments() == clean.allAttachments())
    #expect(try killed.outbox().map(\.record) == clean.outbox().map(\.record))
    #expect(try killed.entries().count == 150)
  }

  /// What a command has confirmed is in the diary, whole, with its row in the outbox, wherever others were killed.
  @Test func killedCommandsLoseNothingThatWasConfirmed() throws {
    let folder = TemporaryFolder()
    let home = folder.path + "/phone"
    let file = try folder.write(String(repeating: "bytes", count: 40_000), to: "file.bin")
    var random = Seeded(20261130)
    var confirmed: Set<String> = []
    for round in 0..<60 {
      let text = "entry \(round)"
      let process = try BuiltProgram.start(
        "lanternly", ["--home", home, "new", "--text", text, "--attach", file, "--tag", "t\(round)"])
      // The kill comes at any moment of the run, which has no event for each.
      usleep(UInt32.random(in: 0...90_000, using: &random))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      if process.terminationReason == .exit && process.terminationStatus == 0 { confirmed.insert(text) }
    }
    let store = try DiaryStore(home: DiaryHome(path: home))
    let entries = try store.entries()
    let found = Set(entries.map { String($0.entry.text.prefix { $0 != "\n" }) })
    #expect(confirmed.isSubset(of: found), "lost: \(confirmed.subtracting(found).sorted())")
    let waiting = Set(try store.outbox().map(\.record))
    for entry in entries {
      #expect(waiting.contains(entry.id.name))
      let attachments = try store.attachments(of: entry.id)
      #expect(attachments.count == 1)
      for stored in attachments {
        #expect(waiting.contains(stored.attachment.id.name))
        #expect(store.home.files.contains(sha256: stored.attachment.sha256))
      }
    }
    #expect(try store.read { try $0.connection.first("PRAGMA integrity_check") { $0.text(0) } } == "ok")
  }
}
