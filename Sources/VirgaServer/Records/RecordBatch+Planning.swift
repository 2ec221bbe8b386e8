import VirgaModel
import VirgaWire

extension RecordBatch {
  /// Plans each operation by itself.
  mutating func plan(_ prepared: [PreparedOperation], context: inout CallContext) throws {
    entries.reserveCapacity(prepared.count)
    indexByName.reserveCapacity(prepared.count)
    for (operation, prepared) in zip(request.operations, prepared) {
      try Limits.check(desiredKeys: operation.desiredKeys)
      let name = operation.record.name ?? Self.newName(for: operation, context: &context)
      guard indexByName.updateValue(entries.count, forKey: name) == nil else {
        throw ServiceError.badRequest("more than one operation names record '\(name)'")
      }
      entries.append(Entry(withPlainTag(operation, name), name: name, prepared))
    }
    var last: Entry?
    for entry in entries {
      do {
        entry.outcome = try plan(entry, after: last, context: &context)
      } catch let error as ServiceError where error.code != .authenticationRequired {
        entry.outcome = .failure(RecordFailure(entry.name, error))
      }
      if case .save(let save) = entry.outcome { try savedBytes.take(save.record) }
      last = entry
    }
  }

  /// The operation with the change tag that the zone's owner knows the version by.
  private func withPlainTag(_ operation: RecordOperation, _ name: RecordName) -> RecordOperation {
    guard let tags = zone.tags, let tag = operation.record.tag else { return operation }
    var plain = operation
    plain.record.tag = tags.plain(tag, of: RecordID(name, in: zone.id))
    return plain
  }

  private mutating func plan(_ entry: Entry, after last: Entry?, context: inout CallContext) throws -> Outcome {
    let (operation, name) = (entry.operation, entry.name)
    if let fault = operation.fault { throw fault }
    let isOwnUser = access.scope == .public && name.rawValue == access.user?.rawValue
    if !isOwnUser { try checkName(of: operation, name) }
    if let stated = operation.record.zone, try access.zoneID(stated) != zone.id {
      throw ServiceError.badRequest("the zone of record '\(name)' differs from the request's")
    }
    let newest = takesForNew(operation) ? nil : try zone.row.flatMap { try transaction.record(name, in: $0) }
    let live = newest.flatMap { $0.isDeleted ? nil : $0 }
    if isOwnUser { try checkUserRecord(operation.record, live) }
    if let refusal = try access.refusal(of: operation.kind, of: operation.record.type, on: live, in: zone) {
      // What cannot be seen is deleted as little as what is not there.
      if operation.kind == .forceDelete && refusal.code == .notFound { return .nothing }
      throw refusal
    }
    if let refusal = try versionRefusal(operation, live) {
      // What a create names as its tag stands for no version.
      let tag = operation.kind == .create ? nil : operation.record.tag
      return .failure(try failure(name, refusal, live: live, tag: tag, context: context))
    }
    try checkType(of: operation.record, live: live)
    if operation.kind.isDelete {
      guard let live else { return .nothing }
      return live.type == .share && zone.reach != nil ? .leave(live) : .delete(live)
    }
    if (operation.record.type ?? live?.type) == .share {
      return .save(try planShare(entry, newest: newest, live: live, context: &context))
    }
    return .save(try planSave(entry, after: last, newest: newest, live: live, context: &context))
  }

  private func takesForNew(_ operation: RecordOperation) -> Bool {
    takesNamesForNew && operation.kind == .create && operation.record.type != .share
  }

  /// Whether a record was taken for new.
  var hasTakenNamesForNew: Bool { entries.contains { takesForNew($0.operation) } }

  /// Users may change their own records, which the service makes, but not their roles.
  private func checkUserRecord(_ change: RecordChange, _ live: StoredRecord?) throws {
    guard let live, live.type == .users else {
      throw ServiceError.badRequest("only the service makes records of type 'Users'")
    }
    if change.fields.contains(where: { $0.name == .roles }) {
      throw ServiceError(.accessDenied, "\(Reason.writeNotPermitted): nobody may set their own roles")
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
      return live == nil ? nil : ServiceError(.conflict, Reason.recordExists)
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

  /// With the record as it stands, and for our own clients its ancestor, as far as they fit into the answer; clients look up
  /// what does not.
  private mutating func failure(
    _ name: RecordName, _ error: ServiceError, live: StoredRecord?, tag: ChangeTag?, context: CallContext
  ) throws -> RecordFailure {
    var failure = RecordFailure(name, error)
    guard let live, let row = zone.row else { return failure }
    if let grants = zone.grants, try !grants.mayRead(live) { return failure }
    guard conflictBytes.takes(live) else { return failure }
    failure.serverRecord = try wholeView.envelope(of: live)
    if context.wantsExtensions, let sequence = tag?.sequence,
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
    _ entry: Entry, after last: Entry?, newest: StoredRecord?, live: StoredRecord?, context: inout CallContext
  ) throws -> PlannedSave {
    let change = entry.operation.record
    guard let type = change.type ?? live?.type else { throw ServiceError.badRequest("recordType is missing") }
    entry.isAdmitted = entry.isLikeLast && last?.isAdmitted ?? false
    let hasAssets = !entry.isAdmitted && change.fields.contains { $0.field?.value.assets.isEmpty == false }
    var merge = RecordMerge(
      name: entry.name, zone: zone.id, scope: access.scope,
      schema: entry.isAdmitted ? nil : try schemas.draft(of: type, mayBeUsers: live != nil),
      assets: hasAssets
        ? AssetAccounting(context, spent: spentReceipts, kept: assetsKept(of: entry.name), in: transaction) : nil,
      live: live, seal: seal)
    try merge.apply(change, entry.fields, replaces: entry.operation.kind.replaces)
    if let schema = merge.schema {
      schemas.keep(schema)
      entry.isAdmitted = change.type != nil && !merge.hasConverted
    }
    if let assets = merge.assets { spentReceipts = assets.spent }

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
      record: record, previous: newest, newReferences: merge.newReferences, receipts: merge.assets?.used ?? [],
      assetBytes: merge.assetBytes)
  }
}
