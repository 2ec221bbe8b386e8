package import VirgaModel

/// One step from a schema to another.
package enum SchemaChange: Hashable, Sendable {
  case roleAdded(RoleName)
  case roleRemoved(RoleName)
  case recordTypeAdded(SchemaRecordType)
  case recordTypeRemoved(RecordType)
  case fieldAdded(RecordType, SchemaField)
  case fieldRemoved(RecordType, SchemaField)
  case fieldTypeChanged(RecordType, FieldName, from: SchemaDataType, to: SchemaDataType)
  case indexesAdded(RecordType, FieldName, SchemaIndexes)
  case indexesRemoved(RecordType, FieldName, SchemaIndexes)
  case rightsGranted(RecordType, SchemaGrant)
  case rightsRevoked(RecordType, SchemaGrant)

  /// What it concerns: a role, `Type` or `Type.field`.
  package var subject: String {
    switch self {
    case .roleAdded(let role), .roleRemoved(let role): role.rawValue
    case .recordTypeAdded(let type): type.name.rawValue
    case .recordTypeRemoved(let type): type.rawValue
    case .fieldAdded(let type, let field), .fieldRemoved(let type, let field): "\(type).\(field.name)"
    case .fieldTypeChanged(let type, let field, _, _), .indexesAdded(let type, let field, _),
      .indexesRemoved(let type, let field, _):
      "\(type).\(field)"
    case .rightsGranted(let type, _), .rightsRevoked(let type, _): type.rawValue
    }
  }

  /// The kind of change, as reports name it.
  package var kind: String {
    switch self {
    case .roleAdded: "roleAdded"
    case .roleRemoved: "roleRemoved"
    case .recordTypeAdded: "recordTypeAdded"
    case .recordTypeRemoved: "recordTypeRemoved"
    case .fieldAdded: "fieldAdded"
    case .fieldRemoved: "fieldRemoved"
    case .fieldTypeChanged: "fieldTypeChanged"
    case .indexesAdded: "indexesAdded"
    case .indexesRemoved: "indexesRemoved"
    case .rightsGranted: "rightsGranted"
    case .rightsRevoked: "rightsRevoked"
    }
  }

  /// One line: a sign for added, removed or changed, and what.
  package var text: String {
    switch self {
    case .roleAdded(let role): return "+ role \(role)"
    case .roleRemoved(let role): return "- role \(role)"
    case .recordTypeAdded(let type):
      let names = type.fields.map(\.name).filter { SystemFields.type(of: $0) == nil }.map(\.rawValue)
      // A grid of 168 columns is not for reading.
      let more = names.count > 12 ? ", and \(names.count - 10) more fields" : ""
      let listed = names.prefix(more.isEmpty ? 12 : 10).joined(separator: ", ") + more
      return "+ type \(type.name)" + (names.isEmpty ? "" : " (\(listed))")
    case .recordTypeRemoved(let type): return "- type \(type)"
    case .fieldAdded(_, let field):
      return "+ field \(subject) \(([field.type.name] + field.indexes.words).joined(separator: " "))"
    case .fieldRemoved(_, let field): return "- field \(subject) \(field.type.name)"
    case .fieldTypeChanged(_, _, let old, let new): return "~ field \(subject): \(old.name) becomes \(new.name)"
    case .indexesAdded(_, _, let indexes): return "+ index \(subject) \(indexes.words.joined(separator: " "))"
    case .indexesRemoved(_, _, let indexes): return "- index \(subject) \(indexes.words.joined(separator: " "))"
    case .rightsGranted(_, let grant):
      return "+ grant \(subject): \(grant.rights.words.joined(separator: ", ")) to \(grant.role)"
    case .rightsRevoked(_, let grant):
      return "- grant \(subject): \(grant.rights.words.joined(separator: ", ")) to \(grant.role)"
    }
  }

  /// Whether data that were saved under the old schema have no place in the new one.
  package var losesData: Bool {
    switch self {
    case .recordTypeRemoved, .fieldRemoved: true
    case .fieldTypeChanged(_, _, let old, let new): !old.isSettled(by: new)
    default: false
    }
  }
}

extension SchemaDataType {
  /// Whether `other` only states of which kind the numbers are.
  func isSettled(by other: SchemaDataType) -> Bool {
    guard case .number(nil) = element, case .number(.some) = other.element else { return false }
    return isList == other.isList
  }
}
