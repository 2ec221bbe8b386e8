/// What an import did.
package struct ImportSummary: Hashable, Sendable {
  package var added = 0
  /// Taken again because the export is newer than what was here.
  package var updated = 0
  package var unchanged = 0
  /// Edited or deleted here since, and not newer in the export.
  package var kept = 0
  package var attachments = 0
  package var skipped = Notes()
  package var warnings = Notes()

  /// What was met, all of it counted and the first of it listed.
  package struct Notes: Hashable, Sendable {
    package private(set) var count = 0
    package private(set) var listed: [ImportNote] = []

    static let listedMax = 1_000

    mutating func add(_ note: ImportNote) {
      count += 1
      if listed.count < Self.listedMax { listed.append(note) }
    }
  }

  package init() {}

  mutating func add(_ note: ImportNote) {
    if note.isSkip { skipped.add(note) } else { warnings.add(note) }
  }

  /// Entries that were looked at.
  package var entries: Int { added + updated + unchanged + kept }
}

extension DiaryStore {
  /// Entries in one transaction. Their files are copied before it.
  static let importBatchMax = 50

  /// Takes in the entries of an export. Names follow from the export, so importing it again, here or on another device,
  /// changes nothing.
  /// - Parameter telling: Told now and then what was done so far.
  package func take(
    _ export: DayOneExport, at now: Moment, telling: (ImportSummary) -> Void = { _ in }
  ) throws -> ImportSummary {
    var summary = ImportSummary()
    var batch: [DayOneEntry] = []
    try export.forEach { item in
      switch item {
      case .note(let note): summary.add(note)
      case .entry(let entry):
        batch.append(entry)
        if batch.count < Self.importBatchMax { return }
        try take(batch, at: now, summary: &summary)
        batch = []
        telling(summary)
      }
    }
    try take(batch, at: now, summary: &summary)
    telling(summary)
    return summary
  }

  func take(_ batch: [DayOneEntry], at now: Moment, summary: inout ImportSummary) throws {
    if batch.isEmpty { return }
    let ready = try adoptMedia(of: batch, summary: &summary)
    let before = summary
    summary = try write { rows in
      var summary = before
      for (entry, attachments) in ready { try rows.take(entry, attachments, at: now, summary: &summary) }
      return summary
    }
  }

  /// Copies the files that are not in the diary yet; none is ever held whole.
  private func adoptMedia(
    of entries: [DayOneEntry], summary: inout ImportSummary
  ) throws -> [(DayOneEntry, [Attachment])] {
    var wanted: [(entry: Int, media: DayOneMedia, path: String)] = []
    for (index, entry) in entries.enumerated() {
      let known = Set(try read { try $0.attachmentsThatComeBack(with: entry.id) })
      for media in entry.media where !known.contains(media.id) {
        if let path = media.path { wanted.append((index, media, path)) }
      }
    }
    var ready = entries.map { ($0, [Attachment]()) }
    for (file, result) in zip(wanted, try home.files.adopt(wanted.map(\.path))) {
      let (entry, media) = (entries[file.entry], file.media)
      let label = entry.label
      switch result {
      case .success(let stored):
        if let note = Self.note(on: stored, of: media, label: label) { summary.add(note) }
        ready[file.entry].1.append(
          Attachment(
            id: media.id, entry: entry.id, kind: media.kind, fileName: media.fileName, order: media.order,
            byteCount: stored.byteCount, sha256: stored.sha256))
      case .failure(let error) where error.path == file.path:
        summary.add(.mediaFileIsUnreadable(entry: label, media: media.fileName))
      // The diary's own disk.
      case .failure(let error): throw error
      }
    }
    return ready
  }

  private static func note(
    on stored: AttachmentFiles.Stored, of media: DayOneMedia, label: String
  ) -> ImportNote? {
    if stored.byteCount == 0 { return .mediaFileIsEmpty(entry: label, media: media.fileName) }
    guard let md5 = media.md5, md5.lowercased() != stored.md5 else { return nil }
    return .mediaFileDiffers(entry: label, media: media.fileName)
  }
}

extension DiaryRows {
  /// The attachments that an export of this diary has of an entry.
  fileprivate func attachmentsThatComeBack(with id: EntryID) throws -> [AttachmentID] {
    let originals = try entry(id)?.copyOf.map { try attachments(of: $0) } ?? []
    let copies = originals.map { AttachmentID.copied($0.attachment.id, to: id) }
    return try attachments(of: id).map(\.attachment.id) + copies
  }

  func take(
    _ exported: DayOneEntry, _ attachments: [Attachment], at now: Moment, summary: inout ImportSummary
  ) throws {
    let id = exported.id
    let local = try entry(id)
    let decision = decision(for: exported.entry, over: local)
    let isTaken = decision == .add || decision == .update
    for note in exported.notes where isTaken || !note.isAboutTaking { summary.add(note) }
    switch decision {
    case .add: summary.added += 1
    case .update: summary.updated += 1
    case .unchanged:
      summary.unchanged += 1
      // A first import may have come without the files.
      return try add(attachments, at: now, summary: &summary)
    case .keep:
      summary.kept += 1
      // What the text does not show may have been taken out here.
      let shown = attachments.filter { local?.text.contains("attachment:\($0.id.name)") == true }
      for attachment in attachments where !shown.contains(attachment) { touchedFiles.insert(attachment.sha256) }
      return try add(shown, at: now, summary: &summary)
    }
    if exported.entry.isTooLongToSync { summary.add(.entryIsTooLong(entry: exported.label)) }
    try put(id, exported.entry, reason: .imported, at: now)
    try begin(id, from: exported.entry)
    try enqueue(id, at: now)
    try add(attachments, at: now, summary: &summary)
  }

  private func add(_ attachments: [Attachment], at now: Moment, summary: inout ImportSummary) throws {
    for attachment in attachments {
      try require(attachment)
      try put(StoredAttachment(attachment: attachment, hasFile: true))
      try enqueue(attachment.id.name, .attachment, .save, at: now)
      summary.attachments += 1
    }
  }

  private enum Decision { case add, update, unchanged, keep }

  private func decision(for exported: Entry, over local: Entry?) -> Decision {
    guard let local else { return .add }
    // Also an entry written here that comes back from an export of this diary.
    if exported.modified == local.modified { return .unchanged }
    let imported = local.origin?.modified ?? .never
    if exported.modified <= imported { return local.modified > imported ? .keep : .unchanged }
    return exported.modified > local.modified ? .update : .keep
  }
}
