import VirgaCloudKit
import VirgaModel

/// The asset objects of several records, found by their bytes: a merge knows assets by what describes them, and a record
/// needs the objects, which know the files.
struct AssetObjects {
  private let objects: [(value: AssetValue, object: CKAsset)]

  /// - Parameter records: Of several objects with the same bytes the first one with a file counts, else the first.
  init(_ records: [CKRecord]) {
    let all = records.flatMap(\.assetObjects).map { (value: $0.mergedModel, object: $0) }
    objects = all.filter(\.object.hasFile) + all.filter { !$0.object.hasFile }
  }

  /// The objects of a value's assets, in order; `nil` if one of them is unknown.
  func objects(of value: FieldValue) -> [CKAsset]? {
    let values: [AssetValue]
    switch value {
    case .asset(let asset): values = [asset]
    case .assetList(let assets): values = assets
    default: return []
    }
    let found = values.compactMap { value in
      objects.first { $0.value.fileChecksum == value.fileChecksum && $0.value.size == value.size }?.object
    }
    return found.count == values.count ? found : nil
  }
}

extension CKRecord {
  /// Gives the record other values, as changes to be saved. What is the same stays as it is, and is not sent again.
  /// - Parameter current: What the record has.
  /// - Returns: The fields that stay as they were, because an asset is not at hand.
  func takeFields(_ fields: Fields, inPlaceOf current: Fields, _ assets: AssetObjects) -> [FieldName] {
    current.differing(from: fields).filter { name in
      let field = fields[name]
      guard let objects = field.map({ assets.objects(of: $0.value) }) ?? [] else { return true }
      setField(name, to: field, assets: objects)
      return false
    }
  }

  /// A new record of these values.
  /// - Returns: The record, and the fields that it lacks: a new record sends the files of its assets, and what a device
  ///   encrypted for another record opens in that one alone.
  static func new(_ model: Record, _ assets: AssetObjects) -> (record: CKRecord, missing: [FieldName]) {
    let record = CKRecord(newRecord: model.id, type: model.type)
    var missing: [FieldName] = []
    for element in model.fields {
      let objects = assets.objects(of: element.field.value)
      if let objects, objects.allSatisfy(\.hasFile), !element.field.isSealed {
        record.setField(element.name, to: element.field, assets: objects)
      } else {
        missing.append(element.name)
      }
    }
    if model.parent != nil { record.setParent(toModel: model.parent) }
    return (record, missing)
  }
}
