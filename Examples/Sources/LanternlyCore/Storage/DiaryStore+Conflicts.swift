import VirgaSQLite

/// Something that two devices did to one entry and that the user should see.
package enum DiaryConflict: Hashable, Sendable {
  /// Both texts are kept: one in the entry, one in its copy.
  case texts(original: EntryID, copy: EntryID)
  /// The entry was deleted on one device and edited on another; the edit stayed.
  case deletion(number: Int64, entry: EntryID, at: Moment)
  /// Of two values the later was taken; the version holds the other.
  case value(number: Int64, entry: EntryID, field: EntryMerge.Loss.Field, version: StoredVersion?, at: Moment)

  /// The name by which it is settled: that of the copy, or of the entry.
  package var entry: EntryID {
    switch self {
    case .texts(_, let copy): copy
    case .deletion(_, let entry, _), .value(_, let entry, _, _, _): entry
    }
  }
}

/// How a conflict of texts is settled.
package enum ConflictChoice: String, Sendable {
  /// The text in the entry; the copy goes.
  case original
  /// The copy's text moves into the entry, with the attachments that the copy was given.
  case copy
  /// Two entries from now on.
  case both
}

extension DiaryStore {
  package func conflicts() throws -> [DiaryConflict] {
    try read { rows in
      let texts = try rows.connection.query(
        "SELECT copy_of, name FROM entry WHERE copy_of IS NOT NULL AND deleted = 0 ORDER BY copy_of, name"
      ) { DiaryConflict.texts(original: EntryID($0.text(0)), copy: EntryID($0.text(1))) }
      let notes = try rows.connection.query(
        "SELECT number, entry, kind, field, version, noticed_at FROM conflict ORDER BY number"
      ) { row -> (Int64, EntryID, String, String, Int64?, Moment) in
        (
          row.int64(0), EntryID(row.text(1)), row.text(2), row.text(3), row.optionalInt64(4),
          Moment(milliseconds: row.int64(5))
        )
      }
      return try texts
        + notes.map { number, entry, kind, field, version, moment in
          guard kind == "value", let field = EntryMerge.Loss.Field(rawValue: field) else {
            return .deletion(number: number, entry: entry, at: moment)
          }
          let kept = try rows.versions(of: entry).first { $0.number == version }
          return .value(number: number, entry: entry, field: field, version: kept, at: moment)
        }
    }
  }

  package func conflictCount() throws -> Int {
    try read { rows in
      try rows.connection.first(
        """
        SELECT (SELECT count(*) FROM entry WHERE copy_of IS NOT NULL AND deleted = 0) + (SELECT count(*) FROM conflict)
        """
      ) { $0.int(0) } ?? 0
    }
  }

  /// Settles a conflict of texts, here and, with the next sync, everywhere. The text that goes stays among the versions.
  /// - Returns: False if the entry is no copy.
  package func settleTexts(_ copy: EntryID, keep choice: ConflictChoice, device: String, at now: Moment) throws -> Bool
  {
    try write { rows in
      guard var kept = try rows.entry(copy), let original = kept.copyOf, !kept.isDeleted else { return false }
      let first = try rows.entry(original)
      // Without its original there is nothing to choose from.
      guard var entry = first, !entry.isDeleted, choice != .both else {
        try rows.keepAttachments(rows.attachments(of: original), shownBy: copy, at: now)
        kept = try rows.entry(copy) ?? kept
        (kept.copyOf, kept.edited.copyOf) = (nil, now.after(kept.edited.copyOf))
        try rows.put(copy, kept, reason: .resolved, at: now)
        try rows.enqueue(copy, at: now)
        return true
      }
      if choice == .copy {
        let text = try rows.copyAttachments(rows.attachments(of: copy), to: original, in: kept.text, at: now)
        (entry.text, entry.edited.text, entry.device) = (text, now.after(entry.edited.text), kept.device)
        try rows.put(original, entry, reason: .resolved, at: now)
        try rows.enqueue(original, at: now)
      } else {
        try rows.keep(kept, of: original, reason: .resolved, at: now)
      }
      try rows.delete(copy, kept, device: device, at: now)
      return true
    }
  }

  /// Marks what was noted of an entry as seen.
  /// - Returns: How many notes there were.
  package func settleNotes(of entry: EntryID) throws -> Int {
    try write { try $0.connection.run("DELETE FROM conflict WHERE entry = ?", entry.name) }
  }
}
