import Synchronization
import VirgaModel

/// Assets whose bytes are with the service while their records are not saved yet.
///
/// A save that a conflict or the network stopped is made again, and then sends only the files that did not get there:
/// the protocol knows no parts of an upload, but a whole one counts until its record is saved.
final class FinishedUploads: Sendable {
  struct Key: Hashable, Sendable {
    var scope: CKDatabase.Scope
    var record: RecordID
    var type: RecordType
    var field: FieldName
    /// The place in a list of assets; each needs a receipt of its own.
    var place: Int
    var file: FileSource.Version
  }

  private struct Upload: Sendable {
    var key: Key
    var asset: AssetValue
    var time: Timestamp
  }

  /// Receipts of ours are good for a day; of other services it is not known.
  private static let age: Duration = .seconds(3_600)
  private static let countMax = 1_000

  /// Oldest first.
  private let uploads = Mutex<[Upload]>([])

  func asset(for key: Key, at now: Timestamp) -> AssetValue? {
    uploads.withLock { uploads in
      uploads.removeAll { $0.time + Self.age < now }
      return uploads.first { $0.key == key }?.asset
    }
  }

  func keep(_ asset: AssetValue, for key: Key, at now: Timestamp) {
    uploads.withLock { uploads in
      uploads.removeAll { $0.key == key }
      uploads.append(Upload(key: key, asset: asset, time: now))
      if uploads.count > Self.countMax { uploads.removeFirst() }
    }
  }

  /// Forgets the uploads of a record: it is saved, or their receipts are not taken.
  func forget(_ record: RecordID, in scope: CKDatabase.Scope) {
    uploads.withLock { uploads in
      if uploads.isEmpty { return }
      uploads.removeAll { $0.key.record == record && $0.key.scope == scope }
    }
  }
}
