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
    var found: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    let parts = ids.byZone(\.model.zone).flatMap { zone, ids in
      ids.chunks(of: Limits.operationsPerRequestMax).map { (zone, $0) }
    }
    for (zone, part) in parts {
      do {
        for (id, result) in try await lookUp(part, in: zone, desiredKeys: desiredKeys) { found[id] = result }
      } catch let error as CKError where error.isAboutZone || !found.isEmpty {
        for id in part { found[id] = .failure(error) }
      }
    }
    return found
  }

  private func lookUp(
    _ ids: ArraySlice<CKRecord.ID>, in zone: ZoneID, desiredKeys: [CKRecord.FieldKey]?
  ) async throws -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
    var request = RecordsLookupRequest(
      records: ids.map { RecordsLookupRequest.Item($0.model.name) }, zone: ZoneSelector(zone))
    request.desiredKeys = desiredKeys?.map { FieldName($0) }
    let reply: Reply
    do { reply = try await perform(.recordsLookup(request), in: zone) } catch CKError.limitExceeded where ids.count > 1
    {
      // Large records: four hundred of them do not fit into one answer.
      let middle = ids.startIndex + ids.count / 2
      let left = try await lookUp(ids[..<middle], in: zone, desiredKeys: desiredKeys)
      return try await left + lookUp(ids[middle...], in: zone, desiredKeys: desiredKeys)
    }
    guard case .records(let reply) = reply, reply.records.count == ids.count else {
      throw CKError.unexpected("records/lookup")
    }
    return await records(from: reply.records, in: zone)
  }

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

  public func fetch(
    withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.record(for: recordID) }
  }

  @preconcurrency
  public func fetch(
    withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
    completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.records(for: recordIDs, desiredKeys: desiredKeys) }
  }

  public func save(_ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
    modifyRecords(saving: [record], deleting: []) { result in
      do {
        completionHandler(try result.get().saveResults.only(record.recordID), nil)
      } catch {
        completionHandler(nil, error)
      }
    }
  }

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
    from results: [RecordResult], in zone: ZoneID
  ) async -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
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
    return await withFilesOfAssets(records)
  }

  /// The record of an answer as an object, without the files of its assets.
  package func record(from envelope: RecordEnvelope) throws -> CKRecord {
    object(try model(from: envelope))
  }

  func model(from envelope: RecordEnvelope) throws -> Record {
    do {
      return try Record(envelope).local(in: self)
    } catch {
      throw CKError(.internalError, "The record \(envelope.id.name) cannot be read: \(error)")
    }
  }

  /// Fetches the files of assets that are not in the cache; a record whose asset cannot be had becomes a failure.
  private func withFilesOfAssets(
    _ records: [(id: CKRecord.ID, result: Result<CKRecord, any Error>)]
  ) async -> [(id: CKRecord.ID, result: Result<CKRecord, any Error>)] {
    var jobs: [(index: Int, asset: CKAsset)] = []
    for (index, record) in records.enumerated() {
      guard let assets = (try? record.result.get())?.state.withLock({ $0.assets }), !assets.isEmpty else { continue }
      for name in assets.keys.sorted() {
        for asset in assets[name] ?? [] { jobs.append((index, asset)) }
      }
    }
    if jobs.isEmpty { return records }
    let store = assets
    let failures = await inParallel(jobs, limit: AssetStore.parallelTransfers) { job -> (Int, any Error)? in
      do {
        job.asset.place(at: try await store.file(for: job.asset.model))
        return nil
      } catch {
        return (job.index, error)
      }
    }
    var records = records
    for case (let index, let error)? in failures { records[index].result = .failure(error) }
    return records
  }
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
  /// Whether the error is one zone's: the items of other zones may still go on.
  var isAboutZone: Bool {
    switch code {
    case .zoneNotFound, .userDeletedZone, .zoneBusy, .changeTokenExpired: true
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
