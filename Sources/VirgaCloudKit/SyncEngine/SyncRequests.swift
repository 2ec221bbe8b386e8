import Synchronization
import VirgaModel
import VirgaSync

/// One request for zones: what it asks for, and for the event what became of it.
final class ZoneRequest: Sendable {
  private struct Outcome: Sendable {
    var saved: [CKRecordZone] = []
    var failedSaves: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave] = []
    var deleted: [CKRecordZone.ID] = []
    var failedDeletes: [CKRecordZone.ID: CKError] = [:]
  }

  private let zones: [CKRecordZone]
  private let deletions: [CKRecordZone.ID]
  private let outcome = Mutex(Outcome())

  init(_ changes: [PendingZoneChange]) {
    zones = changes.filter { $0.kind == .save }.map { CKRecordZone(zoneID: CKRecordZone.ID($0.zone)) }
    deletions = changes.filter { $0.kind == .delete }.map { CKRecordZone.ID($0.zone) }
  }

  func perform(_ service: SyncService) async -> SyncEvent {
    do {
      let results = try await service.database.modifyRecordZones(saving: zones, deleting: deletions)
      return .zonesSent(.success(settle(results.saveResults, results.deleteResults)))
    } catch {
      return .zonesSent(.failure(SyncFailure(error)))
    }
  }

  private func settle(
    _ saves: [CKRecordZone.ID: Result<CKRecordZone, any Error>], _ deletes: [CKRecordZone.ID: Result<Void, any Error>]
  ) -> [ZoneOutcome] {
    outcome.withLock { outcome in
      var outcomes: [ZoneOutcome] = []
      for zone in zones {
        switch saves[zone.zoneID] {
        case .success(let saved)?:
          outcome.saved.append(saved)
          outcomes.append(ZoneOutcome(zone.zoneID.model))
        case .failure(let error)?:
          outcome.failedSaves.append(.init(zone: zone, error: CKError(wrapping: error)))
          outcomes.append(ZoneOutcome(zone.zoneID.model, SyncFailure(error)))
        case nil: outcomes.append(ZoneOutcome(zone.zoneID.model, SyncFailure(.unreachable)))
        }
      }
      for zoneID in deletions {
        switch deletes[zoneID] {
        case .success?:
          outcome.deleted.append(zoneID)
          outcomes.append(ZoneOutcome(zoneID.model))
        case .failure(let error)?:
          outcome.failedDeletes[zoneID] = CKError(wrapping: error)
          outcomes.append(ZoneOutcome(zoneID.model, SyncFailure(error)))
        case nil: outcomes.append(ZoneOutcome(zoneID.model, SyncFailure(.unreachable)))
        }
      }
      return outcomes
    }
  }

  /// - Parameter failed: Set if the request failed as a whole and its zones are handed over with that.
  func event(failed: SyncFailure?) -> CKSyncEngine.Event.SentDatabaseChanges {
    if let failed {
      let deletes = deletions.map { ($0, failed.error) }
      return .init(
        savedZones: [], failedZoneSaves: zones.map { .init(zone: $0, error: failed.error) }, deletedZoneIDs: [],
        failedZoneDeletes: Dictionary(deletes) { first, _ in first })
    }
    return outcome.withLock {
      .init(
        savedZones: $0.saved, failedZoneSaves: $0.failedSaves, deletedZoneIDs: $0.deleted,
        failedZoneDeletes: $0.failedDeletes)
    }
  }
}

/// One request for records: what it asks for, and for the event what became of it.
final class RecordRequest: Sendable {
  private struct Outcome: Sendable {
    var saved: [CKRecord] = []
    var failedSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] = []
    var deleted: [CKRecord.ID] = []
    var failedDeletes: [CKRecord.ID: CKError] = [:]
  }

  private let records: [CKRecord]
  private let deletions: [CKRecord.ID]
  private let isAtomic: Bool
  private let outcome = Mutex(Outcome())

  init(_ part: BatchPart, _ batch: CKSyncEngine.RecordZoneChangeBatch) {
    let saves = Set(part.saves)
    let deletes = Set(part.deletes)
    records = batch.recordsToSave.filter { saves.contains($0.recordID.model) }
    deletions = batch.recordIDsToDelete.filter { deletes.contains($0.model) }
    isAtomic = part.isAtomic
  }

  func perform(_ service: SyncService) async -> SyncEvent {
    do {
      let results = try await service.database.modifyRecords(
        saving: records, deleting: deletions, savePolicy: .ifServerRecordUnchanged, atomically: isAtomic)
      return .recordsSent(.success(settle(results.saveResults, results.deleteResults)))
    } catch {
      return .recordsSent(.failure(SyncFailure(error)))
    }
  }

  private func settle(
    _ saves: [CKRecord.ID: Result<CKRecord, any Error>], _ deletes: [CKRecord.ID: Result<Void, any Error>]
  ) -> [ItemOutcome] {
    outcome.withLock { outcome in
      var outcomes: [ItemOutcome] = []
      for record in records {
        switch saves[record.recordID] {
        case .success(let saved)?:
          outcome.saved.append(saved)
          outcomes.append(ItemOutcome(record.recordID.model))
        case .failure(let error)?:
          outcome.failedSaves.append(.init(record: record, error: CKError(wrapping: error)))
          outcomes.append(ItemOutcome(record.recordID.model, SyncFailure(error)))
        case nil: outcomes.append(ItemOutcome(record.recordID.model, SyncFailure(.unreachable)))
        }
      }
      for recordID in deletions {
        switch deletes[recordID] {
        case .success?:
          outcome.deleted.append(recordID)
          outcomes.append(ItemOutcome(recordID.model))
        case .failure(let error)?:
          outcome.failedDeletes[recordID] = CKError(wrapping: error)
          outcomes.append(ItemOutcome(recordID.model, SyncFailure(error)))
        case nil: outcomes.append(ItemOutcome(recordID.model, SyncFailure(.unreachable)))
        }
      }
      return outcomes
    }
  }

  /// When the service saved the records, by its clock.
  var savedAt: Timestamp? {
    outcome.withLock { outcome in
      outcome.saved.compactMap { $0.state.withLock { $0.record.modified?.time } }.max()
    }
  }

  /// - Parameter part: What is settled: the rest of the request is sent again.
  /// - Parameter failed: Set if the request failed as a whole and its records are handed over with that.
  func event(of part: BatchPart, failed: SyncFailure?) -> CKSyncEngine.Event.SentRecordZoneChanges {
    if let failed {
      let deletes = deletions.map { ($0, failed.error) }
      return .init(
        savedRecords: [], failedRecordSaves: records.map { .init(record: $0, error: failed.error) },
        deletedRecordIDs: [], failedRecordDeletes: Dictionary(deletes) { first, _ in first })
    }
    let isWhole = part.count == records.count + deletions.count
    let settled = isWhole ? [] : Set(part.records)
    return outcome.withLock {
      .init(
        savedRecords: $0.saved,
        failedRecordSaves: $0.failedSaves.filter { isWhole || settled.contains($0.record.recordID.model) },
        deletedRecordIDs: $0.deleted,
        failedRecordDeletes: $0.failedDeletes.filter { isWhole || settled.contains($0.key.model) })
    }
  }
}

/// One page of a zone's feed.
final class ZoneFetch: Sendable {
  private let zone: ZoneID
  private let token: String?
  private let missingKeys: [KeyID]
  private let page = Mutex<CKDatabase.RecordZonePage?>(nil)

  /// - Parameter missingKeys: See `SyncState.missingKeys`.
  init(_ zone: ZoneID, _ token: String?, missingKeys: [KeyID]) {
    self.zone = zone
    self.token = token
    self.missingKeys = missingKeys
  }

  func isOf(_ zone: ZoneID, _ token: String?) -> Bool { self.zone == zone && self.token == token }

  func perform(_ service: SyncService) async -> SyncEvent {
    do {
      let fetched = try await service.zoneChanges(in: zone, since: token, missing: missingKeys)
      page.withLock { $0 = fetched }
      return .zonePage(
        .success(
          ZonePage(
            zone: zone, count: fetched.records.count + fetched.deletions.count, token: fetched.changeToken.text,
            moreComing: fetched.moreComing, missingKeys: fetched.missingKeys)))
    } catch {
      return .zonePage(.failure(SyncFailure(error)))
    }
  }

  var event: CKSyncEngine.Event.FetchedRecordZoneChanges? {
    page.withLock { page in
      page.map { .init(modifications: $0.fetched.map { .init(record: $0) }, deletions: $0.deletions) }
    }
  }
}
