import VirgaModel
import VirgaWire

extension CKDatabase {
  /// The records that match a query, page by page.
  /// - Parameter zoneID: Where to look; nil looks into all zones. The shared database needs one.
  /// - Parameter desiredKeys: The fields wanted: nil for all, none with an empty array.
  /// - Parameter resultsLimit: At most this many records; `CKQueryOperation.maximumResults` lets the service choose.
  /// - Returns: A page in the query's order, and where to go on. A page may be short; only a nil cursor ends it.
  /// - Throws: `invalidArguments` for what the service cannot do, most of it before anything is sent.
  public func records(
    matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults
  ) async throws -> (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  ) {
    guard databaseScope != .shared || zoneID != nil else {
      throw CKError(.invalidArguments, "A query in the shared database needs a zone.")
    }
    guard let model = try await query.model()?.naming(user: currentUserName) else { return ([], nil) }
    guard service.tokens == nil || !model.filters.contains(where: { $0.field == .anySearchable }) else {
      throw CKError(
        .invalidArguments, "Apple's web service searches one field at a time: name a field instead of self.")
    }
    let request = RecordsQueryRequest(
      model, zone: zoneID.map { ZoneSelector($0.model) }, zoneWide: zoneID == nil && databaseScope != .public)
    return try await page(request, desiredKeys, resultsLimit)
  }

  /// The records that match a query, from where a page ended.
  public func records(
    continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults
  ) async throws -> (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  ) {
    try await page(queryCursor.request, desiredKeys, resultsLimit)
  }

  private func page(
    _ request: RecordsQueryRequest, _ desiredKeys: [CKRecord.FieldKey]?, _ resultsLimit: Int
  ) async throws -> (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  ) {
    var request = request
    request.desiredKeys = desiredKeys?.map { FieldName($0) }
    request.resultsLimit = resultsLimit > 0 ? min(resultsLimit, service.itemsPerRequestMax) : nil
    let zone = request.zone.map { ZoneID($0.name, owner: $0.owner ?? .defaultOwner) }
    let home = zone ?? ZoneID(.default, owner: .defaultOwner)
    guard case .records(let reply) = try await perform(.recordsQuery(request), in: home) else {
      throw CKError.unexpected("records/query")
    }
    if let marker = reply.continuationMarker, marker == request.continuationMarker {
      throw CKError.leadsNowhere("records/query")
    }
    let found = await records(from: reply.records, in: home)
    let cursor = reply.continuationMarker.map { marker in
      request.continuationMarker = marker
      return CKQueryCursor(request)
    }
    return (found.map { ($0.id, $0.result) }, cursor)
  }

  // MARK: The older form

  /// All records that match a query.
  /// - Throws: The error of the first record that cannot be had.
  @available(*, deprecated, message: "Use records(matching:inZoneWith:desiredKeys:resultsLimit:).")
  public func records(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
    try await all(matching: query, in: zoneID)
  }

  /// All records that match a query.
  /// - Throws: The error of the first record that cannot be had.
  @available(*, deprecated, message: "Use records(matching:inZoneWith:desiredKeys:resultsLimit:).")
  public func perform(_ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
    try await all(matching: query, in: zoneID)
  }

  /// `records(matching:inZoneWith:)` as it was: all pages in one answer. Apple has retired this form.
  @available(*, deprecated, message: "Use fetch(withQuery:inZoneWith:desiredKeys:resultsLimit:completionHandler:).")
  public func perform(
    _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
    completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.all(matching: query, in: zoneID) }
  }

  private func all(matching query: CKQuery, in zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
    var (results, cursor) = try await records(
      matching: query, inZoneWith: zoneID, desiredKeys: nil, resultsLimit: CKQueryOperation.maximumResults)
    while let next = cursor {
      let page = try await records(continuingMatchFrom: next)
      results += page.matchResults
      cursor = page.queryCursor
    }
    return try results.map { try $0.1.get() }
  }

  // MARK: With completion handlers

  /// `records(matching:inZoneWith:desiredKeys:resultsLimit:)` with a completion handler.
  @preconcurrency
  public func fetch(
    withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults,
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
          ), any Error
        >
      ) -> Void
  ) {
    callBack(completionHandler) {
      try await self.records(
        matching: query, inZoneWith: zoneID, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
    }
  }

  /// `records(continuingMatchFrom:desiredKeys:resultsLimit:)` with a completion handler.
  @preconcurrency
  public func fetch(
    withCursor queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults,
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
          ), any Error
        >
      ) -> Void
  ) {
    callBack(completionHandler) {
      try await self.records(
        continuingMatchFrom: queryCursor, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
    }
  }
}
