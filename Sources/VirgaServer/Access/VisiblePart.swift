import VirgaModel
import VirgaWire

/// Which records of a type a caller may see in a zone.
enum VisiblePart {
  case all
  case none
  /// Those that a user made, in the public database.
  case madeBy(UserName)
  /// Those that a part of another user's zone is shared with.
  case below(VisibleScope)

  /// Whether there may be records that the caller is to learn nothing of: neither what they say, nor where they lie in an
  /// order, nor how many there are.
  var hidesSome: Bool { if case .all = self { false } else { true } }
}

extension OpenZone {
  func visiblePart(of type: RecordType) throws -> VisiblePart {
    if let reach { return reach.isWholeZone ? .all : .below(reach) }
    guard let grants else { return .all }
    return try grants.visiblePart(of: type)
  }
}

extension PublicGrants {
  func visiblePart(of type: RecordType) throws -> VisiblePart {
    if try rights(to: type, madeBy: nil).contains(.read) { return .all }
    guard let user, try rights(to: type, madeBy: user).contains(.read) else { return .none }
    return .madeBy(user)
  }
}

extension VisibleScope {
  /// The names of all that a hierarchy's participant may see, and perhaps of some more; `nil` for more than `limit`.
  func names(in row: ZoneRow, atMost limit: Int, _ transaction: any ReadTransaction) throws -> [RecordName]? {
    var names: [RecordName] = []
    for share in zone.shares {
      guard let record = try transaction.liveShare(share, in: row) else { continue }
      names.append(share)
      guard let root = record.share?.recordName else { continue }
      guard let below = try transaction.descendants(of: [root], in: row, atMost: limit - names.count) else {
        return nil
      }
      names.append(root)
      names += below
      if names.count > limit { return nil }
    }
    return Set(names).sorted()
  }
}
