import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// Alice's zone `Diary` with a hierarchy in it, and others with whom she may share it.
struct ShareWorld {
  let harness: Harness
  static let zone = ZoneSelector("Diary", owner: "_alice")
  static let carol = Harness.Caller("_carol", device: "laptop")

  /// - Parameter names: The records below `root`, which is below nothing; `diary` is beside them.
  init(_ names: [RecordName] = ["a", "b"]) throws {
    harness = try Harness.withZone()
    let children = names.map {
      RecordOperation.create($0, .text("of \($0)")).with { $0.record.parent = .set("root") }
    }
    let results = try harness.modify([.create("root", .text("top")), .create("diary", .text("own"))] + children)
    #expect(results.allSatisfy { $0.code == nil })
  }

  static func invitation(_ user: UserName, _ permission: SharePermission = .readWrite) -> ShareParticipant {
    ShareParticipant(identity: UserIdentity(lookupInfo: .userRecordName(user)), permission: permission)
  }

  static func shareOperation(
    of root: RecordName? = "root", name: RecordName? = "Share-1", tag: ChangeTag? = nil,
    open: SharePermission? = nil, invited: [ShareParticipant]? = nil
  ) -> RecordOperation {
    RecordOperation.create(name, ["cloudkit.title": .string("My diary")], type: .share).with {
      $0.record.shareChange = ShareChange(
        root: root.map { .init($0, tag: tag) }, publicPermission: open, participants: invited)
    }
  }

  @discardableResult
  func share(
    of root: RecordName? = "root", name: RecordName? = "Share-1", open: SharePermission? = nil,
    invited: [ShareParticipant]? = nil
  ) throws -> RecordEnvelope {
    let result = try harness.modify(Self.shareOperation(of: root, name: name, open: open, invited: invited))
    return try #require(result.record, "\(String(describing: result.failure))")
  }

  /// Shares the root with Bob, who accepts.
  @discardableResult
  func shareWithBob(_ permission: SharePermission = .readWrite) throws -> RecordEnvelope {
    let share = try share(invited: [Self.invitation("_bob", permission)])
    #expect(try accept(share) == nil)
    return share
  }

  /// What goes wrong when somebody accepts.
  func accept(_ share: RecordEnvelope, as caller: Harness.Caller = .bob) throws -> ServiceError? {
    let shortGUID = try #require(share.shortGUID)
    let results = try shares(.recordsAccept(.init(shortGUIDs: [.init(shortGUID)])), as: caller)
    if case .failure(_, let error) = results[0] { return error }
    return nil
  }

  func shares(_ call: Call, as caller: Harness.Caller = .bob) throws -> [ShareResult] {
    guard case .shares(let results) = try harness.call(call, as: caller, in: .open) else { return [] }
    return results
  }

  func resolve(_ share: RecordEnvelope, as caller: Harness.Caller = .bob) throws -> ShareMetadata? {
    let shortGUID = try #require(share.shortGUID)
    let results = try shares(.recordsResolve(.init(shortGUIDs: [.init(shortGUID)])), as: caller)
    if case .metadata(let metadata) = results[0] { return metadata }
    return nil
  }

  func modify(_ operation: RecordOperation, as caller: Harness.Caller = .bob) throws -> RecordResult {
    try harness.modify(operation, zone: Self.zone, as: caller, in: .shared)
  }

  func lookUp(_ name: RecordName, as caller: Harness.Caller = .bob) throws -> RecordResult {
    try harness.lookUp([name], zone: Self.zone, as: caller, in: .shared)[0]
  }

  func page(
    _ token: String? = nil, limit: Int? = nil, reversed: Bool = false, as caller: Harness.Caller = .bob
  ) throws -> ZoneChangesPage {
    var request = ZoneChangesRequest(zone: Self.zone, syncToken: token, resultsLimit: limit)
    request.isReversed = reversed
    guard case .recordChanges(let page) = try harness.call(.recordsChanges(request), as: caller, in: .shared) else {
      fatalError("not a page")
    }
    return page
  }

  func databaseChanges(_ token: String? = nil, as caller: Harness.Caller = .bob) throws -> DatabaseChangesReply {
    let call = Call.changesDatabase(DatabaseChangesRequest(syncToken: token))
    guard case .databaseChanges(let reply) = try harness.call(call, as: caller, in: .shared) else {
      fatalError("no changes")
    }
    return reply
  }

  func zones(as caller: Harness.Caller = .bob) throws -> [ZoneID] {
    try harness.zones(.zonesList, as: caller, in: .shared).compactMap { $0.zone?.id }
  }

  /// Live records by name, deleted ones with a minus.
  static func told(_ page: ZoneChangesPage) -> [String] {
    page.records.map { $0.isDeleted ? "-\($0.name)" : $0.name.rawValue }
  }
}

extension ParentChange {
  static func set(_ name: RecordName) -> ParentChange { .set(Reference(recordName: name)) }
}

extension Fields {
  static func text(_ text: String) -> Fields { ["text": .string(text)] }
}
