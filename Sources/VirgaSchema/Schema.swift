package import VirgaModel

/// What a container's environment knows: record types with their fields, and roles.
///
/// It keeps the order in which it was written. `completed()` is the one form in which two schemas that mean the same are
/// equal; it is also how a server exports one.
package struct Schema: Hashable, Sendable {
  /// The roles of the container's own.
  package var roles: [RoleName]
  package var recordTypes: [SchemaRecordType]

  package init(roles: [RoleName] = [], recordTypes: [SchemaRecordType] = []) {
    self.roles = roles
    self.recordTypes = recordTypes
  }

  package subscript(type: RecordType) -> SchemaRecordType? { recordTypes.first { $0.name == type } }
}

/// The name of a role: one that every container has, or one that its schema creates.
package struct RoleName: Identifier {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// Anybody, signed in or not.
  package static let world: RoleName = "_world"
  /// Anybody who is signed in, and servers with a key.
  package static let icloud: RoleName = "_icloud"
  /// Whoever created the record.
  package static let creator: RoleName = "_creator"

  package static let system: [RoleName] = [.creator, .icloud, .world]
}

/// A record type: fields, of which the system's are stated only if they have indexes, and who may do what.
package struct SchemaRecordType: Hashable, Sendable {
  package var name: RecordType
  package var fields: [SchemaField]
  /// Several may be to the same role.
  package var grants: [SchemaGrant]

  package init(_ name: RecordType, fields: [SchemaField] = [], grants: [SchemaGrant] = []) {
    self.name = name
    self.fields = fields
    self.grants = grants
  }

  package subscript(field: FieldName) -> SchemaField? { fields.first { $0.name == field } }

  /// What a role may do with records of this type in the public database, by this role alone.
  package func rights(of role: RoleName) -> SchemaRights {
    grants.reduce(into: []) { if $1.role == role { $0.formUnion($1.rights) } }
  }
}

package struct SchemaField: Hashable, Sendable {
  package var name: FieldName
  package var type: SchemaDataType
  package var indexes: SchemaIndexes

  package init(_ name: FieldName, _ type: SchemaDataType, _ indexes: SchemaIndexes = []) {
    self.name = name
    self.type = type
    self.indexes = indexes
  }
}

package struct SchemaGrant: Hashable, Sendable {
  package var rights: SchemaRights
  package var role: RoleName

  package init(_ rights: SchemaRights, to role: RoleName) {
    self.rights = rights
    self.role = role
  }

  /// What a type that nobody declared grants.
  package static let usual = [
    SchemaGrant(.write, to: .creator), SchemaGrant(.create, to: .icloud), SchemaGrant(.read, to: .world),
  ]
}

/// What a role may do; WRITE covers changing and deleting.
package struct SchemaRights: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let read = SchemaRights(rawValue: 1)
  package static let create = SchemaRights(rawValue: 2)
  package static let write = SchemaRights(rawValue: 4)

  /// Each right with its word, in the order in which a schema writes them.
  package static let words: [(right: SchemaRights, word: String)] = [
    (.read, "READ"), (.create, "CREATE"), (.write, "WRITE"),
  ]

  package var words: [String] { Self.words.filter { contains($0.right) }.map(\.word) }
}
