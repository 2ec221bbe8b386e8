import VirgaModel
import VirgaWire

/// How the records of one answer are shown.
struct RecordView {
  let zone: ZoneID
  private let fields: FieldsView

  init(zone: ZoneID, desiredKeys: [FieldName]? = nil, numbersAsStrings: Bool = false, context: CallContext) {
    self.zone = zone
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
    var envelope = RecordEnvelope(
      id: RecordID(record.name, in: zone), type: record.type, tag: ChangeTag(sequence: record.sequence),
      created: record.created, modified: record.modified, fieldsJSON: try shownFields(of: record))
    envelope.parent = record.parent
    envelope.share = record.share
    envelope.shortGUID = record.shortGUID
    envelope.unknownMembers = record.unknownMembers
    return envelope
  }

  private func shownFields(of record: StoredRecord) throws -> [UInt8] {
    if fields.desiredKeys?.isEmpty == true { return Array("{}".utf8) }
    // Stored fields travel as they are unless something in them depends on the request.
    let isPlain = fields.isPlain && !record.hasAssets && record.assetChecksums.isEmpty
    return isPlain ? record.fieldsJSON : try record.readingFields { try fields.apply(to: $0) }
  }
}

extension StoredRecord {
  func fields() throws -> Fields { try readingFields { try Fields(json: $0) } }

  /// What a store gives back it was given; anything else is damage, and no fault of the caller's.
  func readingFields<Value>(_ read: ([UInt8]) throws -> Value) throws -> Value {
    do {
      return try read(fieldsJSON)
    } catch let error as WireError {
      throw StoreError.damaged("the fields of record '\(name)' cannot be read: expected \(error.expected)")
    }
  }
}
