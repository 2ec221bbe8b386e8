import VirgaModel
import VirgaSchema
import VirgaWire

/// Takes a filter's value for one of its field's type, where nothing is lost.
struct FilterValue {
  let field: SchemaField
  /// Whether the field is one of the system's.
  let isSystem: Bool
  let isTagged: Bool
  let access: Access

  private var scalar: FieldType.Scalar? { field.type.fieldType?.scalar }

  /// - Throws: `badRequest` naming the type that is expected.
  mutating func value(_ given: FieldValue, for comparator: QueryComparator) throws -> FieldValue {
    switch comparator.operand {
    case .same, .member:
      guard given.listMembers == nil else { throw mismatch(isList: false) }
      return try element(given)
    case .list:
      guard given.listMembers != nil else { throw mismatch(isList: true) }
      // The service takes no list for one whose type is not stated here.
      guard isTagged else { throw ServiceError.badRequest("BadRequestException: Unexpected input: \(expectedList)") }
      return try list(given)
    case .members: return try list(given)
    case .words:
      switch given {
      case .string, .stringList: return given
      case .emptyList: return .stringList([])
      default: throw mismatch(isList: false)
      }
    }
  }

  private func list(_ given: FieldValue) throws -> FieldValue {
    let members = try given.members.map(element)
    guard let first = members.first else { return .emptyList }
    return switch first {
    case .string: .stringList(members.compactMap { if case .string(let text) = $0 { text } else { nil } })
    case .int64, .double: numbers(members)
    case .timestamp: .timestampList(members.compactMap { if case .timestamp(let time) = $0 { time } else { nil } })
    case .bytes: .bytesList(members.compactMap { if case .bytes(let bytes) = $0 { bytes } else { nil } })
    case .reference: .referenceList(members.compactMap { if case .reference(let target) = $0 { target } else { nil } })
    case .location: .locationList(members.compactMap { if case .location(let place) = $0 { place } else { nil } })
    default: throw mismatch(isList: true)
    }
  }

  /// A list of one kind: whole numbers if all are.
  private func numbers(_ members: [FieldValue]) -> FieldValue {
    let integers = members.compactMap { if case .int64(let number) = $0 { number } else { nil } }
    if integers.count == members.count { return .int64List(integers) }
    return .doubleList(
      members.compactMap {
        switch $0 {
        case .int64(let number): Double(number)
        case .double(let number): number
        default: nil
        }
      })
  }

  private func element(_ given: FieldValue) throws -> FieldValue {
    if case .location(let place) = given, !place.isOnEarth { throw ServiceError.notOnEarth(field.name) }
    switch (given, scalar) {
    case (.string, .string), (.int64, .int64), (.double, .double), (.timestamp, .timestamp), (.bytes, .bytes),
      (.location, .location), (.int64, nil), (.double, nil):
      return given
    case (.int64(let number), .double):
      if let exact = Double(exactly: number) { return .double(exact) }
    case (.double(let number), .int64):
      if let exact = Int64(exactly: number) { return .int64(exact) }
    case (.string(let text), .bytes) where !isTagged:
      if let bytes = [UInt8](base64: text) { return .bytes(bytes) }
    case (.string(let name), .reference) where isSystem:
      return .reference(Reference(recordName: RecordName(name)))
    case (.reference(let target), .reference): return .reference(resolved(target))
    default: break
    }
    throw mismatch(isList: false)
  }

  /// A client may say "mine" where records name their owner.
  private func resolved(_ reference: Reference) -> Reference {
    guard let zone = reference.zone, zone.owner == .defaultOwner else { return reference }
    return Reference(
      recordName: reference.recordName, action: reference.action, zone: ZoneID(zone.name, owner: access.owner))
  }

  private var typeName: String { scalar.map { FieldType($0).wireTag } ?? "INT64 or DOUBLE" }
  private var expectedList: String { "the value for field '\(field.name)' needs its type, \(typeName)_LIST" }

  private func mismatch(isList: Bool) -> ServiceError {
    .badRequest(
      "Invalid value, expected type \(typeName)\(isList ? "_LIST" : ""). The value is compared with field "
        + "'\(field.name)'."
    )
  }
}

extension ServiceError {
  static func notOnEarth(_ field: FieldName) -> ServiceError {
    .badRequest("field '\(field)': a latitude must be from -90 to 90 and a longitude from -180 to 180 degrees")
  }
}
