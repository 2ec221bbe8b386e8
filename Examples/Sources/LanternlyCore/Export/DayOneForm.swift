import Foundation

/// An entry in the JSON of Day One's exports.
struct DayOneForm {
  var stored: StoredEntry
  var files: [ExportedFile]

  private static let lists: [(key: String, kind: Attachment.Kind)] = DayOneJournal.lists

  func write(to writer: inout JSONWriter) {
    let entry = stored.entry
    writer.object { writer in
      writer.member("uuid", uuid)
      writer.member("creationDate", Self.second(entry.written.moment))
      writer.member("modifiedDate", Self.second(entry.modified))
      writer.member("timeZone", entry.written.zone)
      writer.member("text", text)
      writer.member("tags", entry.tagNames)
      writer.member("starred", entry.isStarred)
      writer.member("creationDevice", entry.device)
      if let place = entry.place { writer.member("location") { Self.write(place, to: &$0) } }
      if let weather = entry.weather { writer.member("weather") { Self.write(weather, to: &$0) } }
      for (key, kind) in Self.lists { write(files.filter { $0.attachment.kind == kind }, as: key, to: &writer) }
      writer.member(LanternlyMark.key) { writer in
        writer.object { writer in
          writer.member("id", stored.id.name)
          writer.member("written", entry.written.moment.milliseconds)
          writer.member("modified", entry.modified.milliseconds)
          writer.member("mood", entry.mood.map(Int64.init))
        }
      }
    }
  }

  /// The identifier that it came with, if it came from there, else its own name.
  private var uuid: String {
    if let source = stored.entry.origin?.source, source.hasPrefix("dayone:") {
      let uuid = String(source.dropFirst("dayone:".count))
      if EntryID.imported(uuid: uuid) == stored.id { return uuid }
    }
    return stored.id.name.uppercased()
  }

  /// Whole seconds, as that app writes them.
  private static func second(_ moment: Moment) -> String { moment.iso8601.prefix(19) + "Z" }

  private var text: String {
    var text = stored.entry.text.replacingOccurrences(of: "](attachment:", with: "](dayone-moment://")
    for name in Self.names(after: "](entry:", in: text) {
      text = text.replacingOccurrences(of: "](entry:\(name))", with: "](dayone://view?entryId=\(name.uppercased()))")
    }
    return text
  }

  private static func names(after mark: String, in text: String) -> [String] {
    text.components(separatedBy: mark).dropFirst().map { part in
      String(part.prefix { $0.isHexDigit && !$0.isUppercase })
    }.filter { $0.count == 32 }
  }

  private func write(_ files: [ExportedFile], as key: String, to writer: inout JSONWriter) {
    if files.isEmpty { return }
    writer.member(key) { writer in
      writer.array { writer in
        for file in files {
          writer.element { writer in
            writer.object { writer in
              writer.member("identifier", file.attachment.id.name)
              writer.member("md5", file.md5)
              writer.member("type", file.type)
              writer.member("filename", file.attachment.fileName)
              writer.member("orderInEntry", Int64(file.attachment.order))
              writer.member("fileSize", file.attachment.byteCount)
            }
          }
        }
      }
    }
  }

  private static func write(_ place: Place, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("placeName", place.name)
      writer.member("localityName", place.locality)
      writer.member("administrativeArea", place.region)
      writer.member("country", place.country)
      writer.member("latitude", place.latitude)
      writer.member("longitude", place.longitude)
    }
  }

  private static func write(_ weather: Weather, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("temperatureCelsius", weather.celsius)
      writer.member("conditionsDescription", weather.conditions)
      writer.member("weatherCode", weather.code)
      writer.member("relativeHumidity", weather.humidity)
      writer.member("pressureMB", weather.pressure)
      writer.member("windSpeedKPH", weather.windSpeed)
      writer.member("windBearing", weather.windBearing)
    }
  }
}
