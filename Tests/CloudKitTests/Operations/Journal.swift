import CloudKit
import Foundation
import Synchronization

/// What an operation's blocks told, in their order.
final class Journal: Sendable {
  private let lines = Mutex<[String]>([])
  func note(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
}

extension CKOperation {
  /// Runs the operation in a database and waits until its completion block was called.
  func run(in database: CKDatabase) async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      let before = completionBlock
      completionBlock = {
        before?()
        done.resume()
      }
      if let operation = self as? CKDatabaseOperation { database.add(operation) }
    }
  }

  /// Runs the operation with a container.
  func run(in container: CKContainer) async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      completionBlock = { done.resume() }
      container.add(self)
    }
  }
}

extension Result {
  /// `ok`, or the code of the error.
  var word: String {
    switch self {
    case .success: "ok"
    case .failure(let error): (error as (any Error)?).word
    }
  }
}

extension (any Error)? {
  var word: String {
    guard let self else { return "ok" }
    return (self as? CKError).map { "\($0.code)" } ?? "\(self)"
  }
}

/// A record in a zone of the test's own.
func record(_ name: String, in zone: CKRecordZone, title: String = "A") -> CKRecord {
  let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
  record["title"] = title
  return record
}
