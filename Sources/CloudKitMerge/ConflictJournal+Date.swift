public import Foundation
public import VirgaMerge
public import VirgaCloudKit
import VirgaModel

extension ConflictJournal {
  /// Notes a merge that was made at that date.
  @discardableResult
  public mutating func note(_ outcome: MergeOutcome, at date: Date) -> Entry? {
    note(outcome, at: Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1_000).rounded())))
  }

  /// Puts discarded values back into a record, to be saved; see `undo(_:in:)` for values of the model.
  /// - Returns: The names of the fields that somebody changed since, which are left alone; `nil` if there is nothing to undo.
  public mutating func undo(_ id: Entry.ID, in record: CKRecord) -> [String]? {
    guard let result = undo(id, in: record.mergedModel) else { return nil }
    let undone = record.replacingValues(with: result.record, assetsFrom: record)
    for key in undone.changedKeys() { record[key] = undone[key] }
    for key in undone.encryptedValues.changedKeys() { record.encryptedValues[key] = undone.encryptedValues[key] }
    return result.leftAlone.map(\.rawValue)
  }
}
