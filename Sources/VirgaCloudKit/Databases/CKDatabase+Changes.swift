import VirgaModel
import VirgaWire

extension CKDatabase {
  /// What happened to zones.
  public enum DatabaseChange {
    /// Something in the zone changed.
    public struct Modification: Hashable, Sendable {
      /// The zone in which something changed.
      public let zoneID: CKRecordZone.ID
    }

    /// The zone is gone.
    public struct Deletion: Hashable, Sendable {
      /// Why a zone is gone.
      public enum Reason: Hashable, Sendable {
        /// An app deleted it.
        case deleted
        /// Its user erased it in the settings: erase it here too, and do not upload it again.
        case purged
        /// Its user reset their encrypted data: upload it again.
        case encryptedDataReset
      }

      /// The zone that is gone, with all its records.
      public let zoneID: CKRecordZone.ID
      /// Why it is gone; an app must not upload a purged zone again.
      public let reason: Reason
      /// Whether the user erased the zone's data. The older form of `reason`.
      public var purged: Bool { reason == .purged }
    }
  }

  /// What happened to records.
  public enum RecordZoneChange {
    /// A record was created or changed.
    public struct Modification: Hashable, Sendable {
      /// The record as it is now. Changes in between are not told apart.
      public let record: CKRecord
    }

    /// A record was deleted. What it held is not known any more.
    public struct Deletion: Hashable, Sendable {
      /// The identifier of the deleted record.
      public let recordID: CKRecord.ID
      /// The type that the record had; empty if the service does not say.
      public let recordType: CKRecord.RecordType
    }
  }

  /// The zones that changed since a reader last asked. One that was deleted and created again is among both: its deletion
  /// comes first.
  /// - Parameter changeToken: Where the reader stopped; nil reads from the beginning.
  /// - Throws: `changeTokenExpired`: start again from nil.
  public func databaseChanges(
    since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil
  ) async throws -> (
    modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
    changeToken: CKServerChangeToken, moreComing: Bool
  ) {
    let page = try await databasePage(since: changeToken, resultsLimit: resultsLimit)
    return (page.modifications, page.deletions, page.changeToken, page.moreComing)
  }

  /// A page of the database's changes.
  struct DatabaseChangePage: Sendable {
    var modifications: [DatabaseChange.Modification] = []
    var deletions: [DatabaseChange.Deletion] = []
    /// Zones that the service named and could not speak of: they are there, or were.
    var failures: [CKRecordZone.ID] = []
    var changeToken: CKServerChangeToken
    var moreComing: Bool
  }

  func databasePage(
    since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil
  ) async throws -> DatabaseChangePage {
    guard databaseScope != .public else {
      throw CKError(.badDatabase, "The public database has no change feed.")
    }
    let request = DatabaseChangesRequest(syncToken: changeToken?.text, resultsLimit: pageLimit(resultsLimit))
    guard case .databaseChanges(let reply) = try await perform(.changesDatabase(request)) else {
      throw CKError.unexpected("changes/database")
    }
    var page = DatabaseChangePage(changeToken: CKServerChangeToken(reply.syncToken), moreComing: reply.moreComing)
    for result in reply.zones {
      switch result {
      case .failure(let zone, _):
        page.failures.append(CKRecordZone.ID(local(ZoneID(zone.name, owner: zone.owner ?? .defaultOwner))))
      case .zone(let zone) where zone.isDeleted:
        if zone.deletionReason == .encryptedDataReset { service.keyring?.refresh() }
        page.deletions.append(
          DatabaseChange.Deletion(zoneID: CKRecordZone.ID(local(zone.id)), reason: .init(zone.deletionReason)))
      case .zone(let zone):
        page.modifications.append(DatabaseChange.Modification(zoneID: CKRecordZone.ID(local(zone.id))))
      }
    }
    return page
  }

  /// The records of a zone that changed since a reader last asked: their latest state, and deletions.
  ///
  /// Assets come with their records: those that are not in the cache are downloaded. Leave them out of `desiredKeys` to
  /// fetch them later, with `records(for:desiredKeys:)`.
  /// - Parameter changeToken: Where the reader stopped; nil reads from the beginning, and tells of no deletions.
  /// - Throws: `changeTokenExpired`: start again from nil. `zoneNotFound`, `userDeletedZone`.
  public func recordZoneChanges(
    inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
    desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
  ) async throws -> (
    modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
    deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
  ) {
    let page = try await recordZonePage(
      inZoneWith: zoneID, since: changeToken, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
    var modifications: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
    for (id, result) in page.records { modifications[id] = result.map { RecordZoneChange.Modification(record: $0) } }
    return (modifications, page.deletions, page.changeToken, page.moreComing)
  }

  /// A page's size as the service takes it; nil is its own choice.
  private func pageLimit(_ limit: Int?) -> Int? {
    guard service.tokens != nil else { return limit }
    return limit.flatMap { $0 > 0 ? min($0, service.itemsPerRequestMax) : nil }
  }

  /// A page of a zone's changes, in the order of the feed.
  package struct RecordZonePage: Sendable {
    package var records: [(id: CKRecord.ID, result: Result<CKRecord, any Error>)]
    package var deletions: [RecordZoneChange.Deletion]
    package var changeToken: CKServerChangeToken
    package var moreComing: Bool

    /// The records that came.
    var fetched: [CKRecord] {
      records.compactMap { if case .success(let record) = $0.result { record } else { nil } }
    }

    /// Keys that values of the page need and the device does not have.
    var missingKeys: [KeyID] {
      var keys: [KeyID] = []
      for record in fetched {
        for key in record.state.withLock({ $0.missingKeys }) where !keys.contains(key) { keys.append(key) }
      }
      return keys
    }
  }

  package func recordZonePage(
    inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
    desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
  ) async throws -> RecordZonePage {
    guard databaseScope != .public else {
      throw CKError(.badDatabase, "The public database has no change feed.")
    }
    var request = ZoneChangesRequest(
      zone: ZoneSelector(zoneID.model), syncToken: changeToken?.text, resultsLimit: pageLimit(resultsLimit))
    request.desiredKeys = desiredKeys?.map { FieldName($0) }
    guard case .zoneChanges(let results) = try await perform(.changesZone([request]), in: zoneID.model),
      let result = results.first
    else { throw CKError.unexpected("changes/zone") }
    switch result {
    case .failure(_, let error): throw CKError(error, item: .zone)
    case .page(let page):
      let deletions = page.records.compactMap { result -> RecordZoneChange.Deletion? in
        guard case .deleted(let name, _, let type) = result else { return nil }
        let id = CKRecord.ID(RecordID(name, in: zoneID.model))
        return RecordZoneChange.Deletion(recordID: id, recordType: type?.rawValue ?? "")
      }
      return RecordZonePage(
        records: await records(from: page.records, in: zoneID.model), deletions: deletions,
        changeToken: CKServerChangeToken(page.syncToken), moreComing: page.moreComing)
    }
  }

  // MARK: With completion handlers

  /// `databaseChanges(since:resultsLimit:)` with a completion handler.
  @preconcurrency
  public func fetchDatabaseChanges(
    since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil,
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
            changeToken: CKServerChangeToken, moreComing: Bool
          ), any Error
        >
      ) -> Void
  ) {
    callBack(completionHandler) { try await self.databaseChanges(since: changeToken, resultsLimit: resultsLimit) }
  }

  /// `recordZoneChanges(inZoneWith:since:desiredKeys:resultsLimit:)` with a completion handler.
  @preconcurrency
  public func fetchRecordZoneChanges(
    inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
    desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil,
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
            deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
          ), any Error
        >
      ) -> Void
  ) {
    callBack(completionHandler) {
      try await self.recordZoneChanges(
        inZoneWith: zoneID, since: changeToken, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
    }
  }
}

extension CKDatabase.DatabaseChange.Deletion.Reason {
  init(_ reason: ZoneDeletionReason?) {
    switch reason {
    case .purged: self = .purged
    case .encryptedDataReset: self = .encryptedDataReset
    case .deleted, nil: self = .deleted
    }
  }
}
