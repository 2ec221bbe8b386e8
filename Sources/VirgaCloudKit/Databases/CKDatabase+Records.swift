import Foundation
import VirgaModel
package import VirgaWire

extension CKDatabase {
  /// The record of that name.
  /// - Throws: `unknownItem`, `zoneNotFound`.
  public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
    try await records(for: [recordID]).only(recordID)
  }

  /// Records by name, in as many requests as it takes.
  /// - Parameter desiredKeys: The fields wanted: nil for all, none with an empty array. Assets that are left out are not
  ///   downloaded.
  public func records(
    for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    try await records(for: ids, desiredKeys: desiredKeys, progress: nil)
  }

  /// - Parameter progress: Told how far a record's assets are fetched, on any thread: values between 0 and 1 that rise.
  func records(
    for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?, progress: FetchProgress?
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    var found: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    let parts = ids.byZone(\.model.zone).flatMap { zone, ids in
      ids.chunks(of: service.itemsPerRequestMax).map { (zone, $0) }
    }
    for (zone, part) in parts {
      do {
        for (id, result) in try await lookUp(part, in: zone, desiredKeys, progress) { found[id] = result }
      } catch let error as CKError where error.isAboutZone || !found.isEmpty {
        for id in part { found[id] = .failure(error) }
      }
    }
    return found
  }

  typealias FetchProgress = @Sendable (_ id: CKRecord.ID, _ done: Double) -> Void

  private func lookUp(
    _ ids: ArraySlice<CKRecord.ID>, in zone: ZoneID, _ desiredKeys: [CKRecord.FieldKey]?, _ progress: FetchProgress?
  ) async throws -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
    if let index = ids.firstIndex(where: { $0.model.namesUser }) {
      return try await lookUpUser(ids, at: index, in: zone, desiredKeys, progress)
    }
    var request = RecordsLookupRequest(
      records: ids.map { RecordsLookupRequest.Item($0.model.name) }, zone: ZoneSelector(zone))
    request.desiredKeys = desiredKeys?.map { FieldName($0) }
    let reply: Reply
    do { reply = try await perform(.recordsLookup(request), in: zone) } catch CKError.limitExceeded where ids.count > 1
    {
      // Large records: four hundred of them do not fit into one answer.
      let middle = ids.startIndex + ids.count / 2
      let left = try await lookUp(ids[..<middle], in: zone, desiredKeys, progress)
      return try await left + lookUp(ids[middle...], in: zone, desiredKeys, progress)
    }
    guard case .records(let reply) = reply, reply.records.count == ids.count else {
      throw CKError.unexpected("records/lookup")
    }
    return await records(from: reply.records, in: zone, progress: progress)
  }

  /// The same with the user's own record among those wanted, by the placeholder for their name: it is fetched by its full name,
  /// and found under the one, or both, by which it was asked for.
  private func lookUpUser(
    _ ids: ArraySlice<CKRecord.ID>, at index: Int, in zone: ZoneID, _ desiredKeys: [CKRecord.FieldKey]?,
    _ progress: FetchProgress?
  ) async throws -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
    let own = CKRecord.ID(RecordID(RecordName(try await nameOfUserRecord().rawValue), in: zone))
    let named = ids.filter { !$0.model.namesUser && $0 != own } + [own]
    let found = try await lookUp(named[...], in: zone, desiredKeys, progress)
    let wanted = ids.contains(own) ? found : found.filter { $0.id != own }
    return wanted + found.filter { $0.id == own }.map { (ids[index], $0.result) }
  }

  /// Saves a record if nobody has changed it since it was fetched, and brings the object up to date.
  /// - Returns: The same object.
  /// - Throws: `CKError`: `serverRecordChanged` with the records to merge, `zoneNotFound`, `limitExceeded` and others.
  @discardableResult
  public func save(_ record: CKRecord) async throws -> CKRecord {
    try await modifyRecords(saving: [record], deleting: []).saveResults.only(record.recordID)
  }

  /// Deletes a record. One that does not exist counts as deleted.
  @discardableResult
  public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
    try await modifyRecords(saving: [], deleting: [recordID]).deleteResults.only(recordID)
    return recordID
  }

  /// Saves and deletes records, at most 400 in all and 2 MB without assets.
  ///
  /// Saved objects are brought up to date in place; what the app changes in them meanwhile stays changed. The files of
  /// assets are opened at once and sent first.
  /// - Parameter atomically: In zones that are atomic, all of a zone's items succeed or none; the innocent ones then
  ///   fail with `batchRequestFailed`.
  /// - Throws: Only if nothing was tried, such as `limitExceeded` for the whole.
  public func modifyRecords(
    saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
  ) async throws -> (
    saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
  ) {
    let modification = try RecordModification(
      saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, isAtomic: atomically)
    return try await modification.perform(in: self).tuple
  }

  // MARK: With completion handlers

  /// `record(for:)` with a completion handler.
  public func fetch(
    withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.record(for: recordID) }
  }

  /// `records(for:desiredKeys:)` with a completion handler.
  @preconcurrency
  public func fetch(
    withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
    completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.records(for: recordIDs, desiredKeys: desiredKeys) }
  }

  /// `save(_:)` with a completion handler. What is saved is how the record stands when this is called.
  public func save(_ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
    modifyRecords(saving: [record], deleting: []) { result in
      do {
        completionHandler(try result.get().saveResults.only(record.recordID), nil)
      } catch {
        completionHandler(nil, error)
      }
    }
  }

  /// `deleteRecord(withID:)` with a completion handler.
  public func delete(
    withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.deleteRecord(withID: recordID) }
  }

  /// What is saved is how the records stand, and what their assets' files hold, when this is called.
  @preconcurrency
  public func modifyRecords(
    saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
            deleteResults: [CKRecord.ID: Result<Void, any Error>]
          ), any Error
        >
      ) -> Void
  ) {
    do {
      let modification = try RecordModification(
        saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy, isAtomic: atomically)
      callBack(completionHandler) { try await modification.perform(in: self).tuple }
    } catch {
      completionHandler(.failure(error))
    }
  }
}

// MARK: Reading answers

extension CKDatabase {
  /// The records of an answer as objects, each with the files of its assets. Deletions are left out.
  func records(
    from results: [RecordResult], in zone: ZoneID, progress: FetchProgress? = nil
  ) async -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
    await learnUserName()
    var records: [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] = []
    records.reserveCapacity(results.count)
    for result in results {
      switch result {
      case .deleted: continue
      case .failure(let failure):
        records.append(
          (CKRecord.ID(RecordID(failure.name, in: zone)), .failure(CKError(failure.error, item: .record))))
      case .record(let envelope):
        let id = CKRecord.ID(RecordID(envelope.id.name, in: local(envelope.id.zone)))
        records.append((id, Result { try record(from: envelope) }))
      }
    }
    return await withFilesOfAssets(await withKeys(records), progress)
  }

  /// Fetches keys that the records of a zone lack; a record that needs one while the service cannot be asked becomes a
  /// failure. The service is then not asked again for each of them.
  private func withKeys(
    _ records: [(id: CKRecord.ID, result: Result<CKRecord, any Error>)]
  ) async -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
    var records = records
    var failure: (any Error)?
    for index in records.indices {
      guard case .success(let record) = records[index].result else { continue }
      do {
        if let failure, record.lacksKeys { throw failure }
        try await fetchKeys(for: [record])
      } catch {
        failure = error
        records[index].result = .failure(error)
      }
    }
    return records
  }

  /// The record of an answer as an object, without the files of its assets.
  package func record(from envelope: RecordEnvelope) throws -> CKRecord {
    object(try model(from: envelope))
  }

  func model(from envelope: RecordEnvelope) throws -> Record {
    // Where the service does not say who the user is, their own zones bear their name.
    if databaseScope == .private, service.tokens != nil { user.note(envelope.id.zone.owner) }
    do {
      var record = withoutUserName(try Record(envelope).local(in: self))
      seal(of: record.id.zone)?.receive(&record)
      return record
    } catch {
      throw CKError(
        .internalError,
        "The fields of the record \(envelope.id.name) cannot be read: \(error.expected) was expected at byte "
          + "\(error.offset).")
    }
  }

  private struct Download: Sendable {
    var number: Int
    var index: Int
    var id: CKRecord.ID
    var field: FieldName
    /// Its place in the field's list.
    var place: Int
    var asset: CKAsset
  }

  /// Fetches the files of assets that are not in the cache; a record whose asset cannot be had becomes a failure.
  private func withFilesOfAssets(
    _ records: [(id: CKRecord.ID, result: Result<CKRecord, any Error>)], _ progress: FetchProgress?
  ) async -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
    var jobs: [Download] = []
    var totals: [CKRecord.ID: Int64] = [:]
    for (index, record) in records.enumerated() {
      guard let object = try? record.result.get() else { continue }
      for job in Self.downloads(of: object, number: jobs.count, index: index) {
        jobs.append(job)
        // The sizes are the service's word.
        let (sum, isTooMuch) = totals[record.id, default: 0].addingReportingOverflow(job.asset.model.size)
        totals[record.id] = isTooMuch ? .max : sum
      }
    }
    if jobs.isEmpty { return records }
    let store = assets
    let meter = progress.map { TransferMeter(totals, tell: $0) }
    let failures = await inParallel(jobs, limit: AssetStore.parallelTransfers) { job -> (Int, any Error)? in
      do {
        let asset = job.asset.model
        let file = try await store.file(for: asset, renew: { try await self.address(of: asset, job.field, of: job.id) })
        {
          meter?.note($0, ofAsset: job.number, of: job.id)
        }
        try await self.place(file, job)
        meter?.note(asset.size, ofAsset: job.number, of: job.id)
        return nil
      } catch {
        return (job.index, error)
      }
    }
    var records = records
    for case (let index, let error)? in failures { records[index].result = .failure(error) }
    return records
  }

  private func place(_ cached: URL, _ job: Download) async throws {
    let zone = job.id.model.zone
    let owner = "\(databaseScope) \(zone.owner) \(zone.name)\n\(job.id.recordName)\n\(job.field) \(job.place)"
    job.asset.place(at: try await assets.file(cached, of: job.asset.model, ownedBy: owner))
  }

  /// Gives the assets of records that came without them those files that are in the cache.
  func placeCachedFiles(in records: [CKRecord]) async {
    for (index, record) in records.enumerated() {
      for job in Self.downloads(of: record, number: 0, index: index) where job.asset.fileURL == nil {
        guard let cached = await assets.cachedFile(of: job.asset.model) else { continue }
        // Without one the asset is as the service sent it.
        try? await place(cached, job)
      }
    }
  }

  private static func downloads(of record: CKRecord, number: Int, index: Int) -> [Download] {
    let assets = record.state.withLock { $0.assets }
    if assets.isEmpty { return [] }
    return assets.keys.sorted().flatMap { field in
      (assets[field] ?? []).enumerated().map { (field: field, place: $0, asset: $1) }
    }.enumerated().map { offset, part in
      Download(
        number: number + offset, index: index, id: record.recordID, field: part.field, place: part.place,
        asset: part.asset)
    }
  }

  /// A new address for the bytes of an asset: addresses expire, and a page of large assets may take longer than that.
  /// - Returns: `nil` if the record does not have these bytes any more.
  private func address(of asset: AssetValue, _ field: FieldName, of id: CKRecord.ID) async throws -> String? {
    let zone = id.model.zone
    var request = RecordsLookupRequest(records: [.init(id.model.name)], zone: ZoneSelector(zone))
    request.desiredKeys = [field]
    guard case .records(let reply) = try await perform(.recordsLookup(request), in: zone),
      case .record(let envelope)? = reply.records.first
    else { return nil }
    let assets = try record(from: envelope).state.withLock { $0.assets[field] ?? [] }
    return assets.map(\.model).first { $0.fileChecksum == asset.fileChecksum }?.source
  }
}

extension RecordID {
  /// Whether it is the user's own record, by the placeholder for their name.
  fileprivate var namesUser: Bool { Reference(recordName: name).namesUser(in: zone.name) }
}

extension Record {
  /// The record with zones as apps name them.
  fileprivate func local(in database: CKDatabase) -> Record {
    var record = self
    let home = id.zone
    record.id.zone = database.local(home)
    func local(_ reference: Reference) -> Reference {
      guard let zone = reference.zone else { return reference }
      var reference = reference
      reference.zone = zone == home ? nil : database.local(zone)
      return reference
    }
    record.parent = parent.map(local)
    record.share = share.map(local)
    for element in fields {
      switch element.field.value {
      case .reference(let reference): record.fields[element.name]?.value = .reference(local(reference))
      case .referenceList(let list): record.fields[element.name]?.value = .referenceList(list.map(local))
      default: break
      }
    }
    return record
  }
}

extension CKError {
  /// Whether the error is one zone's: the items of other zones may still go on. So may those of zones with another owner,
  /// whom something is permitted or who has space left.
  var isAboutZone: Bool {
    switch code {
    case .zoneNotFound, .userDeletedZone, .zoneBusy, .changeTokenExpired, .permissionFailure, .quotaExceeded: true
    default: false
    }
  }
}

extension Array {
  /// The elements by zone: zones in the order of their first element, elements in their order.
  func byZone(_ zone: (Element) -> ZoneID) -> [(ZoneID, [Element])] {
    var order: [ZoneID] = []
    var groups: [ZoneID: [Element]] = [:]
    for element in self {
      let zone = zone(element)
      if groups[zone] == nil { order.append(zone) }
      groups[zone, default: []].append(element)
    }
    return order.map { ($0, groups[$0] ?? []) }
  }
}

/// Does the jobs, at most `limit` at a time; results are in the jobs' order.
func inParallel<Job: Sendable, Outcome: Sendable>(
  _ jobs: [Job], limit: Int, _ body: @escaping @Sendable (Job) async -> Outcome
) async -> [Outcome] {
  await withTaskGroup(of: (Int, Outcome).self) { group in
    var outcomes = [Outcome?](repeating: nil, count: jobs.count)
    for (index, job) in jobs.enumerated() {
      if index >= limit, let (done, outcome) = await group.next() { outcomes[done] = outcome }
      group.addTask { (index, await body(job)) }
    }
    for await (done, outcome) in group { outcomes[done] = outcome }
    return outcomes.compactMap { $0 }
  }
}
