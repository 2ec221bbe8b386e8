import Foundation

/// Commands that change the diary. None of them touches the network.
extension Lanternly {
  func new() throws -> ExitCode {
    let zone = try zone() ?? Zone.current
    let moment = try arguments.value("date").map { try WhenParser.moment($0, zone: zone, option: "date") } ?? now
    let id = EntryID(Self.freshName())
    var entry = Entry(text: "", written: Written(moment: moment, zone: zone), edited: EditTimes(all: now))
    entry.device = try store.deviceName()
    // Nobody is asked for a text before all the rest is known to be right.
    try applyOptions(to: &entry)
    try checkAttachments()
    let given = try givenText("text") ?? (arguments.has("text") ? nil : surroundings.input(false))
    let draft = try given.map { Draft(text: $0) } ?? write("", for: id)
    return try keeping(draft) {
      let files = try adopt(arguments.all("attach"), to: id, after: 0)
      guard !Self.isEmpty(draft.text) || !files.isEmpty else {
        output.problem(texts(.emptyTextDropped))
        return .failure
      }
      entry.text = Self.adding(files, to: draft.text)
      try store.save(id, base: nil, edited: entry, adding: files, at: now)
      done(texts(.entryAdded, short(id)))
      warn(ofLengthOf: entry, id)
      return .done
    }
  }

  func edit() throws -> ExitCode {
    let stored = try entry(arguments.words[0], includingDeleted: arguments.has("restore"))
    var edited = stored.entry
    try restore(into: &edited, id: stored.id)
    try applyOptions(to: &edited)
    if let zone = try zone() { (edited.written.zone, edited.edited.written) = (zone, now) }
    if let date = arguments.value("date") {
      edited.written.moment = try WhenParser.moment(date, zone: edited.written.zone, option: "date")
      edited.edited.written = now
    }
    let known = try store.attachments(of: stored.id)
    let removed = try named("detach", among: known, id: stored.id)
    // A kept text shows attachments of its original, which keeps them.
    let detached = removed.filter { $0.entry == stored.id }
    let added = try adopt(arguments.all("attach"), to: stored.id, after: known.count)
    let draft = isPlainEdit ? try write(edited.text, for: stored.id) : Draft(text: try givenText(over: edited.text))
    // An empty text is a slip of the editor or of a script, and no wish to delete the entry.
    if Self.isEmpty(draft.text) && !Self.isEmpty(edited.text) && added.isEmpty {
      if let file = draft.file { Folder.remove(file.path) }
      throw CommandFailure(.failure, .emptyTextRefused, short(stored.id))
    }
    return try keeping(draft) {
      var text = Self.adding(added, to: draft.text)
      for attachment in removed { text = Self.removing(attachment, from: text) }
      // An attachment that no text shows is an edit too, which a later import is not to undo.
      if text != edited.text || !detached.isEmpty { (edited.text, edited.edited.text) = (text, now) }
      if text != stored.entry.text { edited.device = try store.deviceName() }
      if edited == stored.entry && added.isEmpty {
        output.line(texts(.entryUnchanged))
        return .done
      }
      try store.save(
        stored.id, base: stored.entry, edited: edited, adding: added, removing: detached.map(\.id), at: now)
      done(texts(.entryChanged, short(stored.id)))
      if edited.text != stored.entry.text { warn(ofLengthOf: edited, stored.id) }
      return .done
    }
  }

  func delete() throws -> ExitCode {
    let device = try store.deviceName()
    // All names are looked up first, so that a misspelt one deletes nothing.
    for stored in try arguments.words.map({ try entry($0) }) {
      guard try store.delete(stored.id, device: device, at: now) else { continue }
      // What it said is the last of its versions.
      let number = try store.versions(of: stored.id).last?.number ?? 0
      done(texts(.entryDeleted, short(stored.id), String(number)))
    }
    return .done
  }

  private static func isEmpty(_ text: String) -> Bool {
    text.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty
  }

  private func warn(ofLengthOf entry: Entry, _ id: EntryID) {
    if entry.isTooLongToSync { output.problem(texts(.textIsTooLong, short(id))) }
  }

  /// Says what is done. Where nobody can read it, the problem that follows says that it is done all the same.
  func done(_ line: String) {
    output.line(line)
    if output.hasFailed() { output.problem(line) }
  }

  // MARK: Options

  private var isPlainEdit: Bool {
    let options = CommandShape.all.first { $0.name == "edit" }?.options.keys.sorted() ?? []
    return !options.contains { arguments.has($0) }
  }

  private func givenText(over text: String) throws -> String {
    let text = try givenText("text") ?? text
    guard let more = try givenText("append") else { return text }
    return text.isEmpty ? more : text + "\n\n" + more
  }

  /// The text that an option gives; `-` stands for standard input, whose last line has an end that is not meant.
  private func givenText(_ option: String) throws -> String? {
    guard let text = arguments.value(option) else { return nil }
    guard text == "-" else { return text }
    let input = try surroundings.input(true) ?? ""
    return input.hasSuffix("\n") ? String(input.dropLast()) : input
  }

  private func zone() throws -> String? {
    guard let zone = arguments.value("zone") else { return nil }
    guard Zone.exists(zone) else { throw UsageError.valueIsWrong(option: "zone", value: zone) }
    return zone
  }

  private func applyOptions(to entry: inout Entry) throws {
    if arguments.has("star") { (entry.isStarred, entry.edited.starred) = (true, now) }
    if arguments.has("unstar") { (entry.isStarred, entry.edited.starred) = (false, now) }
    if let word = arguments.value("mood") {
      let mood = Int(word)
      guard word == "none" || mood.map((1...5).contains) == true else {
        throw UsageError.valueIsWrong(option: "mood", value: word)
      }
      (entry.mood, entry.edited.mood) = (mood, now)
    }
    for tag in arguments.all("tag") {
      let name = tag.trimmingCharacters(in: .whitespacesAndNewlines)
      guard !name.isEmpty else { throw UsageError.valueIsWrong(option: "tag", value: tag) }
      entry.tags[name] = now
    }
    for tag in arguments.all("untag") { entry.tags[tag] = nil }
    if let name = arguments.value("place") {
      var place = Place()
      place.name = name.isEmpty ? nil : name
      (entry.place, entry.edited.place) = (name.isEmpty ? nil : place, now)
    }
  }

  private func restore(into entry: inout Entry, id: EntryID) throws {
    guard let word = arguments.value("restore") else { return }
    guard let version = try store.versions(of: id).first(where: { String($0.number) == word }) else {
      throw CommandFailure(.notFound, .versionNotFound, short(id), word)
    }
    let (origin, copyOf) = (entry.origin, entry.copyOf)
    entry = version.entry
    (entry.origin, entry.copyOf) = (origin, copyOf)
    for tag in entry.tags.keys.sorted() { entry.tags[tag] = now }
    entry.edited = EditTimes(all: now)
    entry.device = try store.deviceName()
  }

  // MARK: Attachments

  /// Says what is wrong with a file to attach before anything is done.
  private func checkAttachments() throws {
    for path in arguments.all("attach") {
      try reading(path) { () throws(FileError) in _ = try FileHandleOwned(reading: path) }
    }
  }

  private func reading<Value>(_ path: String, _ body: () throws(FileError) -> Value) throws -> Value {
    do {
      return try body()
    } catch {
      // The diary's own disk.
      guard error.path == path else { throw error }
      throw CommandFailure(.notFound, .fileIsUnreadable, path, error.reason)
    }
  }

  private func adopt(_ paths: [String], to entry: EntryID, after count: Int) throws -> [Attachment] {
    try paths.enumerated().map { index, path in
      let stored = try reading(path) { () throws(FileError) in try home.files.adopt(path) }
      let fileName = (path as NSString).lastPathComponent
      return Attachment(
        id: AttachmentID(Self.freshName()), entry: entry, kind: Attachment.Kind(fileName: fileName),
        fileName: fileName, order: count + index, byteCount: stored.byteCount, sha256: stored.sha256)
    }
  }

  private func named(_ option: String, among known: [StoredAttachment], id: EntryID) throws -> [Attachment] {
    try arguments.all(option).map { word in
      let found = known.first { $0.attachment.fileName == word || $0.attachment.id.name.hasPrefix(word) }
      guard let found else {
        throw CommandFailure(.notFound, .attachmentNotFound, short(id), word)
      }
      return found.attachment
    }
  }

  private static func adding(_ attachments: [Attachment], to text: String) -> String {
    attachments.reduce(text) { text, attachment in
      let title = attachment.kind == .photo ? "" : attachment.fileName
      let link = Attachment.link(attachment.id, kind: attachment.kind, title: title)
      return text.isEmpty ? link : text + "\n\n" + link
    }
  }

  private static func removing(_ attachment: Attachment, from text: String) -> String {
    let link = NSRegularExpression.escapedPattern(for: "(attachment:\(attachment.id.name))")
    return text.replacingOccurrences(of: #"\n*!?\[[^\]]*\]"# + link, with: "", options: .regularExpression)
  }

  private static func freshName() -> String {
    UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
  }

  // MARK: The editor

  /// A text, and the file in which the user wrote it if an editor was asked.
  private struct Draft {
    var text: String
    var file: DraftFile?
  }

  /// Lets the user write a text. Whatever fails, the file stays, so that nothing written is lost.
  private func write(_ text: String, for id: EntryID) throws -> Draft {
    let editors = ["VISUAL", "EDITOR"].compactMap { surroundings.environment[$0] }
    guard let editor = editors.first(where: { !$0.isEmpty }) else { throw CommandFailure(.usage, .noEditor) }
    let path = home.scratch(DiaryHome.draftPrefix(of: id)) + ".md"
    let file = try DraftFile(path)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    let code = surroundings.edit(editor, path)
    guard access(path, F_OK) == 0 else { throw CommandFailure(.failure, .editorLeftNothing) }
    guard code == 0 else { throw CommandFailure(.failure, .editorFailed, String(code), path) }
    do {
      guard let bytes = FileManager.default.contents(atPath: path) else { throw FileError(.read, path) }
      var written = try Surroundings.text(bytes)
      // Editors end the last line; the text had no end there.
      if written.hasSuffix("\n") && !text.hasSuffix("\n") { written.removeLast() }
      return Draft(text: written, file: file)
    } catch {
      throw DraftKept(path: path, cause: error)
    }
  }

  /// Does what is done with a text. The editor's file goes when that has succeeded; until then every error names it.
  private func keeping(_ draft: Draft, _ body: () throws -> ExitCode) throws -> ExitCode {
    guard let file = draft.file else { return try body() }
    do {
      let code = try body()
      Folder.remove(file.path)
      return code
    } catch {
      throw DraftKept(path: file.path, cause: error)
    }
  }
}
