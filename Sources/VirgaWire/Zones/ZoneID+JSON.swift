package import VirgaModel

extension ZoneID {
  /// As answers describe it.
  package var zoneType: String { name == .default ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE" }

  /// Writes the zone of a reference; the owner is left out where it only says "the caller".
  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("zoneName", name.rawValue)
    if owner != .defaultOwner { writer.member("ownerRecordName", owner.rawValue) }
    writer.member("zoneType", zoneType)
    writer.endObject()
  }

  /// Writes the zone in an answer: always all three members.
  func writeWhole(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("zoneName", name.rawValue)
    writer.member("ownerRecordName", owner.answered)
    writer.member("zoneType", zoneType)
    writer.endObject()
  }
}

extension UserName {
  /// The owner's name in answers and pushes. The public database's zone belongs to nobody, and Apple's service writes this
  /// word there, with one underscore.
  package var answered: String { self == .defaultOwner ? Self.nobody.rawValue : rawValue }

  fileprivate static let nobody: UserName = "_defaultOwner"
}

extension ZoneSelector {
  /// The zone, whose owner is `UserName.defaultOwner` where none was stated.
  package var id: ZoneID { id(of: .defaultOwner) }

  /// The zone, whose owner is `user` where none was stated.
  func id(of user: UserName) -> ZoneID { ZoneID(name, owner: owner ?? user) }

  /// Reads a zone's dictionary or its bare name.
  init(reading reader: inout JSONReader) throws(WireError) {
    self.init()
    if reader.nextKind() == .string {
      name = ZoneName(try reader.readString())
      return
    }
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "zoneName": name = ZoneName(try reader.readString())
      case "ownerRecordName", "ownerName":
        let stated = UserName(try reader.readString())
        // The native placeholder, with one underscore where some clients write it so.
        owner = stated == .defaultOwner || stated == .nobody ? nil : stated
      default: try reader.skipValue()
      }
    }
  }

  /// Reads a zone that may be wrapped as `{"zoneID":…}`.
  init(readingWrapped reader: inout JSONReader) throws(WireError) {
    let start = reader.mark
    if reader.nextKind() == .object {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        guard key == "zoneID" else {
          try reader.skipValue()
          continue
        }
        if try reader.readNull() { continue }
        self = try ZoneSelector(reading: &reader)
        while try reader.nextKey() != nil { try reader.skipValue() }
        return
      }
      reader.rewind(to: start)
    }
    self = try ZoneSelector(reading: &reader)
  }

  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("zoneName", name.rawValue)
    writer.member("ownerRecordName", ifPresent: owner?.rawValue)
    writer.endObject()
  }
}
