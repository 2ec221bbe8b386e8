import Foundation

/// An entry as a Markdown file, with what is not its text in front of it, in YAML.
struct MarkdownForm {
  var stored: StoredEntry
  var files: [ExportedFile]

  private var clock: LocalTime { stored.entry.written.local }

  /// The year.
  var folder: String { clock.year.padded(4) }

  /// `2026-11-30 First day 0123abcd….md`: the whole name of the entry, so that no two are the same.
  var fileName: String {
    let day = "\(clock.year.padded(4))-\(clock.month.padded(2))-\(clock.day.padded(2))"
    let title = stored.entry.title.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
    let words = title.split(separator: " ").joined(separator: " ").prefix(Self.titleMax)
    // In UTF-8 a letter may take many bytes, and a file's name has 255.
    var short = ""
    for letter in words where short.utf8.count + String(letter).utf8.count <= Self.titleBytesMax {
      short.append(letter)
    }
    return [day, short, stored.id.name].filter { !$0.isEmpty }.joined(separator: " ") + ".md"
  }

  private static let titleMax = 50
  private static let titleBytesMax = 150

  var text: String {
    let entry = stored.entry
    var head = [
      "date: \(date)", "timezone: \(Self.quoted(entry.written.zone))", "id: \(stored.id.name)",
    ]
    if !entry.tags.isEmpty { head.append("tags: [\(entry.tagNames.map(Self.quoted).joined(separator: ", "))]") }
    if entry.isStarred { head.append("starred: true") }
    if let mood = entry.mood { head.append("mood: \(mood)") }
    if let place = entry.place, !place.line.isEmpty { head.append("place: \(Self.quoted(place.line))") }
    if let latitude = entry.place?.latitude, let longitude = entry.place?.longitude {
      head.append("coordinates: [\(JSONWriter.digits(latitude)), \(JSONWriter.digits(longitude))]")
    }
    if let celsius = entry.weather?.celsius { head.append("celsius: \(JSONWriter.digits(celsius))") }
    if let conditions = entry.weather?.conditions { head.append("weather: \(Self.quoted(conditions))") }
    if !entry.device.isEmpty { head.append("device: \(Self.quoted(entry.device))") }
    return "---\n" + head.joined(separator: "\n") + "\n---\n\n" + linked + "\n"
  }

  /// On the clock of the entry's zone.
  private var date: String {
    let seconds = stored.entry.written.moment.milliseconds.floored(by: 1000)
    let offset = Zone.offsetSeconds(stored.entry.written.zone, at: seconds) / 60
    let day = "\(clock.year.padded(4))-\(clock.month.padded(2))-\(clock.day.padded(2))"
    let time = "\(clock.hour.padded(2)):\(clock.minute.padded(2)):\(clock.second.padded(2))"
    return "\(day)T\(time)\(offset < 0 ? "-" : "+")\((abs(offset) / 60).padded(2)):\((abs(offset) % 60).padded(2))"
  }

  /// The text with its files where they lie, and those that it does not show behind it.
  private var linked: String {
    var text = stored.entry.text
    for file in files {
      let link = "(attachment:\(file.attachment.id.name))"
      let path = "(../../\(file.path))"
      if text.contains(link) {
        text = text.replacingOccurrences(of: link, with: path)
      } else {
        text += "\n\n" + (file.attachment.kind == .photo ? "![]\(path)" : "[\(file.attachment.fileName)]\(path)")
      }
    }
    return text
  }

  /// A string of JSON is one of YAML.
  private static func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return writer.text
  }
}
