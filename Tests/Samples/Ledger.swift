import CloudKit

// The shape of an older app: operations with completion blocks, an operation queue, partial errors, no async.

func ledgerApp(_ action: String, _ words: [String]) {
  let app = Ledger()
  switch action {
  case "setup": app.setUp()
  case "enter": app.enter(words)
  case "conflict": app.conflict(words[0])
  case "total": app.total()
  case "zones": app.zones()
  default: break
  }
}

final class Ledger {
  private let container = CKContainer.default()
  private var database: CKDatabase { container.privateCloudDatabase }
  private let zoneID = CKRecordZone.ID(zoneName: "Ledger", ownerName: CKCurrentUserDefaultName)
  private let queue = OperationQueue()

  private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

  /// Runs an operation and waits, as apps did on a queue of their own.
  private func wait(_ operation: CKDatabaseOperation) {
    operation.database = database
    operation.configuration.timeoutIntervalForRequest = 30
    queue.addOperations([operation], waitUntilFinished: true)
  }

  func setUp() {
    let done = DispatchSemaphore(value: 0)
    container.accountStatus { status, error in
      print("account: \(status == .available) \(error == nil)")
      done.signal()
    }
    done.wait()
    let zones = CKModifyRecordZonesOperation(
      recordZonesToSave: [CKRecordZone(zoneID: zoneID)], recordZoneIDsToDelete: nil)
    zones.modifyRecordZonesCompletionBlock = { saved, _, error in
      print("zones: \(saved?.count ?? 0) \(error == nil)")
    }
    wait(zones)
    database.fetchAllRecordZones { zones, error in
      print("all zones: \(zones?.count ?? 0)")
      done.signal()
    }
    done.wait()
  }

  func enter(_ words: [String]) {
    let records = words.map { word -> CKRecord in
      let parts = word.split(separator: "=").map(String.init)
      let record = CKRecord(recordType: "Entry", recordID: id(parts[0]))
      record["amount"] = NSNumber(value: Double(parts[1])!)
      return record
    }
    let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
    operation.savePolicy = .allKeys
    operation.isAtomic = true
    operation.qualityOfService = .userInitiated
    operation.perRecordCompletionBlock = { record, error in
      print("entry: \(record.recordID.recordName) \(error == nil)")
    }
    operation.modifyRecordsCompletionBlock = { saved, _, error in
      print("saved: \(saved?.count ?? 0) \(error == nil)")
    }
    wait(operation)
  }

  /// Two copies of one entry are changed; the second save meets the first.
  func conflict(_ name: String) {
    var copies: [CKRecord] = []
    for _ in 0..<2 {
      let fetch = CKFetchRecordsOperation(recordIDs: [id(name)])
      let box = Box()
      fetch.fetchRecordsCompletionBlock = { records, _ in box.records = records.map { Array($0.values) } ?? [] }
      wait(fetch)
      copies += box.records
    }
    guard copies.count == 2 else { return print("no entry") }
    for copy in copies {
      copy["amount"] = (copy["amount"] as? Double ?? 0) + 1
      let save = CKModifyRecordsOperation(recordsToSave: [copy], recordIDsToDelete: nil)
      save.savePolicy = .ifServerRecordUnchanged
      save.modifyRecordsCompletionBlock = { _, _, error in
        guard let error else { return print("first: saved") }
        let nsError = error as NSError
        print("second: \(nsError.domain == CKErrorDomain) \(nsError.code == CKError.partialFailure.rawValue)")
        let partial = nsError.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: Error] ?? [:]
        let inner = partial[copy.recordID] as? CKError
        let server = inner?.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord
        print("conflict: \(inner?.code == .serverRecordChanged) server \(server?["amount"] as? Int ?? -1)")
      }
      wait(save)
    }
  }

  /// An operation that says nothing of a database works in the private one of the default container.
  func zones() {
    let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
    operation.fetchRecordZonesCompletionBlock = { zones, _ in
      print("zones: \(zones?.keys.map { $0.zoneName }.sorted().joined(separator: " ") ?? "none")")
    }
    queue.addOperations([operation], waitUntilFinished: true)
  }

  func total() {
    let query = CKQuery(recordType: "Entry", predicate: NSPredicate(format: "amount > %f", 0.0))
    let box = Box()
    let first = CKQueryOperation(query: query)
    first.zoneID = zoneID
    first.recordFetchedBlock = { box.records.append($0) }
    first.queryCompletionBlock = { cursor, error in print("query: \(cursor == nil) \(error == nil)") }
    // Nothing is printed before the query is done.
    let report = BlockOperation {
      let total = box.records.reduce(0) { $0 + ($1["amount"] as? Double ?? 0) }
      print("total: \(total) of \(box.records.count)")
    }
    first.database = database
    report.addDependency(first)
    queue.addOperations([report, first], waitUntilFinished: true)
  }
}

private final class Box: @unchecked Sendable { var records: [CKRecord] = [] }
