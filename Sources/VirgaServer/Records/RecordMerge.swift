import VirgaModel
import VirgaWire

/// Builds the next version of a record from the live one and what a request says, by the rules for values.
struct RecordMerge {
  let name: RecordName
  let zone: ZoneID
  let scope: DatabaseScope
  let live: StoredRecord?
  /// Opens the live record's fields.
  let seal: StoredFieldCipher
  /// What the record's fields may be; `nil` if it is known that it takes them as they are.
  private(set) var schema: RecordTypeSchema?
  /// Judges the assets; `nil` if the request has none.
  private(set) var assets: AssetAccounting?
  /// Whether the schema made other values of some.
  private(set) var hasConverted = false
  private(set) var parent: Reference?
  private(set) var unknownMembers: [UInt8]
  private(set) var fieldsJSON: [UInt8] = []
  private(set) var hasEncryptedFields = false
  private(set) var assetChecksums: [String] = []
  private(set) var assetBytes: Int64 = 0
  /// What the record refers to, and the part of it that the request sets.
  private(set) var references: [StoredReference] = []
  private(set) var newReferences: [StoredReference] = []

  init(
    name: RecordName, zone: ZoneID, scope: DatabaseScope, schema: RecordTypeSchema?, assets: AssetAccounting?,
    live: StoredRecord?, seal: StoredFieldCipher
  ) {
    self.name = name
    self.zone = zone
    self.scope = scope
    self.schema = schema
    self.assets = assets
    self.live = live
    self.seal = seal
    parent = live?.parent
    unknownMembers = live?.unknownMembers ?? []
  }

  /// - Parameter patch: The fields of the change, as they are stored.
  mutating func apply(_ change: RecordChange, _ patch: FieldPatch, replaces: Bool) throws {
    if assets != nil, let live {
      let held = try seal.fields(of: live).flatMap(\.field.value.assets)
      assets?.hold(held)
    }
    try Limits.check(change.fields.count, atMost: Limits.fieldsPerRecordMax, "fields in record '\(name)'")
    let changes = try admit(change.fields)
    let patch = hasConverted ? FieldPatch(changes) : patch
    let kept = replaces ? nil : live
    let fields = try kept.map { try $0.reading(seal.open($0)) { try patch.applied(to: $0) } } ?? patch.fields
    try Limits.check(fields.count, atMost: Limits.fieldsPerRecordMax, "fields in record '\(name)'")
    // What a replacement does not have is gone, and with the parent the share that it led to.
    if replaces { parent = nil }
    try apply(change.parent)
    unknownMembers =
      replaces ? change.unknownMembers : try UnknownMembers.merge(unknownMembers, change.unknownMembers)
    fieldsJSON = fields.json
    hasEncryptedFields = fields.hasEncrypted
    try Limits.check(
      fieldsJSON.count + unknownMembers.count, atMost: Limits.recordBytesMax, "bytes in record '\(name)'")
    try collectClaims(of: changes, keeping: kept)
  }

  /// - Returns: The changes with the values that the schema makes of them.
  private mutating func admit(_ changes: [FieldChange]) throws -> [FieldChange] {
    guard schema != nil else { return changes }
    var admitted = changes
    for (index, change) in changes.enumerated() {
      guard let field = try admit(change), field.type != change.field?.type else { continue }
      admitted[index].field = field
      hasConverted = true
    }
    return admitted
  }

  private mutating func admit(_ change: FieldChange) throws -> Field? {
    guard let given = change.field else { return nil }
    if given.isEncrypted {
      if !change.isTagged {
        throw ServiceError.badRequest("encrypted field '\(change.name)' needs a type next to isEncrypted")
      }
      try checkEncryption(of: given, named: change.name)
    }
    try Limits.check(
      given.value.count, atMost: Limits.listElementsMax, "elements in field '\(change.name)' of record '\(name)'")
    let field = try schema?.admit(given, named: change.name, isTagged: change.isTagged) ?? given
    if field.isEncrypted && !given.isEncrypted { try checkEncryption(of: field, named: change.name) }
    switch field.value {
    case .asset(let asset): try judge([asset], change.name)
    case .assetList(let list): try judge(list, change.name)
    case .reference(let reference): try checkIsLocal(reference)
    case .referenceList(let list): try list.forEach(checkIsLocal)
    case .double(let number): try checkFinite(number, change.name)
    case .doubleList(let list): try list.forEach { try checkFinite($0, change.name) }
    case .location(let place): try check(place, change.name)
    case .locationList(let list): try list.forEach { try check($0, change.name) }
    default: break
    }
    newReferences += field.value.indexedReferences
    return field
  }

  private mutating func judge(_ list: [AssetValue], _ field: FieldName) throws {
    let record = name
    for asset in list { try assets?.admit(asset, record: record, field: field) }
  }

  private func checkEncryption(of field: Field, named name: FieldName) throws {
    if scope == .public {
      throw ServiceError.badRequest("encrypted fields are not supported in the public database")
    }
    switch field.value {
    case .reference, .referenceList, .asset, .assetList:
      throw ServiceError.badRequest("field '\(name)' is a reference or an asset, which cannot be encrypted")
    default: break
    }
  }

  /// JSON has no other numbers, and neither has the protocol.
  private func checkFinite(_ number: Double, _ field: FieldName) throws {
    if !number.isFinite { throw ServiceError.badRequest("field '\(field)' holds a number that is not finite") }
  }

  private func check(_ place: Location, _ field: FieldName) throws {
    if !place.isOnEarth { throw ServiceError.notOnEarth(field) }
  }

  /// References are stored without the zone, which is the record's own.
  private func checkIsLocal(_ reference: Reference) throws {
    guard let target = reference.zone else { return }
    let isOwn = target.owner == zone.owner || target.owner == .defaultOwner
    guard target.name == zone.name && isOwn else {
      throw ServiceError.badRequest(
        "the reference to '\(reference.recordName)' leads to zone '\(target.name)'; a reference must stay in its zone")
    }
  }

  private mutating func apply(_ change: ParentChange) throws {
    switch change {
    case .unchanged: break
    case .cleared: parent = nil
    case .set(let reference):
      guard reference.action == .none else {
        throw ServiceError.badRequest("a parent must be a reference with the action NONE")
      }
      guard reference.recordName != name else { throw ServiceError.badRequest("a record cannot be its own parent") }
      try checkIsLocal(reference)
      parent = Reference(recordName: reference.recordName, action: reference.action)
      newReferences.append(StoredReference(target: reference.recordName, kind: .parent))
    }
  }

  /// - Parameter kept: The record whose other fields stay.
  private mutating func collectClaims(of changes: [FieldChange], keeping kept: StoredRecord?) throws {
    let fields: Fields
    if let kept, kept.hasAssets || kept.hasReferences {
      fields = try kept.reading(fieldsJSON) { try Fields(json: $0) }
    } else if parent != nil || changes.contains(where: { $0.field?.value.claims ?? false }) {
      fields = Fields(
        changes.compactMap { change in change.field.map { Fields.Element(name: change.name, field: $0) } })
    } else {
      return
    }
    (assetChecksums, references) = fields.claims(parent: parent)
    assetBytes = fields.assetBytes
  }
}

extension Fields {
  /// The assets that the fields claim, and what they and the parent refer to, each once.
  func claims(parent: Reference?) -> (assetChecksums: [String], references: [StoredReference]) {
    var assetChecksums: [String] = []
    var references: [StoredReference] = []
    var seen: Set<StoredReference> = []
    for element in self {
      assetChecksums += element.field.value.assets.map(\.fileChecksum)
      for reference in element.field.value.indexedReferences where seen.insert(reference).inserted {
        references.append(reference)
      }
    }
    if let parent { references.append(StoredReference(target: parent.recordName, kind: .parent)) }
    return (assetChecksums, references)
  }
}

extension Fields {
  /// What their assets take: a file counts once, however often the record holds it.
  var assetBytes: Int64 {
    var seen: Set<String> = []
    return reduce(0) { bytes, element in
      element.field.value.assets.reduce(bytes) { $0 + (seen.insert($1.fileChecksum).inserted ? $1.size : 0) }
    }
  }
}

extension FieldValue {
  /// Whether it is of a kind that concerns more than the record.
  fileprivate var claims: Bool {
    switch self {
    case .asset, .assetList, .reference, .referenceList: true
    default: false
    }
  }

  var assets: [AssetValue] {
    switch self {
    case .asset(let asset): [asset]
    case .assetList(let list): list
    default: []
    }
  }

  /// The references whose targets' deletion concerns the record.
  var indexedReferences: [StoredReference] {
    switch self {
    case .reference(let reference): StoredReference(reference).map { [$0] } ?? []
    case .referenceList(let list): list.compactMap(StoredReference.init)
    default: []
    }
  }

  /// How many elements a list has; 1 for any other value.
  fileprivate var count: Int {
    switch self {
    case .stringList(let list): list.count
    case .int64List(let list): list.count
    case .doubleList(let list): list.count
    case .timestampList(let list): list.count
    case .bytesList(let list): list.count
    case .referenceList(let list): list.count
    case .assetList(let list): list.count
    case .locationList(let list): list.count
    default: 1
    }
  }
}

extension StoredReference {
  fileprivate init?(_ reference: Reference) {
    switch reference.action {
    case .none: return nil
    case .deleteSelf: self.init(target: reference.recordName, kind: .deleteSelf)
    case .validate: self.init(target: reference.recordName, kind: .validate)
    }
  }
}
