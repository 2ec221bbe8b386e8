import VirgaModel
import VirgaSchema

/// A record type as an entity's value: lines of text.
///
/// The first line is the format's number, 2. Then a line for each field, `name<tab>TYPE<tab>indexes`, and one for each
/// grant, `@role<tab>rights`; indexes and rights are the numbers of their sets. The first format had no number and only
/// lines `name TYPE`: it was written when fields came from saves alone, so they have what a save gives.
///
/// Every save reads one, so lines are walked where they lie.
extension SchemaRecordType {
  init(_ name: RecordType, stored value: [UInt8]) throws {
    self.init(name)
    let isFirstFormat = value.first != UInt8(ascii: "2")
    if isFirstFormat { grants = SchemaGrant.usual }
    fields.reserveCapacity(value.count { $0 == UInt8(ascii: "\n") })
    var start = value.startIndex
    while start < value.endIndex {
      let end = value[start...].firstIndex(of: UInt8(ascii: "\n")) ?? value.endIndex
      let line = value[start..<end]
      start = end + 1
      if isFirstFormat {
        fields.append(try Self.fieldOfFirstFormat(line, in: name))
      } else if line.startIndex != value.startIndex {
        try take(line)
      }
    }
  }

  private mutating func take(_ line: ArraySlice<UInt8>) throws {
    guard let tab = line.firstIndex(of: UInt8(ascii: "\t")), let last = line.lastIndex(of: UInt8(ascii: "\t")),
      last == line.endIndex - 2, case let set = line[last + 1] &- UInt8(ascii: "0"), set < 8
    else { throw Self.damage(name) }
    if line[line.startIndex] == UInt8(ascii: "@") {
      guard tab == last else { throw Self.damage(name) }
      let role = RoleName(String(decoding: line[(line.startIndex + 1)..<tab], as: UTF8.self))
      grants.append(SchemaGrant(SchemaRights(rawValue: set), to: role))
    } else {
      guard tab < last, let type = SchemaDataType(name: String(decoding: line[(tab + 1)..<last], as: UTF8.self)) else {
        throw Self.damage(name)
      }
      let field = FieldName(String(decoding: line[..<tab], as: UTF8.self))
      fields.append(SchemaField(field, type, SchemaIndexes(rawValue: set)))
    }
  }

  private static func fieldOfFirstFormat(_ line: ArraySlice<UInt8>, in name: RecordType) throws -> SchemaField {
    guard let space = line.firstIndex(of: UInt8(ascii: " ")),
      let type = SchemaDataType(name: String(decoding: line[line.index(after: space)...], as: UTF8.self))
    else { throw damage(name) }
    return SchemaField(FieldName(String(decoding: line[..<space], as: UTF8.self)), type, type.usualIndexes)
  }

  private static func damage(_ name: RecordType) -> StoreError {
    .damaged("the schema of type '\(name)' cannot be read")
  }

  var stored: [UInt8] {
    var text = "2\n"
    for field in fields { text += "\(field.name)\t\(field.type.name)\t\(field.indexes.rawValue)\n" }
    for grant in grants { text += "@\(grant.role)\t\(grant.rights.rawValue)\n" }
    return Array(text.utf8)
  }
}
