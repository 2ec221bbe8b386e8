import VirgaModel
import VirgaSchema
import VirgaWire

/// What the records of an environment lose with a schema's changes.
struct SchemaLoss {
  private(set) var types: Set<RecordType> = []
  private(set) var fields: [RecordType: Set<FieldName>] = [:]

  init(_ changes: [SchemaChange]) {
    for change in changes where change.losesData {
      switch change {
      case .recordTypeRemoved(let type): types.insert(type)
      case .fieldRemoved(let type, let field): fields[type, default: []].insert(field.name)
      case .fieldTypeChanged(let type, let field, _, _): fields[type, default: []].insert(field)
      default: break
      }
    }
    // Shares are there without a schema, and so are their fields.
    types.remove(.share)
    fields[.share] = nil
  }

  var isEmpty: Bool { types.isEmpty && fields.isEmpty }

  fileprivate func concerns(_ record: StoredRecord) -> Bool {
    !record.isDeleted && (types.contains(record.type) || fields[record.type] != nil)
  }
}

extension WriteTransaction {
  /// Removes from development's records what a schema no longer has a place for. Readers are told of each change.
  /// - Returns: How many records changed or went.
  func remove(_ loss: SchemaLoss, from container: ContainerID, context: inout CallContext) throws -> Int {
    if loss.isEmpty { return 0 }
    var count = 0
    for database in try databases(of: container, in: .development) {
      for zone in try liveZones(of: database.key) {
        let names = try recordNames(concernedBy: loss, in: zone)
        if names.isEmpty { continue }
        count += names.count
        try change(zone, in: database.key, context: &context) { zone, context in
          var hasRemoved = false
          for name in names {
            guard let record = try record(name, in: zone) else { continue }
            if loss.types.contains(record.type) {
              try bury(record, in: &zone, context: context)
              hasRemoved = true
            } else if let fields = loss.fields[record.type] {
              try drop(fields, of: record, in: &zone, context: context)
            }
          }
          try tellParticipants(of: &zone, hasRemoved: hasRemoved, context: &context)
        }
      }
    }
    return count
  }

  private func recordNames(concernedBy loss: SchemaLoss, in zone: ZoneRow) throws -> [RecordName] {
    var names: [RecordName] = []
    var position: Int64 = 0
    while position < zone.sequence {
      let start = position
      try changes(in: zone, after: position, limit: 1_000) { record in
        position = record.sequence
        if loss.concerns(record) { names.append(record.name) }
        return true
      }
      if position == start { break }
    }
    return names
  }

  private func bury(_ record: StoredRecord, in zone: inout ZoneRow, context: CallContext) throws {
    zone.sequence += 1
    let modified = context.stamp(by: record.modified.user, after: record.modified)
    let tombstone = record.tombstone(sequence: zone.sequence, modified: modified)
    zone.usedBytes -= try record.bytes()
    // Versions of old may hold what has no place any more, but this one should not.
    try put(tombstone, in: zone, replacing: record, keepsVersion: false)
  }

  private func drop(
    _ fields: Set<FieldName>, of record: StoredRecord, in zone: inout ZoneRow, context: CallContext
  ) throws {
    zone.sequence += 1
    var next = record
    next.sequence = zone.sequence
    next.modified = context.stamp(by: record.modified.user, after: record.modified)
    try next.drop(fields)
    zone.usedBytes += try next.bytes() - record.bytes()
    try put(next, in: zone, replacing: record, keepsVersion: false)
  }

  /// Shares end with their roots. Who sees a part of a zone begins anew when records went: what lay below them may be out
  /// of the share as well.
  private func tellParticipants(of zone: inout ZoneRow, hasRemoved: Bool, context: inout CallContext) throws {
    guard zone.sharing != .none else { return }
    var book = ShareBook(self)
    for share in try liveShares(of: zone) {
      if let root = share.share?.recordName, try record(root, in: zone)?.isDeleted ?? true {
        try book.end(share, in: zone)
        try bury(share, in: &zone, context: context)
      } else if hasRemoved && zone.sharing == .hierarchies {
        try book.renew(ShareState(share), in: zone)
      } else {
        try book.touch(ShareState(share), in: zone)
      }
    }
    if try liveShares(of: zone).isEmpty { zone.sharing = .none }
    try book.write(row: &zone, context: &context)
  }

  /// Removes all records and zones of a container's environment. Readers are told that zones were deleted.
  /// - Returns: How many records went.
  func removeAllData(
    of container: ContainerID, in environment: Environment, context: inout CallContext
  ) throws -> Int {
    var count = 0
    for database in try databases(of: container, in: environment) {
      for zone in try liveZones(of: database.key) {
        count += try recordCount(in: zone)
        var ended = zone
        try endShares(of: &ended, context: &context)
        try removeRecords(of: &ended)
        try change(ended, in: database.key, context: &context) { zone, context in
          if zone.name == .default {
            zone.incarnation = context.makeIncarnation()
            zone.floor = zone.sequence
          } else {
            zone.noteDeletion(.deleted, at: zone.databaseSequence)
          }
        }
      }
    }
    return count
  }

  private func recordCount(in zone: ZoneRow) throws -> Int {
    var count = 0
    var position: Int64 = 0
    while position < zone.sequence {
      let start = position
      try changes(in: zone, after: position, limit: 1_000) { record in
        position = record.sequence
        if !record.isDeleted { count += 1 }
        return true
      }
      if position == start { break }
    }
    return count
  }

  private func databases(of container: ContainerID, in environment: Environment) throws -> [DatabaseRow] {
    try databases().filter { $0.key.container == container && $0.key.environment == environment }
  }

  /// Changes a zone: its database's feed and its subscribers are told.
  private func change(
    _ zone: ZoneRow, in key: DatabaseKey, context: inout CallContext,
    _ body: (inout ZoneRow, inout CallContext) throws -> Void
  ) throws {
    guard var database = try database(key) else { return }
    database.sequence += 1
    var zone = zone
    zone.databaseSequence = database.sequence
    let usedBytes = zone.usedBytes
    try body(&zone, &context)
    database.usedBytes += zone.usedBytes - usedBytes
    try put(database)
    try put(&zone)
    let id = ZoneID(zone.name, owner: key.owner ?? .defaultOwner)
    try notifySubscribers(of: id, in: key, transaction: self, context: &context)
  }
}

extension StoredRecord {
  /// Drops fields as they are stored, sealed or not, and finds out again what the others claim and refer to.
  fileprivate mutating func drop(_ names: Set<FieldName>) throws {
    fieldsJSON = try reading(fieldsJSON) { stored in
      let mark = FieldSeal.isSealed(stored) ? 1 : 0
      return try Array(stored.prefix(mark)) + fields(of: Array(stored.dropFirst(mark))) { !names.contains($0.name) }
    }
    (assetChecksums, references) = try plainFields().claims(parent: parent)
  }

  /// The fields without the sealed ones, whose values are not what their types say. Encrypted fields hold neither
  /// references nor assets.
  func plainFields() throws -> Fields {
    try reading(fieldsJSON) { stored in
      guard FieldSeal.isSealed(stored) else { return try Fields(json: stored) }
      return try Fields(json: fields(of: Array(stored.dropFirst())) { !$0.isEncrypted })
    }
  }

  private func fields(
    of json: [UInt8], where isKept: ((name: FieldName, isEncrypted: Bool)) throws -> Bool
  ) throws -> [UInt8] {
    var reader = JSONReader(json)
    var writer = JSONWriter(capacity: json.count)
    writer.beginObject()
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let raw = try reader.readRaw()
      let isEncrypted = try FieldSeal.encryptedParts(of: raw) != nil
      guard try isKept((FieldName(key), isEncrypted)) else { continue }
      writer.key(key)
      writer.raw(raw)
    }
    writer.endObject()
    return writer.bytes
  }
}
