import VirgaModel
import VirgaWire

/// Judges the assets of a record that is being saved: each needs a receipt of its own, or must be in the record already or
/// in a version of it that is kept.
struct AssetAccounting {
  /// Receipts that earlier operations of the request used, and this one.
  private(set) var spent: Set<String>
  /// What this record uses; they are marked as used when it is written.
  private(set) var used: [AssetReceiptRecord] = []
  /// The assets of the live record, and those of earlier versions that were admitted.
  private var held: Set<Content> = []
  /// The assets of the versions that are kept, so that one of them can be restored; read when one is looked for.
  private var kept: Set<Content>?
  private let readKept: () throws -> [AssetValue]
  private let container: ContainerID
  private let environment: Environment
  private let user: UserName?
  private let now: Timestamp
  private let transaction: any ReadTransaction

  init(
    _ context: CallContext, spent: Set<String>, kept: @escaping () throws -> [AssetValue],
    in transaction: any ReadTransaction
  ) {
    readKept = kept
    self.spent = spent
    self.transaction = transaction
    container = context.endpoint.container
    environment = context.endpoint.environment
    user = context.principal.user
    now = context.now
  }

  private struct Content: Hashable {
    let checksum: String
    let size: Int64

    init(_ asset: AssetValue) { (checksum, size) = (asset.fileChecksum, asset.size) }
  }

  /// These are the assets of the live record.
  mutating func hold(_ assets: [AssetValue]) { held = Set(assets.map(Content.init)) }

  /// - Throws: `badRequest`, saying what is wrong with its receipt or that it has none.
  mutating func admit(_ asset: AssetValue, record: RecordName, field: FieldName) throws {
    // An asset that the record holds may be given back, and a save whose answer was lost be sent again.
    let content = Content(asset)
    if held.contains(content) { return }
    guard let key = asset.receipt else {
      guard try isKept(content) else {
        throw refusal("has no receipt, and the record does not have it", field)
      }
      guard try transaction.asset(asset.fileChecksum) != nil else {
        throw refusal("is gone: upload the bytes again, or save the record without it", field)
      }
      held.insert(content)
      return
    }
    guard let entity = try transaction.entity(.receipt, key: key) else {
      throw refusal("has an unknown receipt: upload the bytes again", field)
    }
    let receipt = try AssetReceiptRecord(entity)
    try check(receipt, against: asset, record: record, field: field)
    guard try transaction.asset(asset.fileChecksum) != nil else {
      throw refusal("is gone: upload the bytes again", field)
    }
    spent.insert(key)
    used.append(receipt)
  }

  private mutating func isKept(_ content: Content) throws -> Bool {
    let known = try kept ?? Set(readKept().map(Content.init))
    kept = known
    return known.contains(content)
  }

  private func check(
    _ receipt: AssetReceiptRecord, against asset: AssetValue, record: RecordName, field: FieldName
  ) throws {
    let claim = receipt.claim
    let isOwn = claim.container == container && claim.environment == environment && claim.user == user
    if !isOwn { throw refusal("has a receipt of another container, environment or user", field) }
    if !receipt.isForAnyRecord && (claim.recordName != record || claim.fieldName != field) {
      throw refusal("has a receipt for field '\(claim.fieldName)' of record '\(claim.recordName)'", field)
    }
    if receipt.isSpent || spent.contains(receipt.key) { throw refusal("has a receipt that was used before", field) }
    if receipt.expires < now { throw refusal("has a receipt that has expired: upload the bytes again", field) }
    if receipt.checksum != asset.fileChecksum { throw refusal("has another checksum than its receipt", field) }
    if receipt.size != asset.size {
      throw refusal("has \(asset.size) bytes, its receipt \(receipt.size)", field)
    }
  }

  private func refusal(_ what: String, _ field: FieldName) -> ServiceError {
    .badRequest("the asset of field '\(field)' \(what)")
  }
}
