import Foundation

/// Reads the entries of one journal in Day One's JSON.
struct DayOneJournal {
  private let file: String
  private let folders: [Attachment.Kind: MediaFolder]

  init(file: String, folders: [Attachment.Kind: MediaFolder]) {
    self.file = file
    self.folders = folders
  }

  /// Where the app keeps the files of each kind, below the folder of the journal.
  static let folderNames: [Attachment.Kind: String] = [
    .photo: "photos", .video: "videos", .audio: "audios", .pdf: "pdfs", .file: "files",
  ]

  private static let shapes: [(key: String, shape: LooseObject.Shape)] = [
    ("uuid", .string), ("creationDate", .moment), ("modifiedDate", .moment), ("timeZone", .string),
    ("tags", .strings), ("starred", .bool), ("location", .object), ("weather", .object), ("photos", .objects),
    ("videos", .objects), ("audios", .objects), ("pdfAttachments", .objects), ("files", .objects),
    ("creationDevice", .string),
  ]

  /// The keys of an entry that are read; the others are passed over.
  static let keys = Set(shapes.map(\.key) + ["text", "richText", LanternlyMark.key])

  /// What tells one entry from another, and an older version of it from a newer one.
  struct Identity {
    var uuid: String
    var label: String
    var created: Moment
    var modified: Moment
    var id: EntryID { EntryID.imported(uuid: uuid) }
  }

  /// - Parameter position: The entry's number in the file, from 1.
  /// - Returns: A note if there is none, for want of a date that can be read or because a text in it is broken.
  func identity(_ object: LooseObject, position: Int) -> Result<Identity, Refusal> {
    let label = object.string("uuid") ?? object.string("creationDate") ?? "\(position) (\(file))"
    let texts = Self.shapes.map(\.key) + (object.text("text") == nil ? ["text", "richText"] : [])
    if let key = object.brokenText(in: texts) { return .failure(Refusal(.textIsBroken(entry: label, key: key))) }
    let zone = Self.zone(object).name
    guard let created = object.moment("creationDate", in: zone) ?? object.moment("modifiedDate", in: zone) else {
      let isGiven = object.isGiven("creationDate") || object.isGiven("modifiedDate")
      return .failure(Refusal(isGiven ? .dateIsUnreadable(entry: label) : .entryHasNoDate(entry: label)))
    }
    if let mark = LanternlyMark(object), let uuid = object.string("uuid") {
      // Its dates have whole seconds for other programs.
      return .success(
        Identity(
          uuid: uuid, label: label, created: mark.written ?? created, modified: mark.modified ?? mark.written ?? created
        ))
    }
    let uuid = object.string("uuid") ?? Digest.sha256("\(created.milliseconds)\0\(object.text("text") ?? "")")
    return .success(
      Identity(
        uuid: uuid, label: label, created: created, modified: object.moment("modifiedDate", in: zone) ?? created))
  }

  struct Refusal: Error, CustomStringConvertible {
    var note: ImportNote
    init(_ note: ImportNote) { self.note = note }

    var description: String { "an entry was left out" }
  }

  func entry(_ object: LooseObject, _ identity: Identity) throws -> DayOneEntry {
    let label = identity.label
    let mark = LanternlyMark(object)
    var notes = object.unreadable(Self.shapes).map { ImportNote.valueIsUnreadable(entry: label, key: $0) }
    let (zone, unknown) = Self.zone(object)
    if let unknown { notes.append(.zoneIsUnknown(entry: label, zone: unknown)) }
    var entry = Entry(
      text: "", written: Written(moment: identity.created, zone: zone), edited: EditTimes(all: identity.modified))
    let media = try self.media(object, entry: identity.id, label: label, isOurs: mark != nil, notes: &notes)
    entry.text = Self.text(object, id: identity.id, media: media, label: label, isOurs: mark != nil, notes: &notes)
    entry.isStarred = object.bool("starred")
    for tag in object.strings("tags") {
      let name = tag.trimmingCharacters(in: .whitespacesAndNewlines)
      if !name.isEmpty { entry.tags[name] = identity.modified }
    }
    let place = object.object("location").map { Self.place($0, label: label, notes: &notes) }
    entry.place = place == Place() ? nil : place
    entry.weather = object.object("weather").map { Self.weather($0, label: label, notes: &notes) }
    entry.device = object.string("creationDevice") ?? ""
    entry.mood = mark?.mood
    entry.origin = Origin(source: "dayone:" + identity.uuid, modified: identity.modified)
    return DayOneEntry(id: identity.id, entry: entry, media: media.map(\.media), label: label, notes: notes)
  }

  /// The zone that the entry names; and that name, if no such zone is known here.
  private static func zone(_ object: LooseObject) -> (name: String, unknown: String?) {
    let written = object.string("timeZone")
    let place = object.object("location")?.string("timeZoneName")
    // One exporter escapes the slash twice.
    for case .some(let name) in [written, place] {
      let plain = name.replacingOccurrences(of: "\\", with: "")
      if Zone.exists(plain) { return (plain, nil) }
    }
    return ("GMT", written)
  }

  private static func text(
    _ object: LooseObject, id: EntryID, media: [(identifier: String, media: DayOneMedia)], label: String,
    isOurs: Bool, notes: inout [ImportNote]
  ) -> String {
    let targets = media.map { ($0.identifier, ($0.media.id, $0.media.kind)) }
    var converter = DayOneText(entry: id, targets: Dictionary(targets, uniquingKeysWith: { first, _ in first }))
    let plain = object.text("text")
    guard let source = plain ?? object.text("richText").flatMap(DayOneRichText.plain) else {
      notes.append(.entryHasNoText(entry: label))
      return ""
    }
    let text = converter.convert(source, hasEscapes: plain != nil && !isOurs)
    for identifier in converter.unknown { notes.append(.linkIsUnknown(entry: label, media: identifier)) }
    return text
  }

  /// Where an entry lists its files. That of other files is Lanternly's.
  static let lists: [(key: String, kind: Attachment.Kind)] = [
    ("photos", .photo), ("videos", .video), ("audios", .audio), ("pdfAttachments", .pdf), ("files", .file),
  ]

  private func media(
    _ object: LooseObject, entry: EntryID, label: String, isOurs: Bool, notes: inout [ImportNote]
  ) throws -> [(identifier: String, media: DayOneMedia)] {
    var found: [(identifier: String, media: DayOneMedia)] = []
    var names: Set<AttachmentID> = []
    for (key, kind) in Self.lists {
      for (position, value) in (object.array(key) ?? []).enumerated() {
        guard let description = LooseObject(value) else { continue }
        let identifier = description.string("identifier") ?? description.string("md5") ?? "\(key)-\(position)"
        let id = isOurs ? AttachmentID(identifier) : .imported(entry: entry, identifier: identifier)
        guard names.insert(id).inserted else { continue }
        let md5 = description.string("md5")
        let shown = description.string("filename", "pdfName", "title")
        let path = try folders[kind]?.file(md5, identifier, shown)
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
  /// Takes coordinates that lie on the Earth. Exporters write other things where there is no place: the largest number, a
  /// text, `null`.
  /// - Returns: Whether they do, or there are none.
  mutating func setCoordinates(of object: LooseObject, _ latitudeKey: String, _ longitudeKey: String) -> Bool {
    guard object.has(latitudeKey) || object.has(longitudeKey) else { return true }
    guard let latitude = object.plainNumber(latitudeKey), let longitude = object.plainNumber(longitudeKey),
      abs(latitude) <= 90, abs(longitude) <= 180
    else { return false }
    (self.latitude, self.longitude) = (latitude, longitude)
    return true
  }
}
