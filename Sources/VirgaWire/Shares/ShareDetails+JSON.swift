package import VirgaModel

extension UserLookupInfo {
  package func write(into writer: inout JSONWriter) {
    writer.beginObject()
    switch self {
    case .userRecordName(let name): writer.member("userRecordName", name.rawValue)
    case .emailAddress(let text): writer.member("emailAddress", text)
    case .phoneNumber(let text): writer.member("phoneNumber", text)
    }
    writer.endObject()
  }

  /// Reads a dictionary; `nil` if it says nothing. Of several keys the user record's name counts first.
  static func read(_ reader: inout JSONReader) throws(WireError) -> UserLookupInfo? {
    var name: UserLookupInfo?
    var contact: UserLookupInfo?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "userRecordName": name = .userRecordName(UserName(try reader.readString()))
      case "emailAddress": contact = .emailAddress(try reader.readString())
      case "phoneNumber":
        let number = try reader.readString()
        contact = contact ?? .phoneNumber(number)
      default: try reader.skipValue()
      }
    }
    return name ?? contact
  }
}

extension UserIdentity {
  package func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writeMembers(into: &writer)
    writer.endObject()
  }

  func writeMembers(into writer: inout JSONWriter) {
    writer.member("userRecordName", ifPresent: userRecordName?.rawValue)
    writer.key("nameComponents")
    writer.raw(nameComponents.isEmpty ? Array("{}".utf8) : nameComponents)
    writer.key("lookupInfo")
    if let lookupInfo { lookupInfo.write(into: &writer) } else { writer.raw("{}".utf8) }
  }

  package init(reading reader: inout JSONReader) throws(WireError) {
    self.init()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "userRecordName": userRecordName = UserName(try reader.readString())
      case "nameComponents":
        guard reader.nextKind() == .object else { throw reader.mismatch("an object of name components") }
        let components = try reader.readRaw()
        nameComponents = components.count > 2 ? components : []
      case "lookupInfo": lookupInfo = try UserLookupInfo.read(&reader)
      default: try reader.skipValue()
      }
    }
  }
}

extension ShareParticipant {
  package func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("participantId", ifPresent: id)
    writer.key("userIdentity")
    identity.write(into: &writer)
    writer.member("type", role.rawValue)
    writer.member("acceptanceStatus", acceptanceStatus.rawValue)
    writer.member("permission", permission.rawValue)
    writer.endObject()
  }

  package init(reading reader: inout JSONReader) throws(WireError) {
    self.init(identity: UserIdentity(), permission: .unknown)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "participantId": id = try reader.readString()
      case "userIdentity": identity = try UserIdentity(reading: &reader)
      case "type":
        let text = try reader.readString()
        // CloudKit JS declares another name for the same.
        role = text == "PRIVATE_USER" ? .privateUser : Role(rawValue: text) ?? .unknown
      case "acceptanceStatus":
        let text = try reader.readString()
        acceptanceStatus = text == "PENDING" ? .invited : AcceptanceStatus(rawValue: text) ?? .unknown
      case "permission": permission = SharePermission(rawValue: try reader.readString()) ?? .unknown
      default: try reader.skipValue()
      }
    }
  }
}

extension ShareDetails {
  /// Writes the members that a share's record has besides those of every record.
  package func writeMembers(into writer: inout JSONWriter) {
    writeStoredMembers(into: &writer)
    if let owner {
      writer.key("owner")
      owner.write(into: &writer)
    }
    if let currentUserParticipant {
      writer.key("currentUserParticipant")
      currentUserParticipant.write(into: &writer)
    }
  }

  /// Writes what does not depend on the reader.
  package func writeStoredMembers(into writer: inout JSONWriter) {
    writer.member("publicPermission", publicPermission.rawValue)
    writer.key("participants")
    writer.array(participants) { $1.write(into: &$0) }
  }

  /// Takes a member of a share's record if it is one of these; answers whether it was.
  package mutating func read(_ key: String, _ reader: inout JSONReader) throws(WireError) -> Bool {
    switch key {
    case "publicPermission": publicPermission = SharePermission(rawValue: try reader.readString()) ?? .unknown
    case "participants":
      let current = currentUserParticipant
      participants = try reader.readArray { (r) throws(WireError) in try ShareParticipant(reading: &r) }
      currentUserIndex = nil
      if let current { setCurrentUser(current) }
    case "currentUserParticipant": setCurrentUser(try ShareParticipant(reading: &reader))
    default: return false
    }
    return true
  }

  private mutating func setCurrentUser(_ participant: ShareParticipant) {
    currentUserIndex = participants.firstIndex(of: participant)
    if currentUserIndex == nil {
      currentUserIndex = participants.count
      participants.append(participant)
    }
  }
}

extension ShareChange {
  /// Takes a member of a record in a request if it is one of these; answers whether it was.
  mutating func read(_ key: String, _ reader: inout JSONReader) throws(WireError) -> Bool {
    switch key {
    case "forRecord": root = try Root(reading: &reader)
    case "publicPermission":
      publicPermission = SharePermission(rawValue: try reader.readString())
      guard let known = publicPermission, known != .unknown else {
        throw reader.mismatch("publicPermission NONE, READ_ONLY or READ_WRITE")
      }
    case "participants":
      participants = try reader.readArray { (r) throws(WireError) in try ShareParticipant(reading: &r) }
    default: return false
    }
    return true
  }

  func writeMembers(into writer: inout JSONWriter) {
    if let root {
      writer.key("forRecord")
      writer.beginObject()
      writer.member("recordName", root.name.rawValue)
      writer.member("recordChangeTag", ifPresent: root.tag?.rawValue)
      writer.endObject()
    }
    writer.member("publicPermission", ifPresent: publicPermission?.rawValue)
    if let participants {
      writer.key("participants")
      writer.array(participants) { $1.write(into: &$0) }
    }
  }
}

extension ShareChange.Root {
  fileprivate init(reading reader: inout JSONReader) throws(WireError) {
    var name: RecordName?
    var tag: ChangeTag?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.readNull() { continue }
      switch key {
      case "recordName": name = RecordName(try reader.readString())
      case "recordChangeTag": tag = ChangeTag(try reader.readString())
      default: try reader.skipValue()
      }
    }
    guard let name else { throw reader.mismatch("the key recordName of forRecord") }
    self.init(name, tag: tag)
  }
}
