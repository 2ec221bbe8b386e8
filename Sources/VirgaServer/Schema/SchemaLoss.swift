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
        var work = try ZoneWork(on: zone, in: self, context: &context)
        var hasRemoved = false
        for name in names {
          guard let record = try record(name, in: zone) else { continue }
          if loss.types.contains(record.type) {
            try work.writeTombstone(record, context: context)
            hasRemoved = true
          } else if let fields = loss.fields[record.type] {
            try work.drop(fields, of: record, context: context)
          }
        }
        try work.tellParticipants(hasRemoved: hasRemoved, context: &context)
        try work.finish(context: &context)
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
}

extension ZoneWork {
  fileprivate mutating func writeTombstone(_ record: StoredRecord, context: CallContext) throws {
    let modified = context.stamp(by: record.modified.user, after: record.modified)
    let tombstone = record.tombstone(sequence: nextSequence(), modified: modified)
    row.usedBytes -= try record.bytes()
    // Versions of old may hold what has no place any more, but this one should not.
    try transaction.put(tombstone, in: row, replacing: record, keepsVersion: false)
  }

  fileprivate mutating func drop(_ fields: Set<FieldName>, of record: StoredRecord, context: CallContext) throws {
    var next = record
    next.sequence = nextSequence()
    next.modified = context.stamp(by: record.modified.user, after: record.modified)
    try next.drop(fields)
    row.usedBytes += try next.bytes() - record.bytes()
    try transaction.put(next, in: row, replacing: record, keepsVersion: false)
  }

  /// Shares end with their roots. Who sees a part of a zone begins anew when records went: what lay below them may be out
  /// of the share as well.
  fileprivate mutating func tellParticipants(hasRemoved: Bool, context: inout CallContext) throws {
    guard row.sharing != .none else { return }
    var book = ShareRegistry(transaction)
    for share in try transaction.liveShares(of: row) {
      if let root = share.share?.recordName, try transaction.record(root, in: row)?.isDeleted ?? true {
        try book.end(share, in: row)
        try writeTombstone(share, context: context)
      } else if hasRemoved && row.sharing == .hierarchies {
        try book.renew(ShareState(share), in: row)
      } else {
        try book.touch(ShareState(share), in: row)
      }
    }
    if try transaction.liveShares(of: row).isEmpty { row.sharing = .none }
    try book.write(row: &row, context: &context)
  }
}

extension WriteTransaction {
  /// Removes all records and zones of a container's environment. Readers are told that zones were deleted.
  /// - Returns: How many records went.
  func removeAllData(
    of container: ContainerID, in environment: Environment, context: inout CallContext
  ) throws -> Int {
    var count = 0
    for database in try databases(of: container, in: environment) {
      for zone in try liveZones(of: database.key) {
        count += try recordCount(in: zone)
        var work = try ZoneWork(on: zone, in: self, context: &context)
        try endShares(of: &work.row, context: &context)
        try removeRecords(of: &work.row)
        if zone.name == .default {
          work.row.incarnation = context.makeIncarnation()
          work.row.lowWaterMark = zone.sequence
        } else {
          work.row.noteDeletion(.deleted, at: work.row.databaseSequence)
        }
        try work.finish(context: &context)
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
}

extension StoredRecord {
  /// Drops fields as they are stored, sealed or not, and finds out again what the others claim and refer to.
  fileprivate mutating func drop(_ names: Set<FieldName>) throws {
    fieldsJSON = try reading(fieldsJSON) { stored in
      let mark = StoredFieldCipher.isSealed(stored) ? 1 : 0
      return try Array(stored.prefix(mark)) + fields(of: Array(stored.dropFirst(mark))) { !names.contains($0.name) }
    }
    (assetChecksums, references) = try plainFields().claims(parent: parent)
  }

  /// The fields without the sealed ones, whose values are not what their types say. Encrypted fields hold neither
  /// references nor assets.
  func plainFields() throws -> Fields {
    try reading(fieldsJSON) { stored in
      guard StoredFieldCipher.isSealed(stored) else { return try Fields(json: stored) }
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
      let isEncrypted = try StoredFieldCipher.encryptedParts(of: raw) != nil
      guard try isKept((FieldName(key), isEncrypted)) else { continue }
      writer.key(key)
      writer.raw(raw)
    }
    writer.endObject()
    return writer.bytes
  }
}
