import VirgaModel
import VirgaWire

extension Service {
  /// Saves and deletes records of one zone.
  ///
  /// A request that is sent again because its answer was lost is not recognised: a create then finds its own record
  /// and fails with `CONFLICT`, and so does an update that finds its own tag stale. Answering success would
  /// have to guess from equal content that nobody else wrote it. The error carries the record for clients that asked
  /// for our extensions, and others look it up, so a client that sent the same content finds it in place and is done.
  func modifyRecords(
    _ request: RecordsModifyRequest, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    let access = try Access(context)
    try Limits.check(desiredKeys: request.desiredKeys)
    let zone = try access.openZone(request.zone, in: transaction)
    if zone.isDefault && request.atomic == true { throw ServiceError.badRequest(Reason.noAtomicInDefaultZone) }
    var batch = RecordBatch(request, access: access, zone: zone, transaction: transaction, context: context)
    try batch.plan(context: &context)
    try batch.checkReach()
    try batch.check(quotas)
    try batch.beginShares(context: &context)
    try batch.checkReferences()
    try batch.checkDeletions()
    try batch.endShares(context: context)
    let hasFailure = batch.hasFailure
    // What fails is told exactly: a name that is taken comes before most other reasons.
    if hasFailure && batch.hasTakenNamesForNew { throw PreparationFailed() }
    if batch.isAtomic && hasFailure {
      batch.abandon()
    } else {
      try batch.write(context: &context)
    }
    let records = try batch.results(context: context)
    return .records(RecordsReply(records: records, syncToken: context.wantsSyncToken ? batch.zone.syncToken : nil))
  }
}
