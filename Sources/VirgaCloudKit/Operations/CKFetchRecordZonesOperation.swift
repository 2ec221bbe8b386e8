import Foundation

/// Fetches zones by name, or all of a database.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The zones to fetch. More than fit into one request are fetched with several.
  open var recordZoneIDs: [CKRecordZone.ID]?

  /// Called once for each zone.
  open var perRecordZoneResultBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `fetchRecordZonesResultBlock`, not called where that is set. Failures of single items come as one
  /// `partialFailure`.
  open var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?

  private var wantsAll = false

  public required override init() { super.init() }

  /// Makes an operation that fetches these zones.
  public convenience init(recordZoneIDs zoneIDs: [CKRecordZone.ID]) {
    self.init()
    recordZoneIDs = zoneIDs
  }

  /// Fetches all zones of the database.
  open class func fetchAllRecordZonesOperation() -> Self {
    let operation = self.init()
    operation.wantsAll = true
    return operation
  }

  override func run() async {
    let results: ItemResults<CKRecordZone.ID, CKRecordZone>
    if wantsAll {
      do {
        let zones = try await target().allRecordZones()
        let byID = Dictionary(zones.map { ($0.zoneID, Result<_, any Error>.success($0)) }) { first, _ in first }
        results = ItemResults(zones.map(\.zoneID), .success(byID))
      } catch {
        results = ItemResults([], .failure(error))
      }
    } else {
      let ids = recordZoneIDs ?? []
      results = await ItemResults(ids) { try await target().recordZones(for: ids) }
    }
    await callBack { self.tell(results) }
  }

  private func tell(_ results: ItemResults<CKRecordZone.ID, CKRecordZone>) {
    for (id, result) in results.items { perRecordZoneResultBlock?(id, result) }
    if let fetchRecordZonesResultBlock {
      fetchRecordZonesResultBlock(results.whole)
    } else {
      fetchRecordZonesCompletionBlock?(results.valuesByID, results.olderError)
    }
  }
}
