import VirgaModel
import VirgaWire

/// What a participant may see and do in a zone of somebody else.
final class VisibleScope {
  struct Grant: Hashable {
    var share: RecordName
    var permission: SharePermission
    var mayEditShare: Bool
  }

  let zone: SharedZone
  /// For a zone that is shared as a whole.
  private var whole: Grant?
  private var grants: [RecordName: Grant] = [:]
  private let tree: ShareTree

  init(_ zone: SharedZone, row: ZoneRow, in transaction: any ReadTransaction) throws {
    self.zone = zone
    tree = ShareTree(of: row, in: transaction)
    for name in zone.shares {
      guard let record = try transaction.liveShare(name, in: row) else { continue }
      let state = try ShareState(record)
      guard let participant = state.participant(zone.user), participant.acceptanceStatus == .accepted else { continue }
      let grant = Grant(
        share: name, permission: state.permission(of: participant),
        mayEditShare: participant.role == .administrator)
      guard grant.permission.allowsReading else { continue }
      grants[name] = grant
      if name == .zoneShare { whole = grant }
    }
  }

  var isWholeZone: Bool { whole != nil }
  var isEmpty: Bool { grants.isEmpty }
  var allowsWriting: Bool { grants.values.contains { $0.permission == .readWrite } }

  /// What the participant may do with a live record; `nil` if they may not know of it.
  func grant(for record: StoredRecord) throws -> Grant? {
    if let whole { return whole }
    return try tree.share(of: record).flatMap { grants[$0] }
  }

  /// The same for a record whose place is told by another tree.
  func grant(for record: StoredRecord, in tree: ShareTree) throws -> Grant? {
    if let whole { return whole }
    return try tree.share(of: record).flatMap { grants[$0] }
  }

  func sees(_ record: StoredRecord) throws -> Bool { try grant(for: record) != nil }

  /// Why the participant may not do this; `nil` if they may, as far as the live record tells.
  func refusal(of kind: RecordOperation.Kind, of type: RecordType?, on live: StoredRecord?) throws -> ServiceError? {
    guard let live else {
      if kind.isDelete { return nil }
      if type == .share {
        return ServiceError(.accessDenied, "only the owner of a zone may share it or a record of it")
      }
      return kind.mayCreate && !allowsWriting ? ServiceError(.accessDenied, Reason.createNotPermitted) : nil
    }
    guard let grant = try grant(for: live) else {
      return kind.mayCreate
        ? ServiceError(.accessDenied, Reason.createNotPermitted) : ServiceError(.notFound, Reason.recordNotFound)
    }
    if live.type == .share {
      // Whoever deletes the share leaves it.
      return kind.isDelete || grant.mayEditShare ? nil : ServiceError(.accessDenied, Reason.writeNotPermitted)
    }
    guard grant.permission == .readWrite else { return ServiceError(.accessDenied, Reason.writeNotPermitted) }
    if kind.isDelete && live.share != nil {
      return ServiceError(.accessDenied, "\(Reason.writeNotPermitted): only its owner may delete the root of a share")
    }
    return nil
  }
}
