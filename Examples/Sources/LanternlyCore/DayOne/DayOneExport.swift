import Foundation

/// A Day One export, read whole but for its media, which stay files.
package struct DayOneExport: Sendable {
  package var entries: [DayOneEntry] = []
  package var notes: [ImportNote] = []

  /// Opens a folder, a JSON file, a ZIP file, a bundle of the classic app (`.dayone`) or one of its entries.
  ///
  /// An entry that cannot be read becomes a note; a JSON file that cannot be read stops everything, because half of a
  /// journal would look like a whole one.
  /// - Parameter scratch: A folder that does not exist yet, for what an archive holds. The caller removes it.
  package static func open(
    _ path: String, scratch: String, limits: ArchiveReader.Limits = ArchiveReader.Limits()
  ) throws(ImportError) -> DayOneExport {
    var export = DayOneExport()
    if access(path, F_OK) != 0 { throw .notFound(path) }
    do {
      try FileHandleOwned.check(path)
    } catch {
      throw .unreadable(error)
    }
    if Folder.exists(path) {
      try export.readFolder(path)
    } else if path.lowercased().hasSuffix(".doentry") {
      export.readClassic(path, photos: nil)
    } else if isArchive(path) {
      try unpack(path, into: scratch, limits: limits)
      try export.readFolder(scratch, shownAs: path)
    } else if try !export.readJournal(path) {
      throw .notAnExport(path)
    }
    export.removeRepeated()
    return export
  }

  /// What says that it is one, or begins like one.
  private static func isArchive(_ path: String) -> Bool {
    if path.lowercased().hasSuffix(".zip") { return true }
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    defer { file.closeFile() }
    return file.readData(ofLength: 2) == Data("PK".utf8)
  }

  private static func unpack(
    _ path: String, into scratch: String, limits: ArchiveReader.Limits
  ) throws(ImportError) {
    do {
      try Folder.make(scratch)
    } catch {
      throw .file(error)
    }
    do {
      try ArchiveReader.extract(path, into: scratch, limits: limits)
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
  private mutating func readFolder(_ path: String, shownAs shown: String? = nil) throws(ImportError) {
    if try readContents(path) { return }
    var isFound = false
    for name in try Self.names(in: path) where !name.hasPrefix(".") && Folder.exists("\(path)/\(name)") {
      isFound = try readContents("\(path)/\(name)") || isFound
    }
    guard isFound else { throw .notAnExport(shown ?? path) }
  }

  private mutating func readContents(_ path: String) throws(ImportError) -> Bool {
    let names = try Self.names(in: path).filter { !$0.hasPrefix(".") }
    var isFound = false
    for name in names where name.lowercased().hasSuffix(".json") {
      if try readJournal("\(path)/\(name)") {
        isFound = true
      } else {
        notes.append(.fileIsNoJournal(file: name))
      }
    }
    let folder = names.contains("entries") && Folder.exists("\(path)/entries") ? "\(path)/entries" : path
    let classic = try Self.names(in: folder).filter { $0.lowercased().hasSuffix(".doentry") }
    if !classic.isEmpty {
      let photos = MediaFolder("\(path)/photos")
      for name in classic { readClassic("\(folder)/\(name)", photos: photos) }
    }
    return isFound || !classic.isEmpty
  }

  private static func names(in path: String) throws(ImportError) -> [String] {
    do {
      return try Folder.names(in: path)
    } catch {
      throw .file(error)
    }
  }

  /// - Returns: Whether it is one, and not somebody else's JSON.
  private mutating func readJournal(_ path: String) throws(ImportError) -> Bool {
    let file = (path as NSString).lastPathComponent
    let data: Data
    do throws(FileError) {
      try FileHandleOwned.check(path)
    } catch {
      throw .unreadable(error)
    }
    do {
      data = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
    } catch {
      throw .file(FileError(.read, path, errorNumber: access(path, R_OK) == 0 ? EIO : errno))
    }
    let value: Any
    do {
      value = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    } catch {
      throw .brokenJSON(file: file, reason: Self.reason(error))
    }
    guard let entries = LooseObject(value)?.array("entries") else { return false }
    let folder = (path as NSString).deletingLastPathComponent
    let reader = DayOneJournal(file: file, folder: folder)
    for (position, value) in entries.enumerated() {
      guard let object = LooseObject(value) else {
        notes.append(.entryIsNoObject(file: file, position: position + 1))
        continue
      }
      if let entry = reader.entry(object, position: position + 1, notes: &notes) { self.entries.append(entry) }
    }
    return true
  }

  private static func reason(_ error: any Error) -> String {
    if let error = error as? FileError { return error.reason }
    let info = (error as NSError).userInfo
    return info[NSDebugDescriptionErrorKey] as? String ?? error.localizedDescription
  }

  private mutating func readClassic(_ path: String, photos: MediaFolder?) {
    let file = (path as NSString).lastPathComponent
    do {
      try FileHandleOwned.check(path)
      let data = try Data(contentsOf: URL(fileURLWithPath: path))
      let value = try PropertyListSerialization.propertyList(from: data, format: nil)
      guard let object = LooseObject(value) else {
        notes.append(.entryIsNoObject(file: file, position: 1))
        return
      }
      if let entry = DayOneClassic.entry(object, file: file, photos: photos, notes: &notes) { entries.append(entry) }
    } catch {
      notes.append(.entryIsUnreadable(file: file, reason: Self.reason(error)))
    }
  }

  /// Of two entries with one name the one modified last stays, the first of equals.
  private mutating func removeRepeated() {
    var kept: [EntryID: Int] = [:]
    var result: [DayOneEntry] = []
    for entry in entries {
      guard let index = kept[entry.id] else {
        kept[entry.id] = result.count
        result.append(entry)
        continue
      }
      notes.append(.entryAppearsTwice(entry: entry.label))
      if entry.entry.modified > result[index].entry.modified { result[index] = entry }
    }
    entries = result
  }
}

/// The files in one of an export's media folders, found by their names without endings.
struct MediaFolder: Sendable {
  private let path: String
  private let files: [String: String]

  init(_ path: String) {
    self.path = path
    var files: [String: String] = [:]
    // A folder that is not there holds no files; each entry that misses one says so.
    let names = (try? Folder.names(in: path)) ?? []
    for name in names.reversed() {
      files[name.lowercased()] = name
      files[(name as NSString).deletingPathExtension.lowercased()] = name
    }
    self.files = files
  }

  /// Names come from the export, so they are looked up and never joined to a path.
  func file(_ names: String?...) -> String? {
    for case .some(let name) in names {
      if let file = files[name.lowercased()] { return "\(path)/\(file)" }
    }
    return nil
  }
}
