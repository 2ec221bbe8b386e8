import VirgaAccounts
import VirgaAuth
import VirgaModel

/// Opens the encrypted values of one zone's records, with the keys that the device has by then.
///
/// A value that cannot be opened stays in its record as it came, as a value of a type that nobody knows: apps do not see
/// it, and a save carries it along.
struct ZoneSeal: Sendable {
  let keyring: Keyring
  let spot: Keyring.Spot

  private static let tag = "ENCRYPTED_BYTES"

  /// The sealed bytes of a field, whether as they came or as they are kept.
  static func sealedBytes(of field: Field) -> (bytes: [UInt8], head: SealedValueHead)? {
    guard field.isEncrypted else { return nil }
    let bytes: [UInt8]
    switch field.value {
    case .bytes(let value): bytes = value
    case .unknown(tag, let json):
      guard json.count > 2,
        let value = CanonicalBase64.decode(String(decoding: json[1..<(json.count - 1)], as: UTF8.self))
      else {
        return nil
      }
      bytes = value
    default: return nil
    }
    return SealedValueHead(bytes).map { (bytes, $0) }
  }

  /// Takes in a record that came from the service: what no device of the zone's people has encrypted is put away, and is
  /// not taken for what one of them wrote.
  func receive(_ record: inout Record) {
    for element in record.fields where element.field.isEncrypted && Self.sealedBytes(of: element.field) == nil {
      record.fields[element.name] = Field(element.field.uninterpreted, isEncrypted: true)
    }
    open(&record)
  }

  /// Opens what can be opened, and puts away the rest.
  func open(_ record: inout Record) {
    for element in record.fields {
      guard let (bytes, head) = Self.sealedBytes(of: element.field) else { continue }
      let key = keyring.key(head.key, in: spot)
      if let field = key?.openField(bytes, of: element.name, in: record.id.name) {
        record.fields[element.name] = field
      } else {
        let json = Array("\"\(CanonicalBase64.encode(bytes))\"".utf8)
        record.fields[element.name] = Field(.unknown(tag: Self.tag, json: json), isEncrypted: true)
      }
    }
  }

  /// What is here as a value was opened, or set by the app; what came in the clear is put away.
  static func stateOfUnsealed(_ field: Field) -> CKRecord.EncryptedValueState {
    if case .unknown = field.value { .notEncryptedByDevices } else { .readable }
  }

  /// The keys that a record's values need and that are not here, in the order of its fields.
  func missingKeys(for record: Record) -> [KeyID] {
    var missing: [KeyID] = []
    for element in record.fields {
      guard let (_, head) = Self.sealedBytes(of: element.field), keyring.key(head.key, in: spot) == nil,
        !missing.contains(head.key)
      else { continue }
      missing.append(head.key)
    }
    return missing
  }

  func state(of field: Field) -> CKRecord.EncryptedValueState? {
    guard field.isEncrypted else { return nil }
    guard let (_, head) = Self.sealedBytes(of: field) else { return Self.stateOfUnsealed(field) }
    return keyring.key(head.key, in: spot) == nil ? .keyMissing : .damaged
  }
}

extension CKRecord {
  /// How an encrypted value stands on this device. Apple's API has no name for it.
  public enum EncryptedValueState: Hashable, Sendable {
    /// `encryptedValues` has it.
    case readable
    /// This device does not have the key, or does not have it yet. The value is safe: a save of other fields keeps it, and
    /// once the key has come it can be read.
    case keyMissing
    /// The value was changed, or was moved here from another record or field, by somebody without the key. Refused.
    case damaged
    /// The value came in the clear: no device of yours, or of those who share the zone, has encrypted it. A web page or a
    /// script may have written it, or whoever runs the server; nothing tells which. `encryptedValues` does not have it, and
    /// a save of other fields leaves it as it is. `valueNotEncryptedByDevices(forKey:)` has it for an app that shows it as
    /// what it is. Against Apple's own service, which encrypts by itself, no value is in this state.
    case notEncryptedByDevices
  }

  /// How an encrypted value stands on this device; nil if the record has no encrypted value of that name.
  public func encryptedValueState(forKey key: FieldKey) -> EncryptedValueState? {
    state.withLock { $0.encryptedValueState(FieldName(key)) }
  }

  /// A value that came in the clear though it is marked as encrypted; nil for one in any other state. Apple's API has no
  /// name for it.
  ///
  /// Whoever runs the server can have written it. An app that wants values of its own web page shows them apart from what
  /// devices wrote, or sets one in `encryptedValues` when its user agrees; the next save then encrypts it.
  public func valueNotEncryptedByDevices(forKey key: FieldKey) -> (any CKRecordValue)? {
    state.withLock { $0.valueNotEncryptedByDevices(FieldName(key)) }
  }
}

extension CKDatabase {
  /// What opens a zone's values; `nil` where the service encrypts by itself, as Apple's does, or for all to read.
  func seal(of zone: ZoneID) -> ZoneSeal? {
    guard databaseScope != .public, let keyring = service.keyring else { return nil }
    let place = ZonePlace(container: container, environment: service.environment, zone: zone.name)
    return ZoneSeal(
      keyring: keyring, spot: Keyring.Spot(place: place, owner: databaseScope == .shared ? zone.owner : nil))
  }

  /// Fetches keys that records lack, and completes the addresses of shares.
  /// - Throws: `CKError`, if the service could not be asked: the records are then not what they could be.
  func fetchKeys(for records: [CKRecord]) async throws {
    for record in records where record.lacksKeys {
      let (seal, wanted) = record.state.withLock { ($0.seal, $0.missingKeys) }
      guard let seal else { continue }
      try await seal.keyring.load(seal.spot, for: wanted)
      if let share = record as? CKShare, share.lacksSecret {
        share.completeURL(with: seal.keyring.secret(of: seal.spot))
      }
    }
  }
}

extension CKRecord {
  /// Whether the record has a value that cannot be read for want of its key, or is a share without a key in its address.
  var lacksKeys: Bool {
    let (isUnread, isSealed) = state.withLock { (!$0.missingKeys.isEmpty, $0.seal != nil) }
    return isUnread || isSealed && (self as? CKShare)?.lacksSecret == true
  }
}

extension CKShare {
  fileprivate var lacksSecret: Bool { url?.fragment == nil }
}
