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
  ///
  /// An asset comes back only if its object is in the record, or in one of the others: the journal has no files.
  /// - Parameter others: Records that may still have assets which were discarded, such as the app's own of before the merge.
  /// - Returns: The names of the fields that are left alone, because somebody changed them since or their asset is not at hand;
  ///   `nil` if there is nothing to undo.
  public mutating func undo(
    _ id: Entry.ID, in record: CKRecord, assetsFrom others: [CKRecord] = []
  ) -> [String]? {
    let current = record.mergedModel
    let assets = AssetObjects([record] + others)
    let result = undo(id, in: current) { _, value in assets.objects(of: value) != nil }
    guard let result else { return nil }
    _ = record.takeFields(result.record.fields, inPlaceOf: current.fields, assets)
    if result.record.parent != current.parent { record.setParent(toModel: result.record.parent) }
    return result.leftAlone.map(\.rawValue)
  }
}
