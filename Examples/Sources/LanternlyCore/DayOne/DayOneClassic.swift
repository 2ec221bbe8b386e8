import Foundation

/// Reads entries of Day One 1: a property list each, with a photo of the same name beside.
enum DayOneClassic {
  private static let shapes: [(key: String, shape: LooseObject.Shape)] = [
    ("UUID", .string), ("Time Zone", .string), ("Tags", .strings), ("Starred", .bool), ("Location", .object),
    ("Weather", .object),
  ]
  private static let placeShapes: [(key: String, shape: LooseObject.Shape)] = [
    ("Place Name", .string), ("Locality", .string), ("Administrative Area", .string), ("Country", .string),
  ]
  private static let weatherShapes: [(key: String, shape: LooseObject.Shape)] = [
    ("Celsius", .number), ("Description", .string), ("Relative Humidity", .number), ("Pressure MB", .number),
    ("Wind Speed KPH", .number), ("Wind Bearing", .number),
  ]

  static func entry(
    _ object: LooseObject, file: String, photos: MediaFolder?, refused: inout [ImportNote]
  ) throws -> DayOneEntry? {
    var notes: [ImportNote] = []
    let uuid = object.string("UUID") ?? (file as NSString).deletingPathExtension
    guard let created = object.moment("Creation Date", in: object.string("Time Zone") ?? "GMT") else {
      refused.append(object.isGiven("Creation Date") ? .dateIsUnreadable(entry: uuid) : .entryHasNoDate(entry: uuid))
      return nil
    }
    for key in object.unreadable(shapes) { notes.append(.valueIsUnreadable(entry: uuid, key: key)) }
    // The classic app keeps no time of modification; its entries count as written once.
    let id = EntryID.imported(uuid: uuid)
    var entry = Entry(
      text: object.text("Entry Text") ?? "",
      written: Written(moment: created, zone: zone(object, uuid: uuid, notes: &notes)),
      edited: EditTimes(all: created))
    if !object.has("Entry Text") { notes.append(.entryHasNoText(entry: uuid)) }
    entry.isStarred = object.bool("Starred")
    for tag in object.strings("Tags") {
      let name = tag.trimmingCharacters(in: .whitespacesAndNewlines)
      if !name.isEmpty { entry.tags[name] = created }
    }
    let place = object.object("Location").map { self.place($0, uuid: uuid, notes: &notes) }
    entry.place = place == Place() ? nil : place
    entry.weather = object.object("Weather").map { weather($0, uuid: uuid, notes: &notes) }
    entry.device = object.object("Creator")?.string("Host Name") ?? ""
    entry.origin = Origin(source: "dayone:" + uuid, modified: created)
    return DayOneEntry(
      id: id, entry: entry, media: try photo(uuid: uuid, entry: id, photos: photos), label: uuid, notes: notes)
  }

  private static func zone(_ object: LooseObject, uuid: String, notes: inout [ImportNote]) -> String {
    guard let name = object.string("Time Zone") else { return "GMT" }
    if Zone.exists(name) { return name }
    notes.append(.zoneIsUnknown(entry: uuid, zone: name))
    return "GMT"
  }

  private static func photo(uuid: String, entry: EntryID, photos: MediaFolder?) throws -> [DayOneMedia] {
    guard let path = try photos?.file(uuid) else { return [] }
    let id = AttachmentID.imported(entry: entry, identifier: uuid)
    let fileName = (path as NSString).lastPathComponent
    return [DayOneMedia(id: id, kind: .photo, fileName: fileName, order: 0, path: path, md5: nil)]
  }

  private static func place(_ object: LooseObject, uuid: String, notes: inout [ImportNote]) -> Place {
    for key in object.unreadable(placeShapes) {
      notes.append(.valueIsUnreadable(entry: uuid, key: "Location.\(key)"))
    }
    var place = Place()
    place.name = object.string("Place Name")
    place.locality = object.string("Locality")
    place.region = object.string("Administrative Area")
    place.country = object.string("Country")
    if !place.setCoordinates(of: object, "Latitude", "Longitude") {
      notes.append(.valueIsUnreadable(entry: uuid, key: "Location.Latitude, Longitude"))
    }
    return place
  }

  private static func weather(_ object: LooseObject, uuid: String, notes: inout [ImportNote]) -> Weather {
    for key in object.unreadable(weatherShapes) {
      notes.append(.valueIsUnreadable(entry: uuid, key: "Weather.\(key)"))
    }
    var weather = Weather()
    weather.celsius = object.double("Celsius")
    weather.conditions = object.string("Description")
    weather.humidity = object.double("Relative Humidity")
    weather.pressure = object.double("Pressure MB")
    weather.windSpeed = object.double("Wind Speed KPH")
    weather.windBearing = object.double("Wind Bearing")
    return weather
  }
}
