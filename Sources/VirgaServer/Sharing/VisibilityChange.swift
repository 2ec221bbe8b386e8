import VirgaModel

/// Records of a zone that a participant began or ceased to see though they did not change, or that are gone.
///
/// Each name has a number of its own in the zone's sequence, so that the participant's feed is the zone's own with
/// these in between. What a name means is found out when it is read: a record that can be seen is told as it is, any
/// other as deleted.
struct VisibilityChange: Hashable {
  let zoneKey: String
  let first: Int64
  let names: [RecordName]

  var entity: Entity {
    Entity(
      .visibilityChange, key: Self.key(zoneKey, first: first), owner: zoneKey,
      value: Array(names.map(\.rawValue).joined(separator: "\n").utf8))
  }

  fileprivate static func key(_ zoneKey: String, first: Int64) -> String {
    let digits = String(first, radix: 16)
    return "\(zoneKey)/\(String(repeating: "0", count: 16 - digits.utf8.count))\(digits)"
  }

  init(zoneKey: String, first: Int64, names: [RecordName]) {
    self.zoneKey = zoneKey
    self.first = first
    self.names = names
  }

  init(_ entity: Entity) throws {
    self.init(
      zoneKey: entity.owner, first: try Self.first(of: entity),
      names: String(decoding: entity.value, as: UTF8.self).split(separator: "\n").map { RecordName(String($0)) })
  }

  fileprivate static func first(of entity: Entity) throws -> Int64 {
    guard let first = Int64(entity.key.suffix(16), radix: 16) else {
      throw StoreError.damaged("share note \(entity.key) cannot be read")
    }
    return first
  }
}

/// The names noted for a shared zone behind a position, ascending by their numbers. Notes are read as they are reached.
struct VisibilityChanges {
  private let position: Int64
  private var entities: ArraySlice<Entity>
  private var note: VisibilityChange?
  /// Which of the note's names comes next.
  private var index = 0

  init(_ entities: [Entity], after position: Int64) throws {
    self.position = position
    // Each note ends before the next begins, so of those that begin by then only the last can reach beyond.
    let start = try entities.lastIndex { try VisibilityChange.first(of: $0) <= position + 1 }
    self.entities = entities[(start ?? 0)...]
  }

  mutating func next() throws -> (sequence: Int64, name: RecordName)? {
    while true {
      if let note, index < note.names.count {
        defer { index += 1 }
        return (note.first + Int64(index), note.names[index])
      }
      guard let entity = entities.popFirst() else { return nil }
      let next = try VisibilityChange(entity)
      note = next
      index = max(0, Int(position + 1 - next.first))
    }
  }
}

extension ReadTransaction {
  /// The names noted for a shared zone with numbers greater than `position`.
  func visibilityChanges(of zone: SharedZone, after position: Int64) throws -> VisibilityChanges {
    // A note that begins before this ends by the position.
    let first = max(0, position + 2 - Int64(Limits.shareNotesMax))
    let entities = try entities(.visibilityChange, owner: zone.key, from: VisibilityChange.key(zone.key, first: first))
    return try VisibilityChanges(entities, after: position)
  }
}
