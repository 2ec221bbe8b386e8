/// A record's full name: its name and the zone it lies in.
public struct RecordID: Hashable, Sendable, Codable {
  public var name: RecordName
  public var zone: ZoneID

  public init(_ name: RecordName, in zone: ZoneID) {
    self.name = name
    self.zone = zone
  }
}

extension RecordID: Comparable {
  public static func < (left: RecordID, right: RecordID) -> Bool {
    (left.zone, left.name) < (right.zone, right.name)
  }
}

/// When a record was created or last changed, by whom, and on which device (`iCloud` for a web client).
public struct RecordStamp: Hashable, Sendable, Codable {
  public var time: Timestamp
  public var user: UserName
  public var device: String

  public init(time: Timestamp, user: UserName, device: String) {
    self.time = time
    self.user = user
    self.device = device
  }
}

/// A record: the value that server, wire, stores and engine share.
public struct Record: Hashable, Sendable {
  public var id: RecordID
  public var type: RecordType
  /// The version that the server knows; `nil` before the first save.
  public var tag: ChangeTag?
  public var created: RecordStamp?
  public var modified: RecordStamp?
  public var fields: Fields
  public var parent: Reference?
  public var share: Reference?
  public var shortGUID: String?
  /// Of a share's record alone.
  public var shareDetails: ShareDetails?
  /// Members of the record that this version does not know, as JSON `"key":value,…`, kept so that nothing is lost.
  public var unknownMembers: [UInt8]

  public init(id: RecordID, type: RecordType, fields: Fields = Fields()) {
    self.id = id
    self.type = type
    self.fields = fields
    unknownMembers = []
  }
}
