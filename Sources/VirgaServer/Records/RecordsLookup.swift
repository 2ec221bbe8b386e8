import VirgaModel
import VirgaWire

extension Service {
  func lookUpRecords(
    _ request: RecordsLookupRequest, in transaction: any ReadTransaction, context: CallContext
  ) throws -> Reply {
    let access = try Access(context)
    try Limits.check(desiredKeys: request.desiredKeys)
    for item in request.records { try Limits.check(desiredKeys: item.desiredKeys) }
    let zone = try access.openZone(request.zone, in: transaction)
    func view(_ desiredKeys: [FieldName]?) -> RecordView {
      RecordView(
        zone: zone, desiredKeys: desiredKeys, numbersAsStrings: request.numbersAsStrings, context: context)
    }
    let shared = view(request.desiredKeys)
    var allowance = AnswerAllowance()
    let records = try request.records.map { item -> RecordResult in
      guard let record = try zone.visibleRecord(item.name, in: transaction) else {
        return .failure(RecordFailure(item.name, ServiceError(.notFound, Reason.recordNotFound)))
      }
      do {
        try zone.checkReading(of: record)
      } catch let error as ServiceError {
        return .failure(RecordFailure(item.name, error))
      }
      let envelope = try (item.desiredKeys.map { view($0) } ?? shared).envelope(of: record)
      try allowance.take(record, showing: envelope.fieldsJSON)
      return .record(envelope)
    }
    return .records(RecordsReply(records: records, syncToken: context.wantsSyncToken ? zone.syncToken : nil))
  }
}

extension OpenZone {
  /// Where a reader would start that needs no history; `nil` for the default zone, which has no feed.
  var syncToken: String? {
    isDefault ? nil : feedRow.map { tokens.text(of: $0.token(at: $0.sequence)) }
  }
}
