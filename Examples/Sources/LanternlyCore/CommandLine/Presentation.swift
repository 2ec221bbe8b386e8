import Foundation

/// How entries look in the terminal.
struct Presentation {
  let texts: Texts
  var screen = Screen()
  /// Of the entries that are listed.
  var shortNames = ShortNames(alike: [])

  /// The beginning of a name: of an attachment, or of an entry that may be anywhere.
  static func short(_ name: String) -> String { String(name.prefix(ShortNames.digitsMin)) }

  private static let titleWidth = 60

  func title(_ entry: Entry) -> String { title(entry, width: Self.titleWidth) }

  private func title(_ entry: Entry, width: Int) -> String {
    let title = readable(entry.title)
    return TextWidth.cut(title.isEmpty ? texts(.noTitle) : title, to: width)
  }

  /// Without control characters: a text from elsewhere must not drive the terminal.
  func readable(_ text: String) -> String {
    // In UTF-8 the other half of them begins with C2.
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != 0xC2 || $0 == 0x0A || $0 == 0x09 }) { return text }
    return String(
      text.unicodeScalars.filter { scalar in
        scalar == "\n" || scalar == "\t" || !(scalar.value < 32 || (127...159).contains(scalar.value))
      }.map(Character.init))
  }

  /// An entry on one line, as wide as the terminal at most.
  func line(_ stored: StoredEntry) -> String {
    let entry = stored.entry
    let name = shortNames(stored.id)
    let date = texts.dateTime(entry.written.local)
    var tags = entry.tags.isEmpty ? "" : "[" + readable(entry.tagNames.joined(separator: ", ")) + "]"
    var count = stored.attachmentCount > 0 ? "+\(stored.attachmentCount)" : ""
    var titleWidth = Self.titleWidth
    if let width = screen.width {
      // Name, date and star, each with two spaces behind.
      let room = max(0, width - TextWidth.of(name) - TextWidth.of(date) - 6)
      // Where there is hardly any, the title has it.
      if room < 16 { (tags, count) = ("", "") }
      let countWidth = count.isEmpty ? 0 : count.count + 2
      tags = TextWidth.cut(tags, to: max(0, room / 2 - countWidth))
      titleWidth = max(1, room - countWidth - (tags.isEmpty ? 0 : TextWidth.of(tags) + 2))
    }
    var parts = [
      screen.painted(name, .yellow),
      screen.painted(date, .cyan) + (entry.isStarred ? " " + screen.painted("★", .yellow) : "  "),
      title(entry, width: titleWidth),
    ]
    if !tags.isEmpty { parts.append(screen.painted(tags, .green)) }
    if !count.isEmpty { parts.append(count) }
    return parts.joined(separator: "  ")
  }

  func page(_ stored: StoredEntry, attachments: [StoredAttachment], files: AttachmentFiles) -> String {
    let entry = stored.entry
    let order = AttachmentOrder(text: entry.text)
    let attachments = order.sorted(attachments)
    let missing = order.missing(among: attachments)
    let written = texts(.writtenIn, texts.dateTime(entry.written.local), entry.written.zone)
    var lines = [
      screen.painted(stored.id.name, .yellow),
      screen.painted(written, .cyan) + (entry.isStarred ? " " + screen.painted("★", .yellow) : ""),
    ]
    if let place = entry.place, !place.line.isEmpty { lines.append(texts(.placeLine, readable(place.line))) }
    if let weather = entry.weather.map(line), !weather.isEmpty { lines.append(texts(.weatherLine, weather)) }
    if let mood = entry.mood { lines.append(texts(.moodLine, String(mood))) }
    if !entry.tags.isEmpty { lines.append(texts(.tagsLine, readable(entry.tagNames.joined(separator: ", ")))) }
    if !entry.device.isEmpty { lines.append(texts(.deviceLine, readable(entry.device))) }
    if let original = entry.copyOf { lines.append(texts(.copyLine, Self.short(original.name))) }
    lines += ["", readable(text(entry.text, attachments, missing: missing))]
    if !attachments.isEmpty || !missing.isEmpty {
      lines += ["", texts(.attachmentsHead)]
      lines += attachments.map { attachment in "  " + line(attachment, files: files) }
      lines += missing.map { "  " + texts(.attachmentMissing, Self.short($0)) }
    }
    return lines.joined(separator: "\n")
  }

  /// The text with attachments by their file names.
  private func text(_ text: String, _ attachments: [StoredAttachment], missing: [String]) -> String {
    let known = attachments.map { ($0.attachment.id.name, $0.attachment.fileName) }
    let unknown = missing.map { ($0, texts(.attachmentMissing, Self.short($0))) }
    return (known + unknown).reduce(text) { text, name in
      text.replacingOccurrences(of: "(attachment:\(name.0))", with: "(\(name.1))")
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
      case SyncNotes.Failure.untrusted: .errorUntrusted
      case SyncNotes.Failure.insecure: .errorInsecure
      case SyncNotes.Failure.certificates: .errorCertificates
      case SyncNotes.Failure.proxyLimit: .errorProxyLimit
      default: .errorOther
      }
    // What the client advises is for its own program; this one has its own words for it.
    let reason = message.components(separatedBy: "; to join again")[0]
    return "\(texts(text, readable(reason))) (\(code))"
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
  func devices(_ count: Int) -> String { texts.counted(count, one: .oneDevice, other: .manyDevices) }
  func attachments(_ count: Int) -> String { texts.counted(count, one: .oneAttachment, other: .manyAttachments) }

  /// `2 hours and 5 minutes`: the largest unit, and the next if it is not 0.
  func duration(seconds: Int) -> String {
    let units: [(seconds: Int, one: Text, other: Text)] = [
      (86_400, .oneDay, .manyDays), (3_600, .oneHour, .manyHours), (60, .oneMinute, .manyMinutes),
      (1, .oneSecond, .manySeconds),
    ]
    let first = units.firstIndex { seconds >= $0.seconds } ?? units.count - 1
    var rest = seconds
    let parts = units[first...].prefix(2).compactMap { unit -> String? in
      let count = rest / unit.seconds
      rest %= unit.seconds
      return count == 0 && unit.seconds != units[first].seconds
        ? nil : texts.counted(count, one: unit.one, other: unit.other)
    }
    return parts.count == 2 ? texts(.twoParts, parts[0], parts[1]) : parts.joined()
  }

  /// - Parameter skew: Seconds by which this device's clock is ahead of the server's, negative if it is behind.
  func clockSkew(_ skew: Double) -> String {
    // Of days or of centuries, it is wrong.
    let seconds = Int(min(abs(skew), 1e12).rounded())
    return texts(skew > 0 ? .statusClockAhead : .statusClockBehind, duration(seconds: seconds))
  }

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
      case .textIsBroken(let entry, let key): (.noteTextBroken, [entry, key])
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
