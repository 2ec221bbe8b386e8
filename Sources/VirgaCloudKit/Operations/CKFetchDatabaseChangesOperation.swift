import Foundation

/// Asks which zones of a database have changed.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// Where the reader stopped; nil reads from the beginning.
  open var previousServerChangeToken: CKServerChangeToken?
  /// At most this many zones a page; 0 lets the service choose.
  open var resultsLimit = 0
  /// Whether to go on until everything is read.
  open var fetchAllChanges = true

  /// Called for each zone in which something changed.
  open var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)?
  /// Called for every deleted zone whose reason has no block of its own below.
  open var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)?
  /// The user erased the zone in the settings: erase it here too, and do not upload it again.
  open var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)?
  /// The user reset their encrypted data: upload the zone again.
  open var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)?
  /// Called after each page, when the blocks for its zones have returned.
  open var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)?
  /// Called once, at the end, with where to go on from. Fails with `changeTokenExpired` if the reader must start again
  /// from nil.
  open var fetchDatabaseChangesResultBlock:
    ((Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
  /// The older form of `fetchDatabaseChangesResultBlock`, not called where that is set.
  open var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that goes on from a token; nil reads from the beginning.
  public convenience init(previousServerChangeToken: CKServerChangeToken?) {
    self.init()
    self.previousServerChangeToken = previousServerChangeToken
  }

  override func run() async {
    var token = previousServerChangeToken
    var moreComing = true
    do {
      let database = try target()
      repeat {
        try checkCancellation()
        let page = try await database.databaseChanges(since: token, resultsLimit: resultsLimit > 0 ? resultsLimit : nil)
        if page.moreComing, page.changeToken.text == token?.text { throw CKError.leadsNowhere("changes/database") }
        (token, moreComing) = (page.changeToken, page.moreComing)
        await callBack { self.tell(page.modifications, page.deletions, page.changeToken) }
      } while moreComing && fetchAllChanges
      await callBack { [token, moreComing] in self.finish(token, moreComing, nil) }
    } catch {
      await callBack { [token] in self.finish(token, false, error) }
    }
  }

  private func tell(
    _ modifications: [CKDatabase.DatabaseChange.Modification], _ deletions: [CKDatabase.DatabaseChange.Deletion],
    _ token: CKServerChangeToken
  ) {
    // A zone that was deleted and created again is in both.
    for deletion in deletions {
      let special =
        switch deletion.reason {
        case .deleted: recordZoneWithIDWasDeletedBlock
        case .purged: recordZoneWithIDWasPurgedBlock
        case .encryptedDataReset: recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock
        }
      (special ?? recordZoneWithIDWasDeletedBlock)?(deletion.zoneID)
    }
    for modification in modifications { recordZoneWithIDChangedBlock?(modification.zoneID) }
    changeTokenUpdatedBlock?(token)
  }

  /// - Parameter token: The one to go on from: also after an error, what came before it counts.
  private func finish(_ token: CKServerChangeToken?, _ moreComing: Bool, _ error: (any Error)?) {
    if let fetchDatabaseChangesResultBlock {
      if let token, error == nil {
        fetchDatabaseChangesResultBlock(.success((token, moreComing)))
      } else {
        fetchDatabaseChangesResultBlock(.failure(error ?? CKError.unexpected("changes/database")))
      }
    } else {
      fetchDatabaseChangesCompletionBlock?(token, moreComing, error)
    }
  }
}
