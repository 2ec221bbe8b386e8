import VirgaModel
import VirgaSchema

/// A record type as an entity's value: lines of text.
///
/// The first line is the format's number, 2. Then a line for each field, `name<tab>TYPE<tab>indexes`, and one for each
/// grant, `@role<tab>rights`; indexes and rights are the numbers of their sets. The first format had no number and only
/// lines `name TYPE`: it was written when fields came from saves alone, so they have what a save gives.
extension SchemaRecordType {
  init(_ name: RecordType, stored value: [UInt8]) throws {
    self.init(name)
    var lines = value.split(separator: UInt8(ascii: "\n"))[...]
    guard lines.first?.elementsEqual("2".utf8) == true else {
      for line in lines { fields.append(try Self.fieldOfFirstFormat(line, in: name)) }
      grants = SchemaGrant.usual
      return
    }
    lines.removeFirst()
    fields.reserveCapacity(lines.count)
    for line in lines {
      let parts = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
      guard let head = parts.first, let last = parts.last, last.count == 1,
        let set = last.first.map({ $0 &- UInt8(ascii: "0") }), set < 8
      else { throw Self.damage(name) }
      if head.first == UInt8(ascii: "@") {
        guard parts.count == 2 else { throw Self.damage(name) }
        let role = RoleName(String(decoding: head.dropFirst(), as: UTF8.self))
        grants.append(SchemaGrant(SchemaRights(rawValue: set), to: role))
      } else {
        guard parts.count == 3, let type = SchemaDataType(name: String(decoding: parts[1], as: UTF8.self)) else {
          throw Self.damage(name)
        }
        let field = FieldName(String(decoding: head, as: UTF8.self))
        fields.append(SchemaField(field, type, SchemaIndexes(rawValue: set)))
      }
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
