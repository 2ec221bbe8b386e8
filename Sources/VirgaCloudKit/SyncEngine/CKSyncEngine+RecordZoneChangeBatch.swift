import Foundation
import VirgaModel

extension CKSyncEngine {
  /// Records to save and delete with one request.
  public struct RecordZoneChangeBatch: Sendable, CustomStringConvertible {
    /// Records to save, in the order in which they are sent.
    public var recordsToSave: [CKRecord]
    /// Records to delete. One that does not exist counts as deleted.
    public var recordIDsToDelete: [CKRecord.ID]
    /// Whether the batch's records of one zone are saved all or not at all. If not, one bad record fails alone.
    public var atomicByZone: Bool

    /// - Note: A batch over the limits of a request (400 records, 2 MB) is divided by the engine, if it is not atomic.
    public init(recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false) {
      self.recordsToSave = recordsToSave
      self.recordIDsToDelete = recordIDsToDelete
      self.atomicByZone = atomicByZone
    }

    /// Walks the changes in order and takes what fits into one request, with at most 64 MB of new assets.
    /// - Parameter recordProvider: Gives the record to save; `nil` skips the change, which stays pending.
    /// - Returns: `nil` if nothing remains.
    public init?(
      pendingChanges: [PendingRecordZoneChange], recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
    ) async {
      self.init()
      var bytes = 0
      var assetBytes: Int64 = 0
      for change in pendingChanges {
        if recordsToSave.count + recordIDsToDelete.count == Limits.operationsPerRequestMax { break }
        switch change {
        case .deleteRecord(let recordID): recordIDsToDelete.append(recordID)
        case .saveRecord(let recordID):
          guard let record = await recordProvider(recordID) else { continue }
          bytes += record.estimatedUploadBytes
          assetBytes += record.bytesOfAssetsToUpload
          let isFull = bytes > Self.bytesMax || assetBytes > Self.assetBytesMax
          if isFull, !recordsToSave.isEmpty || !recordIDsToDelete.isEmpty { return }
          recordsToSave.append(record)
        }
      }
      if recordsToSave.isEmpty, recordIDsToDelete.isEmpty { return nil }
    }

    /// Bytes of records in one request, without assets (CloudKit's limitExceeded page: 2 MB).
    static let bytesMax = 2 << 20

    /// Bytes of assets that are uploaded before the records of one request are saved. An interruption then costs no more
    /// than that.
    static let assetBytesMax: Int64 = 64 << 20

    public var description: String {
      "<RecordZoneChangeBatch saves=\(recordsToSave.count) deletions=\(recordIDsToDelete.count)"
        + " atomicByZone=\(atomicByZone)>"
    }
  }
}

extension CKRecord {
  /// About how many bytes a save of the record sends, without assets.
  var estimatedUploadBytes: Int {
    state.withLock { state in
      state.changes.keys.reduce(200) { sum, name in
        sum + name.rawValue.utf8.count + (state.record.fields[name]?.value.estimatedBytes ?? 8)
      }
    }
  }
}

extension CKRecord {
  fileprivate var bytesOfAssetsToUpload: Int64 {
    let assets = state.withLock { state in state.changes.keys.flatMap { state.assets[$0] ?? [] } }
    return assets.filter { !$0.isUploaded }.reduce(0) { sum, asset in
      // A file that cannot be looked at fails its record later, with a reason.
      guard let path = asset.fileURL?.path, let size = try? FileManager.default.attributesOfItem(atPath: path)[.size]
      else { return sum }
      return sum + ((size as? NSNumber)?.int64Value ?? 0)
    }
  }
}

extension FieldValue {
  fileprivate var estimatedBytes: Int {
    switch self {
    case .string(let text): text.utf8.count + 32
    case .bytes(let bytes): bytes.count / 3 * 4 + 32
    case .stringList(let texts): texts.reduce(32) { $0 + $1.utf8.count + 3 }
    case .bytesList(let list): list.reduce(32) { $0 + $1.count / 3 * 4 + 6 }
    case .int64List(let numbers): numbers.count * 20 + 32
    case .doubleList(let numbers): numbers.count * 24 + 32
    case .timestampList(let times): times.count * 14 + 32
    case .referenceList(let references): references.count * 300 + 32
    case .assetList(let assets): assets.count * 300 + 32
    case .locationList(let locations): locations.count * 200 + 32
    case .unknown(_, let json): json.count + 32
    case .asset, .reference, .location: 300
    case .int64, .double, .timestamp, .emptyList: 64
    }
  }
}
