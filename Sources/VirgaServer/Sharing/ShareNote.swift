import VirgaModel

/// Records of a zone that a participant began or ceased to see though they did not change, or that are gone.
///
/// Each name has a number of its own in the zone's sequence, so that the participant's feed is the zone's own with
/// these in between. What a name means is found out when it is read: a record that can be seen is told as it is, any
/// other as deleted.
struct ShareNote: Hashable {
  let zoneKey: String
  let first: Int64
  let names: [RecordName]

  var entity: Entity {
    let digits = String(first, radix: 16)
    let key = "\(zoneKey)/\(String(repeating: "0", count: 16 - digits.utf8.count))\(digits)"
    return Entity(
      .shareNote, key: key, owner: zoneKey, value: Array(names.map(\.rawValue).joined(separator: "\n").utf8))
  }

  init(zoneKey: String, first: Int64, names: [RecordName]) {
    self.zoneKey = zoneKey
    self.first = first
    self.names = names
  }

  init(_ entity: Entity) throws {
    guard let first = Int64(entity.key.suffix(16), radix: 16) else {
      throw StoreError.damaged("share note \(entity.key) cannot be read")
    }
    self.init(
      zoneKey: entity.owner, first: first,
      names: String(decoding: entity.value, as: UTF8.self).split(separator: "\n").map { RecordName(String($0)) })
  }
}

extension ReadTransaction {
  /// The names noted for a shared zone with numbers greater than `position`, ascending.
  func shareNotes(of zone: SharedZone, after position: Int64) throws -> [(sequence: Int64, name: RecordName)] {
    try entities(.shareNote, owner: zone.key).flatMap { entity in
      let note = try ShareNote(entity)
      return note.names.enumerated().map { (note.first + Int64($0.offset), $0.element) }
    }.filter { $0.0 > position }
  }
}
