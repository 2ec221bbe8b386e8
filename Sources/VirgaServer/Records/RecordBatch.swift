import VirgaModel
import VirgaWire

/// The operations of one request, decided first and done afterwards.
///
/// Each operation is planned on its own; then references and deletions are judged against the zone as it will be once
/// all of them are done, so their order does not matter. A record appears in one operation only.
struct RecordBatch {
  /// An object, as the save it plans is: each step of the batch looks at all entries, and values of this size would be
  /// copied each time.
  final class Entry {
    let operation: RecordOperation
    let name: RecordName
    let fields: FieldPatch
    /// See `PreparedOperation.isLikeLast`.
    let isLikeLast: Bool
    var outcome = Outcome.nothing
    /// Whether the schema takes the fields as they are.
    var isAdmitted = false

    init(_ operation: RecordOperation, name: RecordName, _ prepared: PreparedOperation) {
      self.operation = operation
      self.name = name
      fields = prepared.fields
      isLikeLast = prepared.isLikeLast
    }
  }

  enum Outcome {
    case save(PlannedSave)
    /// The live record to delete.
    indirect case delete(StoredRecord)
    /// The share that the caller, a participant, leaves.
    indirect case leave(StoredRecord)
    /// The record to delete is not there.
    case nothing
    indirect case failure(RecordFailure)
  }

  final class PlannedSave {
    /// The version to write; its sequence is given when it is written.
    var record: StoredRecord
    /// The newest version there is, maybe a tombstone.
    let previous: StoredRecord?
    /// References that the operation sets, whose targets must exist.
    let newReferences: [StoredReference]
    let receipts: [AssetReceiptRecord]
    /// What its assets take.
    let assetBytes: Int64
    /// Of a share's record: its root.
    var shareRoot: ShareChange.Root?

    init(
      record: StoredRecord, previous: StoredRecord?, newReferences: [StoredReference], receipts: [AssetReceiptRecord],
      assetBytes: Int64 = 0
    ) {
      self.record = record
      self.previous = previous
      self.newReferences = newReferences
      self.receipts = receipts
      self.assetBytes = assetBytes
    }
  }

  let request: RecordsModifyRequest
  let access: Access
  let transaction: any ReadTransaction
  let isAtomic: Bool
  var zone: OpenZone
  var indexByName: [RecordName: Int] = [:]
  var entries: [Entry] = []
  /// Records that go because a record that they refer to goes, in the order in which they were found.
  var cascaded: [RecordName] = []
  var schemas: SchemaRegistry
  var spentReceipts: Set<String> = []
  /// Whether the names of records to create are taken for new without a look: the store says when a record is put.
  let takesNamesForNew: Bool
  /// Whether there is room for the versions that are replaced.
  var keepsVersions = true
  /// Whether the database has more tombstones than there is room for.
  var forgetsDeletions = false
  /// How many tombstones the batch made.
  var buried = 0
  let wholeView: RecordView
  let seal: StoredFieldCipher
  /// For what the answer shows of saved records, and of those that conflicts were with.
  var (savedBytes, conflictBytes) = (AnswerAllowance(), AnswerAllowance())
  /// Records that change only because a share begins or ends; by name.
  var implied: [RecordName: StoredRecord] = [:]
  /// Shares that end though the request does not name them.
  var endedShares: [StoredRecord] = []
  /// Addresses of shares that begin.
  var newAddresses: [ShareAddress] = []
  /// What was done to records, once it is done.
  var events: [RecordEvent] = []

  init(
    _ request: RecordsModifyRequest, access: Access, zone: OpenZone, takesNamesForNew: Bool,
    transaction: any ReadTransaction, context: CallContext
  ) {
    self.request = request
    self.takesNamesForNew = takesNamesForNew
    self.access = access
    self.zone = zone
    self.transaction = transaction
    isAtomic = request.isAtomic && !zone.isDefault
    schemas = SchemaRegistry(context.endpoint, in: transaction)
    wholeView = RecordView(zone: zone, context: context)
    seal = zone.seal(context)
  }

  static func newName(for operation: RecordOperation, context: inout CallContext) -> RecordName {
    guard operation.kind == .create else { return "" }
    guard operation.record.type == .share else { return RecordName(context.makeUUID()) }
    // A share without a root is the zone's.
    return operation.record.shareChange.root == nil ? .zoneShare : RecordName("Share-\(context.makeUUID())")
  }

  var hasFailure: Bool {
    entries.contains { if case .failure = $0.outcome { true } else { false } }
  }
}
