/// A record's full name: its name and the zone it lies in.
public struct RecordID: Hashable, Sendable, Codable {
  /// The record's name, unique in its zone.
  public var name: RecordName
  /// The zone that the record is in.
  public var zone: ZoneID

  /// Names a record by its name and zone.
  public init(_ name: RecordName, in zone: ZoneID) {
    self.name = name
    self.zone = zone
  }
}

extension RecordID: Comparable {
  /// The order of the zones, then of the names, by bytes.
  public static func < (left: RecordID, right: RecordID) -> Bool {
    (left.zone, left.name) < (right.zone, right.name)
  }
}

/// When a record was created or last changed, by whom, and on which device (`iCloud` for a web client).
public struct RecordStamp: Hashable, Sendable, Codable {
  /// When it happened, by the server's clock.
  public var time: Timestamp
  /// Who did it.
  public var user: UserName
  /// On which device it was done.
  public var device: String

  /// Makes a stamp.
  public init(time: Timestamp, user: UserName, device: String) {
    self.time = time
    self.user = user
    self.device = device
  }
}

/// A record: the value that server, wire, stores and engine share.
public struct Record: Hashable, Sendable {
  /// The record's name and zone.
  public var id: RecordID
  /// The record's type. It never changes.
  public var type: RecordType
  /// The version that the server knows; `nil` before the first save.
  public var tag: ChangeTag?
  /// When and by whom the record was first saved; `nil` before.
  public var created: RecordStamp?
  /// When and by whom the record was last saved; `nil` before the first save.
  public var modified: RecordStamp?
  /// The record's values, in the order of their names.
  public var fields: Fields
  /// The record above this one in the hierarchy that is shared as a whole.
  public var parent: Reference?
  /// The share that the record is the root of.
  public var share: Reference?
  /// What the address of the record's share ends with.
  public var shortGUID: String?
  /// Of a share's record alone.
  public var shareDetails: ShareDetails?
  /// Members of the record that this version does not know, as JSON `"key":value,…`, kept so that nothing is lost.
  public var unknownMembers: [UInt8]

  /// Makes a record that no server knows.
  public init(id: RecordID, type: RecordType, fields: Fields = Fields()) {
    self.id = id
    self.type = type
    self.fields = fields
    unknownMembers = []
  }
}
