import VirgaModel
import VirgaSchema
import VirgaWire

/// A record type of a container's environment: its fields, each with the type that its first save or a schema fixed,
/// their indexes, and the grants.
struct RecordTypeSchema: Hashable {
  let container: ContainerID
  let environment: Environment
  /// The fields are in the order of their names; a system field is among them if it has indexes.
  private(set) var definition: SchemaRecordType
  /// Whether it holds something that the store does not.
  private(set) var isChanged: Bool

  var name: RecordType { definition.name }
  var fields: [SchemaField] { definition.fields }

  /// A type that is not yet stored, with the usual grants.
  init(_ name: RecordType, of container: ContainerID, in environment: Environment) {
    self.init(SchemaRecordType(name, grants: SchemaGrant.usual), of: container, in: environment)
  }

  /// A type as a schema defines it.
  init(_ definition: SchemaRecordType, of container: ContainerID, in environment: Environment) {
    self.container = container
    self.environment = environment
    self.definition = definition
    self.definition.fields = definition.fields
      .filter { !$0.indexes.isEmpty || SystemFields.type(of: $0.name) == nil }.sorted { $0.name < $1.name }
    isChanged = true
  }

  /// A type as it is stored.
  init(_ name: RecordType, of container: ContainerID, in environment: Environment, reading value: [UInt8]) throws {
    self.container = container
    self.environment = environment
    definition = try SchemaRecordType(name, stored: value)
    isChanged = false
  }

  /// A field that was declared or saved.
  subscript(name: FieldName) -> SchemaField? {
    let index = insertionIndex(of: name)
    return index < fields.count && fields[index].name == name ? fields[index] : nil
  }

  /// What a query may look for: a field that was declared or saved, or one of the system's.
  func queriedField(_ name: FieldName) -> SchemaField? {
    self[name] ?? SystemFields.type(of: name).map { SchemaField(name, $0) }
  }

  /// Fixes a field's type for good.
  mutating func add(_ field: SchemaField) {
    let index = insertionIndex(of: field.name)
    precondition(index == fields.count || fields[index].name != field.name, "the type of a field never changes")
    definition.fields.insert(field, at: index)
    isChanged = true
  }

  private func insertionIndex(of name: FieldName) -> Int {
    var low = 0
    var high = fields.count
    while low < high {
      let middle = (low + high) / 2
      if fields[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
