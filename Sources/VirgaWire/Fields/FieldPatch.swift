import VirgaModel

/// What a request says of a record's fields, in the form in which they are stored: worked out from the request alone.
///
/// Stored fields are members `"name":{"value":…,"type":"…"}` in the order of their names' bytes, without spaces. A save
/// copies the members that it does not name, and does not read them.
package struct FieldPatch: Sendable {
  private struct Member {
    let name: FieldName
    /// Where it lies in `json`; empty for a field that is cleared.
    let range: Range<Int>
  }

  /// The fields of a record that has no others.
  package let json: [UInt8]
  private let members: [Member]

  /// - Parameter changes: A number that is not finite, which the rules refuse, is taken for none.
  package init(_ changes: [FieldChange]) {
    var members: [Member] = []
    members.reserveCapacity(changes.count)
    var writer = JSONWriter(capacity: changes.reduce(2) { $0 + ($1.field?.storedCapacity ?? 0) })
    writer.beginObject()
    func add(_ change: FieldChange) {
      let start = writer.bytes.count
      if let field = change.field, field.value.isFinite { field.inOwnZone.writeStored(change.name, into: &writer) }
      // The comma between two members belongs to neither.
      let comma = start > 1 && writer.bytes.count > start ? 1 : 0
      members.append(Member(name: change.name, range: (start + comma)..<writer.bytes.count))
    }
    if zip(changes, changes.dropFirst()).allSatisfy({ $0.name < $1.name }) {
      for change in changes { add(change) }
    } else {
      for change in changes.sorted(by: { $0.name < $1.name }) { add(change) }
    }
    writer.endObject()
    self.members = members
    json = writer.bytes
  }

  /// A record's stored fields.
  package struct Result {
    package var json: [UInt8]
    package var count: Int
    /// Whether one of them is encrypted.
    package var hasEncrypted: Bool
  }

  /// The fields of a new record, or of one that keeps nothing.
  package var fields: Result {
    Result(
      json: json, count: members.count { !$0.range.isEmpty },
      hasEncrypted: members.contains { Self.isEncrypted(json[$0.range]) })
  }

  /// - Parameter stored: The fields of a record, as a store keeps them.
  package func applied(to stored: [UInt8]) throws(WireError) -> Result {
    var result = Result(json: [], count: 0, hasEncrypted: false)
    result.json.reserveCapacity(stored.count + json.count)
    result.json.append(UInt8(ascii: "{"))
    var rest = members[...]
    var reader = JSONReader(stored)
    try reader.beginObject()
    while try reader.passKey() {
      while let member = rest.first, reader.keyFollows(member.name.rawValue) {
        result.append(json[member.range])
        rest.removeFirst()
      }
      try reader.skipValue()
      if let member = rest.first, !reader.keyPrecedes(member.name.rawValue) {
        result.append(json[member.range])
        rest.removeFirst()
      } else {
        result.append(stored[reader.keyOffset..<reader.offset])
      }
    }
    for member in rest { result.append(json[member.range]) }
    result.json.append(UInt8(ascii: "}"))
    return result
  }

  fileprivate static func isEncrypted(_ member: ArraySlice<UInt8>) -> Bool {
    // The mark comes last, and nothing else ends like it.
    member.count > 20 && member[member.endIndex - 2] == UInt8(ascii: "e") && member.suffix(20).elementsEqual(mark)
  }

  private static let mark = Array(#","isEncrypted":true}"#.utf8)
}

extension FieldPatch.Result {
  fileprivate mutating func append(_ member: ArraySlice<UInt8>) {
    if member.isEmpty { return }
    if count > 0 { json.append(UInt8(ascii: ",")) }
    json.append(contentsOf: member)
    count += 1
    if FieldPatch.isEncrypted(member) { hasEncrypted = true }
  }
}

extension Field {
  /// Writes a member as a store keeps it: assets without receipts and download URLs.
  func writeStored(_ name: FieldName, into writer: inout JSONWriter) {
    writer.key(name.rawValue)
    switch value {
    case .asset(let asset): Field(.asset(asset.stored), isEncrypted: isEncrypted).write(into: &writer)
    case .assetList(let assets): Field(.assetList(assets.map(\.stored)), isEncrypted: isEncrypted).write(into: &writer)
    default: write(into: &writer)
    }
  }

  /// About as many bytes as the member takes, so that long texts do not make the writer grow.
  var storedCapacity: Int {
    switch value {
    case .string(let text): 64 + text.utf8.count
    case .bytes(let bytes): 64 + bytes.count * 4 / 3
    default: 64
    }
  }
}

extension Field {
  /// References do not cross zones, so they are stored without one.
  fileprivate var inOwnZone: Field {
    func bare(_ reference: Reference) -> Reference {
      Reference(recordName: reference.recordName, action: reference.action)
    }
    return switch value {
    case .reference(let reference): Field(.reference(bare(reference)), isEncrypted: isEncrypted)
    case .referenceList(let list): Field(.referenceList(list.map(bare)), isEncrypted: isEncrypted)
    default: self
    }
  }
}

extension FieldValue {
  fileprivate var isFinite: Bool {
    switch self {
    case .double(let number): number.isFinite
    case .doubleList(let list): list.allSatisfy(\.isFinite)
    case .location(let place): place.isFinite
    case .locationList(let list): list.allSatisfy(\.isFinite)
    default: true
    }
  }
}

extension Location {
  fileprivate var isFinite: Bool {
    [latitude, longitude, horizontalAccuracy, verticalAccuracy, altitude, speed, course].allSatisfy {
      $0?.isFinite ?? true
    }
  }
}
