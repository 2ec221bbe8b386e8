import VirgaModel
public import VirgaWire

extension Service {
  /// Saves and deletes records of one zone.
  ///
  /// A request that is sent again because its answer was lost is not recognised: a create then finds its own record
  /// and fails with `CONFLICT`, and so does an update that finds its own tag stale. Answering success would
  /// have to guess from equal content that nobody else wrote it. The error carries the record, so a client that sent the
  /// same content finds it in place and is done.
  func modifyRecords(
    _ request: RecordsModifyRequest, _ prepared: [PreparedOperation], in transaction: any WriteTransaction,
    context: inout CallContext
  ) throws -> Reply {
    let start = context
    var batch = try plan(request, prepared, takingNamesForNew: true, in: transaction, context: &context)
    // What fails is told exactly: a name that is taken comes before most other reasons.
    if batch.hasFailure && batch.hasTakenNamesForNew {
      context = start
      batch = try plan(request, prepared, takingNamesForNew: false, in: transaction, context: &context)
    }
    do {
      // One create alone has written nothing if its name is taken.
      try batch.entries.count > 1 && batch.hasTakenNamesForNew
        ? transaction.attempt { try batch.finish(in: transaction, context: &context) }
        : batch.finish(in: transaction, context: &context)
    } catch is RecordExists {
      context = start
      batch = try plan(request, prepared, takingNamesForNew: false, in: transaction, context: &context)
      try batch.finish(in: transaction, context: &context)
    }
    return try batch.reply(context: context)
  }

  /// The answer to a save of one record that a snapshot shows to be in conflict: what the writer would answer if it came to
  /// the save at that moment. A tag that is stale stays so.
  /// - Returns: `nil` if the writer has to see the save.
  public func conflict(
    of prepared: PreparedCall, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply? {
    guard case .recordsModify(let request) = prepared.call, request.operations.count == 1 else { return nil }
    do {
      try checkContainer(context.endpoint.container)
      var context = context
      let batch = try plan(
        request, prepared.operations, takingNamesForNew: false, in: transaction, context: &context)
      guard case .failure(let failure) = batch.entries[0].outcome, failure.error.code == .conflict else { return nil }
      return try batch.reply(context: context)
    } catch is ServiceError {
      return nil
    }
  }

  private func plan(
    _ request: RecordsModifyRequest, _ prepared: [PreparedOperation], takingNamesForNew: Bool,
    in transaction: any ReadTransaction, context: inout CallContext
  ) throws -> RecordBatch {
    let access = try Access(context)
    try Limits.check(desiredKeys: request.desiredKeys)
    let zone = try access.openZone(request.zone, in: transaction)
    if zone.isDefault && request.atomic == true { throw ServiceError.badRequest(Reason.noAtomicInDefaultZone) }
    var batch = RecordBatch(
      request, access: access, zone: zone, takesNamesForNew: takingNamesForNew, transaction: transaction,
      context: context)
    try batch.plan(prepared, context: &context)
    try batch.checkVisibleScope()
    try batch.check(quotas)
    try batch.beginShares(context: &context)
    try batch.checkReferences()
    try batch.checkDeletions()
    try batch.endShares(context: context)
    return batch
  }
}

extension RecordBatch {
  fileprivate func reply(context: CallContext) throws -> Reply {
    let token = context.wantsSyncToken ? zone.syncToken : nil
    return .records(RecordsReply(records: try results(context: context), syncToken: token))
  }

  fileprivate mutating func finish(in transaction: any WriteTransaction, context: inout CallContext) throws {
    if isAtomic && hasFailure { abandon() } else { try write(in: transaction, context: &context) }
  }
}
