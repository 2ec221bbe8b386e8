import VirgaModel
import VirgaWire

extension Service {
  func listZones(in transaction: any ReadTransaction, context: CallContext) throws -> Reply {
    let access = try Access(context)
    guard let database = access.database else { return try listSharedZones(access, in: transaction) }
    let custom = try transaction.liveZones(of: database).filter { $0.name != .default }.sorted { $0.name < $1.name }
    let standard = ZoneEnvelope(id: ZoneID(.default, owner: access.owner), syncToken: nil, isAtomic: false)
    return .zones([.zone(standard)] + custom.map { .zone($0.envelope(owner: access.owner)) })
  }

  func lookUpZones(
    _ request: ZonesLookupRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let access = try Access(context)
    // To open a zone of somebody else reads its shares, so one that is named again is not opened again.
    var known: [ZoneID: ZoneEnvelope] = [:]
    return .zones(
      try request.zones.map { selector in
        try itemResult(failure: { .failure(selector, $0) }) {
          let id = try access.zoneID(selector)
          if let envelope = known[id] { return .zone(envelope) }
          let envelope = try access.openZone(selector, in: transaction).envelope
          known[id] = envelope
          return .zone(envelope)
        }
      })
  }
}

extension OpenZone {
  var envelope: ZoneEnvelope {
    guard !isDefault, let row = feedRow else { return ZoneEnvelope(id: id, syncToken: nil, isAtomic: false) }
    return row.envelope(owner: id.owner, tokens: tokens)
  }
}

extension ZoneRow {
  func envelope(owner: UserName, tokens: TokenCipher? = nil) -> ZoneEnvelope {
    envelope(owner: owner, isDeleted: isDeleted, tokens: tokens)
  }

  /// - Parameter isDeleted: True of a zone that lives for its last deletion.
  func envelope(owner: UserName, isDeleted: Bool, tokens: TokenCipher? = nil) -> ZoneEnvelope {
    let isCustom = name != .default
    let token = isCustom && !isDeleted ? tokens.text(of: token(at: sequence)) : nil
    var envelope = ZoneEnvelope(
      id: ZoneID(name, owner: owner), syncToken: token, isAtomic: isCustom, isDeleted: isDeleted)
    if isDeleted { envelope.deletionReason = deletionReason }
    return envelope
  }

  func token(at position: Int64, horizon: Int64 = 0, feed: ChangeToken.Feed = .zone) -> ChangeToken {
    ChangeToken(feed: feed, incarnation: incarnation, position: position, horizon: horizon)
  }
}

extension ReadTransaction {
  /// The rows of a database's zones, deleted ones too, in the order of their last change.
  func allZones(of database: DatabaseKey, after position: Int64 = 0) throws -> [ZoneRow] {
    let step = 1_000
    var rows = try zones(in: database, after: position, limit: step)
    while !rows.isEmpty && rows.count % step == 0 {
      let more = try zones(in: database, after: rows[rows.count - 1].databaseSequence, limit: step)
      if more.isEmpty { break }
      rows += more
    }
    return rows
  }

  func liveZones(of database: DatabaseKey) throws -> [ZoneRow] {
    try allZones(of: database).filter { !$0.isDeleted }
  }
}
