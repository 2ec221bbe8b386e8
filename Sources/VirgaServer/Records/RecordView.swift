import VirgaModel
import VirgaWire

/// How the records of one answer are shown.
struct RecordView {
  let zone: ZoneID
  private let fields: FieldsView
  private let seal: StoredFieldCipher
  private let viewer: UserName?
  private let tags: TokenCipher?
  private let hasTags: Bool

  private static let noFields = Array("{}".utf8)

  init(zone: OpenZone, desiredKeys: [FieldName]? = nil, numbersAsStrings: Bool = false, context: CallContext) {
    self.zone = zone.id
    seal = zone.seal(context)
    viewer = context.principal.user
    tags = zone.tags
    hasTags = zone.tags != nil
    let urls = context.urls
    let expires = context.now + Limits.downloadURLAge
    fields = FieldsView(desiredKeys: desiredKeys, numbersAsStrings: numbersAsStrings) { checksum, size in
      urls.downloadURL(checksum: checksum, size: size, expires: expires)
    }
  }

  /// A record of a feed: a tombstone is a deletion.
  func result(_ record: StoredRecord) throws -> RecordResult {
    record.isDeleted
      ? .deleted(record.name, zone: zone, type: record.type) : .record(try envelope(of: record))
  }

  func envelope(of record: StoredRecord) throws -> RecordEnvelope {
    let id = RecordID(record.name, in: zone)
    // One's own zones, by far the most, have plain tags; the look at a seal that is none costs a page some.
    let sealed = hasTags ? tags?.tag(record.sequence, of: id) : nil
    var envelope = RecordEnvelope(
      id: id, type: record.type, tag: sealed ?? ChangeTag(sequence: record.sequence),
      created: record.created, modified: record.modified, fieldsJSON: try shownFields(of: record))
    envelope.parent = record.parent
    envelope.share = record.share
    envelope.shortGUID = record.shortGUID
    if record.type == .share {
      let state = try ShareState(record)
      envelope.shareDetails = state.details(for: viewer)
      envelope.unknownMembers = state.otherMembers
    } else {
      envelope.unknownMembers = record.unknownMembers
    }
    return envelope
  }

  private func shownFields(of record: StoredRecord) throws -> [UInt8] {
    if fields.desiredKeys?.isEmpty == true { return Self.noFields }
    let json = try seal.open(record)
    // Stored fields travel as they are unless something in them depends on the request.
    let isPlain = fields.isPlain && !record.hasAssets && record.assetChecksums.isEmpty
    return isPlain ? json : try record.reading(json) { try fields.apply(to: $0) }
  }
}

extension OpenZone {
  func seal(_ context: CallContext) -> StoredFieldCipher { StoredFieldCipher(database, id.name, context: context) }
}

extension StoredFieldCipher {
  /// The record's fields as JSON that can travel.
  func open(_ record: StoredRecord) throws -> [UInt8] {
    try record.reading(record.fieldsJSON) { try open($0, of: record.name) }
  }

  func fields(of record: StoredRecord) throws -> Fields {
    try record.reading(open(record)) { try Fields(json: $0) }
  }
}

extension StoredRecord {
  /// What a store gives back it was given; anything else is damage, and no fault of the caller's.
  func reading<Value>(_ json: [UInt8], _ read: ([UInt8]) throws -> Value) throws -> Value {
    do {
      return try read(json)
    } catch let error as WireError {
      throw StoreError.damaged("the fields of record '\(name)' cannot be read: expected \(error.expected)")
    }
  }
}
