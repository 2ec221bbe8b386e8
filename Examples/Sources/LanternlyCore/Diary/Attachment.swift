/// The name of an attachment's record.
package struct AttachmentID: Hashable, Comparable, Sendable {
  package let name: String

  package init(_ name: String) { self.name = name }

  package static func < (left: AttachmentID, right: AttachmentID) -> Bool { left.name < right.name }

  package static func imported(entry: EntryID, identifier: String) -> AttachmentID {
    AttachmentID(Digest.name(of: ["dayone media", entry.name, identifier]))
  }

  /// The same attachment for another entry, when a kept text gets an entry of its own.
  package static func copied(_ original: AttachmentID, to entry: EntryID) -> AttachmentID {
    AttachmentID(Digest.name(of: ["copy", original.name, entry.name]))
  }
}

/// A file that belongs to an entry. Its content never changes: another content is another attachment.
package struct Attachment: Hashable, Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case photo, video, audio, pdf, file

    /// By the ending of a file's name.
    package init(fileName: String) {
      let ending = fileName.split(separator: ".").last.map { $0.lowercased() } ?? ""
      switch ending {
      case "jpg", "jpeg", "png", "gif", "heic", "webp", "tif", "tiff", "bmp": self = .photo
      case "mp4", "mov", "m4v", "webm", "avi", "mkv": self = .video
      case "m4a", "mp3", "aac", "wav", "ogg", "flac", "caf", "opus": self = .audio
      case "pdf": self = .pdf
      default: self = .file
      }
    }
  }

  package var id: AttachmentID
  package var entry: EntryID
  package var kind: Kind
  /// As the user knows it; never used as a path.
  package var fileName: String
  /// The place among the attachments of the entry.
  package var order: Int
  package var byteCount: Int64
  /// 64 hex digits; also the name under which the diary keeps the file.
  package var sha256: String

  package init(
    id: AttachmentID, entry: EntryID, kind: Kind, fileName: String, order: Int, byteCount: Int64, sha256: String
  ) {
    self.id = id
    self.entry = entry
    self.kind = kind
    self.fileName = fileName
    self.order = order
    self.byteCount = byteCount
    self.sha256 = sha256
  }

  /// How an entry's text shows the attachment.
  package static func link(_ id: AttachmentID, kind: Kind, title: String) -> String {
    kind == .photo ? "![\(title)](attachment:\(id.name))" : "[\(title)](attachment:\(id.name))"
  }
}
