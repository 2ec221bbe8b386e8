/// Commands that only read.
extension Lanternly {
  func list() throws -> ExitCode {
    try show(filter(), whenNone: .nothingFound)
  }

  /// What the options choose.
  func filter() throws -> EntryFilter {
    var filter = EntryFilter()
    filter.tag = arguments.value("tag")
    filter.isStarred = arguments.has("starred")
    filter.limit = try limit()
    filter.since = try arguments.value("since").map { try WhenParser.day($0, option: "since").start }
    filter.until = try arguments.value("until").map { try WhenParser.day($0, option: "until").end }
    return filter
  }

  func search() throws -> ExitCode {
    var filter = EntryFilter()
    filter.words = arguments.words.flatMap { $0.split(separator: " ").map(String.init) }
    filter.limit = try limit()
    return try show(filter, whenNone: .nothingFound)
  }

  private func limit() throws -> Int? {
    guard let text = arguments.value("limit") else { return nil }
    guard let limit = Int(text), limit > 0 else { throw UsageError.valueIsWrong(option: "limit", value: text) }
    return limit
  }

  private func show(_ filter: EntryFilter, whenNone none: Text) throws -> ExitCode {
    if wantsJSON { return try showJSON(filter) }
    var presentation = presentation
    presentation.shortNames = try store.shortNames()
    var isAny = false
    try page { show in
      try store.forEachEntry(filter, .outline) { stored, _ in
        isAny = true
        try show(presentation.line(stored))
      }
    }
    if !isAny { output.line(texts(try store.isEmpty() ? .emptyDiary : none)) }
    return .done
  }

  private func showJSON(_ filter: EntryFilter) throws -> ExitCode {
    var (first, block) = (true, ["["])
    try store.forEachEntry(filter) { stored, rows in
      var writer = JSONWriter(depth: 1)
      let attachments = try rows.attachments(shownBy: stored.id, copyOf: stored.entry.copyOf)
      EntryJSON(stored: stored, attachments: attachments, files: home.files).write(to: &writer)
      if !first { block[block.count - 1] += "," }
      first = false
      block.append("  " + writer.text)
      // The last line is held back, as a comma may follow it.
      if block.count > Self.blockLines {
        output.block(Array(block.dropLast()))
        block = [block[block.count - 1]]
      }
    }
    output.block(block + (first ? ["", "]"] : ["]"]))
    return .done
  }

  private static let blockLines = 100

  /// Somebody has read enough.
  private struct ReaderLeft: Error {}

  /// Shows lines through the pager of a person who reads, and to others many at a time.
  func page(_ body: ((String) throws -> Void) throws -> Void) throws {
    if let command = surroundings.screen.pager, let pager = Pager(command) {
      defer { pager.finish() }
      do {
        try body { line in
          if !pager.write(line + "\n") { throw ReaderLeft() }
        }
      } catch is ReaderLeft {
        return
      }
      return
    }
    var lines: [String] = []
    defer { if !lines.isEmpty { output.block(lines) } }
    try body { line in
      lines.append(line)
      if lines.count < Self.blockLines { return }
      output.block(lines)
      lines = []
    }
  }

  func show() throws -> ExitCode {
    let stored = try entry(arguments.words[0], includingDeleted: arguments.has("versions"))
    if arguments.has("versions") { return try showVersions(of: stored.id) }
    let attachments = try store.attachments(of: stored.id)
    if wantsJSON {
      var writer = JSONWriter()
      EntryJSON(stored: stored, attachments: attachments, files: home.files).write(to: &writer)
      output.line(writer.text)
    } else {
      let text = presentation.page(stored, attachments: attachments, files: home.files)
      try page { show in try show(text) }
    }
    return .done
  }

  private func showVersions(of id: EntryID) throws -> ExitCode {
    let versions = try store.versions(of: id)
    if wantsJSON {
      output.line(try ScriptOutput.text(versions.map { ScriptOutput.VersionShape($0) }))
      return .done
    }
    output.line(versions.isEmpty ? texts(.noVersions) : texts(.versionsHead, short(id)))
    for version in versions {
      output.line(
        texts(
          .versionLine, String(version.number), presentation.moment(version.replacedAt),
          presentation.reason(version.reason), presentation.title(version.entry)))
    }
    return .done
  }

  func status() throws -> ExitCode {
    let status = try store.status()
    let device = try store.deviceName()
    let isSyncing = SyncLock.isHeld(home.syncLock)
    if wantsJSON {
      let shape = ScriptOutput.StatusShape(status, home: home.path, device: device, isSyncing: isSyncing, now: now)
      output.line(try ScriptOutput.text(shape))
      return .done
    }
    output.line(texts(.statusHome, home.path, device))
    for line in accountLines(status.notes) { output.line(line) }
    output.line(stateText(status, isSyncing: isSyncing))
    if isSyncing { output.line(texts(.statusRunning)) }
    output.line(
      texts(.statusEntries, presentation.entries(status.entries), presentation.attachments(status.attachments)))
    output.line(
      texts(
        .statusPendingCounts, String(status.pendingSaves), String(status.pendingDeletions),
        String(status.pendingBytes), String(status.missingFiles)))
    for line in outcomeLines(status, isSyncing: isSyncing) { output.line(line) }
    return .done
  }

  private func stateText(_ status: DiaryStatus, isSyncing: Bool) -> String {
    switch status.state {
    case .neverSynced where isSyncing, .pending where isSyncing && status.notes.lastSuccess == nil:
      texts(.statusFirstSync)
    case .neverSynced: texts(.statusNever)
    case .synced: texts(.statusSynced)
    case .pending where status.notes.lastSuccess == nil: texts(.statusUnfinished)
    case .pending where status.pendingSaves + status.pendingDeletions == 0: texts(.statusIncomplete)
    case .pending: texts(.statusPending)
    case .attention: texts(.statusAttention)
    case .noAccount: texts(.statusNoAccount, accountCommand)
    case .purged: texts(.statusPurged)
    }
  }

  private func outcomeLines(_ status: DiaryStatus, isSyncing: Bool) -> [String] {
    let notes = status.notes
    var lines = [
      notes.lastSuccess.map { texts(.statusLastSuccess, presentation.moment($0)) } ?? texts(.statusLastSuccessNever)
    ]
    if let error = notes.lastError {
      lines.append(
        texts(
          .statusLastError, presentation.moment(error.at),
          presentation.failure(code: error.code, message: error.message)))
    }
    if let until = notes.heldUntil(now) { lines.append(texts(.serverAsksToWait, presentation.clock(until))) }
    lines += refusals(status.refused, one: .statusRecordRefused)
    // Only who syncs now will make it.
    if let next = notes.nextTry, isSyncing {
      lines.append(texts(.statusNextTry, presentation.moment(next)))
    } else if status.state != .synced && status.state != .purged && !isSyncing {
      lines.append(texts(.statusNextTryByHand))
    }
    if let skew = notes.clockSkewSeconds, abs(skew) >= 5 {
      lines.append(presentation.clockSkew(skew))
    }
    let locked = status.locked - status.notEncrypted.count
    if locked > 0 { lines.append(texts(.statusLocked, presentation.entries(locked))) }
    if !status.notEncrypted.isEmpty {
      let names = status.notEncrypted.map(Presentation.short).joined(separator: " ")
      lines.append(texts(.statusNotEncrypted, presentation.entries(status.notEncrypted.count), names))
    }
    if status.conflicts > 0 { lines.append(texts(.statusConflicts, String(status.conflicts))) }
    return lines
  }

  /// What the server refused: one line a reason, as a full account refuses everything for the same.
  func refusals(_ rows: [OutboxRow], one: Text) -> [String] {
    var lines = rows.filter(\.isTooLong).map { texts(.recordIsTooLong, short($0.record)) }
    var reasons: [String] = []
    var refused: [String: [OutboxRow]] = [:]
    for row in rows where !row.isTooLong {
      let reason = presentation.refusal(row.error ?? "")
      if refused[reason] == nil { reasons.append(reason) }
      refused[reason, default: []].append(row)
    }
    for reason in reasons {
      let rows = refused[reason] ?? []
      let names = rows.prefix(Self.refusedShownMax).map { short($0.record) }
      lines.append(
        rows.count == 1
          ? texts(one, names[0], reason)
          : texts(.syncRefusedMany, String(rows.count), reason, names.joined(separator: " ")))
    }
    return lines
  }

  private static let refusedShownMax = 5

  // MARK: Conflicts

  func conflicts() throws -> ExitCode {
    if let verb = arguments.words.first {
      guard verb == "resolve" else { throw UsageError.tooManyWords(verb, command: "conflicts") }
      guard arguments.words.count == 2 else { throw UsageError.wordIsMissing(command: "conflicts resolve") }
      return try resolve(arguments.words[1])
    }
    let conflicts = try store.conflicts()
    if wantsJSON {
      output.line(
        try ScriptOutput.text(conflicts.map { ScriptOutput.ConflictShape($0, texts: try bothTexts($0)) }))
    } else if conflicts.isEmpty {
      output.line(texts(.noConflicts))
    } else {
      for conflict in conflicts { try show(conflict) }
    }
    return .done
  }

  private func bothTexts(_ conflict: DiaryConflict) throws -> [String]? {
    guard case .texts(let original, let copy) = conflict else { return nil }
    return try [original, copy].map { try store.stored($0)?.entry.text ?? "" }
  }

  private func show(_ conflict: DiaryConflict) throws {
    switch conflict {
    case .texts(let original, let copy):
      output.line(texts(.conflictTexts, short(original)))
      for (label, id) in [("original", original), ("copy", copy)] {
        guard let entry = try store.stored(id)?.entry else { continue }
        let edited = presentation.moment(entry.edited.text)
        output.line(
          texts(.conflictTextOf, label, short(id), presentation.readable(entry.device), edited))
        for line in presentation.readable(entry.text).split(separator: "\n").prefix(12) { output.line("    \(line)") }
      }
      output.line(texts(.conflictHowTexts, short(copy)))
    case .deletion(_, let entry, _):
      let title = try store.stored(entry).map { presentation.title($0.entry) } ?? ""
      output.line(texts(.conflictDeletion, short(entry), title))
      output.line(texts(.conflictHowNote, short(entry)))
    case .value(_, let entry, let field, let version, _):
      let value = version.map { presentation.value(field, in: $0.entry) } ?? ""
      let number = version.map { String($0.number) } ?? "-"
      output.line(
        texts(.conflictValue, short(entry), presentation.field(field), value, number))
      output.line(texts(.conflictHowNote, short(entry)))
    }
  }

  private func resolve(_ word: String) throws -> ExitCode {
    let stored = try entry(word)
    guard let original = stored.entry.copyOf else {
      guard try store.settleNotes(of: stored.id) > 0 else {
        throw CommandFailure(.notFound, .conflictNotFound, word)
      }
      done(texts(.conflictSettled))
      return .done
    }
    let choice = try choice(copy: stored.entry, original: try store.stored(original)?.entry)
    guard try store.settleTexts(stored.id, keep: choice, device: try store.deviceName(), at: now) else {
      throw CommandFailure(.notFound, .conflictNotFound, word)
    }
    done(texts(.conflictSettled))
    return .done
  }

  private func choice(copy: Entry, original: Entry?) throws -> ConflictChoice {
    guard let word = arguments.value("keep") else {
      throw UsageError.valueIsMissing(option: "keep", command: "conflicts")
    }
    if let choice = ConflictChoice(rawValue: word) { return choice }
    guard word == "mine" || word == "theirs" else { throw UsageError.valueIsWrong(option: "keep", value: word) }
    let isCopyMine = try store.isMine(copy.device)
    guard try isCopyMine != (original.map { try store.isMine($0.device) } ?? false) else {
      throw CommandFailure(.usage, .conflictSameDevice)
    }
    return isCopyMine == (word == "mine") ? .copy : .original
  }
}
