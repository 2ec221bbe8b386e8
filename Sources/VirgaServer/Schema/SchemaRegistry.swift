import VirgaModel
import VirgaSchema
import VirgaWire

/// The record types that a request meets, each read once.
///
/// A record is planned on a draft of its type, which is kept only if the record was accepted. What the drafts add is
/// stored with the records; if a record fails later for a reference, its type stays as it would have been.
struct SchemaRegistry {
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
  /// - Throws: `badRequest` for a name that no type may have, `notFound` for a type that production does not know.
  /// - Parameter mayBeUsers: Whether the record is there already: nobody else makes users' records.
  mutating func draft(of type: RecordType, mayBeUsers: Bool = false) throws -> RecordTypeSchema {
    // A schema may declare fields of the service's own types, and users change their records; that makes nobody else
    // their author.
    if type != .users || !mayBeUsers { try checkIsOpen(type) }
    if let draft = drafts[type] { return draft }
    if let known = try transaction.schema(of: type, container: container, environment: environment) {
      drafts[type] = known
      return known
    }
    if let objection = NameRule.recordType.objection(to: type.rawValue) {
      throw ServiceError.badRequest("record type '\(type.rawValue.prefix(100))' \(objection)")
    }
    guard environment == .development else {
      // As seen from Apple's service, whose clients look for the code.
      throw ServiceError(
        .notFound, "\(Reason.schemaRefusal) \(type) in \(environment) schema; \(deployHint(of: container))")
    }
    try Limits.check(
      transaction.recordTypeCount(of: container, in: environment) + 1, atMost: Limits.recordTypesPerSchemaMax,
      "record types of container '\(container)'")
    return type == .users
      ? RecordTypeSchema(Schema.usersType, of: container, in: environment)
      : RecordTypeSchema(type, of: container, in: environment)
  }

  /// A share is made: in development its type is in the schema from then on, so that an export can carry it to a service
  /// whose production takes no share without.
  mutating func noteShare() throws {
    guard environment == .development, drafts[.share] == nil else { return }
    drafts[.share] =
      try transaction.schema(of: .share, container: container, environment: environment)
      ?? RecordTypeSchema(Schema.sharesType, of: container, in: environment)
  }

  mutating func keep(_ draft: RecordTypeSchema) { drafts[draft.name] = draft }

  func save(to transaction: any WriteTransaction) throws {
    for draft in drafts.values.filter(\.isChanged).sorted(by: { $0.name < $1.name }) {
      try transaction.put(draft)
    }
  }

  private func checkIsOpen(_ type: RecordType) throws {
    if type == .users { throw ServiceError.badRequest("only the service makes records of type 'Users'") }
    let isReserved =
      type.rawValue.utf8.first.map { $0 | 0x20 } == UInt8(ascii: "c")
      && type.rawValue.lowercased().hasPrefix("cloudkit.")
    if isReserved {
      throw ServiceError.badRequest("Cannot share - no such record exists to share: type '\(type)' is reserved")
    }
  }
}

/// What helps against a refusal by production's schema.
func deployHint(of container: ContainerID) -> String {
  "deploy it from development first: virga schema deploy --container \(container)"
}
