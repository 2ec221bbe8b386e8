import Foundation
import VirgaSQLite

/// What an import must remember of the whole export, in a file of its own, so that the memory it takes does not grow with it.
final class ImportIndex {
  private let connection: Connection

  /// - Parameter path: A file in the import's scratch folder, with which it goes.
  init(path: String) throws {
    connection = try Connection(path: path)
    // Nothing here is worth keeping after a crash.
    try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")
    try connection.execute(
      """
      CREATE TABLE entry (name TEXT NOT NULL PRIMARY KEY, modified INTEGER NOT NULL, place INTEGER NOT NULL)
        WITHOUT ROWID;
      CREATE TABLE media (folder TEXT NOT NULL, key TEXT NOT NULL, file TEXT NOT NULL, PRIMARY KEY (folder, key))
        WITHOUT ROWID;
      BEGIN;
      """)
  }

  // MARK: Entries

  /// Notes where an entry stands. Of two with one name the one modified last counts, the first of equals.
  func note(_ id: EntryID, modified: Moment, place: Int) throws {
    try connection.run(
      """
      INSERT INTO entry (name, modified, place) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET modified = excluded.modified, place = excluded.place
        WHERE excluded.modified > modified
      """, id.name, modified.milliseconds, place)
  }

  func isAt(_ place: Int, _ id: EntryID) throws -> Bool {
    try connection.first("SELECT place FROM entry WHERE name = ?", id.name) { $0.int(0) } == place
  }

  /// How many entries there are, each name once.
  func count() throws -> Int { try connection.first("SELECT count(*) FROM entry") { $0.int(0) } ?? 0 }

  // MARK: Media

  /// Notes the files in a folder, each by its name and by its name without the ending.
  func addFiles(in folder: String) throws {
    guard let stream = opendir(folder) else { return }
    defer { closedir(stream) }
    while let item = readdir(stream) {
      let name = withUnsafePointer(to: &item.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      for key in Set([name.lowercased(), (name as NSString).deletingPathExtension.lowercased()]).sorted() {
        try connection.run(
          """
          INSERT INTO media (folder, key, file) VALUES (?, ?, ?)
          ON CONFLICT (folder, key) DO UPDATE SET file = min(file, excluded.file)
          """, folder, key, name)
      }
    }
  }

  func file(_ key: String, in folder: String) throws -> String? {
    try connection.first("SELECT file FROM media WHERE folder = ? AND key = ?", folder, key.lowercased()) { $0.text(0) }
  }
}

/// The files in one of an export's media folders, found by their names without endings.
struct MediaFolder {
  private let path: String
  private let index: ImportIndex

  /// A folder that is not there holds no files; each entry that misses one says so.
  init(_ path: String, index: ImportIndex) throws {
    self.path = path
    self.index = index
    try index.addFiles(in: path)
  }

  /// Names come from the export, so they are looked up and never joined to a path.
  func file(_ names: String?...) throws -> String? {
    for case .some(let name) in names {
      if let file = try index.file(name, in: path) { return "\(path)/\(file)" }
    }
    return nil
  }
}
