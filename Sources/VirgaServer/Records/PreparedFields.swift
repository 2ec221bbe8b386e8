import VirgaModel
public import VirgaWire

/// What a call's operations make of records that are not there yet, worked out from the request alone.
///
/// There is one writer, so all that does not need the store is done before its turn. What was prepared is used where the
/// writer finds that there is no such record; it must be what `RecordMerge` would make.
struct PreparedFields: Sendable {
  /// By the operations' order: the fields as they are stored; `nil` where the store or a rule has a say in them.
  fileprivate(set) var json: [[UInt8]?] = []

  subscript(operation: Int) -> [UInt8]? { operation < json.count ? json[operation] : nil }
}

extension Service {
  /// Works out what can be without the store, to be called before `write` by whoever is not the writer.
  ///
  /// `write` then takes it that the names of records to create are new. It throws `RecordExists`, having written nothing
  /// that may be kept, if that is not so: have it undone and call it again with a context that is not prepared.
  public func prepare(_ call: Call, context: inout CallContext) {
    guard case .recordsModify(let request) = call else { return }
    context.prepared = PreparedFields(json: request.operations.map(\.preparedFields))
    context.takesNamesForNew = true
  }
}

extension RecordOperation {
  fileprivate var preparedFields: [UInt8]? {
    guard kind != .delete, kind != .forceDelete, fault == nil, record.type != .share, record.parent == .unchanged,
      record.fields.count <= Limits.fieldsPerRecordMax, record.fields.allSatisfy(\.isPlain)
    else { return nil }
    var fields = Fields()
    fields.reserveCapacity(record.fields.count)
    for change in record.fields { fields[change.name] = change.field }
    let json = fields.storedJSON
    return json.count + record.unknownMembers.count <= Limits.recordBytesMax ? json : nil
  }
}

extension FieldChange {
  /// Whether it is stored as it came if the schema takes it: its type is stated, and there is nothing to check, to seal
  /// or to look for.
  fileprivate var isPlain: Bool {
    guard isTagged, let field, !field.isEncrypted else { return false }
    return switch field.value {
    case .string, .int64, .timestamp, .bytes: true
    case .double(let number): number.isFinite
    default: false
    }
  }
}
