import VirgaModel
import VirgaWire

/// The record types that a request meets, each read once.
///
/// A record is planned on a draft of its type, which is kept only if the record was accepted. What the drafts add is
/// stored with the records; if a record fails later for a reference, its type stays as it would have been.
struct SchemaBook {
  private let container: ContainerID
  private let environment: Environment
  private let transaction: any ReadTransaction
  private var drafts: [RecordType: RecordTypeSchema] = [:]

  init(_ endpoint: Endpoint, in transaction: any ReadTransaction) {
    container = endpoint.container
    environment = endpoint.environment
    self.transaction = transaction
  }

  /// The type as it stands.
  /// - Throws: `badRequest` for a name that no type may have, and for a type that production does not know.
  mutating func draft(of type: RecordType) throws -> RecordTypeSchema {
    if let draft = drafts[type] { return draft }
    if let known = try transaction.schema(of: type, container: container, environment: environment) {
      drafts[type] = known
      return known
    }
    try checkName(type)
    guard environment == .development else {
      throw ServiceError.badRequest(
        "\(Reason.schemaRefusal) \(type) in \(environment) schema; the schema must be deployed from development first")
    }
    return RecordTypeSchema(type, in: environment)
  }

  mutating func keep(_ draft: RecordTypeSchema) { drafts[draft.name] = draft }

  func save(to transaction: any WriteTransaction) throws {
    for draft in drafts.values.filter(\.isChanged).sorted(by: { $0.name < $1.name }) {
      try transaction.put(draft, container: container)
    }
  }

  private func checkName(_ type: RecordType) throws {
    if type.rawValue.lowercased().hasPrefix("cloudkit.") {
      throw ServiceError.badRequest("Cannot share - no such record exists to share: type '\(type)' is reserved")
    }
    if type == .users { throw ServiceError.badRequest("records of type 'Users' are made by the service alone") }
    if let objection = NameRule.recordType.objection(to: type.rawValue) {
      throw ServiceError.badRequest("record type \(objection)")
    }
  }
}

extension ReadTransaction {
  func schema(
    of type: RecordType, container: ContainerID, environment: Environment
  ) throws -> RecordTypeSchema? {
    let key = schemaKey(of: type, container: container, environment: environment)
    return try entity(.recordType, key: key).map { try RecordTypeSchema(type, in: environment, reading: $0.value) }
  }

  /// All record types of a container's environment, by name.
  func schemas(container: ContainerID, environment: Environment) throws -> [RecordTypeSchema] {
    let owner = schemaOwner(container: container, environment: environment)
    return try entities(.recordType, owner: owner).map { entity in
      let name = RecordType(String(entity.key.dropFirst(owner.count + 1)))
      return try RecordTypeSchema(name, in: environment, reading: entity.value)
    }
  }
}

extension WriteTransaction {
  func put(_ schema: RecordTypeSchema, container: ContainerID) throws {
    try put(
      Entity(
        .recordType, key: schemaKey(of: schema.name, container: container, environment: schema.environment),
        owner: schemaOwner(container: container, environment: schema.environment), value: schema.value))
  }
}

private func schemaOwner(container: ContainerID, environment: Environment) -> String {
  "\(container)/\(environment)"
}

private func schemaKey(of type: RecordType, container: ContainerID, environment: Environment) -> String {
  "\(schemaOwner(container: container, environment: environment))/\(type)"
}
