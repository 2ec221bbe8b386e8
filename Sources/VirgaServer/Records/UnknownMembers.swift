import VirgaWire

/// Members of a record that this version does not know, as JSON `"key":value,…`.
enum UnknownMembers {
  /// The members of both; of two with one key the new one. They come in the order of their keys' bytes.
  static func merge(_ old: [UInt8], _ new: [UInt8]) throws -> [UInt8] {
    if new.isEmpty { return old }
    if old.isEmpty { return new }
    var members: [String: [UInt8]]
    do {
      members = try read(old).merging(read(new)) { $1 }
    } catch let error as WireError {
      throw ServiceError(error)
    }
    let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return Array(sorted.map(\.value).joined(separator: [UInt8(ascii: ",")]))
  }

  private static func read(_ members: [UInt8]) throws -> [String: [UInt8]] {
    var reader = JSONReader([UInt8(ascii: "{")] + members + [UInt8(ascii: "}")])
    var found: [String: [UInt8]] = [:]
    try reader.beginObject()
    while let key = try reader.nextKey() { found[key] = try reader.readRawMember() }
    return found
  }
}
