import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaWire

/// A record as it stood when a save of it began.
struct RecordDraft: Sendable {
  let object: CKRecord
  let sent: CKRecord.State
  let id: CKRecord.ID
  private let policy: RecordModification.Policy
  /// What a share says besides its fields.
  private let share: ShareChange?
  /// What a save of a share says of those who take part.
  let sharePlan: SharePlan.Save?
  /// An asset of a field that is sent.
  enum Source: Sendable {
    /// It is open: what becomes of its name from now on does not matter.
    case file(FileSource)
    /// The service has the bytes, and this device does not any more.
    case held(AssetValue)

    var file: FileSource? {
      if case .file(let file) = self { file } else { nil }
    }
  }

  /// The assets to send, by field, in order.
  private(set) var sources: [FieldName: [Source]] = [:]
  /// Why the record cannot be sent at all.
  private(set) var fault: CKError?

  init(_ object: CKRecord, policy: RecordModification.Policy) {
    self.object = object
    sent = object.state.withLock { $0 }
    id = CKRecord.ID(sent.record.id)
    share = (object as? CKShare)?.change
    sharePlan = (object as? CKShare)?.plan
    // A share is never overwritten, whatever the caller asks for.
    self.policy = sent.record.type == .share ? .ifServerRecordUnchanged : policy
    openFiles()
    if fault == nil, let name = names.first(where: { sent.record.fields[$0]?.value.isFinite == false }) {
      fault = CKError(.invalidArguments, "The field \(name) holds a number that is not finite.")
    }
    let unsealable = names.first { name in
      sent.record.fields[name].map { $0.isEncrypted && !$0.value.isSealable } ?? false
    }
    if fault == nil, let unsealable {
      fault = CKError(
        .invalidArguments, "The field \(unsealable) is a reference or an asset, which cannot be encrypted.")
    }
    let size = sizeBytes
    if fault == nil, size > Limits.recordBytesMax {
      fault = CKError(
        .limitExceeded,
        "The record \(sent.record.id.name) has \(size) bytes without its assets; at most \(Limits.recordBytesMax) are"
          + " allowed. Put large data into assets.")
    }
  }

  private mutating func openFiles() {
    for name in names {
      guard let assets = sent.assets[name], needsUpload(name) else { continue }
      var files: [Source] = []
      for asset in assets {
        do throws(FileSource.Failure) {
          guard let path = asset.fileURL?.path else { throw .notFound }
          files.append(.file(try FileSource(path: path)))
        } catch {
          // A record that is there may keep what it has, or had: the service says whether that still counts.
          if sent.record.tag != nil, asset.isUploaded {
            files.append(.held(asset.model))
            continue
          }
          fault = CKError(.assetFileNotFound, "The file of the asset \(name) does not exist: \(asset).")
          return
        }
      }
      sources[name] = files
    }
  }

  /// Whether the field's assets have to be sent: an asset that came from the service and was not set again is there.
  private func needsUpload(_ name: FieldName) -> Bool {
    sent.record.tag == nil || sent.changes[name] != nil || sent.assets[name]?.allSatisfy(\.isUploaded) == false
  }

  /// Whether the save goes over what others have saved.
  var overwrites: Bool { policy != .ifServerRecordUnchanged }

  /// The fields to send, in the order of their names.
  private var names: [FieldName] {
    switch policy {
    case .ifServerRecordUnchanged: sent.record.tag == nil ? sent.record.fields.names : sent.changes.keys.sorted()
    case .changedKeys: sent.changes.keys.sorted()
    case .allKeys: Set(sent.record.fields.names).union(sent.changes.keys).filter { !isForeign($0) }.sorted()
    }
  }

  /// Whether a value came in the clear though it is marked as encrypted. A record that is there keeps it; this device does
  /// not say it again.
  private func isForeign(_ name: FieldName) -> Bool {
    guard sent.record.tag != nil, sent.changes[name] == nil, let field = sent.record.fields[name], field.isEncrypted,
      ZoneSeal.sealedBytes(of: field) == nil
    else { return false }
    if case .unknown = field.value { return true }
    return false
  }

  /// At least how many bytes the fields to send have as JSON, without assets.
  var sizeBytes: Int {
    names.reduce(0) { $0 + $1.rawValue.utf8.count + (sent.record.fields[$1]?.jsonBytesMin ?? 0) }
  }

  /// Whether the save sends values that have to be encrypted before. What is sealed already travels as it is.
  var sendsEncryptedValues: Bool {
    names.contains { name in
      guard let field = sent.record.fields[name], field.isEncrypted else { return false }
      if case .unknown = field.value { return false }
      return true
    }
  }

  var isShare: Bool { sent.record.type == .share }

  /// Whether the save sends a reference to the user that does not say who that is.
  var namesUser: Bool {
    names.contains { sent.record.fields[$0]?.value.namesUser(in: sent.record.id.zone.name) ?? false }
  }

  /// - Parameter key: What encrypts the encrypted values; without one they are left to the service.
  /// - Parameter user: Who the user is, if that is to be said.
  func operation(assets: [FieldName: [AssetValue]], key: ZoneKey?, user: UserName?) -> RecordOperation {
    let record = sent.record
    var change = RecordChange(name: record.id.name, type: record.type)
    change.fields = names.map { name in
      guard var field = record.fields[name] else { return FieldChange(name, nil) }
      if let values = assets[name] { field.value = field.value.replacingAssets(with: values) }
      field.value = field.value.withoutDownloadURLs
      if let user { field.value = field.value.naming(user, in: record.id.zone.name) }
      if let key { field = field.sealed(by: key, of: name, in: record.id.name) }
      return FieldChange(name, field)
    }
    if let parent = record.parent, sent.parentEdit != nil || record.tag == nil {
      change.parent = .set(parent)
    } else if sent.parentEdit != nil {
      change.parent = .cleared
    }
    if let share { change.shareChange = share }
    if overwrites { return RecordOperation(.forceUpdate, change) }
    change.tag = record.tag
    return RecordOperation(record.tag == nil ? .create : .update, change)
  }

  /// Brings the object up to date.
  /// - Parameter saved: The record of the answer: without fields if they are those that were sent.
  /// - Parameter assets: What the service knows of the files that were sent.
  /// - Parameter shareURL: The address of a share.
  /// - Parameter seal: What opens the encrypted values of the record's zone.
  func settle(_ saved: Record, assets: [FieldName: [AssetValue]], shareURL: URL?, seal: ZoneSeal?) {
    var settled = saved
    if overwrites {
      settled.fields.takeExactDates(of: sent.record.fields)
    } else {
      settled.fields = sent.record.fields
    }
    for (name, values) in assets {
      var values = values
      for index in values.indices { values[index].receipt = nil }
      for (asset, value) in zip(sent.assets[name] ?? [], values) { asset.finishUpload(value) }
      if let field = settled.fields[name] {
        settled.fields[name]?.value = field.value.replacingAssets(with: values)
      }
    }
    object.state.withLock { [settled] in $0.settle(settled, upTo: sent.edits, seal: seal) }
    if let details = saved.shareDetails, let share { (object as? CKShare)?.settle(details, url: shareURL, sent: share) }
  }
}

extension Fields {
  /// Takes the whole dates of fields that are the same but for them.
  fileprivate mutating func takeExactDates(of others: Fields) {
    for element in others where !element.field.exactDates.isEmpty {
      var other = element.field
      other.exactDates = []
      if self[element.name] == other { self[element.name] = element.field }
    }
  }
}

extension Field {
  /// The field as it travels: an encrypted value becomes bytes that open in this place only.
  fileprivate func sealed(by key: ZoneKey, of name: FieldName, in record: RecordName) -> Field {
    guard isEncrypted else { return self }
    if case .unknown = value { return self }
    return Field(.bytes(key.seal(value, exactDates: exactDates, of: name, in: record)), isEncrypted: true)
  }

  /// At least how many bytes the field's value takes as JSON. What is encrypted becomes Base64 of a little more.
  fileprivate var jsonBytesMin: Int {
    switch value {
    case .string(let text) where isEncrypted: (text.utf8.count + Self.sealBytes + 2) / 3 * 4 + 2
    case .bytes(let bytes) where isEncrypted: (bytes.count + Self.sealBytes + 2) / 3 * 4 + 2
    default: value.jsonBytesMin
    }
  }

  /// Head, nonce, form and tag.
  private static let sealBytes = SealedValueHead.byteCount + 24 + 1 + 16
}

extension FieldValue {
  fileprivate var isSealable: Bool {
    switch self {
    case .reference, .referenceList, .asset, .assetList: false
    default: true
    }
  }

  /// The value as it is sent: where to fetch the bytes of an asset is said by the service alone.
  fileprivate var withoutDownloadURLs: FieldValue {
    func plain(_ asset: AssetValue) -> AssetValue {
      var asset = asset
      asset.downloadURL = nil
      return asset
    }
    return switch self {
    case .asset(let asset): .asset(plain(asset))
    case .assetList(let list): .assetList(list.map(plain))
    default: self
    }
  }

  /// Whether JSON can hold all numbers of the value.
  fileprivate var isFinite: Bool {
    switch self {
    case .double(let number): number.isFinite
    case .doubleList(let list): list.allSatisfy(\.isFinite)
    case .location(let location): location.isFinite
    case .locationList(let list): list.allSatisfy(\.isFinite)
    default: true
    }
  }

  /// At least how many bytes the value takes as JSON; assets count nothing.
  var jsonBytesMin: Int {
    func base64(_ bytes: [UInt8]) -> Int { (bytes.count + 2) / 3 * 4 + 2 }
    return switch self {
    case .string(let text): text.utf8.count + 2
    case .bytes(let bytes): base64(bytes)
    case .stringList(let list): list.reduce(2) { $0 + $1.utf8.count + 3 }
    case .bytesList(let list): list.reduce(2) { $0 + base64($1) + 1 }
    case .int64List(let list): list.count * 2 + 1
    case .doubleList(let list): list.count * 2 + 1
    case .timestampList(let list): list.count * 2 + 1
    case .referenceList(let list): list.reduce(2) { $0 + $1.recordName.rawValue.utf8.count + 18 }
    case .locationList(let list): list.count * 30 + 2
    case .unknown(_, let json): json.count
    case .int64, .double, .timestamp, .emptyList: 1
    case .reference(let reference): reference.recordName.rawValue.utf8.count + 17
    case .location: 30
    case .asset, .assetList: 0
    }
  }
}

extension Location {
  fileprivate var isFinite: Bool {
    let others = [horizontalAccuracy, verticalAccuracy, altitude, speed, course].compactMap { $0 }
    return latitude.isFinite && longitude.isFinite && others.allSatisfy(\.isFinite)
  }
}

extension CKRecord {
  /// At least how many bytes the record's fields have as JSON, without assets: what batches are measured by.
  package var sizeBytes: Int {
    state.withLock { state in
      state.record.fields.reduce(0) { $0 + $1.name.rawValue.utf8.count + $1.field.jsonBytesMin }
    }
  }
}
