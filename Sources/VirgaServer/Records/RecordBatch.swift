import VirgaModel
import VirgaWire

/// The operations of one request, decided first and done afterwards.
///
/// Each operation is planned on its own; then references and deletions are judged against the zone as it will be once
/// all of them are done, so their order does not matter. A record appears in one operation only.
struct RecordBatch {
  /// An object, as the save it plans is: each step of the batch looks at all entries, and values of this size would be
  /// copied each time.
  final class Entry {
    let operation: RecordOperation
    let name: RecordName
    /// The fields that a new record would have, if they are known already.
    let prepared: [UInt8]?
    var outcome = Outcome.nothing
    /// Whether it is done already; see `writeEarly`.
    var isDone = false

    init(_ operation: RecordOperation, name: RecordName, prepared: [UInt8]?) {
      self.operation = operation
      self.name = name
      self.prepared = prepared
    }
  }

  enum Outcome {
    case save(PlannedSave)
    /// The live record to delete.
    indirect case delete(StoredRecord)
    /// The share that the caller, a participant, leaves.
    indirect case leave(StoredRecord)
    /// The record to delete is not there.
    case nothing
    indirect case failure(RecordFailure)
  }

  final class PlannedSave {
    /// The version to write; its sequence is given when it is written.
    var record: StoredRecord
    /// The newest version there is, maybe a tombstone.
    let previous: StoredRecord?
    /// References that the operation sets, whose targets must exist.
    let newReferences: [StoredReference]
    let receipts: [AssetReceiptRecord]
    /// What its assets take.
    let assetBytes: Int64
    /// Of a share's record: its root.
    var shareRoot: ShareChange.Root?

    init(
      record: StoredRecord, previous: StoredRecord?, newReferences: [StoredReference], receipts: [AssetReceiptRecord],
      assetBytes: Int64 = 0
    ) {
      self.record = record
      self.previous = previous
      self.newReferences = newReferences
      self.receipts = receipts
      self.assetBytes = assetBytes
    }
  }

  let request: RecordsModifyRequest
  let access: Access
  let transaction: any WriteTransaction
  let isAtomic: Bool
  var zone: OpenZone
  private(set) var indexByName: [RecordName: Int] = [:]
  private(set) var entries: [Entry] = []
  /// Records that go because a record that they refer to goes, in the order in which they were found.
  var cascaded: [RecordName] = []
  private var schemas: SchemaBook
  private var spentReceipts: Set<String> = []
  /// Whether a record was taken for new without a look.
  private(set) var hasTakenNamesForNew = false
  /// The last new record whose fields were known already and which the schema took.
  private var lastNew: RecordChange?
  /// Whether all operations so far could be written at once.
  private var mayWriteEarly = true
  /// The rows that all that is written changes, once there is something.
  private var opened: (database: DatabaseRow, zone: ZoneRow)?
  let wholeView: RecordView
  let seal: FieldSeal
  /// For what the answer shows of saved records, and of those that conflicts were with.
  private var (savedBytes, conflictBytes) = (AnswerAllowance(), AnswerAllowance())
  /// Records that change only because a share begins or ends; by name.
  var implied: [RecordName: StoredRecord] = [:]
  /// Shares that end though the request does not name them.
  var endedShares: [StoredRecord] = []
  /// Addresses of shares that begin.
  var newAddresses: [ShareAddress] = []
  /// What was done to records, once it is done.
  private(set) var events: [RecordEvent] = []

  init(
    _ request: RecordsModifyRequest, access: Access, zone: OpenZone, transaction: any WriteTransaction,
    context: CallContext
  ) {
    self.request = request
    self.access = access
    self.zone = zone
    self.transaction = transaction
    isAtomic = request.isAtomic && !zone.isDefault
    schemas = SchemaBook(context.endpoint, in: transaction)
    wholeView = RecordView(zone: zone, context: context)
    seal = zone.seal(context)
  }

  private static func newName(for operation: RecordOperation, context: inout CallContext) -> RecordName {
    guard operation.kind == .create else { return "" }
    guard operation.record.type == .share else { return RecordName(context.makeUUID()) }
    // A share without a root is the zone's.
    return operation.record.shareChange.root == nil ? .zoneShare : RecordName("Share-\(context.makeUUID())")
  }

  var hasFailure: Bool {
    entries.contains { if case .failure = $0.outcome { true } else { false } }
  }
}

// MARK: - Planning

extension RecordBatch {
  /// Plans the operations of the request, also those that are still to come.
  mutating func plan(context: inout CallContext) throws {
    switch context.preparation {
    case .nothing: try plan(request.operations, context: &context)
    case .whole(let part): try plan(part.operations, fields: part.fields, context: &context)
    case .later(let parts):
      var number = 0
      while let part = try parts.part(number) {
        let first = entries.count
        try plan(part.operations, fields: part.fields, context: &context)
        try writeEarly(entries[first...], context: &context)
        number += 1
      }
    }
  }

  /// - Parameter fields: What new records' fields are, if that is known.
  private mutating func plan(
    _ operations: [RecordOperation], fields: [[UInt8]?]? = nil, context: inout CallContext
  ) throws {
    let first = entries.count
    makeRoom(for: first + operations.count, context)
    try Limits.check(first + operations.count, atMost: Limits.operationsPerRequestMax, "operations in one request")
    for (index, operation) in operations.enumerated() {
      try Limits.check(desiredKeys: operation.desiredKeys)
      let name = operation.record.name ?? Self.newName(for: operation, context: &context)
      guard indexByName.updateValue(entries.count, forKey: name) == nil else {
        throw ServiceError.badRequest("record '\(name)' is named by more than one operation")
      }
      entries.append(Entry(operation, name: name, prepared: fields?[index]))
    }
    for entry in entries[first...] {
      do {
        entry.outcome = try plan(entry, context: &context)
      } catch let error as ServiceError {
        entry.outcome = .failure(RecordFailure(entry.name, error))
      }
      if case .save(let save) = entry.outcome { try savedBytes.take(save.record) }
    }
  }

  private mutating func makeRoom(for count: Int, _ context: CallContext) {
    guard count > indexByName.capacity else { return }
    // Of a call that comes in parts there is more to come.
    let isInParts = if case .later = context.preparation { true } else { false }
    let capacity = isInParts ? max(count, Limits.operationsPerRequestMax) : count
    entries.reserveCapacity(capacity)
    indexByName.reserveCapacity(capacity)
  }

  private mutating func plan(_ entry: Entry, context: inout CallContext) throws -> Outcome {
    let (operation, name) = (entry.operation, entry.name)
    if let fault = operation.fault { throw fault }
    let isOwnUser = access.scope == .public && name.rawValue == access.user?.rawValue
    if !isOwnUser { try checkName(of: operation, name) }
    if let stated = operation.record.zone, try access.zoneID(stated) != zone.id {
      throw ServiceError.badRequest("record '\(name)' states another zone than the request")
    }
    let newest = takesForNew(operation, context) ? nil : try zone.row.flatMap { try transaction.record(name, in: $0) }
    let live = newest.flatMap { $0.isDeleted ? nil : $0 }
    if isOwnUser { try checkUserRecord(operation.record, live) }
    if let refusal = try access.refusal(of: operation.kind, of: operation.record.type, on: live, in: zone) {
      // What cannot be seen is deleted as little as what is not there.
      if operation.kind == .forceDelete && refusal.code == .notFound { return .nothing }
      throw refusal
    }
    if let refusal = try versionRefusal(operation, live) {
      return .failure(try failure(name, refusal, live: live, tag: operation.record.tag, context: context))
    }
    try checkType(of: operation.record, live: live)
    if operation.kind.isDelete {
      guard let live else { return .nothing }
      return live.type == .share && zone.reach != nil ? .leave(live) : .delete(live)
    }
    if (operation.record.type ?? live?.type) == .share {
      return .save(try planShare(entry, newest: newest, live: live, context: &context))
    }
    return .save(try planSave(entry, newest: newest, live: live, context: &context))
  }

  /// Whether a record is taken for new: the store will say when it is put whether it is.
  private mutating func takesForNew(_ operation: RecordOperation, _ context: CallContext) -> Bool {
    if case .nothing = context.preparation { return false }
    guard operation.kind == .create, operation.record.type != .share else { return false }
    hasTakenNamesForNew = true
    return true
  }

  /// Users may change their own records, which the service makes, but not their roles.
  private func checkUserRecord(_ change: RecordChange, _ live: StoredRecord?) throws {
    guard let live, live.type == .users else {
      throw ServiceError.badRequest("records of type 'Users' are made by the service alone")
    }
    if change.fields.contains(where: { $0.name == .roles }) {
      throw ServiceError(.accessDenied, "\(Reason.writeNotPermitted): nobody sets their own roles")
    }
  }

  private func checkName(of operation: RecordOperation, _ name: RecordName) throws {
    if name == "" && operation.record.name == nil { throw ServiceError.badRequest("recordName is missing") }
    if let objection = NameRule.name.objection(to: name.rawValue) {
      throw ServiceError.badRequest("record name \(objection)")
    }
    let type = operation.record.type ?? .share
    if name == .zoneShare && type != .share && !operation.kind.isDelete {
      throw ServiceError.badRequest("the record name '\(name)' is reserved")
    }
  }

  /// What the table of operation kinds says of existence and change tags.
  private func versionRefusal(_ operation: RecordOperation, _ live: StoredRecord?) throws -> ServiceError? {
    if operation.kind == .create {
      return live == nil ? nil : ServiceError(.exists, Reason.recordExists)
    }
    // A share is never saved over a version that its writer has not seen.
    let comparesTag = operation.kind.comparesTag || live?.type == .share && !operation.kind.isDelete
    guard comparesTag else { return nil }
    let tag = operation.record.tag
    guard let live else {
      return ServiceError(.notFound, tag == nil ? Reason.recordNotFound : Reason.tagButNoRecord)
    }
    // Numbers are never given twice in a zone, so a tag of an earlier life of the record does not fit.
    return try isCurrent(tag, live) ? nil : ServiceError(.conflict, Reason.staleTag)
  }

  /// With the records that the client asks for as far as they fit into the answer; it looks others up.
  private mutating func failure(
    _ name: RecordName, _ error: ServiceError, live: StoredRecord?, tag: ChangeTag?, context: CallContext
  ) throws -> RecordFailure {
    var failure = RecordFailure(name, error)
    guard context.wantsExtensions, let live, let row = zone.row else { return failure }
    if let grants = zone.grants, try !grants.mayRead(live) { return failure }
    guard conflictBytes.takes(live) else { return failure }
    failure.serverRecord = try wholeView.envelope(of: live)
    if error.code == .conflict, let sequence = tag?.sequence,
      let ancestor = try transaction.version(sequence, of: name, in: row), !ancestor.isDeleted,
      try zone.mayRead(ancestor, of: live, in: transaction), conflictBytes.takes(ancestor)
    {
      failure.ancestorRecord = try wholeView.envelope(of: ancestor)
    }
    return failure
  }

  private func checkType(of record: RecordChange, live: StoredRecord?) throws {
    if let live, let type = record.type, type != live.type {
      throw ServiceError.badRequest("record '\(live.name)' has the type '\(live.type)', not '\(type)'")
    }
  }

  /// Whether the tag is that of the live record, or of a version since which nothing was written but what a share's
  /// beginning and end write: nobody's content is lost to a writer who saw that one.
  func isCurrent(_ tag: ChangeTag?, _ live: StoredRecord) throws -> Bool {
    guard let sequence = tag?.sequence else { return false }
    if sequence == live.sequence { return true }
    guard live.shortGUID != nil, live.type != .share, sequence < live.sequence, let row = zone.row,
      let seen = try transaction.version(sequence, of: live.name, in: row)
    else { return false }
    func isSame(_ record: StoredRecord) -> Bool {
      seen.fieldsJSON == record.fieldsJSON && seen.parent == record.parent
        && seen.unknownMembers == record.unknownMembers && seen.created == record.created
    }
    guard !seen.isDeleted, isSame(live) else { return false }
    // What was changed and changed back is two edits that the writer did not see.
    return try transaction.versions(of: live.name, in: row).prefix { $0.sequence > sequence }.allSatisfy(isSame)
  }

  /// The assets of a record's earlier versions.
  private func assetsKept(of name: RecordName) -> () throws -> [AssetValue] {
    let (row, seal, transaction) = (zone.row, seal, transaction)
    // Participants were never shown the versions of before.
    guard zone.reach == nil else { return { [] } }
    return {
      let versions = try row.map { try transaction.versions(of: name, in: $0) } ?? []
      return try versions.filter { !$0.isDeleted }.flatMap { try seal.fields(of: $0).flatMap(\.field.value.assets) }
    }
  }

  private mutating func planSave(
    _ entry: Entry, newest: StoredRecord?, live: StoredRecord?, context: inout CallContext
  ) throws -> PlannedSave {
    let (change, kind) = (entry.operation.record, entry.operation.kind)
    guard let type = change.type ?? live?.type else { throw ServiceError.badRequest("recordType is missing") }
    if live == nil, let prepared = entry.prepared {
      return try planNew(entry, type: type, fieldsJSON: prepared, newest: newest, context: &context)
    }
    var merge = RecordMerge(
      name: entry.name, zone: zone.id, scope: access.scope,
      schema: try schemas.draft(of: type, mayBeUsers: live != nil),
      assets: AssetLedger(context, spent: spentReceipts, kept: assetsKept(of: entry.name), in: transaction), live: live,
      seal: seal)
    try merge.apply(change, replaces: kind.replaces)
    schemas.keep(merge.schema)
    spentReceipts = merge.assets.spent

    let stamp = context.stamp(by: access.user ?? .defaultOwner, after: newest?.modified)
    var record = StoredRecord(
      name: entry.name, type: type, sequence: 0, created: live?.created ?? stamp, modified: stamp,
      fieldsJSON: merge.hasEncryptedFields ? try seal.seal(merge.fieldsJSON, of: entry.name) : merge.fieldsJSON)
    record.parent = merge.parent
    record.share = live?.share
    record.shortGUID = live?.shortGUID ?? (change.createShortGUID ? context.makeShortGUID() : nil)
    record.unknownMembers = merge.unknownMembers
    record.assetChecksums = merge.assetChecksums
    record.references = merge.references
    return PlannedSave(
      record: record, previous: newest, newReferences: merge.newReferences, receipts: merge.assets.used,
      assetBytes: merge.assetBytes)
  }
}

extension RecordBatch {
  /// A new record whose fields are known already, if the schema takes them.
  private mutating func planNew(
    _ entry: Entry, type: RecordType, fieldsJSON: [UInt8], newest: StoredRecord?, context: inout CallContext
  ) throws -> PlannedSave {
    let change = entry.operation.record
    if !change.hasFields(of: lastNew) { try admit(change, type) }
    let stamp = context.stamp(by: access.user ?? .defaultOwner)
    var record = StoredRecord(
      name: entry.name, type: type, sequence: 0, created: stamp, modified: stamp, fieldsJSON: fieldsJSON)
    record.shortGUID = change.createShortGUID ? context.makeShortGUID() : nil
    record.unknownMembers = change.unknownMembers
    return PlannedSave(record: record, previous: newest, newReferences: [], receipts: [])
  }

  private mutating func admit(_ change: RecordChange, _ type: RecordType) throws {
    var schema = try schemas.draft(of: type)
    for element in change.fields {
      guard let field = element.field else { continue }
      _ = try schema.admit(field, named: element.name, isTagged: element.isTagged)
    }
    schemas.keep(schema)
    lastNew = change
  }
}

extension RecordChange {
  /// Whether the schema has nothing to say of the record that it did not say of the other: records of an upload are
  /// alike.
  fileprivate func hasFields(of other: RecordChange?) -> Bool {
    guard let other, type == other.type, fields.count == other.fields.count else { return false }
    return zip(fields, other.fields).allSatisfy { $0.name == $1.name && $0.field?.type == $1.field?.type }
  }
}

// MARK: - Doing

extension RecordBatch {
  /// Nothing is written: operations that would have succeeded fail with the others.
  func abandon() {
    for entry in entries {
      if case .failure = entry.outcome { continue }
      entry.outcome = .failure(RecordFailure(entry.name, ServiceError(.atomicError, Reason.atomicFailure)))
    }
  }

  mutating func write(context: inout CallContext) throws {
    let hasWork = entries.contains {
      switch $0.outcome {
      case .save, .delete, .leave: true
      case .nothing, .failure: false
      }
    }
    guard hasWork else { return }
    var (database, row) = try open(context: &context)

    let sharing = try ShareConsequences(of: self, row: row)
    let addedBytes = try countAddedBytes()
    let usedBytes = row.usedBytes
    for entry in entries where !entry.isDone { try write(entry, row: &row, context: context) }
    for name in cascaded {
      guard let record = try transaction.record(name, in: row), !record.isDeleted else { continue }
      try bury(record, row: &row, context: context)
    }
    for record in endedShares { try bury(record, row: &row, context: context) }
    for record in implied.values.sorted(by: { $0.name < $1.name }) {
      try writeImplied(record, row: &row)
    }
    for address in newAddresses { try transaction.put(address.entity) }
    try sharing?.carry(of: self, row: &row, context: &context)
    try schemas.save(to: transaction)
    row.usedBytes += addedBytes
    database.usedBytes += row.usedBytes - usedBytes
    try transaction.put(database)
    try transaction.put(&row)
    zone.row = row
    try notifySubscribers(
      of: zone.id, in: zone.database, events: events, transaction: transaction, context: &context)
  }

  private mutating func open(context: inout CallContext) throws -> (database: DatabaseRow, zone: ZoneRow) {
    if let opened { return opened }
    var database = try transaction.openDatabase(zone.database, context: &context)
    database.sequence += 1
    if zone.row == nil { try transaction.put(database) }
    var row = zone.row ?? ZoneRow(database: zone.database, name: zone.id.name, incarnation: context.makeIncarnation())
    row.databaseSequence = database.sequence
    // Records are put under the row's number, which a new row gets here.
    if row.id == 0 { try transaction.put(&row) }
    return (database, row)
  }

  /// Writes planned creates while operations are still to come, as far as nothing that may come changes what is written
  /// of them: up to the first operation of another kind, in a zone where nothing is shared.
  /// - Throws: `PreparationFailed` for what makes the early writes wrong.
  private mutating func writeEarly(_ planned: ArraySlice<Entry>, context: inout CallContext) throws {
    guard zone.row?.sharing == ZoneSharing.none, zone.reach == nil else { return }
    var rows = try open(context: &context)
    for entry in planned {
      if case .failure = entry.outcome { throw PreparationFailed() }
      // A share that begins writes itself into its root.
      if entry.operation.record.type == .share { throw PreparationFailed() }
      if entry.prepared == nil || entry.operation.kind != .create { mayWriteEarly = false }
      guard mayWriteEarly else { continue }
      try write(entry, row: &rows.zone, context: context)
      entry.isDone = true
    }
    opened = rows
  }

  private mutating func write(_ entry: Entry, row: inout ZoneRow, context: CallContext) throws {
    switch entry.outcome {
    case .save(let save):
      row.sequence += 1
      save.record.sequence = row.sequence
      do {
        try transaction.put(save.record, in: row, replacing: save.previous, keepsVersion: true)
      } catch is RecordExists {
        throw PreparationFailed()
      }
      for receipt in save.receipts { try transaction.put(receipt.spent.entity) }
      events.append(RecordEvent(save.isNew ? .created : .updated, save.record))
    case .delete(let record): try bury(record, row: &row, context: context)
    case .leave(let record):
      var state = try ShareState(record)
      if let user = access.user {
        state.remove(user)
        _ = try transaction.put(state, of: record, by: user, row: &row, context: context)
      }
    case .nothing, .failure: break
    }
  }

  /// A record whose own content stays, with the share that it now has or has no more.
  private func writeImplied(_ record: StoredRecord, row: inout ZoneRow) throws {
    guard let live = try transaction.record(record.name, in: row), !live.isDeleted else { return }
    row.sequence += 1
    var next = record
    next.sequence = row.sequence
    try transaction.put(next, in: row, replacing: live, keepsVersion: true)
  }

  private mutating func bury(_ record: StoredRecord, row: inout ZoneRow, context: CallContext) throws {
    row.sequence += 1
    var tombstone = StoredRecord(
      name: record.name, type: record.type, sequence: row.sequence, created: record.created,
      modified: context.stamp(by: access.user ?? .defaultOwner, after: record.modified), fieldsJSON: Array("{}".utf8))
    tombstone.isDeleted = true
    try transaction.put(tombstone, in: row, replacing: record, keepsVersion: true)
    events.append(RecordEvent(.deleted, record))
  }

  /// One result for each operation, in their order.
  func results(context: CallContext) throws -> [RecordResult] {
    func view(_ desiredKeys: [FieldName]?) -> RecordView {
      RecordView(
        zone: zone, desiredKeys: desiredKeys, numbersAsStrings: request.numbersAsStrings, context: context)
    }
    let shared = view(request.desiredKeys)
    return try entries.map { entry in
      switch entry.outcome {
      case .save(let save):
        .record(try (entry.operation.desiredKeys.map { view($0) } ?? shared).envelope(of: save.record))
      case .delete, .leave, .nothing: .deleted(entry.name, zone: nil, type: nil)
      case .failure(let failure): .failure(failure)
      }
    }
  }
}
