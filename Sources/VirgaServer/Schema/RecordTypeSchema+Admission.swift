import VirgaModel
import VirgaSchema
import VirgaWire

extension RecordTypeSchema {
  /// Takes a value for a field: fixes the type of a field that is new, and coerces an untagged value where nothing is
  /// lost.
  /// - Throws: `badRequest` for a value of another type, and for a field that production does not know.
  mutating func admit(_ given: Field, named field: FieldName, isTagged: Bool) throws -> Field {
    if let type = self[field]?.type {
      guard let taken = given.coerced(to: type, isTagged: isTagged) else {
        throw refusal(of: given, field: field, type: type, isTagged: isTagged)
      }
      return taken
    }
    if let objection = NameRule.fieldName.objection(to: field.rawValue) {
      throw ServiceError.badRequest("field name '\(field.rawValue.prefix(100))' \(objection)")
    }
    guard environment == .development else {
      throw ServiceError.badRequest(
        "\(Reason.schemaFieldRefusal) '\(field)' of type '\(name)' in \(environment) schema; "
          + deployHint(of: container))
    }
    try Limits.check(fields.count + 1, atMost: Limits.fieldsPerRecordTypeMax, "fields of record type '\(name)'")
    // An empty list of no stated type leaves the question open.
    if let type = given.statedType.map(SchemaDataType.init) { add(SchemaField(field, type, type.usualIndexes)) }
    return given
  }

  private func refusal(
    of given: Field, field: FieldName, type: SchemaDataType, isTagged: Bool
  ) -> ServiceError {
    if given.isEncrypted && type.fieldType?.isEncrypted != true {
      return .badRequest(
        "Attempt to save encrypted data in non encrypted field type: field '\(field)' for type '\(name)', "
          + "defined to be: \(type.errorName)")
    }
    let mismatch =
      "invalid attempt to set value type \(given.errorName) for field '\(field)' for type '\(name)', "
      + "defined to be: \(type.errorName)"
    if isTagged || given.isEncrypted { return .badRequest(mismatch) }
    return .badRequest("Invalid value, expected type \(type.errorName). \(mismatch); \(type.tagHint)")
  }
}

extension FieldType {
  /// As the service's errors name a type: `STRING_LIST`, `ENCRYPTED_STRING`.
  var errorName: String {
    isEncrypted && !(scalar == .bytes && !isList) ? "ENCRYPTED_" + wireTag : wireTag
  }
}

extension SchemaDataType {
  /// What to write beside a value that states no type.
  fileprivate var tagHint: String {
    guard let type = fieldType else { return #"give it "type":"INT64" or "type":"DOUBLE""# }
    let mark = type.isEncrypted && !(type.scalar == .bytes && !type.isList) ? #","isEncrypted":true"# : ""
    return #"give it "type":"\#(type.wireTag)"\#(mark)"#
  }

  var errorName: String { fieldType?.errorName ?? (isList ? "NUMBER_LIST" : "NUMBER") }
}

extension Field {
  /// The type of the value, which the head tells of one that a device encrypted.
  fileprivate var statedType: FieldType? {
    if let head = sealedHead { return head.type }
    return type
  }

  fileprivate var errorName: String {
    if let head = sealedHead { return head.type?.errorName ?? "UNKNOWN_LIST" }
    return switch value {
    case .emptyList: "UNKNOWN_LIST"
    case .unknown(let tag, _): tag
    default: type?.errorName ?? "UNKNOWN"
    }
  }

  /// The field as a value of the type; `nil` if it is of another. A stated type is never changed.
  fileprivate func coerced(to type: SchemaDataType, isTagged: Bool) -> Field? {
    if let type = type.fieldType { return coerced(to: type, isTagged: isTagged) }
    // A number of either kind, which nothing has settled yet.
    switch value {
    case .int64, .double: return isEncrypted || type.isList ? nil : self
    case .int64List, .doubleList, .emptyList: return isEncrypted || !type.isList ? nil : self
    default: return nil
    }
  }

  private func coerced(to type: FieldType, isTagged: Bool) -> Field? {
    if statedType == type { return self }
    // What is sealed and an empty list fits each list, as one in the clear does.
    if let head = sealedHead { return head.type == nil && type.isList && type.isEncrypted ? self : nil }
    if case .emptyList = value, type.isList {
      return Field(.emptyList(of: type.scalar), isEncrypted: type.isEncrypted)
    }
    guard !isTagged, !isEncrypted else { return nil }
    if type.isEncrypted {
      // Web clients save ENCRYPTED_BYTES as bare Base64; every other encrypted value states its type.
      guard type.scalar == .bytes, !type.isList else { return nil }
      let field = value.converted(to: FieldType(.bytes)).map { Field($0, isEncrypted: true) }
      return field?.statedType == type ? field : nil
    }
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
