public import VirgaCloudKit
@_exported public import VirgaMerge
import VirgaModel

/// What became of a conflict.
public struct MergedRecord: Sendable {
  /// The merged record with the server's change tag: show it, keep it, and save it if `isSaveNeeded`.
  public let record: CKRecord
  /// New records that keep my side of what could not be merged: save them too.
  public let forks: [CKRecord]
  /// Whether the merged record says anything that the server does not have yet, and was not given up.
  public let isSaveNeeded: Bool
  /// The record met conflict after conflict, and the limit of attempts is reached: it stays as merged until it is saved again by hand.
  public let isGivenUp: Bool
  /// Fields that could not be taken along, by record, because this device lacks what that takes: the file of an asset, or the
  /// key of an encrypted value. A fork is without them, and the record that was merged has what the server has.
  public let fieldsLeftOut: [CKRecord.ID: [String]]
  /// What was decided, what was discarded, and what somebody has to answer: note it in a `ConflictJournal`.
  public let outcome: MergeOutcome

  /// What somebody has to answer; nil if nothing is open.
  public var question: MergeQuestion? { outcome.question }
  /// What was decided where both sides differed, in the order of the policy.
  public var decisions: [MergeDecision] { outcome.decisions }

  /// What a `CKSyncEngine` has to send now.
  public var pendingChanges: [CKSyncEngine.PendingRecordZoneChange] {
    (isSaveNeeded ? [.saveRecord(record.recordID)] : []) + forks.map { .saveRecord($0.recordID) }
  }
}
