import Foundation

@testable import LanternlyCore

/// Exports that tests read: our own, below `own/`, and real ones where they are at hand: `$VIRGA_CORPUS`, or `shared/corpus`
/// beside the repository.
enum Corpus {
  private static let dayOne: String? = {
    if let path = ProcessInfo.processInfo.environment["VIRGA_CORPUS"] { return path + "/dayone" }
    var folder = URL(fileURLWithPath: #filePath)
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      let candidate = folder.appendingPathComponent("shared/corpus/dayone").path
      if FileManager.default.fileExists(atPath: candidate) { return candidate }
    }
    return nil
  }()

  /// Cases on our own exports, and those on real ones if they are here.
  static func cases<Case>(own: [Case], real: [Case]) -> [Case] { dayOne == nil ? own : own + real }

  static func open(_ name: String) throws -> ReadExport {
    let scratch = TemporaryFolder()
    let path =
      name.hasPrefix("own/")
      ? try OwnExports(folder: scratch).write(String(name.dropFirst(4))) : "\(dayOne ?? "")/\(name)"
    return try ReadExport(path, scratch: scratch.path + "/zip")
  }
}

/// All that an export holds.
struct ReadExport {
  var entries: [DayOneEntry] = []
  /// Those of entries are where their entries are.
  var notes: [ImportNote] = []

  init(_ path: String, scratch: String, limits: ArchiveReader.Limits = .init()) throws {
    try DayOneExport.open(path, scratch: scratch, limits: limits).forEach { item in
      switch item {
      case .note(let note): notes.append(note)
      case .entry(let entry):
        entries.append(entry)
        notes += entry.notes
      }
    }
  }
}

/// A folder that goes when the test ends.
final class TemporaryFolder: Sendable {
  let path: String

  init() {
    path = FileManager.default.temporaryDirectory.path + "/lanternly-test-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  @discardableResult
  func write(_ text: String, to name: String) throws -> String {
    try write(Data(text.utf8), to: name)
  }

  @discardableResult
  func write(_ data: Data, to name: String) throws -> String {
    let url = URL(fileURLWithPath: path + "/" + name)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: url)
    return url.path
  }
}

/// A generator whose numbers follow from a seed.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  init(_ seed: UInt64) { state = seed }

  // SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

// Swift Testing has a type of this name too; the module's own name comes first.
typealias Attachment = LanternlyCore.Attachment

extension DiaryStore {
  /// Takes in entries that stand in no export.
  func take(_ entries: [DayOneEntry], at now: Moment) throws -> ImportSummary {
    var summary = ImportSummary()
    try take(entries, at: now, summary: &summary)
    return summary
  }
}
