import VirgaModel
import VirgaWire

/// The fields of a record type, each with the type that its first save fixed.
///
/// As an entity's value it is text: a line for each field, its name, a space and the schema name of its type.
struct RecordTypeSchema: Hashable {
  struct Field: Hashable {
    var name: FieldName
    var type: FieldType
  }

  let name: RecordType
  let environment: Environment
  /// In the order of their names.
  private(set) var fields: [Field] = []
  /// Whether it holds something that the store does not.
  private(set) var isChanged: Bool

  /// A type that is not yet stored.
  init(_ name: RecordType, in environment: Environment) {
    self.name = name
    self.environment = environment
    isChanged = true
  }

  init(_ name: RecordType, in environment: Environment, reading value: [UInt8]) throws {
    self.name = name
    self.environment = environment
    isChanged = false
    for line in value.split(separator: UInt8(ascii: "\n")) {
      guard let space = line.firstIndex(of: UInt8(ascii: " ")),
        let type = FieldType(schemaName: String(decoding: line[line.index(after: space)...], as: UTF8.self))
      else { throw StoreError.damaged("the schema of type '\(name)' cannot be read") }
      fields.append(Field(name: FieldName(String(decoding: line[..<space], as: UTF8.self)), type: type))
    }
  }

  var value: [UInt8] {
    var text: [UInt8] = []
    for field in fields {
      text += field.name.rawValue.utf8
      text.append(UInt8(ascii: " "))
      text += field.type.schemaName.utf8
      text.append(UInt8(ascii: "\n"))
    }
    return text
  }

  subscript(name: FieldName) -> FieldType? {
    let index = insertionIndex(of: name)
    return index < fields.count && fields[index].name == name ? fields[index].type : nil
  }

  /// Fixes a field's type for good.
  mutating func add(_ name: FieldName, _ type: FieldType) {
    let index = insertionIndex(of: name)
    precondition(index == fields.count || fields[index].name != name, "the type of a field never changes")
    fields.insert(Field(name: name, type: type), at: index)
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
