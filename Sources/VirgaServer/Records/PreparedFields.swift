import VirgaModel
public import VirgaWire

/// Operations, and what they make of records that are not there yet, worked out from them alone.
///
/// There is one writer, so all that does not need the store is done before its turn. What was prepared is used where the
/// writer finds that there is no such record; it must be what `RecordMerge` would make.
public struct OperationPart: Sendable {
  public let operations: [RecordOperation]
  /// In the same order: the fields as they are stored; `nil` where the store or a rule has a say in them.
  let fields: [[UInt8]?]

  public init(_ operations: [RecordOperation]) {
    self.operations = operations
    fields = operations.map(\.preparedFields)
  }
}

/// Operations of a `records/modify` that are still being read while it is performed.
public protocol LaterOperations: Sendable {
  /// Waits for the part of that number, counted from 0; `nil` behind the last one.
  /// - Throws: if it cannot be read.
  func part(_ number: Int) throws -> OperationPart?
}

/// A call cannot be performed as it was prepared. What it wrote must not be kept; call again with a context that is not
/// prepared.
public struct PreparationFailed: Error, CustomStringConvertible {
  public init() {}

  public var description: String { "what was worked out before the call does not fit any more" }
}

/// What of a call is worked out before it is performed.
public enum Preparation: Sendable {
  case nothing
  /// All operations.
  case whole(OperationPart)
  /// The operations are not in the request, but come.
  case later(any LaterOperations)
}

extension Service {
  /// Works out what can be without the store. For whoever is not the writer, who puts it into the context of `write`.
  ///
  /// `write` then takes it that the names of records to create are new and that nothing fails, and throws
  /// `PreparationFailed` if that is not so.
  public func prepare(_ call: Call) -> Preparation {
    guard case .recordsModify(let request) = call else { return .nothing }
    return .whole(OperationPart(request.operations))
  }
}

extension RecordOperation {
  fileprivate var preparedFields: [UInt8]? {
    guard kind != .delete, kind != .forceDelete, fault == nil, record.type != .share, !record.parent.isSet,
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
