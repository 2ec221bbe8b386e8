import VirgaModel
public import VirgaWire

/// A call, and what could be worked out of it without the store.
///
/// There is one writer, so the thread that read a request also works out what the fields of its records are when they are
/// stored. That depends on nothing in the store: a field keeps its bytes unless the schema asks for another type, and the
/// fields that a save does not name are copied as they stand.
public struct PreparedCall: Sendable {
  let call: Call
  /// Those of a `records/modify`, in their order.
  let operations: [PreparedOperation]
}

struct PreparedOperation: Sendable {
  let fields: FieldPatch
  /// Whether the schema has nothing to say of its fields that it does not say of those of the operation before: records of
  /// an upload are alike.
  let isLikeLast: Bool
}

extension Service {
  /// For the thread that has the call; the writer has others to serve.
  public func prepare(_ call: Call) -> PreparedCall {
    guard case .recordsModify(let request) = call else { return PreparedCall(call: call, operations: []) }
    var last: RecordChange?
    let operations = request.operations.map { operation in
      let isLikeLast = last.map { operation.record.hasFields(like: $0) } ?? false
      last = operation.record
      return PreparedOperation(
        fields: FieldPatch(operation.kind.isDelete ? [] : operation.record.fields), isLikeLast: isLikeLast)
    }
    return PreparedCall(call: call, operations: operations)
  }
}

extension RecordChange {
  /// Whether a schema that takes the fields of `other` as they are takes these, too.
  fileprivate func hasFields(like other: RecordChange) -> Bool {
    guard type == other.type, type != .users, fields.count == other.fields.count else { return false }
    return zip(fields, other.fields).allSatisfy {
      $0.name == $1.name && $0.isTagged == $1.isTagged && $0.plainScalar == $1.plainScalar && $0.plainScalar != nil
    }
  }
}

extension FieldChange {
  /// The type of a value that only a schema can object to.
  fileprivate var plainScalar: FieldType.Scalar? {
    guard let field, !field.isEncrypted else { return nil }
    return switch field.value {
    case .string: .string
    case .int64: .int64
    case .timestamp: .timestamp
    case .bytes: .bytes
    case .double(let number): number.isFinite ? .double : nil
    default: nil
    }
  }
}
