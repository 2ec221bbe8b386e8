import Foundation

/// How entries look in the terminal.
struct Presentation {
  let texts: Texts

  /// The beginning of a name, long enough to find the entry again in nearly every diary.
  static func short(_ name: String) -> String { String(name.prefix(8)) }

  func title(_ entry: Entry, limit: Int = 60) -> String {
    let title = readable(entry.title)
    if title.isEmpty { return texts(.noTitle) }
    return title.count > limit ? title.prefix(limit - 1) + "…" : title
  }

  /// Without control characters: a text from elsewhere must not drive the terminal.
  func readable(_ text: String) -> String {
    String(
      text.unicodeScalars.filter { scalar in
        scalar == "\n" || scalar == "\t" || !(scalar.value < 32 || (127...159).contains(scalar.value))
      }.map(Character.init))
  }

  func line(_ stored: StoredEntry, attachments: Int) -> String {
    let entry = stored.entry
    var parts = [Self.short(stored.id.name), texts.dateTime(entry.written.local) + (entry.isStarred ? " ★" : "  ")]
    parts.append(title(entry))
    if !entry.tags.isEmpty { parts.append("[" + readable(entry.tagNames.joined(separator: ", ")) + "]") }
    if attachments > 0 { parts.append("+\(attachments)") }
    return parts.joined(separator: "  ")
  }

  func page(_ stored: StoredEntry, attachments: [StoredAttachment], files: AttachmentFiles) -> String {
    let entry = stored.entry
    var lines = [
      stored.id.name,
      texts(.writtenIn, texts.dateTime(entry.written.local), entry.written.zone) + (entry.isStarred ? " ★" : ""),
    ]
    if let place = entry.place, !place.line.isEmpty { lines.append(texts(.placeLine, readable(place.line))) }
    if let weather = entry.weather.map(line), !weather.isEmpty { lines.append(texts(.weatherLine, weather)) }
    if let mood = entry.mood { lines.append(texts(.moodLine, String(mood))) }
    if !entry.tags.isEmpty { lines.append(texts(.tagsLine, readable(entry.tagNames.joined(separator: ", ")))) }
    if !entry.device.isEmpty { lines.append(texts(.deviceLine, readable(entry.device))) }
    if let original = entry.copyOf { lines.append(texts(.copyLine, Self.short(original.name))) }
    lines += ["", readable(text(entry.text, attachments))]
    if !attachments.isEmpty {
      lines += ["", texts(.attachmentsHead)]
      lines += attachments.map { attachment in "  " + line(attachment, files: files) }
    }
    return lines.joined(separator: "\n")
  }

  /// The text with attachments by their file names.
  private func text(_ text: String, _ attachments: [StoredAttachment]) -> String {
    attachments.reduce(text) { text, stored in
      text.replacingOccurrences(
        of: "(attachment:\(stored.attachment.id.name))", with: "(\(stored.attachment.fileName))")
    }
  }

  private func line(_ stored: StoredAttachment, files: AttachmentFiles) -> String {
    let attachment = stored.attachment
    let name = readable(attachment.fileName)
    let kind = attachment.kind.rawValue
    let size = String(attachment.byteCount)
    if !stored.hasFile { return texts(.attachmentNotHere, name, kind, size) }
    return texts(.attachmentHere, name, kind, size, files.path(sha256: attachment.sha256))
  }

  private func line(_ weather: Weather) -> String {
    var parts: [String] = []
    if let celsius = weather.celsius?.rounded() {
      parts.append((Int(exactly: celsius).map { String($0) } ?? String(celsius)) + " °C")
    }
    if let conditions = weather.conditions { parts.append(readable(conditions)) }
    return parts.joined(separator: ", ")
  }

  /// What went wrong with the server, in the user's words, with the code for those who look it up.
  func failure(code: String, message: String) -> String {
    let text: Text =
      switch code {
      case "networkUnavailable", "networkFailure", "serverResponseLost": .errorNetwork
      case "serviceUnavailable", "requestRateLimited", "zoneBusy": .errorBusy
      case "notAuthenticated": .errorAccount
      case "quotaExceeded": .errorQuota
      case "limitExceeded": .errorTooLarge
      case "keyMissing": .errorKeyMissing
      default: .errorOther
      }
    return "\(texts(text, readable(message))) (\(code))"
  }

  /// The same for a record's refusal, which the outbox keeps as code and message.
  func refusal(_ error: String) -> String {
    let parts = error.split(separator: ":", maxSplits: 1).map(String.init)
    return failure(code: parts.first ?? "", message: parts.last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "")
  }

  /// `18:05:09`, on this machine's clock.
  func clock(_ moment: Moment) -> String {
    let local = Written(moment: moment, zone: Zone.current).local
    return "\(local.hour.padded(2)):\(local.minute.padded(2)):\(local.second.padded(2))"
  }

  func moment(_ moment: Moment) -> String {
    texts.dateTime(Written(moment: moment, zone: Zone.current).local)
  }

  func entries(_ count: Int) -> String { texts.counted(count, one: .oneEntry, other: .manyEntries) }
  func attachments(_ count: Int) -> String { texts.counted(count, one: .oneAttachment, other: .manyAttachments) }

  func reason(_ reason: StoredVersion.Reason) -> String {
    switch reason {
    case .edited: texts(.reasonEdited)
    case .received: texts(.reasonReceived)
    case .merged: texts(.reasonMerged)
    case .deleted: texts(.reasonDeleted)
    case .imported: texts(.reasonImported)
    case .resolved: texts(.reasonResolved)
    }
  }

  func note(_ note: ImportNote) -> String {
    let (text, values): (Text, [String]) =
      switch note {
      case .entryIsNoObject(let file, let position): (.noteIsNoObject, [file, String(position)])
      case .entryHasNoDate(let entry): (.noteHasNoDate, [entry])
      case .dateIsUnreadable(let entry): (.noteDateUnreadable, [entry])
      case .entryAppearsTwice(let entry): (.noteAppearsTwice, [entry])
      case .entryIsUnreadable(let file, let reason): (.noteIsUnreadable, [file, reason])
      case .fileIsNoJournal(let file): (.noteIsNoJournal, [file])
      case .entryHasNoText(let entry): (.noteHasNoText, [entry])
      case .zoneIsUnknown(let entry, let zone): (.noteZoneUnknown, [entry, zone])
      case .valueIsUnreadable(let entry, let key): (.noteValueUnreadable, [entry, key])
      case .mediaFileIsMissing(let entry, let media): (.noteMediaMissing, [entry, media])
      case .mediaFileIsEmpty(let entry, let media): (.noteMediaEmpty, [entry, media])
      case .mediaFileDiffers(let entry, let media): (.noteMediaDiffers, [entry, media])
      case .mediaFileIsUnreadable(let entry, let media): (.noteMediaUnreadable, [entry, media])
      case .linkIsUnknown(let entry, let media): (.noteLinkUnknown, [entry, media])
      case .entryIsTooLong(let entry): (.noteTooLong, [entry])
      }
    return readable(texts.filled(text, values))
  }

  func field(_ field: EntryMerge.Loss.Field) -> String {
    switch field {
    case .text: texts(.fieldText)
    case .written: texts(.fieldWritten)
    case .starred: texts(.fieldStarred)
    case .mood: texts(.fieldMood)
    case .place: texts(.fieldPlace)
    case .weather: texts(.fieldWeather)
    case .copyOf: texts(.fieldCopyOf)
    }
  }

  /// The value of a field that gave way.
  func value(_ field: EntryMerge.Loss.Field, in entry: Entry) -> String {
    switch field {
    case .text: title(entry)
    case .written: texts(.writtenIn, texts.dateTime(entry.written.local), entry.written.zone)
    case .starred: texts(entry.isStarred ? .valueYes : .valueNo)
    case .mood: entry.mood.map(String.init) ?? texts(.valueNone)
    case .place: entry.place.map { readable($0.line) } ?? texts(.valueNone)
    case .weather: entry.weather.map(line) ?? texts(.valueNone)
    case .copyOf: entry.copyOf.map { Self.short($0.name) } ?? texts(.valueNone)
    }
  }
}
