import Foundation
import Testing

@testable import LanternlyCore

/// A disk of its own that is soon full, or takes nothing at all; only the administrator may make one.
final class SmallDisk {
  let path: String
  private let folder = TemporaryFolder()

  static let isAllowed = geteuid() == 0 && (try? SmallDisk()) != nil

  struct NotMounted: Error {}

  init() throws {
    path = folder.path + "/disk"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try run("mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", path)
  }

  deinit { try? run("umount", "-l", path) }

  func makeReadOnly() throws { try run("mount", "-o", "remount,ro", path) }

  /// Fills it to the last byte.
  func fill() throws {
    let file = try FileHandleOwned(creating: path + "/filler")
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    defer { page.deallocate() }
    page.initializeMemory(as: UInt8.self, repeating: 7)
    do {
      while true { try file.write(UnsafeRawBufferPointer(page), path: "filler") }
    } catch {
      #expect(error.isDiskFull)
    }
  }

  private func run(_ words: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.standardError = FileHandle.nullDevice
    try process.run()
    if process.waited != 0 { throw NotMounted() }
  }
}

/// A diary on a disk that takes nothing more is read all the same.
@Suite(.disabled(if: !SmallDisk.isAllowed, "making a disk needs the administrator's rights"))
struct SmallDiskTests {
  private static let reading = [["list"], ["show", "a0"], ["search", "rain"], ["status"], ["conflicts"]]

  private func diary(on disk: SmallDisk) async throws -> ProgramUnderTest {
    let program = ProgramUnderTest(home: disk.path + "/phone")
    #expect(await program.run("new", "--text", "before").code == 0)
    let entry = try #require(try program.store().entries().first).entry
    var rain = entry
    rain.text = "rain"
    try program.store().save(EntryID("a0"), base: nil, edited: rain, at: .now)
    return program
  }

  @Test func aReadOnlyDiaryIsRead() async throws {
    let disk = try SmallDisk()
    let program = try await diary(on: disk)
    try disk.makeReadOnly()
    for words in Self.reading {
      let result = await program.run(words: words)
      #expect(result.code == 0 && result.problems.isEmpty, "\(words): \(result)")
    }
    #expect(await program.run("search", "rain").lines.count == 1)
    for words in [["new", "--text", "more"], ["edit", "a0", "--star"], ["delete", "a0"]] {
      let result = await program.run(words: words)
      #expect(result.code == 1)
      #expect(result.problems == ["The folder \(program.home) is read-only: nothing can be written there."])
    }
  }

  /// What is in the log alone is not left out.
  @Test func aReadOnlyDiaryThatWasNotClosedIsToldAsSuch() async throws {
    let disk = try SmallDisk()
    let program = try await diary(on: disk)
    try Data(count: 64).write(to: URL(fileURLWithPath: program.home + "/diary.sqlite-wal"))
    try disk.makeReadOnly()
    let result = await program.run("list")
    #expect(result.code == 1)
    #expect(
      result.problems.first?.hasPrefix("The folder \(program.home) is read-only, and its diary was not closed") == true)
  }

  @Test func aFullDiskIsNamedAndTheDiaryIsRead() async throws {
    let disk = try SmallDisk()
    let program = try await diary(on: disk)
    let picture = try program.folder.write(Data(count: 2 << 20), to: "big.bin")
    let full = ["There is no space left on the disk of \(program.home)"]
    let attaching = await program.run("new", "--text", "more", "--attach", picture)
    #expect(attaching.problems == full)
    #expect(attaching.code == 1)
    try disk.fill()
    for words in Self.reading {
      let result = await program.run(words: words)
      #expect(result.code == 0 && result.problems.isEmpty, "\(words): \(result)")
    }
    #expect(await program.run("search", "rain").lines.count == 1)
    #expect(await program.run("new", "--text", "more").problems == full)
  }
}
