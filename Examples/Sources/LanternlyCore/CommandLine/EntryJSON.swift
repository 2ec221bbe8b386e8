/// An entry as `--json` prints it. Keys are English in every language, and stay.
struct EntryJSON {
  var stored: StoredEntry
  var attachments: [StoredAttachment]
  var files: AttachmentFiles

  func write(to writer: inout JSONWriter) {
    let entry = stored.entry
    let shown = AttachmentOrder(text: entry.text)
    writer.object { writer in
      writer.member("attachments") { writer in
        writer.array { writer in
          for attachment in shown.sorted(attachments) { writer.element { write(attachment, to: &$0) } }
        }
      }
      writer.member("copyOf", entry.copyOf?.name)
      writer.member("device", entry.device)
      writer.member("id", stored.id.name)
      writer.member("local", Self.local(entry.written.local))
      let missing = shown.missing(among: attachments)
      if !missing.isEmpty { writer.member("missing", missing) }
      writer.member("modified", entry.modified.iso8601)
      writer.member("mood", entry.mood.map(Int64.init))
      writer.member("origin", entry.origin?.source)
      if let place = entry.place { writer.member("place") { Self.write(place, to: &$0) } }
      writer.member("starred", entry.isStarred)
      writer.member("tags", entry.tagNames)
      writer.member("text", entry.text)
      writer.member("timeZone", entry.written.zone)
      if let weather = entry.weather { writer.member("weather") { Self.write(weather, to: &$0) } }
      writer.member("written", entry.written.moment.iso8601)
    }
  }

  private static func local(_ clock: LocalTime) -> String {
    "\(clock.year.padded(4))-\(clock.month.padded(2))-\(clock.day.padded(2))"
      + " \(clock.hour.padded(2)):\(clock.minute.padded(2))"
  }

  private func write(_ stored: StoredAttachment, to writer: inout JSONWriter) {
    let attachment = stored.attachment
    writer.object { writer in
      writer.member("bytes", attachment.byteCount)
      writer.member("fileName", attachment.fileName)
      writer.member("id", attachment.id.name)
      writer.member("kind", attachment.kind.rawValue)
      // Without one the file is not here yet.
      writer.member("path", stored.hasFile ? files.path(sha256: attachment.sha256) : nil)
      writer.member("sha256", attachment.sha256)
    }
  }

  private static func write(_ place: Place, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("country", place.country)
      writer.member("latitude", place.latitude)
      writer.member("locality", place.locality)
      writer.member("longitude", place.longitude)
      writer.member("name", place.name)
      writer.member("region", place.region)
    }
  }

  private static func write(_ weather: Weather, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("celsius", weather.celsius)
      writer.member("code", weather.code)
      writer.member("conditions", weather.conditions)
      writer.member("humidity", weather.humidity)
      writer.member("pressure", weather.pressure)
      writer.member("windBearing", weather.windBearing)
      writer.member("windSpeed", weather.windSpeed)
    }
  }
}
