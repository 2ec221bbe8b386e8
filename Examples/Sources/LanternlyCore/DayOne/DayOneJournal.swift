import Foundation

/// Reads the entries of one journal in Day One's JSON.
struct DayOneJournal {
  private let file: String
  private let folders: [Attachment.Kind: MediaFolder]

  init(file: String, folder: String) {
    self.file = file
    folders = [
      .photo: MediaFolder("\(folder)/photos"), .video: MediaFolder("\(folder)/videos"),
      .audio: MediaFolder("\(folder)/audios"), .pdf: MediaFolder("\(folder)/pdfs"),
    ]
  }

  private static let shapes: [(key: String, shape: LooseObject.Shape)] = [
    ("uuid", .string), ("creationDate", .moment), ("modifiedDate", .moment), ("timeZone", .string),
    ("tags", .strings), ("starred", .bool), ("location", .object), ("weather", .object), ("photos", .objects),
    ("videos", .objects), ("audios", .objects), ("pdfAttachments", .objects), ("creationDevice", .string),
  ]

  /// `nil` if the entry has no date that can be read, which goes into the notes.
  /// - Parameter position: The entry's number in the file, from 1.
  func entry(_ object: LooseObject, position: Int, notes: inout [ImportNote]) -> DayOneEntry? {
    let label = object.string("uuid") ?? object.string("creationDate") ?? "\(position) (\(file))"
    guard let created = object.moment("creationDate") ?? object.moment("modifiedDate") else {
      let isGiven = object.isGiven("creationDate") || object.isGiven("modifiedDate")
      notes.append(isGiven ? .dateIsUnreadable(entry: label) : .entryHasNoDate(entry: label))
      return nil
    }
    for key in object.unreadable(Self.shapes) { notes.append(.valueIsUnreadable(entry: label, key: key)) }
    let modified = object.moment("modifiedDate") ?? created
    let uuid = object.string("uuid") ?? Digest.sha256("\(created.milliseconds)\0\(object.text("text") ?? "")")
    let id = EntryID.imported(uuid: uuid)
    let zone = Self.zone(object, label: label, notes: &notes)
    var entry = Entry(
      text: "", written: Written(moment: created, zone: zone), edited: EditTimes(all: modified))
    let media = self.media(object, entry: id, label: label, notes: &notes)
    entry.text = Self.text(object, id: id, media: media, label: label, notes: &notes)
    entry.isStarred = object.bool("starred")
    for tag in object.strings("tags") {
      let name = tag.trimmingCharacters(in: .whitespacesAndNewlines)
      if !name.isEmpty { entry.tags[name] = modified }
    }
    entry.place = object.object("location").map { Self.place($0, label: label, notes: &notes) }
    entry.weather = object.object("weather").map { Self.weather($0, label: label, notes: &notes) }
    entry.device = object.string("creationDevice") ?? ""
    entry.origin = Origin(source: "dayone:" + uuid, modified: modified)
    return DayOneEntry(id: id, entry: entry, media: media.map(\.media), label: label)
  }

  private static func zone(_ object: LooseObject, label: String, notes: inout [ImportNote]) -> String {
    let written = object.string("timeZone")
    let place = object.object("location")?.string("timeZoneName")
    // One exporter escapes the slash twice.
    for case .some(let name) in [written, place] {
      let plain = name.replacingOccurrences(of: "\\", with: "")
      if Zone.exists(plain) { return plain }
    }
    if let written { notes.append(.zoneIsUnknown(entry: label, zone: written)) }
    return "GMT"
  }

  private static func text(
    _ object: LooseObject, id: EntryID, media: [(identifier: String, media: DayOneMedia)], label: String,
    notes: inout [ImportNote]
  ) -> String {
    let targets = media.map { ($0.identifier, ($0.media.id, $0.media.kind)) }
    var converter = DayOneText(entry: id, targets: Dictionary(targets, uniquingKeysWith: { first, _ in first }))
    let plain = object.text("text")
    guard let source = plain ?? object.text("richText").flatMap(DayOneRichText.plain) else {
      notes.append(.entryHasNoText(entry: label))
      return ""
    }
    let text = converter.convert(source, hasEscapes: plain != nil)
    for identifier in converter.unknown { notes.append(.linkIsUnknown(entry: label, media: identifier)) }
    return text
  }

  private static let lists: [(key: String, kind: Attachment.Kind)] = [
    ("photos", .photo), ("videos", .video), ("audios", .audio), ("pdfAttachments", .pdf),
  ]

  private func media(
    _ object: LooseObject, entry: EntryID, label: String, notes: inout [ImportNote]
  ) -> [(identifier: String, media: DayOneMedia)] {
    var found: [(identifier: String, media: DayOneMedia)] = []
    var names: Set<AttachmentID> = []
    for (key, kind) in Self.lists {
      for (position, value) in (object.array(key) ?? []).enumerated() {
        guard let description = LooseObject(value) else { continue }
        let identifier = description.string("identifier") ?? description.string("md5") ?? "\(key)-\(position)"
        let id = AttachmentID.imported(entry: entry, identifier: identifier)
        guard names.insert(id).inserted else { continue }
        let md5 = description.string("md5")
        let shown = description.string("filename", "pdfName", "title")
        let path = folders[kind]?.file(md5, identifier, shown)
        if path == nil { notes.append(.mediaFileIsMissing(entry: label, media: shown ?? md5 ?? identifier)) }
        let fileName = Self.fileName(shown: shown, path: path, identifier: identifier)
        let order = description.int("orderInEntry") ?? Int.max
        let media = DayOneMedia(id: id, kind: kind, fileName: fileName, order: order, path: path, md5: md5)
        found.append((identifier, media))
      }
    }
    let sorted = found.enumerated().sorted { ($0.element.media.order, $0.offset) < ($1.element.media.order, $1.offset) }
    return sorted.enumerated().map { index, pair in
      var media = pair.element.media
      media.order = index
      return (pair.element.identifier, media)
    }
  }

  /// The name to show: the one the user knows, with an ending that says what it is.
  private static func fileName(shown: String?, path: String?, identifier: String) -> String {
    let stored = path.map { ($0 as NSString).lastPathComponent } ?? identifier
    guard let shown else { return stored }
    let name = String(shown.map { $0 == "/" || $0 == "\\" || $0.isNewline ? "-" : $0 })
    let ending = (stored as NSString).pathExtension
    return (name as NSString).pathExtension.isEmpty && !ending.isEmpty ? "\(name).\(ending)" : name
  }

  private static let placeShapes: [(key: String, shape: LooseObject.Shape)] = [
    ("userLabel", .string), ("placeName", .string), ("localityName", .string), ("administrativeArea", .string),
    ("country", .string),
  ]

  private static func place(_ object: LooseObject, label: String, notes: inout [ImportNote]) -> Place {
    for key in object.unreadable(placeShapes) {
      notes.append(.valueIsUnreadable(entry: label, key: "location.\(key)"))
    }
    var place = Place()
    place.name = object.string("userLabel", "placeName")
    place.locality = object.string("localityName")
    place.region = object.string("administrativeArea")
    place.country = object.string("country")
    if !place.setCoordinates(of: object, "latitude", "longitude") {
      notes.append(.valueIsUnreadable(entry: label, key: "location.latitude, longitude"))
    }
    return place
  }

  private static let weatherShapes: [(key: String, shape: LooseObject.Shape)] = [
    ("temperatureCelsius", .number), ("conditionsDescription", .string), ("weatherCode", .string),
    ("relativeHumidity", .number), ("pressureMB", .number), ("windSpeedKPH", .number), ("windBearing", .number),
  ]

  private static func weather(_ object: LooseObject, label: String, notes: inout [ImportNote]) -> Weather {
    for key in object.unreadable(weatherShapes) {
      notes.append(.valueIsUnreadable(entry: label, key: "weather.\(key)"))
    }
    var weather = Weather()
    weather.celsius = object.double("temperatureCelsius")
    weather.conditions = object.string("conditionsDescription")
    weather.code = object.string("weatherCode")
    weather.humidity = object.double("relativeHumidity")
    weather.pressure = object.double("pressureMB")
    weather.windSpeed = object.double("windSpeedKPH")
    weather.windBearing = object.double("windBearing")
    return weather
  }
}

extension Place {
  /// Takes coordinates that lie on the Earth.
  /// - Returns: Whether they do, or there are none.
  mutating func setCoordinates(of object: LooseObject, _ latitudeKey: String, _ longitudeKey: String) -> Bool {
    guard object.isGiven(latitudeKey) || object.isGiven(longitudeKey) else { return true }
    guard let latitude = object.double(latitudeKey), let longitude = object.double(longitudeKey), abs(latitude) <= 90,
      abs(longitude) <= 180
    else { return false }
    (self.latitude, self.longitude) = (latitude, longitude)
    return true
  }
}
