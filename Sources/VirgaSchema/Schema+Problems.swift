package import VirgaModel

/// A part of a schema, by its place in the order of the text.
package enum SchemaPlace: Hashable, Sendable {
  case role(Int)
  case recordType(Int)
  case field(type: Int, Int)
  case grant(type: Int, Int)
}

/// What a schema that can be read may not say.
package struct SchemaProblem: Hashable, Sendable {
  package var place: SchemaPlace
  package var message: String

  init(_ place: SchemaPlace, _ message: String) {
    self.place = place
    self.message = message
  }
}

extension Schema {
  /// All that is wrong with the meaning of the schema, in the order of its text.
  package func problems() -> [SchemaProblem] {
    var problems: [SchemaProblem] = []
    var names: Set<RoleName> = []
    for (index, role) in roles.enumerated() {
      let place = SchemaPlace.role(index)
      if let objection = objection(to: role) { problems.append(SchemaProblem(place, objection)) }
      if !names.insert(role).inserted { problems.append(SchemaProblem(place, "role '\(role)' is created twice")) }
    }
    // What every schema has does not count: an export can always be imported.
    if recordTypes.count(where: { $0.name != .users && $0.name != .share }) > Limits.recordTypesPerSchemaMax {
      let place = SchemaPlace.recordType(recordTypes.count - 1)
      problems.append(SchemaProblem(place, "a schema has at most \(Limits.recordTypesPerSchemaMax) record types"))
    }
    let known = names.union(RoleName.system)
    var types: Set<RecordType> = []
    for (index, type) in recordTypes.enumerated() {
      let place = SchemaPlace.recordType(index)
      if let objection = type.name.schemaObjection { problems.append(SchemaProblem(place, objection)) }
      if !types.insert(type.name).inserted {
        problems.append(SchemaProblem(place, "record type '\(type.name)' is defined twice"))
      }
      problems += type.problems(at: index, roles: known)
    }
    return problems
  }

  private func objection(to role: RoleName) -> String? {
    if role.rawValue.hasPrefix("_") {
      return "role '\(role)' is reserved: names that begin with an underscore belong to the system"
    }
    return NameRule.fieldName.objection(to: role.rawValue).map { "role name '\(role)' \($0)" }
  }
}

extension RecordType {
  /// Why no schema may define the type; `nil` if one may.
  package var schemaObjection: String? {
    // A shared zone's or record's share record may have fields of its own.
    if self != .share, rawValue.lowercased().hasPrefix("cloudkit.") { return "record type '\(self)' is reserved" }
    return NameRule.recordType.objection(to: rawValue).map { "record type name '\(self)' \($0)" }
  }
}

extension SchemaRecordType {
  fileprivate func problems(at index: Int, roles: Set<RoleName>) -> [SchemaProblem] {
    var problems: [SchemaProblem] = []
    var names: Set<FieldName> = []
    var count = 0
    var isTooLarge = false
    for (position, field) in fields.enumerated() {
      let place = SchemaPlace.field(type: index, position)
      if !names.insert(field.name).inserted {
        problems.append(SchemaProblem(place, "field '\(field.name)' of type '\(name)' is defined twice"))
      }
      if SystemFields.type(of: field.name) == nil { count += 1 }
      if count == Limits.fieldsPerRecordTypeMax + 1, !isTooLarge {
        isTooLarge = true
        let text = "record type '\(name)' has more than \(Limits.fieldsPerRecordTypeMax) fields"
        problems.append(SchemaProblem(place, text))
      }
      problems += field.objections(in: name).map { SchemaProblem(place, $0) }
    }
    for (position, grant) in grants.enumerated() where !roles.contains(grant.role) {
      let text = "this schema does not create role '\(grant.role)'; add CREATE ROLE \(grant.role)"
      problems.append(SchemaProblem(.grant(type: index, position), text))
    }
    return problems
  }
}

extension SchemaField {
  fileprivate func objections(in recordType: RecordType) -> [String] {
    var objections: [String] = []
    if name.rawValue.hasPrefix("___") {
      guard let fixed = SystemFields.type(of: name) else { return ["there is no system field '\(name)'"] }
      objections += objection(against: fixed)
    } else if recordType == .share, let fixed = SystemFields.ofShares.first(where: { $0.name == name })?.type {
      objections += objection(against: fixed)
    } else if let objection = NameRule.fieldName.objection(to: name.rawValue) {
      objections.append("field name '\(name)' of type '\(recordType)' \(objection)")
    }
    if recordType == .users, name == "roles", type != .value(.int64, isList: true) {
      objections.append("the type of field 'roles' of type 'Users' is LIST<INT64> and cannot be \(type.name)")
    }
    for (index, word) in SchemaIndexes.words where indexes.contains(index) && !type.allowedIndexes.contains(index) {
      objections.append("field '\(name)' of type '\(recordType)' cannot be \(word): its type is \(type.name)")
    }
    return objections
  }

  /// - Parameter fixed: The type that the system's field of this name has.
  private func objection(against fixed: SchemaDataType) -> [String] {
    type == fixed ? [] : ["the type of system field '\(name)' is \(fixed.name) and cannot be \(type.name)"]
  }
}
