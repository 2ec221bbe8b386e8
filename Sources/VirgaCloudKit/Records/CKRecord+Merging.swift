package import VirgaModel

// What the conflict toolkit needs of records. It is a product of its own, so apps do not see this.

extension CKRecord {
  /// The record's values. Encrypted ones are opened, if the device has their keys.
  package var mergedModel: Record {
    state.withLock { state in
      state.seal?.open(&state.record)
      return state.record
    }
  }

  /// A copy of this record with other values, where it differs from them.
  /// - Parameter model: The values, of a record of this name.
  /// - Parameter source: The record that assets come from: their files are known by their objects.
  package func replacingValues(with model: Record, assetsFrom source: CKRecord) -> CKRecord {
    guard let copy = copy() as? CKRecord else { preconditionFailure("a copy of a record is a record") }
    let current = mergedModel
    let names = Set(current.fields.names).union(model.fields.names).sorted()
    for name in names where current.fields[name] != model.fields[name] {
      let field = model.fields[name]
      let isEncrypted = field?.isEncrypted ?? current.fields[name]?.isEncrypted ?? false
      let assets = source.state.withLock { $0.record.fields[name] == field ? $0.assets[name] ?? [] : [] }
      let object = field?.object(in: model.id.zone, assets: assets)
      copy.state.withLock { $0.set(name, to: object, isEncrypted: isEncrypted) }
    }
    if current.parent != model.parent { copy.parent = model.parent.map { CKRecordReference($0, in: model.id.zone) } }
    return copy
  }

  /// A new record of these values.
  package convenience init(newRecord model: Record, assetsFrom source: CKRecord) {
    self.init(State(Record(id: model.id, type: model.type)))
    for element in model.fields {
      let assets = source.state.withLock {
        $0.record.fields[element.name] == element.field ? $0.assets[element.name] ?? [] : []
      }
      let object = element.field.object(in: model.id.zone, assets: assets)
      state.withLock { $0.set(element.name, to: object, isEncrypted: element.field.isEncrypted) }
    }
    if let parent = model.parent { self.parent = CKRecordReference(parent, in: model.id.zone) }
  }
}
