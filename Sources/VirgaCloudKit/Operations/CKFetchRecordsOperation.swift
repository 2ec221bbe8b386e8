import Foundation

/// Fetches records by name.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The records to fetch. More than fit into one request are fetched with several.
  open var recordIDs: [CKRecord.ID]?
  /// The fields wanted: nil for all, none with an empty array.
  open var desiredKeys: [CKRecord.FieldKey]?

  /// How far a record is fetched: 1 when it has arrived with its assets, less in between for records with assets.
  open var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)?
  /// Called once for each record.
  open var perRecordResultBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var fetchRecordsResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `perRecordResultBlock`, not called where that is set.
  open var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
  /// The older form of `fetchRecordsResultBlock`, not called where that is set. Failures of single items come as one
  /// `partialFailure`.
  open var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?

  private var wantsCurrentUser = false

  public required override init() { super.init() }

  /// Makes an operation that fetches these records with all fields.
  public convenience init(recordIDs: [CKRecord.ID]) {
    self.init()
    self.recordIDs = recordIDs
  }

  /// Fetches the record of the user, from the public database unless another is set.
  open class func fetchCurrentUserRecordOperation() -> Self {
    let operation = self.init()
    operation.wantsCurrentUser = true
    return operation
  }

  override func run() async {
    var ids = recordIDs ?? []
    let results: ItemResults<CKRecord.ID, CKRecord>
    do {
      if wantsCurrentUser {
        let container = settings.container ?? .default()
        if database == nil { database = container.publicCloudDatabase }
        ids = [CKRecord.ID(user: try await target().currentUserName())]
      }
      let database = try target()
      var progress: CKDatabase.FetchProgress?
      if perRecordProgressBlock != nil {
        progress = { id, done in self.callBackSoon { self.perRecordProgressBlock?(id, done) } }
      }
      results = await ItemResults(ids) { [progress] in
        try await database.records(for: ids, desiredKeys: desiredKeys, progress: progress)
      }
    } catch {
      results = ItemResults(ids, .failure(error))
    }
    await callBack { self.tell(results) }
  }

  private func tell(_ results: ItemResults<CKRecord.ID, CKRecord>) {
    for (id, result) in results.items {
      if case .success = result { perRecordProgressBlock?(id, 1) }
      if let perRecordResultBlock {
        perRecordResultBlock(id, result)
      } else {
        perRecordCompletionBlock?(try? result.get(), id, result.error)
      }
    }
    if let fetchRecordsResultBlock {
      fetchRecordsResultBlock(results.whole)
    } else {
      fetchRecordsCompletionBlock?(results.valuesByID, results.olderError)
    }
  }
}
