package import VirgaModel

/// The fields that every record has. A schema mentions one only to give it indexes; their types never change.
package enum SystemFields {
  package static let all = [
    SchemaField("___createTime", .value(.timestamp)), SchemaField("___createdBy", .value(.reference)),
    SchemaField("___etag", .value(.string)), SchemaField("___modTime", .value(.timestamp)),
    SchemaField("___modifiedBy", .value(.reference)), SchemaField("___recordID", .value(.reference)),
  ]

  /// What share records have besides. No other name may hold a dot.
  package static let ofShares = [
    SchemaField("cloudkit.thumbnailImageData", .value(.bytes)), SchemaField("cloudkit.title", .value(.string)),
    SchemaField("cloudkit.type", .value(.string)),
  ]

  package static func type(of field: FieldName) -> SchemaDataType? { all.first { $0.name == field }?.type }
}

extension Schema {
  /// The type of shares, as the first share in development makes it. It need not be declared for shares to be made here; in
  /// a file it can be carried to a service that asks for it.
  package static let sharesType = SchemaRecordType(
    .share, fields: SystemFields.ofShares,
    grants: [SchemaGrant(.write, to: .creator), SchemaGrant(.read, to: .world)])

  /// The type of the users, as an export shows it.
  package static let usersType = SchemaRecordType(
    .users, fields: [SchemaField("roles", .value(.int64, isList: true))],
    grants: [SchemaGrant(.write, to: .creator), SchemaGrant(.read, to: .world)])

  /// The schema with all that it leaves unsaid, in the order of exports: every record type with the system fields and
  /// one grant a role, the type of the users, all by name. Roles keep their order, since users hold them by number.
  package func completed() -> Schema {
    var types = recordTypes
    if let index = types.firstIndex(where: { $0.name == .users }) {
      if types[index]["roles"] == nil { types[index].fields += Self.usersType.fields }
    } else {
      types.append(Self.usersType)
    }
    return Schema(roles: roles, recordTypes: types.map { $0.completed() }.sorted { $0.name < $1.name })
  }
}

extension SchemaRecordType {
  package func completed() -> SchemaRecordType {
    let stated = Set(fields.map(\.name))
    let system = name == .share ? SystemFields.all + SystemFields.ofShares : SystemFields.all
    let all = fields + system.filter { !stated.contains($0.name) }
    let roles = Set(grants.map(\.role)).sorted()
    return SchemaRecordType(
      name, fields: all.sorted { $0.name < $1.name }, grants: roles.map { SchemaGrant(rights(of: $0), to: $0) })
  }
}
