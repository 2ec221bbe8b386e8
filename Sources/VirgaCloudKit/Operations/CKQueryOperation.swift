import Foundation

/// Fetches one page of the records that match a query.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.
  /// Where the next page begins.
  public typealias Cursor = CKQueryCursor

  /// As a limit: let the service choose.
  public static let maximumResults: Int = 0

  /// What to look for; nil if a cursor goes on with an earlier query.
  open var query: CKQuery?
  /// Where an earlier page ended. It counts instead of `query` and `zoneID`.
  open var cursor: Cursor?
  /// Where to look; nil looks into all zones. The shared database needs one.
  open var zoneID: CKRecordZone.ID?
  /// At most this many records. A page may be short; only a nil cursor ends the query.
  open var resultsLimit = CKQueryOperation.maximumResults
  /// The fields wanted: nil for all, none with an empty array.
  open var desiredKeys: [CKRecord.FieldKey]?

  /// Called for each record, in the query's order; a failure if its asset cannot be had.
  open var recordMatchedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
  /// Told where to go on; nil at the end.
  open var queryResultBlock: ((Result<Cursor?, any Error>) -> Void)?
  /// The older form of `recordMatchedBlock`, not called where that is set.
  open var recordFetchedBlock: ((CKRecord) -> Void)?
  /// The older form of `queryResultBlock`, not called where that is set. Failures of single records come as one
  /// `partialFailure`.
  open var queryCompletionBlock: ((Cursor?, (any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that fetches the first page.
  public convenience init(query: CKQuery) {
    self.init()
    self.query = query
  }

  /// Makes an operation that fetches the page after that of the cursor.
  public convenience init(cursor: Cursor) {
    self.init()
    self.cursor = cursor
  }

  override func run() async {
    do {
      let (results, next) = try await page(in: target())
      await callBack { self.tell(results, next) }
    } catch {
      await callBack {
        if let queryResultBlock = self.queryResultBlock {
          queryResultBlock(.failure(error))
        } else {
          self.queryCompletionBlock?(nil, error)
        }
      }
    }
  }

  private func page(
    in database: CKDatabase
  ) async throws -> ([(CKRecord.ID, Result<CKRecord, any Error>)], Cursor?) {
    if let cursor {
      return try await database.records(
        continuingMatchFrom: cursor, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
    }
    guard let query else { throw CKError(.invalidArguments, "The operation has neither a query nor a cursor.") }
    return try await database.records(
      matching: query, inZoneWith: zoneID, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
  }

  private func tell(_ results: [(CKRecord.ID, Result<CKRecord, any Error>)], _ next: Cursor?) {
    var errors: [AnyHashable: any Error] = [:]
    for (id, result) in results {
      if let error = result.error { errors[AnyHashable(id)] = error }
      if let recordMatchedBlock {
        recordMatchedBlock(id, result)
      } else if case .success(let record) = result {
        recordFetchedBlock?(record)
      }
    }
    if let queryResultBlock {
      queryResultBlock(.success(next))
    } else {
      queryCompletionBlock?(next, CKError.older(.success(()), errors))
    }
  }
}
