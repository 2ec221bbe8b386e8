public import Foundation

/// Saves and deletes records.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// What a save does when the service has another version of the record.
  public enum RecordSavePolicy: Int, Sendable {
    /// Fails with `serverRecordChanged`. Only changed fields are sent.
    case ifServerRecordUnchanged = 0
    /// Overwrites the changed fields; the others stay as the service has them.
    case changedKeys = 1
    /// Overwrites all fields that the object holds; fields that only the service has stay.
    case allKeys = 2
  }

  /// At most 400 together with `recordIDsToDelete`, and 2 MB without assets. They are sent as they stand when the
  /// operation starts, and brought up to date in place.
  open var recordsToSave: [CKRecord]?
  /// At most 400 together with `recordsToSave`. One that does not exist counts as deleted.
  open var recordIDsToDelete: [CKRecord.ID]?
  /// Holds for all records but shares, which are always saved as `ifServerRecordUnchanged`.
  open var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
  /// Whether all items of a zone succeed or none, in zones that can do that; the innocent ones then fail with
  /// `batchRequestFailed`.
  open var isAtomic = true
  /// Kept, and not sent: the protocol has no place for it.
  open var clientChangeTokenData: Data?

  /// How far a record is sent: 1 when it is saved, less in between for records with assets.
  open var perRecordProgressBlock: ((CKRecord, Double) -> Void)?
  /// Called once for each record to save.
  open var perRecordSaveBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
  /// Called once for each record to delete. One that does not exist counts as deleted.
  open var perRecordDeleteBlock: ((CKRecord.ID, Result<Void, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var modifyRecordsResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `perRecordSaveBlock`, not called where that is set.
  open var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)?
  /// The older form of `modifyRecordsResultBlock`, not called where that is set. Failures of single items come as one
  /// `partialFailure`.
  open var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that saves and deletes these records.
  public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) {
    self.init()
    self.recordsToSave = recordsToSave
    self.recordIDsToDelete = recordIDsToDelete
  }

  override func run() async {
    let records = recordsToSave ?? []
    let deletions = recordIDsToDelete ?? []
    var progress: RecordModification.Progress?
    if perRecordProgressBlock != nil {
      progress = { record, done in self.callBackSoon { self.perRecordProgressBlock?(record, done) } }
    }
    let outcome: Result<RecordModification.Results, any Error>
    do {
      let database = try target()
      let modification = try RecordModification(
        saving: records, deleting: deletions, savePolicy: savePolicy, isAtomic: isAtomic)
      outcome = .success(try await modification.perform(in: database, progress: progress))
    } catch {
      outcome = .failure(error)
    }
    let saved = ItemResults(records.map(\.recordID), outcome.map { $0.tuple.saveResults })
    let deleted = ItemResults(deletions, outcome.map { $0.tuple.deleteResults })
    await callBack { self.tell(records, saved, deleted) }
  }

  private func tell(
    _ records: [CKRecord], _ saved: ItemResults<CKRecord.ID, CKRecord>, _ deleted: ItemResults<CKRecord.ID, Void>
  ) {
    for (record, item) in zip(records, saved.items) {
      if case .success(let record) = item.result { perRecordProgressBlock?(record, 1) }
      if let perRecordSaveBlock {
        perRecordSaveBlock(item.id, item.result)
      } else {
        perRecordCompletionBlock?(record, item.result.error)
      }
    }
    for item in deleted.items { perRecordDeleteBlock?(item.id, item.result) }
    if let modifyRecordsResultBlock {
      modifyRecordsResultBlock(saved.whole)
    } else {
      let error = CKError.older(saved.whole, saved.errors.merging(deleted.errors) { first, _ in first })
      let deletedIDs = deleted.items.filter { $0.result.error == nil }.map(\.id)
      modifyRecordsCompletionBlock?(saved.values, deletedIDs, error)
    }
  }
}
