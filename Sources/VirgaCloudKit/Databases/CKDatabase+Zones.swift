import VirgaModel
import VirgaWire

extension CKDatabase {
  /// All zones of the database, the default zone among them.
  public func allRecordZones() async throws -> [CKRecordZone] {
    guard case .zones(let results) = try await perform(.zonesList) else { throw CKError.unexpected("zones/list") }
    return results.compactMap { result in
      if case .zone(let zone) = result, !zone.isDeleted { CKRecordZone(zone, in: self) } else { nil }
    }
  }

  /// The zone of that identifier.
  /// - Throws: `zoneNotFound` if there is no such zone, `userDeletedZone` if its user erased it.
  public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
    try await recordZones(for: [zoneID]).only(zoneID)
  }

  /// Zones by their identifiers, with a result for each.
  /// - Throws: Only if nothing could be asked.
  public func recordZones(
    for ids: [CKRecordZone.ID]
  ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
    var found: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
    let results = try await inParts(ids, of: service.itemsPerRequestMax) { part in
      let call = Call.zonesLookup(ZonesLookupRequest(zones: part.map { ZoneSelector($0.model) }))
      guard case .zones(let results) = try await perform(call), results.count == part.count else {
        throw CKError.unexpected("zones/lookup")
      }
      return results
    }
    for (id, result) in zip(ids, results) { found[id] = result.flatMap(zone(of:)) }
    return found
  }

  /// Saves a zone; one that exists already is left as it is.
  @discardableResult
  public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
    try await modifyRecordZones(saving: [zone], deleting: []).saveResults.only(zone.zoneID)
  }

  /// Deletes a zone with all its records. One that does not exist counts as deleted.
  @discardableResult
  public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
    try await modifyRecordZones(saving: [], deleting: [zoneID]).deleteResults.only(zoneID)
    return zoneID
  }

  /// Saves and deletes zones, at most 400 in all, with a result for each. They succeed and fail one by one.
  /// - Throws: Only if nothing was tried; `badDatabase` for the public database, which has no zones of its own.
  public func modifyRecordZones(
    saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
  ) async throws -> (
    saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
    deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
  ) {
    let count = recordZonesToSave.count + recordZoneIDsToDelete.count
    try CKError.checkBatch(count)
    guard count > 0 else { return ([:], [:]) }
    guard databaseScope != .public else {
      throw CKError(.badDatabase, "The public database has only its default zone.")
    }
    let creations = recordZonesToSave.map { ZonesModifyRequest.Operation(.create, ZoneSelector($0.zoneID.model)) }
    let deletions = recordZoneIDsToDelete.map { ZonesModifyRequest.Operation(.delete, ZoneSelector($0.model)) }
    let results = try await inParts(creations + deletions, of: service.itemsPerRequestMax) { part in
      let call = Call.zonesModify(ZonesModifyRequest(operations: Array(part)))
      guard case .zones(let answers) = try await perform(call), answers.count == part.count else {
        throw CKError.unexpected("zones/modify")
      }
      return answers
    }
    // A zone that is made again may have gone with the account's keys.
    if !recordZonesToSave.isEmpty { service.keyring?.refresh() }
    var saved: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
    var deleted: [CKRecordZone.ID: Result<Void, any Error>] = [:]
    for (zone, result) in zip(recordZonesToSave, results) { saved[zone.zoneID] = result.flatMap(self.zone(of:)) }
    for (id, result) in zip(recordZoneIDsToDelete, results.dropFirst(recordZonesToSave.count)) {
      deleted[id] = result.flatMap(zone(of:)).map { _ in }
      // A zone that is not there is what a deletion wants.
      if case .failure(let error) = deleted[id], (error as? CKError)?.saysThatThereIsNoZone == true {
        deleted[id] = .success(())
      }
      if case .success? = deleted[id], let seal = seal(of: id.model) { seal.keyring.forget(seal.spot) }
    }
    return (saved, deleted)
  }

  private func zone(of result: ZoneResult) -> Result<CKRecordZone, any Error> {
    switch result {
    case .zone(let zone): .success(CKRecordZone(zone, in: self))
    case .failure(_, let error): .failure(CKError(error, item: .zone))
    }
  }

  // MARK: With completion handlers

  /// `allRecordZones()` with a completion handler.
  public func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
    callBack(completionHandler) { try await self.allRecordZones() }
  }

  /// `recordZone(for:)` with a completion handler.
  public func fetch(
    withRecordZoneID zoneID: CKRecordZone.ID,
    completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.recordZone(for: zoneID) }
  }

  /// `recordZones(for:)` with a completion handler.
  @preconcurrency
  public func fetch(
    withRecordZoneIDs zoneIDs: [CKRecordZone.ID],
    completionHandler:
      @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) ->
      Void
  ) {
    callBack(completionHandler) { try await self.recordZones(for: zoneIDs) }
  }

  /// `save(_:)` with a completion handler.
  public func save(
    _ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.save(zone) }
  }

  /// `deleteRecordZone(withID:)` with a completion handler.
  public func delete(
    withRecordZoneID zoneID: CKRecordZone.ID,
    completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.deleteRecordZone(withID: zoneID) }
  }

  /// `modifyRecordZones(saving:deleting:)` with a completion handler.
  @preconcurrency
  public func modifyRecordZones(
    saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID],
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
            deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
          ), any Error
        >
      ) -> Void
  ) {
    callBack(completionHandler) {
      try await self.modifyRecordZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
    }
  }
}

extension CKRecordZone {
  /// A zone as the service describes it. Custom zones can do everything, the default zone nothing beyond holding records.
  convenience init(_ envelope: ZoneEnvelope, in database: CKDatabase) {
    let isCustom = envelope.id.name != .default
    var capabilities: Capabilities = []
    if isCustom && database.databaseScope != .public {
      capabilities = [.fetchChanges, .sharing, .zoneWideSharing]
      if envelope.isAtomic || envelope.syncToken == nil { capabilities.insert(.atomic) }
    }
    self.init(CKRecordZone.ID(database.local(envelope.id)), capabilities: capabilities, share: nil)
  }
}

extension CKError {
  /// An answer of another shape than its call asks for.
  static func unexpected(_ operation: String) -> CKError {
    CKError(.internalError, "The service sent an unexpected answer to \(operation).")
  }

  fileprivate var saysThatThereIsNoZone: Bool {
    switch code {
    case .zoneNotFound, .unknownItem, .userDeletedZone: true
    default: false
    }
  }

  /// More is said to come after a page, and what follows is the same page.
  static func leadsNowhere(_ operation: String) -> CKError {
    CKError(.internalError, "The service answered \(operation) with a page that leads to itself.")
  }

  /// Refuses what one request cannot hold. The caller divides it: only the caller knows what belongs together.
  static func checkBatch(_ count: Int) throws {
    guard count > Limits.operationsPerRequestMax else { return }
    throw CKError(
      .limitExceeded, "\(count) items in one request; at most \(Limits.operationsPerRequestMax) are allowed.")
  }
}

extension Dictionary {
  /// The one value that was asked for.
  /// - Throws: Its own error.
  func only<Value2>(_ key: Key) throws -> Value2 where Value == Result<Value2, any Error> {
    guard let result = self[key] else { throw CKError(.internalError, "The service left out an item.") }
    return try result.get()
  }
}

/// Does a batch in parts, one request for each. Once some of it is done, what a part fails with is the result of each of its
/// items.
func inParts<Item, Answer>(
  _ items: [Item], of size: Int, _ body: (ArraySlice<Item>) async throws -> [Answer]
) async throws -> [Result<Answer, any Error>] {
  var results: [Result<Answer, any Error>] = []
  for part in items.chunks(of: size) {
    do {
      results += try await body(part).map { .success($0) }
    } catch  where !results.isEmpty {
      results += part.map { _ in .failure(error) }
    }
  }
  return results
}

extension Array {
  func chunks(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}
