import VirgaModel
import VirgaWire

/// Builds the next version of a record from the live one and what a request says, by the rules for values.
struct RecordMerge {
  let name: RecordName
  let zone: ZoneID
  let scope: DatabaseScope
  let live: StoredRecord?
  /// Opens the live record's fields.
  let seal: FieldSeal
  private(set) var schema: RecordTypeSchema
  private(set) var assets: AssetLedger
  private(set) var parent: Reference?
  private(set) var unknownMembers: [UInt8]
  private(set) var fieldsJSON: [UInt8] = []
  private(set) var hasEncryptedFields = false
  private(set) var assetChecksums: [String] = []
  private(set) var assetBytes: Int64 = 0
  /// What the record refers to, and the part of it that the request sets.
  private(set) var references: [StoredReference] = []
  private(set) var newReferences: [StoredReference] = []
  private var fields = Fields()

  init(
    name: RecordName, zone: ZoneID, scope: DatabaseScope, schema: RecordTypeSchema, assets: AssetLedger,
    live: StoredRecord?, seal: FieldSeal
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

  mutating func apply(_ change: RecordChange, replaces: Bool) throws {
    try startFields(change, replaces: replaces)
    try Limits.check(change.fields.count, atMost: Limits.fieldsPerRecordMax, "fields in record '\(name)'")
    fields.reserveCapacity(change.fields.count)
    for field in change.fields { try apply(field) }
    try Limits.check(fields.count, atMost: Limits.fieldsPerRecordMax, "fields in record '\(name)'")
    // What a replacement does not have is gone, and with the parent the share that it led to.
    if replaces { parent = nil }
    try apply(change.parent)
    unknownMembers =
      replaces ? change.unknownMembers : try UnknownMembers.merge(unknownMembers, change.unknownMembers)
    collect()
    fieldsJSON = fields.storedJSON
    try Limits.check(
      fieldsJSON.count + unknownMembers.count, atMost: Limits.recordBytesMax, "bytes in record '\(name)'")
  }

  private mutating func startFields(_ change: RecordChange, replaces: Bool) throws {
    guard let live else { return }
    let hasAssets = change.fields.contains { $0.field?.value.assets.isEmpty == false }
    guard !replaces || hasAssets else { return }
    let old = try seal.fields(of: live)
    if hasAssets { assets.hold(old.flatMap(\.field.value.assets)) }
    if !replaces { fields = old }
  }

  private mutating func apply(_ change: FieldChange) throws {
    guard let given = change.field else {
      fields[change.name] = nil
      return
    }
    if given.isEncrypted {
      if !change.isTagged {
        throw ServiceError.badRequest("encrypted field '\(change.name)' needs a type beside isEncrypted")
      }
      try checkEncryption(of: given, named: change.name)
    }
    try Limits.check(
      given.value.count, atMost: Limits.listElementsMax, "elements in field '\(change.name)' of record '\(name)'")
    var field = try schema.admit(given, named: change.name, isTagged: change.isTagged)
    if field.isEncrypted && !given.isEncrypted { try checkEncryption(of: field, named: change.name) }
    switch field.value {
    case .asset(let asset): field.value = .asset(try assets.admit(asset, record: name, field: change.name))
    case .assetList(let list):
      field.value = .assetList(try list.map { try assets.admit($0, record: name, field: change.name) })
    case .reference(let reference): field.value = .reference(try local(reference))
    case .referenceList(let list): field.value = .referenceList(try list.map(local))
    case .double(let number): try checkFinite(number, change.name)
    case .doubleList(let list): try list.forEach { try checkFinite($0, change.name) }
    case .location(let place): try check(place, change.name)
    case .locationList(let list): try list.forEach { try check($0, change.name) }
    default: break
    }
    newReferences += field.value.indexedReferences
    fields[change.name] = field
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

  /// A reference as it is stored: in the record's own zone, which therefore need not be named.
  private func local(_ reference: Reference) throws -> Reference {
    if let target = reference.zone {
      let isOwn = target.owner == zone.owner || target.owner == .defaultOwner
      guard target.name == zone.name && isOwn else {
        throw ServiceError.badRequest(
          "the reference to '\(reference.recordName)' leads to zone '\(target.name)'; references do not cross zones")
      }
    }
    return Reference(recordName: reference.recordName, action: reference.action)
  }

  private mutating func apply(_ change: ParentChange) throws {
    switch change {
    case .unchanged: break
    case .cleared: parent = nil
    case .set(let reference):
      guard reference.action == .none else {
        throw ServiceError.badRequest("a parent is a reference with the action NONE")
      }
      guard reference.recordName != name else { throw ServiceError.badRequest("a record cannot be its own parent") }
      parent = try local(reference)
      newReferences.append(StoredReference(target: reference.recordName, kind: .parent))
    }
  }

  private mutating func collect() {
    var makesClaims = parent != nil
    for element in fields {
      if element.field.isEncrypted { hasEncryptedFields = true }
      switch element.field.value {
      case .asset, .assetList, .reference, .referenceList: makesClaims = true
      default: break
      }
    }
    guard makesClaims else { return }
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
