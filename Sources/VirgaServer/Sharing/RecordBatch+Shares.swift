import VirgaModel
import VirgaWire

// A share and its root name each other, so the beginning and the end of a share change both. A root that the request
// does not name changes all the same; a tag that its writer has seen before still counts (`isCurrent`).

extension RecordBatch {
  /// Plans the save of a share's record; what concerns its root follows in `beginShares`.
  mutating func planShare(
    _ entry: Entry, newest: StoredRecord?, live: StoredRecord?, context: inout CallContext
  ) throws -> PlannedSave {
    guard access.scope != .public, !zone.isDefault, let user = access.user else {
      throw ServiceError.badRequest("records of the public database and of default zones cannot be shared")
    }
    let change = entry.operation.record
    var state = try live.map { try ShareState($0) } ?? ShareState(owner: user, id: context.makeUUID())
    try state.apply(change.shareChange, context: &context)
    try state.keep(change.unknownMembers)
    let fields = try shareFields(change, live: live, replaces: entry.operation.kind.replaces)
    let (json, participants) = (fields.storedJSON, state.unknownMembers)
    try Limits.check(
      json.count + participants.count, atMost: Limits.recordBytesMax, "bytes in share '\(entry.name)'")
    let stamp = context.stamp(by: user, after: newest?.modified)
    var record = StoredRecord(
      name: entry.name, type: .share, sequence: 0, created: live?.created ?? stamp, modified: stamp,
      fieldsJSON: fields.contains { $0.field.isEncrypted } ? try seal.seal(json, of: entry.name) : json)
    record.share = live?.share
    record.shortGUID = live?.shortGUID
    record.unknownMembers = participants
    let save = PlannedSave(record: record, previous: newest, newReferences: [], receipts: [])
    save.shareRoot = change.shareChange.root ?? rootNaming(entry.name)
    if let live, let root = save.shareRoot, live.share?.recordName != root.name {
      throw ServiceError.badRequest("share '\(entry.name)' belongs to another record than '\(root.name)'")
    }
    try schemas.noteShare()
    return save
  }

  /// The record of the request that names the share as its own.
  private func rootNaming(_ share: RecordName) -> ShareChange.Root? {
    entries.first { $0.operation.record.share?.recordName == share && $0.operation.record.type != .share }
      .map { ShareChange.Root($0.name) }
  }

  /// A share has fields that no schema knows: a title, a picture, and what an app adds.
  private func shareFields(_ change: RecordChange, live: StoredRecord?, replaces: Bool) throws -> Fields {
    var fields = replaces ? Fields() : try live.map { try seal.fields(of: $0) } ?? Fields()
    for given in change.fields {
      let bare = FieldName(String(given.name.rawValue.filter { $0 != "." }))
      if let objection = NameRule.fieldName.objection(to: bare.rawValue) {
        throw ServiceError.badRequest("field name '\(bare.rawValue.prefix(100))' \(objection)")
      }
      switch given.field?.value {
      case .asset, .assetList, .reference, .referenceList:
        throw ServiceError.badRequest("field '\(given.name)' of a share is an asset or a reference")
      default: fields[given.name] = given.field
      }
    }
    try Limits.check(fields.count, atMost: Limits.fieldsPerRecordMax, "fields in a share")
    return fields
  }

  // MARK: Beginning

  /// Joins each share that the request makes to its root. From then on a share fails only with a root that the request
  /// names; what else could refuse it has been asked before.
  mutating func beginShares(context: inout CallContext) throws {
    let begun = entries.filter { if case .save(let save) = $0.outcome { save.beginsShare } else { false } }
    if begun.isEmpty { return }
    var others = try liveShares()
    for entry in begun {
      guard case .save(let save) = entry.outcome else { continue }
      do {
        try begin(save, named: entry.name, others: &others, context: &context)
        others.names.insert(entry.name)
      } catch let error as ServiceError {
        entry.outcome = .failure(RecordFailure(entry.name, error))
      }
    }
  }

  /// What a share that begins has to know of the zone's others. Each record above their roots is looked at once, however
  /// many shares there are.
  private struct OtherShares {
    var names: Set<RecordName> = []
    /// The records above their roots.
    var above: Set<RecordName> = []
    /// Whether a record lies in one of them, as far as that was asked. Above what was found to lie in none no share
    /// begins later, since what was asked for is then shared itself.
    var isInside: [RecordName: Bool] = [:]
  }

  /// The zone's shares that the request does not delete.
  private func liveShares() throws -> OtherShares {
    var others = OtherShares()
    guard let row = zone.row else { return others }
    for share in try transaction.liveShares(of: row) {
      if let index = indexByName[share.name], case .delete = entries[index].outcome { continue }
      others.names.insert(share.name)
      var next = try share.share.flatMap { try planned($0.recordName)?.parent?.recordName }
      while let name = next, others.above.insert(name).inserted { next = try planned(name)?.parent?.recordName }
    }
    return others
  }

  private mutating func begin(
    _ save: PlannedSave, named name: RecordName, others: inout OtherShares, context: inout CallContext
  ) throws {
    // A root that names its share may have come after it.
    guard let stated = save.shareRoot ?? rootNaming(name) else {
      guard name == .zoneShare else { throw ServiceError.badRequest(Reason.noRecordToShare) }
      guard others.names.isEmpty else {
        throw ServiceError.badRequest("\(Reason.alreadyShared) of zone '\(zone.id.name)'")
      }
      return setAddress(context.makeShortGUID(), of: save, root: nil)
    }
    guard name != .zoneShare else { throw ServiceError.badRequest("the share of a zone has no root record") }
    if let index = indexByName[stated.name], case .failure = entries[index].outcome {
      // Of an atomic batch nothing is written anyway; who only names a failed record is not to blame.
      if isAtomic { return }
      throw ServiceError.badRequest("\(Reason.noRecordToShare): '\(stated.name)'")
    }
    guard var root = try planned(stated.name), root.type != .share else {
      throw ServiceError.badRequest("\(Reason.noRecordToShare): '\(stated.name)'")
    }
    let isNamed = indexByName[stated.name] != nil
    if let tag = stated.tag, !isNamed, try !isCurrent(tag, root) {
      throw ServiceError(.conflict, Reason.staleTag)
    }
    if try isShared(root, &others) {
      throw ServiceError.badRequest("\(Reason.alreadyShared): '\(stated.name)'")
    }
    let shortGUID = try root.shortGUID.flatMap { try isFree($0) ? $0 : nil } ?? context.makeShortGUID()
    root.share = Reference(recordName: name)
    root.shortGUID = shortGUID
    try setPlanned(root, context: context)
    save.record.share = Reference(recordName: root.name)
    setAddress(shortGUID, of: save, root: root.name)
  }

  /// Whether no share has ever had a short GUID: who has the address of one that ended is not let in by it again.
  private func isFree(_ shortGUID: String) throws -> Bool {
    try transaction.shareAddress(
      shortGUID, container: zone.database.container, environment: zone.database.environment) == nil
  }

  private mutating func setAddress(_ shortGUID: String, of save: PlannedSave, root: RecordName?) {
    save.record.shortGUID = shortGUID
    newAddresses.append(
      ShareAddress(shortGUID, database: zone.database, zone: zone.id.name, share: save.record.name, root: root))
  }

  /// A record is in one share only: its own, that of a record above it, or one of a record below it.
  private func isShared(_ root: StoredRecord, _ others: inout OtherShares) throws -> Bool {
    if others.names.contains(.zoneShare) || others.above.contains(root.name) { return true }
    if let share = root.share, others.names.contains(share.recordName) { return true }
    var path: [RecordName] = []
    var next = root.parent?.recordName
    var isInside = false
    while let name = next {
      if let known = others.isInside[name] {
        isInside = known
        break
      }
      // A ring of parents belongs to nothing.
      others.isInside[name] = false
      path.append(name)
      let record = try planned(name)
      if let share = record?.share, others.names.contains(share.recordName) {
        isInside = true
        break
      }
      next = record?.parent?.recordName
    }
    for name in path { others.isInside[name] = isInside }
    if !isInside { others.above.formUnion(path) }
    return isInside
  }

  /// The record as it will be when the batch is done, if it will be there.
  private func planned(_ name: RecordName) throws -> StoredRecord? {
    if let index = indexByName[name] {
      switch entries[index].outcome {
      case .save(let save): return save.record
      case .delete, .nothing: return nil
      case .leave, .failure: break
      }
    }
    if let record = implied[name] { return record }
    guard let row = zone.row, let record = try transaction.record(name, in: row), !record.isDeleted else { return nil }
    return record
  }

  var plannedTree: ShareTree { ShareTree { try planned($0) } }

  private mutating func setPlanned(_ record: StoredRecord, context: CallContext) throws {
    if let index = indexByName[record.name], case .save(let save) = entries[index].outcome {
      save.record.share = record.share
      save.record.shortGUID = record.shortGUID
    } else {
      implied[record.name] = try implied[record.name] == nil ? renewed(record, context: context) : record
    }
  }

  /// The record as a new version with the same content. What a store does not give back is found in its fields.
  private func renewed(_ record: StoredRecord, context: CallContext) throws -> StoredRecord {
    var next = record
    next.modified = context.stamp(by: access.user ?? .defaultOwner, after: record.modified)
    let fields = record.hasAssets || record.hasReferences ? try seal.fields(of: record) : Fields()
    (next.assetChecksums, next.references) = fields.claims(parent: record.parent)
    return next
  }

  // MARK: Ending

  /// Finds the shares that end with the batch: those that are deleted, and those whose roots are.
  mutating func endShares(context: CallContext) throws {
    let gone = Set(cascaded)
    guard let row = zone.row, row.sharing == .hierarchies else { return failSharesWithoutRoot(gone) }
    for entry in entries {
      guard case .delete(let record) = entry.outcome else { continue }
      if record.type == .share {
        try clearRoot(of: record, gone, context: context)
      } else {
        try endShare(ofRoot: record, in: row)
      }
    }
    for name in cascaded {
      guard let record = try transaction.record(name, in: row), !record.isDeleted else { continue }
      try endShare(ofRoot: record, in: row)
    }
    failSharesWithoutRoot(gone)
  }

  private mutating func clearRoot(of share: StoredRecord, _ gone: Set<RecordName>, context: CallContext) throws {
    guard let name = share.share?.recordName, !gone.contains(name), var root = try planned(name),
      root.share?.recordName == share.name
    else { return }
    root.share = nil
    try setPlanned(root, context: context)
  }

  private mutating func endShare(ofRoot root: StoredRecord, in row: ZoneRow) throws {
    guard let name = root.share?.recordName, let share = try transaction.record(name, in: row), !share.isDeleted,
      share.type == .share
    else { return }
    guard let index = indexByName[name] else { return endedShares.append(share) }
    switch entries[index].outcome {
    case .delete: break
    // A share that is saved goes with its root all the same.
    case .save: entries[index].outcome = .delete(share)
    case .leave, .nothing, .failure: endedShares.append(share)
    }
  }

  /// After its share was joined to it, a root may turn out to go with a deleted record, or, in a batch that is not atomic,
  /// fail.
  /// - Parameter gone: What goes with deleted records.
  private mutating func failSharesWithoutRoot(_ gone: Set<RecordName>) {
    if newAddresses.isEmpty { return }
    for entry in entries {
      guard case .save(let save) = entry.outcome, save.beginsShare, let root = save.record.share?.recordName,
        gone.contains(root) || indexByName[root].map({ lacksRecord(entries[$0]) }) ?? false
      else { continue }
      let error = ServiceError.badRequest("\(Reason.noRecordToShare): '\(root)'")
      entry.outcome = .failure(RecordFailure(entry.name, error))
      newAddresses.removeAll { $0.share == entry.name }
    }
  }

  /// Whether the record of an entry will not be there. Of an atomic batch nothing is written anyway if an entry failed; a
  /// share is not to blame for its root then.
  private func lacksRecord(_ entry: Entry) -> Bool {
    switch entry.outcome {
    case .save, .leave: false
    case .delete, .nothing: true
    case .failure: !isAtomic
    }
  }

  // MARK: Participants

  /// Fails what a participant would write to places where they may not write.
  func checkVisibleScope() throws {
    guard let reach = zone.reach else { return }
    let tree = plannedTree
    for entry in entries {
      guard case .save(let save) = entry.outcome, save.record.type != .share else { continue }
      if try reach.grant(for: save.record, in: tree)?.permission == .readWrite { continue }
      let isNew = save.previous?.isDeleted ?? true
      let error = ServiceError(.accessDenied, isNew ? Reason.createNotPermitted : Reason.writeNotPermitted)
      entry.outcome = .failure(RecordFailure(entry.name, error))
    }
  }
}

extension RecordBatch.PlannedSave {
  var isNew: Bool { previous?.isDeleted ?? true }
  var beginsShare: Bool { record.type == .share && isNew }
}
