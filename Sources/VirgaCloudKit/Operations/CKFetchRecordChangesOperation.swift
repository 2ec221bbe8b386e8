public import Foundation
import Synchronization

/// Asks which records of one zone have changed, one page at a time. Apple has retired it: use
/// `CKFetchRecordZoneChangesOperation`.
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is; what it finds out while it runs is in the mutex.

  /// nil is the default zone, whose changes cannot be followed.
  open var recordZoneID: CKRecordZone.ID?
  /// Where the reader stopped; nil reads from the beginning.
  open var previousServerChangeToken: CKServerChangeToken?
  /// At most this many records; 0 lets the service choose.
  open var resultsLimit = 0
  /// The fields wanted: nil for all, none with an empty array.
  open var desiredKeys: [String]?

  /// Called for each record that was created or changed, with its present state.
  open var recordChangedBlock: ((CKRecord) -> Void)?
  /// Called for each record that was deleted.
  open var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)?
  /// Told where to go on. Records whose assets cannot be had come as one `partialFailure`.
  open var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?

  private let isPartial = Mutex(false)

  /// Whether another operation, with the new token, brings more; known when the completion block is called.
  open var moreComing: Bool { isPartial.withLock { $0 } }

  public override init() { super.init() }

  /// Makes an operation that reads one page of a zone, from a token on; nil reads from the beginning.
  public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
    self.init()
    self.recordZoneID = recordZoneID
    self.previousServerChangeToken = previousServerChangeToken
  }

  override func run() async {
    do {
      let page = try await target().recordZonePage(
        inZoneWith: recordZoneID ?? .default, since: previousServerChangeToken, desiredKeys: desiredKeys,
        resultsLimit: resultsLimit > 0 ? resultsLimit : nil)
      isPartial.withLock { $0 = page.moreComing }
      await callBack { self.tell(page) }
    } catch {
      await callBack {
        self.fetchRecordChangesCompletionBlock?(self.previousServerChangeToken, nil, error)
      }
    }
  }

  private func tell(_ page: CKDatabase.RecordZonePage) {
    var errors: [AnyHashable: any Error] = [:]
    for (id, result) in page.records {
      switch result {
      case .success(let record): recordChangedBlock?(record)
      case .failure(let error): errors[AnyHashable(id)] = error
      }
    }
    for deletion in page.deletions { recordWithIDWasDeletedBlock?(deletion.recordID) }
    fetchRecordChangesCompletionBlock?(page.changeToken, nil, CKError.older(.success(()), errors))
  }
}
