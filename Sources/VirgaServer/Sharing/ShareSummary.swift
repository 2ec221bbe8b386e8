package import VirgaWire
import VirgaModel

/// What may be told of a share to whoever has its address and has not said who they are.
package struct ShareSummary: Hashable, Sendable {
  /// What its owner calls it; only of a share that anybody may join.
  package var title: String?
  /// Whether whoever has the address may join.
  package var isOpen: Bool
}

extension Service {
  /// - Returns: `nil` if no share lives there.
  package func shareSummary(at path: SharePath, in transaction: any ReadTransaction) throws -> ShareSummary? {
    let address = try transaction.shareAddress(
      path.shortGUID, container: path.container, environment: path.environment)
    guard let address, let row = try transaction.zone(address.zone, in: address.database), !row.isDeleted,
      let share = try transaction.liveShare(at: address, in: row)
    else { return nil }
    let isOpen = try ShareState(share).publicPermission != .none
    var summary = ShareSummary(title: nil, isOpen: isOpen)
    // Who was not invited is not told what others share.
    if isOpen, !StoredFieldCipher.isSealed(share.fieldsJSON) {
      let title = try share.reading(share.fieldsJSON) { try Fields(json: $0)["cloudkit.title"]?.value }
      if case .string(let text) = title, !text.isEmpty { summary.title = text }
    }
    return summary
  }
}
