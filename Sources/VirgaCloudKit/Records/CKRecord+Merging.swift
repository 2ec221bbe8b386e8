import Foundation
package import VirgaModel

// What the conflict toolkit needs of records. It is a product of its own, so apps do not see this.

extension CKRecord {
  /// The record's values as merges compare them. Encrypted ones are opened, if the device has their keys. An asset that waits
  /// for its upload has the name of its file in place of a checksum: in the model itself all of these are alike.
  package var mergedModel: Record {
    state.withLock { state in
      state.seal?.open(&state.record)
      var model = state.record
      for (name, assets) in state.assets {
        guard let value = model.fields[name]?.value else { continue }
        model.fields[name]?.value = value.replacingAssets(with: assets.map(\.mergedModel))
      }
      return model
    }
  }

  /// The asset objects of all fields.
  package var assetObjects: [CKAsset] {
    state.withLock { state in state.record.fields.names.flatMap { state.assets[$0] ?? [] } }
  }

  /// Sets a field to a value of a model, or removes it, as a change to be saved.
  ///
  /// Unlike an object, the value may be one that this device cannot read, such as an encrypted one whose key it lacks.
  /// - Parameter assets: The objects of the value's assets, in order.
  package func setField(_ name: FieldName, to field: Field?, assets: [CKAsset]) {
    state.withLock { state in
      var field = field
      if let value = field?.value { field?.value = value.replacingAssets(with: assets.map(\.model)) }
      let isEncrypted = (field ?? state.record.fields[name])?.isEncrypted ?? false
      state.set(name, to: field, isEncrypted: isEncrypted, assets: assets)
    }
  }

  // MARK: Edits

  /// A copy of the record as it is now, and the number of the last edit in it.
  package func snapshot() -> (record: CKRecord, edits: UInt64) {
    guard let copy = copy() as? CKRecord else { preconditionFailure("a copy of a record is a record") }
    return (copy, copy.state.withLock { $0.edits })
  }

  /// Whether something in the record has not been saved.
  package var hasEdits: Bool { state.withLock { !$0.changes.isEmpty || $0.parentEdit != nil } }

  /// The fields that a save sends.
  package var editedFields: Set<FieldName> {
    state.withLock { state in
      state.record.tag == nil ? Set(state.record.fields.names) : Set(state.changes.keys)
    }
  }

  /// A copy without the fields that were edited: what the service has of these is not known here.
  package func withoutEdits() -> CKRecord {
    CKRecord(
      state.withLock { state in
        var record = state.record
        for name in state.changes.keys { record.fields[name] = nil }
        return State(record, seal: state.seal)
      })
  }

  /// Takes over, as edits of its own, what was edited in another object of the same record.
  /// - Parameter edit: The other's last edit that is here already.
  /// - Returns: The other's last edit that is here now.
  package func takeEdits(of other: CKRecord, since edit: UInt64) -> UInt64 {
    let theirs = other.state.withLock { $0 }
    for (name, change) in theirs.changes.sorted(by: { $0.key < $1.key }) where change.edit > edit {
      state.withLock {
        $0.set(
          name, to: theirs.record.fields[name], isEncrypted: change.isEncrypted, assets: theirs.assets[name] ?? [])
      }
    }
    if let parentEdit = theirs.parentEdit, parentEdit > edit { setParent(toModel: theirs.record.parent) }
    return theirs.edits
  }

  /// Sets the parent to one of a model.
  package func setParent(toModel parent: VirgaModel.Reference?) {
    self.parent = parent.map { CKRecordReference($0, in: state.withLock { $0.record.id.zone }) }
  }

  /// A new record without values.
  package convenience init(newRecord id: RecordID, type: VirgaModel.RecordType) {
    self.init(State(Record(id: id, type: type)))
  }
}

extension CKAsset {
  /// The asset as merges compare it.
  package var mergedModel: AssetValue {
    let known = model
    guard known.fileChecksum.isEmpty else { return known }
    guard let path = fileURL?.path else { return AssetValue(fileChecksum: "asset \(ObjectIdentifier(self))", size: 0) }
    let version = FileSource.Version(path: path)
    let state = version.map { "\($0.inode) \($0.modifiedSeconds).\($0.modifiedNanoseconds)" } ?? ""
    return AssetValue(fileChecksum: "file \(path) \(state)", size: version?.size ?? 0)
  }

  /// Whether the bytes are on this device.
  package var hasFile: Bool { fileURL.map { FileManager.default.isReadableFile(atPath: $0.path) } ?? false }
}

extension Field {
  /// Whether the value was encrypted by a device, and this one cannot open it. It opens in its own record alone.
  package var isSealed: Bool { ZoneSeal.sealedBytes(of: self) != nil }
}
