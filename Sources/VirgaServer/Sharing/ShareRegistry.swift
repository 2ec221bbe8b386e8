import VirgaModel
import VirgaWire

/// Carries what happens to the shares of one zone to their participants: whose view changes, and by what.
///
/// The changes are collected first and told once, when the zone's records have been written. Nothing of it is refused:
/// whoever may leave or end a share can, however much lies in it.
struct ShareRegistry {
  private let transaction: any WriteTransaction
  private var views: [UserName: View] = [:]
  /// The records of each share that was asked for; `nil` for more than can be noted.
  private var contents: [RecordName: [RecordName]?] = [:]

  private struct View {
    var zone: SharedZone
    var names: Set<RecordName> = []
    /// Shares that came or went while the view stays: all of their records are noted.
    var moved: [StoredRecord] = []
    /// Whether its reader begins anew.
    var isRenewed = false
  }

  init(_ transaction: any WriteTransaction) { self.transaction = transaction }

  /// The share has new or changed records; some of them are noted by name.
  mutating func touch(_ state: ShareState, noting names: [RecordName] = [], in row: ZoneRow) throws {
    for user in state.members {
      guard var view = try view(of: user, in: row), !view.zone.isDeleted else { continue }
      view.names.formUnion(names)
      views[user] = view
    }
  }

  /// So much of the share went that those who see it begin anew.
  mutating func renew(_ state: ShareState, in row: ZoneRow) throws {
    for user in state.members {
      guard var view = try view(of: user, in: row), !view.zone.isDeleted else { continue }
      view.isRenewed = true
      views[user] = view
    }
  }

  /// The user sees the share from now on.
  mutating func join(
    _ user: UserName, _ share: StoredRecord, in row: ZoneRow, context: inout CallContext
  ) throws {
    var view =
      try view(of: user, in: row)
      ?? View(zone: SharedZone(of: row.name, in: row.database, for: user, incarnation: context.makeIncarnation()))
    if view.zone.isDeleted {
      view.zone.incarnation = context.makeIncarnation()
    } else if !view.zone.shares.contains(share.name) {
      view.moved.append(share)
    }
    if !view.zone.shares.contains(share.name) { view.zone.shares.append(share.name) }
    views[user] = view
  }

  /// The user sees the share no more. With the last share goes the zone.
  mutating func leave(_ user: UserName, _ share: StoredRecord, in row: ZoneRow) throws {
    guard var view = try view(of: user, in: row), view.zone.shares.contains(share.name) else { return }
    view.zone.shares.removeAll { $0 == share.name }
    view.moved.append(share)
    views[user] = view
  }

  /// The share is over for all.
  mutating func end(_ share: StoredRecord, in row: ZoneRow) throws {
    for user in try ShareState(share).members { try leave(user, share, in: row) }
  }

  /// Writes the views that changed, and gives the names that they note their numbers in the zone's sequence. To be done
  /// while the records below the shares' roots still are.
  /// - Parameter events: What happened to the zone's records.
  mutating func write(row: inout ZoneRow, events: [RecordEvent] = [], context: inout CallContext) throws {
    for user in views.keys.sorted() {
      guard var view = views[user] else { continue }
      if view.zone.isDeleted {
        try removeVisibilityChanges(of: view.zone)
        try KeyRegistry().removeParticipant(user, of: row.name, in: row.database, transaction)
      } else if !view.isRenewed, let names = try names(toNoteIn: view, row) {
        if !names.isEmpty {
          let note = VisibilityChange(zoneKey: view.zone.key, first: row.sequence + 1, names: names)
          row.sequence += Int64(names.count)
          try transaction.put(note.entity)
        }
      } else {
        // Its reader begins anew and finds what there is.
        view.zone.incarnation = context.makeIncarnation()
        try removeVisibilityChanges(of: view.zone)
      }
      try transaction.putChanged(view.zone, events: events, context: &context)
    }
    views = [:]
  }

  /// `nil` for more than can be noted.
  private mutating func names(toNoteIn view: View, _ row: ZoneRow) throws -> [RecordName]? {
    var names = view.names
    for share in view.moved {
      guard let records = try records(of: share, in: row) else { return nil }
      names.formUnion(records)
    }
    return names.count > Limits.shareNotesMax ? nil : names.sorted()
  }

  private func removeVisibilityChanges(of zone: SharedZone) throws {
    for entity in try transaction.entities(.visibilityChange, owner: zone.key) {
      try transaction.removeEntity(.visibilityChange, key: entity.key)
    }
  }

  private func view(of user: UserName, in row: ZoneRow) throws -> View? {
    if let view = views[user] { return view }
    return try transaction.sharedZone(row.name, in: row.database, for: user).map { View(zone: $0) }
  }

  private mutating func records(of share: StoredRecord, in row: ZoneRow) throws -> [RecordName]? {
    guard let root = share.share?.recordName else { return [] }
    if let known = contents[share.name] { return known }
    let below = try transaction.descendants(of: [root], in: row, atMost: Limits.shareNotesMax)
    let records = below.map { [share.name, root] + $0 }
    contents.updateValue(records, forKey: share.name)
    return records
  }
}

extension WriteTransaction {
  /// Writes a new version of a share's record that only tells of other participants, and counts what it takes in the
  /// zone's row. Nobody is kept from joining or leaving by a quota.
  func put(
    _ state: ShareState, of share: StoredRecord, by user: UserName, row: inout ZoneRow, context: CallContext
  ) throws -> StoredRecord {
    var next = share
    row.sequence += 1
    next.sequence = row.sequence
    next.modified = context.stamp(by: user, after: share.modified)
    next.unknownMembers = state.unknownMembers
    row.usedBytes += next.jsonBytes - share.jsonBytes
    try put(next, in: row, replacing: share, keepsVersion: true)
    return next
  }
}
