import Foundation
import VirgaSQLite

/// An attachment with all that this device knows of it.
package struct StoredAttachment: Hashable, Sendable {
  package var attachment: Attachment
  /// Whether the file is here.
  package var hasFile: Bool
  package var systemFields: [UInt8]?
}

extension DiaryRows {
  private static let columns =
    "name, entry, position, kind, file_name, byte_count, sha256, has_file, system_fields"

  func attachment(_ id: AttachmentID) throws -> StoredAttachment? {
    try connection.first("SELECT \(Self.columns) FROM attachment WHERE name = ?", id.name, as: Self.row)
  }

  /// In the entry's order.
  func attachments(of entry: EntryID) throws -> [StoredAttachment] {
    try connection.query(
      "SELECT \(Self.columns) FROM attachment WHERE entry = ? ORDER BY position, name", entry.name, as: Self.row)
  }

  /// What an entry shows: a kept text also has the attachments of the entry that it was forked from.
  func attachments(shownBy id: EntryID, copyOf original: EntryID?) throws -> [StoredAttachment] {
    try attachments(of: id) + (original.map { try attachments(of: $0) } ?? [])
  }

  /// An entry as it stands by itself: a kept text has copies of the attachments of its original, under names of their own.
  func standalone(_ stored: StoredEntry) throws -> (entry: StoredEntry, attachments: [StoredAttachment]) {
    var all = try attachments(of: stored.id)
    guard let original = stored.entry.copyOf else { return (stored, all) }
    var standalone = stored
    for var copy in try attachments(of: original) {
      let id = AttachmentID.copied(copy.attachment.id, to: stored.id)
      standalone.entry.text = standalone.entry.text.replacingOccurrences(of: copy.attachment.id.name, with: id.name)
      (copy.attachment.id, copy.attachment.entry) = (id, stored.id)
      all.append(copy)
    }
    return (standalone, all)
  }

  func attachmentsWithoutFile() throws -> [StoredAttachment] {
    try connection.query(
      """
      SELECT \(Self.columns) FROM attachment
      WHERE has_file = 0 AND entry NOT IN (SELECT name FROM entry WHERE deleted = 1) ORDER BY name
      """, as: Self.row)
  }

  func allAttachments() throws -> [StoredAttachment] {
    try connection.query("SELECT \(Self.columns) FROM attachment ORDER BY name", as: Self.row)
  }

  func attachmentsOfDeletedEntries() throws -> [StoredAttachment] {
    try connection.query(
      """
      SELECT \(Self.columns) FROM attachment
      WHERE entry IN (SELECT name FROM entry WHERE deleted = 1) ORDER BY name
      """, as: Self.row)
  }

  func put(_ stored: StoredAttachment) throws {
    let attachment = stored.attachment
    if let before = try self.attachment(attachment.id), before.attachment.sha256 != attachment.sha256 {
      touchedFiles.insert(before.attachment.sha256)
    }
    try connection.run(
      "INSERT OR REPLACE INTO attachment (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", attachment.id.name,
      attachment.entry.name, attachment.order, attachment.kind.rawValue, attachment.fileName, attachment.byteCount,
      attachment.sha256, stored.hasFile, stored.systemFields)
    // A file that came for one is there for all that have the same.
    if stored.hasFile {
      try connection.run("UPDATE attachment SET has_file = 1 WHERE sha256 = ? AND has_file = 0", attachment.sha256)
    }
  }

  func remove(_ attachment: Attachment) throws {
    touchedFiles.insert(attachment.sha256)
    try connection.run("DELETE FROM attachment WHERE name = ?", attachment.id.name)
  }

  /// Gives an entry attachments of its own for some of another one's.
  /// - Returns: The text with its own in their place.
  func copyAttachments(
    _ originals: [StoredAttachment], to copy: EntryID, in text: String, at now: Moment
  ) throws -> String {
    var text = text
    for var stored in originals {
      let id = AttachmentID.copied(stored.attachment.id, to: copy)
      text = text.replacingOccurrences(of: stored.attachment.id.name, with: id.name)
      guard try attachment(id) == nil else { continue }
      stored.attachment.id = id
      stored.attachment.entry = copy
      stored.systemFields = nil
      try put(stored)
      try enqueue(id.name, .attachment, .save, at: now)
    }
    return text
  }

  /// Lets a kept text have attachments of its own for those of its original that it shows, before these go.
  func keepAttachments(_ originals: [StoredAttachment], shownBy copy: EntryID, at now: Moment) throws {
    guard var entry = try entry(copy) else { return }
    let shown = originals.filter { entry.text.contains("attachment:\($0.attachment.id.name)") }
    let text = try copyAttachments(shown, to: copy, in: entry.text, at: now)
    if text == entry.text { return }
    (entry.text, entry.edited.text) = (text, now.after(entry.edited.text))
    try put(copy, entry, reason: .resolved, at: now)
    try enqueue(copy, at: now)
  }

  private static func row(_ row: borrowing Row) throws -> StoredAttachment {
    let attachment = Attachment(
      id: AttachmentID(row.text(0)), entry: EntryID(row.text(1)), kind: Attachment.Kind(rawValue: row.text(3)) ?? .file,
      fileName: row.text(4), order: row.int(2), byteCount: row.int64(5), sha256: row.text(6))
    return StoredAttachment(attachment: attachment, hasFile: row.bool(7), systemFields: row.optionalBlob(8))
  }
}
