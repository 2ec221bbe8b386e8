import VirgaModel
import VirgaWire

extension RecordTypeSchema {
  /// Takes a value for a field: fixes the type of a field that is new, and coerces an untagged value where nothing is
  /// lost.
  /// - Throws: `badRequest` for a value of another type, and for a field that production does not know.
  mutating func admit(_ given: VirgaModel.Field, named field: FieldName, isTagged: Bool) throws -> VirgaModel.Field {
    if let type = self[field] {
      guard let taken = given.coerced(to: type, isTagged: isTagged) else {
        throw refusal(of: given, field: field, type: type, isTagged: isTagged)
      }
      return taken
    }
    if let objection = NameRule.fieldName.objection(to: field.rawValue) {
      throw ServiceError.badRequest("field name \(objection)")
    }
    guard environment == .development else {
      throw ServiceError.badRequest(
        "\(Reason.schemaFieldRefusal) '\(field)' of type '\(name)' in \(environment) schema; "
          + "the schema must be deployed from development first")
    }
    try Limits.check(fields.count + 1, atMost: Limits.fieldsPerRecordTypeMax, "fields of record type '\(name)'")
    // An empty list of no stated type leaves the question open.
    if let type = given.type { add(field, type) }
    return given
  }

  private func refusal(
    of given: VirgaModel.Field, field: FieldName, type: FieldType, isTagged: Bool
  ) -> ServiceError {
    if given.isEncrypted && !type.isEncrypted {
      return .badRequest(
        "Attempt to save encrypted data in non encrypted field type: field '\(field)' for type '\(name)', "
          + "defined to be: \(type.errorName)")
    }
    let mismatch =
      "invalid attempt to set value type \(given.errorName) for field '\(field)' for type '\(name)', "
      + "defined to be: \(type.errorName)"
    let isBareNumber = !isTagged && !type.isEncrypted && (type.scalar == .timestamp || type.scalar == .int64)
    return .badRequest(isBareNumber ? "Invalid value, expected type \(type.errorName). \(mismatch)" : mismatch)
  }
}

extension FieldType {
  /// As the service's errors name a type: `STRING_LIST`, `ENCRYPTED_STRING`.
  var errorName: String {
    isEncrypted && !(scalar == .bytes && !isList) ? "ENCRYPTED_" + wireTag : wireTag
  }
}

extension Field {
  fileprivate var errorName: String {
    switch value {
    case .emptyList: "UNKNOWN_LIST"
    case .unknown(let tag, _): tag
    default: type?.errorName ?? "UNKNOWN"
    }
  }

  /// The field as a value of the type; `nil` if it is of another. A stated type is never changed.
  fileprivate func coerced(to type: FieldType, isTagged: Bool) -> Field? {
    if self.type == type { return self }
    if case .emptyList = value, type.isList {
      return Field(.emptyList(of: type.scalar), isEncrypted: type.isEncrypted)
    }
    // An encrypted value always states its type.
    guard !isTagged, !isEncrypted, !type.isEncrypted else { return nil }
    return value.converted(to: type).map { Field($0) }
  }
}

extension FieldValue {
  fileprivate func converted(to type: FieldType) -> FieldValue? {
    switch (self, type.scalar, type.isList) {
    case (.int64(let number), .double, false): Double(exactly: number).map { FieldValue.double($0) }
    case (.string(let text), .bytes, false): [UInt8](base64: text).map { .bytes($0) }
    case (.int64List(let list), .double, true): list.compactMapAll { Double(exactly: $0) }.map { .doubleList($0) }
    case (.stringList(let list), .bytes, true): list.compactMapAll { [UInt8](base64: $0) }.map { .bytesList($0) }
    default: nil
    }
  }

  fileprivate static func emptyList(of scalar: FieldType.Scalar) -> FieldValue {
    switch scalar {
    case .string: .stringList([])
    case .int64: .int64List([])
    case .double: .doubleList([])
    case .timestamp: .timestampList([])
    case .bytes: .bytesList([])
    case .reference: .referenceList([])
    case .asset: .assetList([])
    case .location: .locationList([])
    }
  }
}

extension Array {
  /// The elements transformed; `nil` if one cannot be.
  fileprivate func compactMapAll<Value>(_ transform: (Element) -> Value?) -> [Value]? {
    let values = compactMap(transform)
    return values.count == count ? values : nil
  }
}
