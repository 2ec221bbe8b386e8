import VirgaModel
import VirgaSchema

extension ReadTransaction {
  /// One record type of a container's environment; `nil` if it knows no such type.
  func schema(
    of type: RecordType, container: ContainerID, environment: Environment
  ) throws -> RecordTypeSchema? {
    let key = schemaKey(of: type, container: container, environment: environment)
    return try entity(.recordType, key: key) {
      try RecordTypeSchema(type, of: container, in: environment, reading: $0)
    }
  }

  /// The whole schema of a container's environment, completed.
  func schema(of container: ContainerID, in environment: Environment) throws -> Schema {
    let owner = schemaOwner(container: container, environment: environment)
    let types = try entities(.recordType, owner: owner).map { entity in
      let name = RecordType(String(entity.key.dropFirst(owner.count + 1)))
      return try SchemaRecordType(name, stored: entity.value)
    }
    let roles = try roles(of: container, in: environment).entries.map(\.role)
    return Schema(roles: roles, recordTypes: types).completed()
  }

  func recordTypeCount(of container: ContainerID, in environment: Environment) throws -> Int {
    try entities(.recordType, owner: schemaOwner(container: container, environment: environment)).count
  }

  /// The roles that a schema creates.
  func roles(of container: ContainerID, in environment: Environment) throws -> RoleList {
    guard let entity = try entity(.setting, key: rolesKey(container, environment)) else { return RoleList() }
    guard let list = RoleList(stored: entity.value) else {
      throw StoreError.damaged("the roles of container '\(container)' cannot be read")
    }
    return list
  }
}

extension WriteTransaction {
  func put(_ type: RecordTypeSchema) throws {
    try put(
      Entity(
        .recordType, key: schemaKey(of: type.name, container: type.container, environment: type.environment),
        owner: schemaOwner(container: type.container, environment: type.environment), value: type.definition.stored))
  }

  /// Makes `schema` the whole schema of a container's environment. Roles keep their numbers, and a number is never
  /// given to another role.
  func put(_ schema: Schema, of container: ContainerID, in environment: Environment) throws {
    let owner = schemaOwner(container: container, environment: environment)
    let names = Set(schema.recordTypes.map(\.name.rawValue))
    for entity in try entities(.recordType, owner: owner)
    where !names.contains(String(entity.key.dropFirst(owner.count + 1))) {
      try removeEntity(.recordType, key: entity.key)
    }
    for type in schema.recordTypes { try put(RecordTypeSchema(type, of: container, in: environment)) }

    var roles = try roles(of: container, in: environment)
    roles.become(schema.roles)
    try put(Entity(.setting, key: rolesKey(container, environment), value: roles.stored))
  }
}

private func schemaOwner(container: ContainerID, environment: Environment) -> String {
  "\(container)/\(environment)"
}

private func schemaKey(of type: RecordType, container: ContainerID, environment: Environment) -> String {
  "\(schemaOwner(container: container, environment: environment))/\(type)"
}

private func rolesKey(_ container: ContainerID, _ environment: Environment) -> String {
  "schema.roles/\(container)/\(environment)"
}
