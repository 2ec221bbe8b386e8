import Foundation

/// A Day One export that was looked through once: its grammar is whole, and of entries that appear twice it is known which one
/// counts. What it holds is read when it is asked for, an entry at a time.
package final class DayOneExport {
  private enum Source {
    /// A journal in JSON, with the folder that its media folders lie in.
    case journal(path: String, folder: String)
    /// One entry of the classic app, beside the folder of photos if it is part of a bundle.
    case classic(path: String, photos: MediaFolder?)
  }

  private var sources: [Source] = []
  private var notes: [ImportNote] = []
  private var folders: [String: MediaFolder] = [:]
  private let index: ImportIndex
  /// Entries with a name of their own.
  package private(set) var count = 0

  /// Opens a folder, a JSON file, a ZIP file, a bundle of the classic app (`.dayone`) or one of its entries.
  ///
  /// An entry that cannot be read becomes a note; a JSON file that cannot be read stops everything, because half of a
  /// journal would look like a whole one.
  /// - Parameter telling: Told how many entries were looked at.
  /// - Parameter scratch: A folder for what an archive holds, and for notes of the import. The caller removes it.
  package static func open(
    _ path: String, scratch: String, limits: ArchiveReader.Limits = ArchiveReader.Limits(),
    telling: (_ entriesRead: Int) -> Void = { _ in }
  ) throws -> DayOneExport {
    if access(path, F_OK) != 0 { throw ImportError.notFound(path) }
    do {
      try FileHandleOwned.check(path)
    } catch {
      throw ImportError.unreadable(error)
    }
    do {
      try Folder.make(scratch)
    } catch {
      throw ImportError.file(error)
    }
    let export = DayOneExport(try ImportIndex(path: scratch + "/index.sqlite"))
    if Folder.exists(path) {
      try export.findSources(in: path)
    } else if path.lowercased().hasSuffix(".doentry") {
      export.sources.append(.classic(path: path, photos: nil))
    } else if isArchive(path) {
      let files = scratch + "/files"
      try unpack(path, into: files, limits: limits)
      try export.findSources(in: files, shownAs: path)
    } else {
      let folder = (path as NSString).deletingLastPathComponent
      export.sources.append(.journal(path: path, folder: folder.isEmpty ? "." : folder))
    }
    try export.lookThrough(telling)
    return export
  }

  private init(_ index: ImportIndex) { self.index = index }

  /// Hands out what the export holds, in its order.
  package func forEach(_ body: (ImportItem) throws -> Void) throws {
    for note in notes { try body(.note(note)) }
    var place = 0
    for source in sources {
      try read(source, &place) { place, identity, entry in
        switch try entry() {
        case .entry where try !index.isAt(place, identity.id):
          try body(.note(.entryAppearsTwice(entry: identity.label)))
        case let item: try body(item)
        }
      } refused: {
        try body(.note($0))
      }
    }
  }

  // MARK: Finding

  /// What says that it is one, or begins like one.
  private static func isArchive(_ path: String) -> Bool {
    if path.lowercased().hasSuffix(".zip") { return true }
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    defer { file.closeFile() }
    return file.readData(ofLength: 2) == Data("PK".utf8)
  }

  private static func unpack(
    _ path: String, into folder: String, limits: ArchiveReader.Limits
  ) throws(ImportError) {
    do {
      try Folder.make(folder)
    } catch {
      throw .file(error)
    }
    do {
      try ArchiveReader.extract(path, into: folder, limits: limits)
    } catch {
      switch error {
      case .unreadable(let reason): throw .brokenArchive(file: path, reason: reason)
      case .unsafeName(let name): throw .unsafeArchive(file: path, name: name)
      case .repeatedName(let name): throw .repeatedName(file: path, name: name)
      case .tooLarge: throw .tooLarge(file: path)
      case .file(let error): throw .file(error)
      }
    }
  }

  /// Journals and classic entries in a folder; if it has none, in the folders directly below it.
  private func findSources(in path: String, shownAs shown: String? = nil) throws {
    if try addContents(of: path) { return }
    var isFound = false
    for name in try Self.names(in: path) where !name.hasPrefix(".") && Folder.exists("\(path)/\(name)") {
      isFound = try addContents(of: "\(path)/\(name)") || isFound
    }
    guard isFound else { throw ImportError.notAnExport(shown ?? path) }
  }

  private func addContents(of path: String) throws -> Bool {
    let names = try Self.names(in: path).filter { !$0.hasPrefix(".") }
    var isFound = false
    for name in names where name.lowercased().hasSuffix(".json") {
      if try Self.isJournal("\(path)/\(name)") {
        isFound = true
        sources.append(.journal(path: "\(path)/\(name)", folder: path))
      } else {
        notes.append(.fileIsNoJournal(file: name))
      }
    }
    let folder = names.contains("entries") && Folder.exists("\(path)/entries") ? "\(path)/entries" : path
    let classic = try Self.names(in: folder).filter { $0.lowercased().hasSuffix(".doentry") }
    if classic.isEmpty { return isFound }
    let photos = try media("\(path)/photos")
    sources += classic.map { .classic(path: "\(folder)/\($0)", photos: photos) }
    return true
  }

  private static func names(in path: String) throws(ImportError) -> [String] {
    do {
      return try Folder.names(in: path)
    } catch {
      throw .file(error)
    }
  }

  private func media(_ path: String) throws -> MediaFolder {
    if let known = folders[path] { return known }
    let folder = try MediaFolder(path, index: index)
    folders[path] = folder
    return folder
  }

  // MARK: Reading

  /// Reads all of it once, so that what is broken stops the import before it has begun.
  private func lookThrough(_ telling: (Int) -> Void) throws {
    var place = 0
    for source in sources {
      try read(source, &place) { place, identity, _ in
        try index.note(identity.id, modified: identity.modified, place: place)
        telling(place)
      } refused: { _ in
      }
    }
    count = try index.count()
  }

  private typealias Take = (_ place: Int, DayOneJournal.Identity, _ entry: () throws -> ImportItem) throws -> Void

  /// - Parameter place: The number of the last entry before; entries are counted through all sources.
  private func read(
    _ source: Source, _ place: inout Int, _ take: Take, refused: (ImportNote) throws -> Void
  ) throws {
    switch source {
    case .journal(let path, let folder):
      guard try readJournal(path, folder: folder, &place, take, refused: refused) else {
        throw ImportError.notAnExport(path)
      }
    case .classic(let path, let photos):
      place += 1
      try readClassic(path, photos: photos, place, take, refused: refused)
    }
  }

  /// Whether the file is a journal, and not somebody else's JSON.
  private static func isJournal(_ path: String) throws -> Bool {
    struct Found: Error {}
    let reader = try reader(path)
    do {
      try explaining(path) {
        guard try reader.kind() == .object else { return try readWhole(reader) }
        try reader.object { key in
          if try key == "entries" && reader.kind() == .array { throw Found() }
          try reader.skip()
        }
        try reader.end()
      }
      return false
    } catch is Found {
      return true
    }
  }

  private static func readWhole(_ reader: JSONReader) throws {
    try reader.skip()
    try reader.end()
  }

  /// - Returns: Whether it is one.
  private func readJournal(
    _ path: String, folder: String, _ place: inout Int, _ take: Take, refused: (ImportNote) throws -> Void
  ) throws -> Bool {
    let file = (path as NSString).lastPathComponent
    let journal = DayOneJournal(
      file: file, folders: try DayOneJournal.folderNames.mapValues { try media("\(folder)/\($0)") })
    let reader = try Self.reader(path)
    var isJournal = false
    try Self.explaining(path) {
      guard try reader.kind() == .object else { return try Self.readWhole(reader) }
      try reader.object { key in
        guard try key == "entries" && reader.kind() == .array else { return try reader.skip() }
        isJournal = true
        var position = 0
        try reader.array {
          position += 1
          place += 1
          guard let object = try Self.entry(reader) else {
            return try refused(.entryIsNoObject(file: file, position: position))
          }
          switch journal.identity(object, position: position) {
          case .failure(let refusal): try refused(refusal.note)
          case .success(let identity):
            try take(place, identity) { .entry(try journal.entry(object, identity)) }
          }
        }
      }
      try reader.end()
    }
    return isJournal
  }

  /// An entry with the keys that matter; `nil` if the value is not an entry.
  private static func entry(_ reader: JSONReader) throws -> LooseObject? {
    guard try reader.kind() == .object else {
      try reader.skip()
      return nil
    }
    var values: [String: LooseValue] = [:]
    var room = LooseValue.bytesMax
    try reader.object { key in
      guard let key, DayOneJournal.keys.contains(key) else { return try reader.skip() }
      values[key] = try LooseValue(reader, room: &room)
    }
    return LooseObject(values)
  }

  private static func reader(_ path: String) throws(ImportError) -> JSONReader {
    do throws(FileError) {
      try FileHandleOwned.check(path)
      return try JSONReader(reading: path)
    } catch {
      throw .unreadable(error)
    }
  }

  private static func explaining(_ path: String, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch JSONReader.Failure.syntax(let line, let column) {
      throw ImportError.brokenJSON(file: (path as NSString).lastPathComponent, line: line, column: column)
    } catch JSONReader.Failure.file(let error) {
      throw ImportError.file(error)
    }
  }

  private func readClassic(
    _ path: String, photos: MediaFolder?, _ place: Int, _ take: Take, refused: (ImportNote) throws -> Void
  ) throws {
    let file = (path as NSString).lastPathComponent
    let value: LooseValue
    do {
      try FileHandleOwned.check(path)
      let data = try Data(contentsOf: URL(fileURLWithPath: path))
      value = LooseValue(propertyList: try PropertyListSerialization.propertyList(from: data, format: nil))
    } catch {
      return try refused(.entryIsUnreadable(file: file, reason: Self.reason(error)))
    }
    guard let object = LooseObject(value) else { return try refused(.entryIsNoObject(file: file, position: 1)) }
    var notes: [ImportNote] = []
    guard let entry = try DayOneClassic.entry(object, file: file, photos: photos, refused: &notes) else {
      for note in notes { try refused(note) }
      return
    }
    let identity = DayOneJournal.Identity(
      uuid: entry.label, label: entry.label, created: entry.entry.written.moment, modified: entry.entry.modified)
    try take(place, identity) { .entry(entry) }
  }

  private static func reason(_ error: any Error) -> String {
    if let error = error as? FileError { return error.reason }
    let info = (error as NSError).userInfo
    return info[NSDebugDescriptionErrorKey] as? String ?? error.localizedDescription
  }
}
