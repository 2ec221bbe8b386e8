import VirgaSQLite

// Entries are read from their column by hand: all of a diary is read for a list or a search, and Foundation's decoder takes ten
// times as long. What it writes is what `JSONEncoder` makes of the type.
extension Entry {
  /// How much of an entry is wanted.
  enum Detail {
    /// What a line of a list shows, and what a search looks into.
    case outline
    case whole
  }

  private static let outline: Set<String> = [
    "text", "written", "isStarred", "isDeleted", "tags", "place",
  ]

  init(stored bytes: [UInt8], _ detail: Detail = .whole) throws {
    self.init(text: "", written: Written(moment: .never, zone: "GMT"), edited: EditTimes(list: []))
    let reader = JSONReader(bytes)
    do {
      try reader.object { key in
        if detail == .outline, let key, !Self.outline.contains(key) { return try reader.skipTrusted() }
        if try !take(key ?? "", from: reader) { try reader.skip() }
      }
    } catch is JSONReader.Failure {
      throw SQLiteError(condition: .corrupt, code: 11, message: "an entry in it cannot be read")
    }
  }

  private mutating func take(_ key: String, from reader: JSONReader) throws -> Bool {
    switch key {
    case "text": text = try reader.string() ?? ""
    case "written": written = try Written(stored: reader)
    case "isStarred": isStarred = try reader.word() ?? false
    case "isDeleted": isDeleted = try reader.word() ?? false
    case "mood": mood = try reader.optionalInteger().map { Int($0) }
    case "tags":
      try reader.object { tag in
        let added = try Moment(stored: reader)
        if let tag { tags[tag] = added }
      }
    case "place": place = try Place(stored: reader)
    case "weather": weather = try Weather(stored: reader)
    case "copyOf": copyOf = try reader.optionalString().map { EntryID($0) }
    case "origin": origin = try Origin(stored: reader)
    case "device": device = try reader.string() ?? ""
    case "edited": edited = try EditTimes(stored: reader)
    default: return false
    }
    return true
  }
}

extension JSONReader {
  fileprivate func optionalString() throws -> String? {
    if try kind() == .word {
      _ = try word()
      return nil
    }
    return try string()
  }

  fileprivate func optionalInteger() throws -> Int64? {
    if try kind() == .word {
      _ = try word()
      return nil
    }
    return try integer()
  }

  fileprivate func double() throws -> Double? {
    if try kind() == .word {
      _ = try word()
      return nil
    }
    return Double(try number())
  }

  fileprivate func members(_ body: (String) throws -> Bool) throws {
    try object { key in
      if try !body(key ?? "") { try skip() }
    }
  }
}

extension Moment {
  fileprivate init(stored reader: JSONReader) throws {
    self.init(milliseconds: try reader.integer())
  }
}

extension Written {
  fileprivate init(stored reader: JSONReader) throws {
    self.init(moment: .never, zone: "GMT")
    try reader.members { key in
      switch key {
      case "moment": moment = try Moment(stored: reader)
      case "zone": zone = try reader.string() ?? "GMT"
      default: return false
      }
      return true
    }
  }
}

extension Place {
  fileprivate init(stored reader: JSONReader) throws {
    self.init()
    try reader.members { key in
      switch key {
      case "name": name = try reader.optionalString()
      case "locality": locality = try reader.optionalString()
      case "region": region = try reader.optionalString()
      case "country": country = try reader.optionalString()
      case "latitude": latitude = try reader.double()
      case "longitude": longitude = try reader.double()
      default: return false
      }
      return true
    }
  }
}

extension Weather {
  fileprivate init(stored reader: JSONReader) throws {
    self.init()
    try reader.members { key in
      switch key {
      case "celsius": celsius = try reader.double()
      case "conditions": conditions = try reader.optionalString()
      case "code": code = try reader.optionalString()
      case "humidity": humidity = try reader.double()
      case "pressure": pressure = try reader.double()
      case "windSpeed": windSpeed = try reader.double()
      case "windBearing": windBearing = try reader.double()
      default: return false
      }
      return true
    }
  }
}

extension Origin {
  fileprivate init(stored reader: JSONReader) throws {
    self.init(source: "", modified: .never)
    try reader.members { key in
      switch key {
      case "source": source = try reader.string() ?? ""
      case "modified": modified = try Moment(stored: reader)
      default: return false
      }
      return true
    }
  }
}

extension EditTimes {
  fileprivate init(stored reader: JSONReader) throws {
    self.init(list: [])
    try reader.members { key in
      switch key {
      case "text": text = try Moment(stored: reader)
      case "written": written = try Moment(stored: reader)
      case "starred": starred = try Moment(stored: reader)
      case "mood": mood = try Moment(stored: reader)
      case "place": place = try Moment(stored: reader)
      case "weather": weather = try Moment(stored: reader)
      case "deleted": deleted = try Moment(stored: reader)
      case "copyOf": copyOf = try Moment(stored: reader)
      default: return false
      }
      return true
    }
  }
}
