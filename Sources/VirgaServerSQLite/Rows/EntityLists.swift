import VirgaModel
import VirgaServer

/// What was read from lists of entities, until one of them changes. That there are none is remembered too, so a save in
/// a database without subscribers asks the file for nothing.
struct EntityLists {
  /// Those that every save asks for.
  static let kinds: Set<Entity.Kind> = [.pushToken, .subscription, .watch]
  private static let listsMax = 4_096
  private static let bytesMax = 8 << 20

  private var values: [Key: any Sendable] = [:]
  private var byteCount = 0

  /// Names are part of an owner, and names compare by their bytes.
  struct Key: Hashable {
    let kind: Entity.Kind
    let owner: String

    init(_ kind: Entity.Kind, _ owner: String) {
      self.kind = kind
      self.owner = owner
    }

    static func == (left: Key, right: Key) -> Bool {
      left.kind == right.kind && left.owner.hasSameBytes(as: right.owner)
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(kind)
      owner.hashBytes(into: &hasher)
    }
  }

  var isEmpty: Bool { values.isEmpty }

  subscript(key: Key) -> (any Sendable)? { values[key] }

  /// A full cache begins from nothing.
  mutating func remember(_ value: any Sendable, of entities: [Entity], for key: Key) {
    let bytes = entities.reduce(0) { $0 + $1.key.utf8.count + $1.value.count }
    if values.count >= Self.listsMax || byteCount + bytes > Self.bytesMax { self = EntityLists() }
    values[key] = value
    byteCount += bytes
  }

  mutating func forget(_ key: Key) { values[key] = nil }
}
