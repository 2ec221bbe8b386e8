import Foundation
import VirgaModel

extension CKRecord {
  /// What a record object guards: the one record value, and what has changed in it since the service last saw it.
  struct State: Sendable {
    var record: Record
    /// How many edits the object has seen. Numbering them tells an edit made while a save was under way from those
    /// that the save carried.
    private(set) var edits: UInt64 = 0
    /// The fields set since the last fetch or save, with the number of their last edit, and whether they are encrypted.
    private(set) var changes: [FieldName: Change] = [:]
    private(set) var parentEdit: UInt64?
    /// The asset objects of the fields that hold assets.
    var assets: [FieldName: [CKAsset]] = [:]
    /// Opens encrypted values whose key comes later than they.
    var seal: ZoneSeal?

    struct Change: Sendable, Hashable {
      var edit: UInt64
      var isEncrypted: Bool
    }

    init(_ record: Record, seal: ZoneSeal? = nil) {
      self.record = record
      self.seal = seal
      for element in record.fields {
        let values = element.field.value.assetValues
        if !values.isEmpty { assets[element.name] = values.map { CKAsset($0) } }
      }
    }

    init(_ record: Record, changes: [FieldName: Bool], isParentChanged: Bool, assets: [FieldName: [CKAsset]]) {
      self.record = record
      self.assets = assets
      edits = 1
      self.changes = changes.mapValues { Change(edit: 1, isEncrypted: $0) }
      parentEdit = isParentChanged ? 1 : nil
    }

    mutating func object(_ name: FieldName, isEncrypted: Bool) -> (any CKRecordValue)? {
      if isEncrypted { seal?.open(&record) }
      guard let field = record.fields[name], field.isEncrypted == isEncrypted else { return nil }
      return field.object(in: record.id.zone, assets: assets[name] ?? [])
    }

    mutating func set(_ name: FieldName, to object: (any CKRecordValue)?, isEncrypted: Bool) {
      let converted = object.map { ConvertedValue($0, in: record.id.zone) }
      set(
        name, to: converted?.field(isEncrypted: isEncrypted), isEncrypted: isEncrypted, assets: converted?.assets ?? [])
    }

    /// - Parameter objects: Those of the field's assets, in order.
    mutating func set(_ name: FieldName, to field: Field?, isEncrypted: Bool, assets objects: [CKAsset]) {
      edits += 1
      changes[name] = Change(edit: edits, isEncrypted: isEncrypted)
      record.fields[name] = field
      assets[name] = objects.isEmpty ? nil : objects
    }

    mutating func setParent(_ reference: CKRecordReference?) {
      edits += 1
      parentEdit = edits
      record.parent = reference?.model(in: record.id.zone)
    }

    /// How an encrypted value stands; `nil` if there is none of that name.
    mutating func encryptedValueState(_ name: FieldName) -> EncryptedValueState? {
      guard let field = record.fields[name], field.isEncrypted else { return nil }
      guard let seal else {
        return ZoneSeal.sealedBytes(of: field) == nil ? ZoneSeal.stateOfUnsealed(field) : .keyMissing
      }
      seal.open(&record)
      return record.fields[name].flatMap(seal.state)
    }

    /// The value of a field that came in the clear though it is marked as encrypted.
    func valueNotEncryptedByDevices(_ name: FieldName) -> (any CKRecordValue)? {
      guard let field = record.fields[name], field.isEncrypted, ZoneSeal.sealedBytes(of: field) == nil,
        case .unknown = field.value
      else { return nil }
      var bare = Fields()
      bare[name] = Field(field.value)
      return (try? Fields(json: bare.json)[name])?.object(in: record.id.zone, assets: [])
    }

    /// The keys that values need and the device does not have.
    var missingKeys: [KeyID] { seal?.missingKeys(for: record) ?? [] }

    mutating func keys(isEncrypted: Bool) -> [String] {
      if isEncrypted { seal?.open(&record) }
      return record.fields.filter { element in
        if case .unknown = element.field.value { return false }
        return element.field.isEncrypted == isEncrypted
      }.map(\.name.rawValue)
    }

    func changedKeys(isEncrypted: Bool) -> [String] {
      changes.filter { $0.value.isEncrypted == isEncrypted }.keys.sorted().map(\.rawValue)
    }

    /// Takes over what the service answered to a save.
    /// - Parameter edit: The object's edit number when the save began. What was edited later stays, and stays changed.
    mutating func settle(_ saved: Record, upTo edit: UInt64, seal settledSeal: ZoneSeal? = nil) {
      var settled = saved
      for (name, change) in changes where change.edit > edit { settled.fields[name] = record.fields[name] }
      if let parentEdit, parentEdit > edit { settled.parent = record.parent }
      if let newer = settledSeal { seal = newer }
      let old = (fields: record.fields, assets: assets)
      record = settled
      changes = changes.filter { $0.value.edit > edit }
      if let parentEdit, parentEdit <= edit { self.parentEdit = nil }
      assets = [:]
      for element in settled.fields {
        let values = element.field.value.assetValues
        guard !values.isEmpty else { continue }
        // The same asset keeps its object, and with it the file that the app knows.
        let before = old.assets[element.name] ?? []
        let same = before.count == values.count && zip(before, values).allSatisfy { $0.model.hasSameBytes(as: $1) }
        assets[element.name] =
          changes[element.name] != nil || same ? before : values.map { CKAsset($0) }
      }
    }

    var tokens: [String] {
      var tokens: [String] = []
      func add(_ text: String) {
        let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        tokens += folded.split { !$0.isLetter && !$0.isNumber }.map(String.init)
      }
      for element in record.fields where !element.field.isEncrypted {
        switch element.field.value {
        case .string(let text): add(text)
        case .stringList(let texts): texts.forEach(add)
        default: break
        }
      }
      return tokens
    }
  }
}

extension AssetValue {
  /// Whether both describe the same bytes. An asset that was not uploaded yet is like no other.
  func hasSameBytes(as other: AssetValue) -> Bool {
    !fileChecksum.isEmpty && fileChecksum == other.fileChecksum && size == other.size
  }
}
