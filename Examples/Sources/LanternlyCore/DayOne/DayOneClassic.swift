import Foundation

/// Reads entries of Day One 1: a property list each, with a photo of the same name beside.
enum DayOneClassic {
  static func entry(
    _ object: LooseObject, file: String, photos: MediaFolder?, notes: inout [ImportNote]
  ) -> DayOneEntry? {
    let uuid = object.string("UUID") ?? (file as NSString).deletingPathExtension
    guard let created = object.moment("Creation Date") else {
      notes.append(.entryHasNoDate(entry: uuid))
      return nil
    }
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
    entry.place = object.object("Location").map(place)
    entry.weather = object.object("Weather").map(weather)
    entry.device = object.object("Creator")?.string("Host Name") ?? ""
    entry.origin = Origin(source: "dayone:" + uuid, modified: created)
    return DayOneEntry(id: id, entry: entry, media: photo(uuid: uuid, entry: id, photos: photos))
  }

  private static func zone(_ object: LooseObject, uuid: String, notes: inout [ImportNote]) -> String {
    guard let name = object.string("Time Zone") else { return "GMT" }
    if Zone.exists(name) { return name }
    notes.append(.zoneIsUnknown(entry: uuid, zone: name))
    return "GMT"
  }

  private static func photo(uuid: String, entry: EntryID, photos: MediaFolder?) -> [DayOneMedia] {
    guard let path = photos?.file(uuid) else { return [] }
    let id = AttachmentID.imported(entry: entry, identifier: uuid)
    let fileName = (path as NSString).lastPathComponent
    return [DayOneMedia(id: id, kind: .photo, fileName: fileName, order: 0, path: path, md5: nil)]
  }

  private static func place(_ object: LooseObject) -> Place {
    var place = Place()
    place.name = object.string("Place Name")
    place.locality = object.string("Locality")
    place.region = object.string("Administrative Area")
    place.country = object.string("Country")
    place.setCoordinates(latitude: object.double("Latitude"), longitude: object.double("Longitude"))
    return place
  }

  private static func weather(_ object: LooseObject) -> Weather {
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
