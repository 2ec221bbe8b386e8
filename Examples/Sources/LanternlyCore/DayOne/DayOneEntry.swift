/// An entry of a Day One export, turned into ours.
package struct DayOneEntry: Hashable, Sendable {
  package var id: EntryID
  package var entry: Entry
  package var media: [DayOneMedia]
  /// What notes call the entry.
  package var label: String
  /// What of it was not as it should be.
  package var notes: [ImportNote] = []
}

/// One after another of what an export holds.
package enum ImportItem: Hashable, Sendable {
  case entry(DayOneEntry)
  /// Something that is no entry, or none that can be taken.
  case note(ImportNote)
}

/// A file that an exported entry names.
package struct DayOneMedia: Hashable, Sendable {
  package var id: AttachmentID
  package var kind: Attachment.Kind
  package var fileName: String
  /// The place among the entry's attachments.
  package var order: Int
  /// Where the file is, now that the export is open; `nil` if the export lacks it.
  package var path: String?
  /// As the export declares it.
  package var md5: String?
}

/// What an import met that was not as it should be. Those that are skips cost an entry, the others do not.
package enum ImportNote: Hashable, Sendable {
  case entryIsNoObject(file: String, position: Int)
  case entryHasNoDate(entry: String)
  case dateIsUnreadable(entry: String)
  case entryAppearsTwice(entry: String)
  case entryIsUnreadable(file: String, reason: String)
  /// A text in it is broken: half of a surrogate pair, or bytes that are not UTF-8.
  case textIsBroken(entry: String, key: String)
  case fileIsNoJournal(file: String)
  case entryHasNoText(entry: String)
  case zoneIsUnknown(entry: String, zone: String)
  case valueIsUnreadable(entry: String, key: String)
  case mediaFileIsMissing(entry: String, media: String)
  case mediaFileIsEmpty(entry: String, media: String)
  case mediaFileDiffers(entry: String, media: String)
  case mediaFileIsUnreadable(entry: String, media: String)
  case linkIsUnknown(entry: String, media: String)
  case entryIsTooLong(entry: String)

  package var isSkip: Bool {
    switch self {
    case .entryIsNoObject, .entryHasNoDate, .dateIsUnreadable, .entryAppearsTwice, .entryIsUnreadable,
      .textIsBroken, .fileIsNoJournal:
      true
    case .entryHasNoText, .zoneIsUnknown, .valueIsUnreadable, .mediaFileIsMissing, .mediaFileIsEmpty,
      .mediaFileDiffers, .mediaFileIsUnreadable, .linkIsUnknown, .entryIsTooLong:
      false
    }
  }

  /// Whether the note tells how an entry was taken in, which says nothing where it was not.
  var isAboutTaking: Bool {
    switch self {
    case .entryHasNoText, .zoneIsUnknown, .valueIsUnreadable, .entryIsTooLong: true
    default: false
    }
  }
}

/// Why nothing was imported.
package enum ImportError: Error, Hashable, CustomStringConvertible {
  case notFound(String)
  case unreadable(FileError)
  /// At a line and a column, in bytes, both from 1.
  case brokenJSON(file: String, line: Int, column: Int)
  case notAnExport(String)
  case brokenArchive(file: String, reason: String)
  case unsafeArchive(file: String, name: String)
  case repeatedName(file: String, name: String)
  case tooLarge(file: String)
  case file(FileError)

  /// For those who write programs; users are told in their language.
  package var description: String {
    switch self {
    case .notFound(let path): "there is no \(path)"
    case .unreadable(let error), .file(let error): error.description
    case .brokenJSON(let file, let line, let column): "\(file) is broken in line \(line), column \(column)"
    case .brokenArchive(let file, let reason): "\(file): \(reason)"
    case .notAnExport(let path): "\(path) is no export"
    case .unsafeArchive(let file, let name): "\(file): a name in it leads outside: \(name)"
    case .repeatedName(let file, let name): "\(file) holds \(name) twice"
    case .tooLarge(let file): "\(file) would unpack to far too much"
    }
  }
}
