import Foundation

/// Saves and deletes zones.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// Zones to make; one that exists already is left as it is.
  open var recordZonesToSave: [CKRecordZone]?
  /// Zones to delete with all their records.
  open var recordZoneIDsToDelete: [CKRecordZone.ID]?

  /// Called once for each zone to save.
  open var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
  /// Called once for each zone to delete.
  open var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `modifyRecordZonesResultBlock`, not called where that is set. Failures of single items come as
  /// one `partialFailure`.
  open var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that saves and deletes these zones, at most 400 in all.
  public convenience init(recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil) {
    self.init()
    self.recordZonesToSave = recordZonesToSave
    self.recordZoneIDsToDelete = recordZoneIDsToDelete
  }

  override func run() async {
    let zones = recordZonesToSave ?? []
    let deletions = recordZoneIDsToDelete ?? []
    let saved: ItemResults<CKRecordZone.ID, CKRecordZone>
    let deleted: ItemResults<CKRecordZone.ID, Void>
    do {
      let results = try await target().modifyRecordZones(saving: zones, deleting: deletions)
      saved = ItemResults(zones.map(\.zoneID), .success(results.saveResults))
      deleted = ItemResults(deletions, .success(results.deleteResults))
    } catch {
      saved = ItemResults(zones.map(\.zoneID), .failure(error))
      deleted = ItemResults(deletions, .failure(error))
    }
    await callBack { self.tell(saved, deleted) }
  }

  private func tell(
    _ saved: ItemResults<CKRecordZone.ID, CKRecordZone>, _ deleted: ItemResults<CKRecordZone.ID, Void>
  ) {
    for item in saved.items { perRecordZoneSaveBlock?(item.id, item.result) }
    for item in deleted.items { perRecordZoneDeleteBlock?(item.id, item.result) }
    if let modifyRecordZonesResultBlock {
      modifyRecordZonesResultBlock(saved.whole)
    } else {
      let error = CKError.older(saved.whole, saved.errors.merging(deleted.errors) { first, _ in first })
      let deletedIDs = deleted.items.filter { $0.result.error == nil }.map(\.id)
      modifyRecordZonesCompletionBlock?(saved.values, deletedIDs, error)
    }
  }
}
