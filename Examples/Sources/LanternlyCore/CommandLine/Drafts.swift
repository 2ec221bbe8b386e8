import Foundation

/// A file in which a text is being written, held as long as somebody does.
final class DraftFile {
  let path: String
  private let lock: Int32

  init(_ path: String) throws(FileError) {
    self.path = path
    lock = open(Self.lockPath(path), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw FileError(.open, Self.lockPath(path)) }
  }

  deinit {
    unlink(Self.lockPath(path))
    close(lock)
  }

  private static func lockPath(_ path: String) -> String { path + ".lock" }

  /// Whether nobody holds it any more: the terminal died, or the machine.
  static func isLeft(_ path: String) -> Bool {
    let descriptor = open(lockPath(path), O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return true }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) == 0
  }
}

extension Lanternly {
  /// Tells of texts that were written and never saved, and how they can be.
  /// - Parameter known: Those that were there before the command, which tells of its own by itself.
  func tellOfDrafts(among known: Set<String>) throws {
    for draft in try leftDrafts() where known.contains(draft.path) {
      let command = draft.entry.map { "\(texts.program) edit \(short($0)) --text -" } ?? "\(texts.program) new --text -"
      output.problem(texts(.draftIsLeft, draft.path, "\(command) <\(draft.path.asShellWord)"))
    }
  }

  /// The files of drafts, before a command may leave one that it tells of itself.
  func draftPaths() throws -> Set<String> { Set(try leftDrafts().map(\.path)) }

  private func leftDrafts() throws -> [(path: String, entry: EntryID?)] {
    guard Folder.exists(home.temporary) else { return [] }
    var found: [(path: String, entry: EntryID?)] = []
    for name in try Folder.names(in: home.temporary) where name.hasPrefix("entry-") && name.hasSuffix(".md") {
      let path = "\(home.temporary)/\(name)"
      guard DraftFile.isLeft(path), let bytes = FileManager.default.contents(atPath: path) else { continue }
      var entry: EntryID?
      if case .one(let id) = try store.find(String(name.dropFirst(6).prefix { $0 != "-" })) { entry = id }
      let saved = try entry.flatMap { try store.stored($0) }?.entry.text ?? ""
      // What is in the diary too, or empty, holds no words that could be lost.
      let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      if text.isEmpty || text == saved.trimmingCharacters(in: .whitespacesAndNewlines) { continue }
      found.append((path, entry))
    }
    return found
  }
}
