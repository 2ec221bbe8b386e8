import Synchronization
import TestSupport
import VirgaModel
import VirgaServer
import VirgaWire

/// The rules over a memory store, in process, with a clock and dice of its own.
final class Harness {
  let store = MemoryStore()
  var now = Timestamp(milliseconds: 1_700_000_000_000)
  var random = SplitMix64(seed: 1)
  var wakes: Set<String> = []
  /// The push tokens that ended with the last call.
  var ended: [String] = []
  var isAwaited: @Sendable (String) -> Bool = { _ in false }
  var cipher: (any FieldCipher)?
  var tokenCipher: (any FieldCipher)?
  var service = Service()

  struct Caller {
    var principal: Principal
    var clientID: String?

    init(_ user: UserName?, device: DeviceID? = nil, clientID: String? = nil) {
      principal = Principal(user: user, account: nil, device: device)
      self.clientID = clientID
    }

    static let alice = Caller("_alice", device: "phone")
    static let bob = Caller("_bob", device: "tablet")
    static let world = Caller(nil)
  }

  struct Where {
    var scope: DatabaseScope = .private
    var environment: Environment = .development
    var container: ContainerID = "iCloud.test"
    static let own = Where()
    static let open = Where(scope: .public)
    static let shared = Where(scope: .shared)
  }

  /// What a client asks for beside the call.
  struct Wishes {
    var extensions = true
    var syncToken = false
    var pageMax = Limits.recordsPerPageMax
  }

  func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Value) throws -> Value {
    let result = Mutex<Result<Value, any Error>?>(nil)
    store.write(body) { outcome in result.withLock { $0 = outcome } }
    return try result.withLock { $0 }!.get()
  }

  func call(
    _ call: Call, as caller: Caller = .alice, in place: Where = .own, wishes: Wishes = Wishes()
  ) throws -> Reply {
    let endpoint = Endpoint(
      container: place.container, environment: place.environment, scope: place.scope, operation: call.operation)
    var context = CallContext(
      endpoint: endpoint, principal: caller.principal, now: now, random: SplitMix64(seed: random.next()),
      urls: TestURLs()
    )
    context.clientID = caller.clientID
    context.isAwaited = isAwaited
    context.cipher = cipher
    context.tokenCipher = tokenCipher
    context.wantsExtensions = wishes.extensions
    context.wantsSyncToken = wishes.syncToken
    context.recordsPerPageMax = wishes.pageMax
    let (reply, wakes) = try perform(call, context)
    self.wakes = wakes.tokens
    ended = wakes.ended
    return reply
  }

  private func perform(_ call: Call, _ start: CallContext) throws -> (Reply, Wakes) {
    let service = service
    return try write { transaction in
      var context = start
      do {
        let reply =
          call.operation.isReadOnly
          ? try service.read(call, in: transaction, context: &context)
          : try service.write(call, in: transaction, context: &context)
        return (reply, context.wakes)
      } catch let need as WriteNeeded {
        return try service.making(need, for: context.principal.user, in: transaction) {
          (try service.read(call, in: transaction, context: &context), context.wakes)
        }
      }
    }
  }

  /// The error that a call fails with as a whole.
  func failure(
    _ call: Call, as caller: Caller = .alice, in place: Where = .own, wishes: Wishes = Wishes()
  ) throws -> ServiceError? {
    do {
      _ = try self.call(call, as: caller, in: place, wishes: wishes)
      return nil
    } catch let error as ServiceError {
      return error
    }
  }
}

/// Nobody would call it safe, but it hides texts and notices another key or place.
struct TestCipher: FieldCipher {
  var key: UInt8 = 0x5a
  func seal(_ plain: [UInt8], for place: [UInt8]) -> [UInt8] { (place + [0, key] + plain).map { $0 ^ key } }
  func open(_ sealed: [UInt8], for place: [UInt8]) -> [UInt8]? {
    let plain = sealed.map { $0 ^ key }
    return plain.starts(with: place + [0, key]) ? Array(plain.dropFirst(place.count + 2)) : nil
  }
}

struct TestURLs: URLMaker {
  func uploadURL(for claim: UploadGrant) -> String {
    "up:\(claim.recordName)/\(claim.fieldName)/\(claim.expires.milliseconds)"
  }
  func downloadURL(checksum: String, size: Int64, expires: Timestamp) -> String { "down:\(checksum)" }
  func pushURL(token: String) -> String { "push:\(token)" }
}

// MARK: - Short ways to say common things

extension Harness {
  static let diary: ZoneSelector = ZoneSelector("Diary")

  /// A harness with the zone `Diary` in Alice's database.
  static func withZone() throws -> Harness {
    let harness = Harness()
    try harness.makeZone("Diary")
    return harness
  }

  @discardableResult
  func makeZone(_ name: ZoneName, as caller: Caller = .alice) throws -> ZoneEnvelope {
    try zones(.zonesModify(ZonesModifyRequest(operations: [.init(.create, ZoneSelector(name))])), as: caller)[0].zone!
  }

  func deleteZone(_ name: ZoneName) throws {
    _ = try zones(.zonesModify(ZonesModifyRequest(operations: [.init(.delete, ZoneSelector(name))])))
  }

  func zones(_ call: Call, as caller: Caller = .alice, in place: Where = .own) throws -> [ZoneResult] {
    guard case .zones(let zones) = try self.call(call, as: caller, in: place) else { return [] }
    return zones
  }

  func modify(
    _ operations: [RecordOperation], zone: ZoneSelector = Harness.diary, atomic: Bool = true,
    as caller: Caller = .alice,
    in place: Where = .own, wishes: Wishes = Wishes()
  ) throws -> [RecordResult] {
    let request = RecordsModifyRequest(operations: operations, zone: zone, atomic: atomic ? nil : false)
    guard case .records(let reply) = try call(.recordsModify(request), as: caller, in: place, wishes: wishes) else {
      return []
    }
    return reply.records
  }

  func modify(
    _ operation: RecordOperation, zone: ZoneSelector = Harness.diary, as caller: Caller = .alice,
    in place: Where = .own, wishes: Wishes = Wishes()
  ) throws -> RecordResult {
    try modify([operation], zone: zone, as: caller, in: place, wishes: wishes)[0]
  }

  func lookUp(
    _ names: [RecordName], zone: ZoneSelector = Harness.diary, as caller: Caller = .alice, in place: Where = .own
  ) throws -> [RecordResult] {
    let request = RecordsLookupRequest(records: names.map { .init($0) }, zone: zone)
    guard case .records(let reply) = try call(.recordsLookup(request), as: caller, in: place) else { return [] }
    return reply.records
  }

  func record(
    _ name: RecordName, zone: ZoneSelector = Harness.diary, in place: Where = .own
  ) throws -> RecordEnvelope? {
    try lookUp([name], zone: zone, in: place)[0].record
  }

  func page(
    _ token: String? = nil, zone: ZoneSelector = Harness.diary, limit: Int? = nil, reversed: Bool = false,
    types: [RecordType]? = nil
  ) throws -> ZoneChangesPage {
    var request = ZoneChangesRequest(zone: zone, syncToken: token, resultsLimit: limit)
    request.isReversed = reversed
    request.desiredRecordTypes = types
    guard case .recordChanges(let page) = try call(.recordsChanges(request)) else { fatalError("not a page") }
    return page
  }

  func databaseChanges(_ token: String? = nil, limit: Int? = nil) throws -> DatabaseChangesReply {
    let request = DatabaseChangesRequest(syncToken: token, resultsLimit: limit)
    guard case .databaseChanges(let reply) = try call(.changesDatabase(request)) else { fatalError("no changes") }
    return reply
  }
}

extension RecordOperation {
  static func create(_ name: RecordName?, _ fields: Fields = [:], type: RecordType = "Entry") -> RecordOperation {
    RecordOperation(
      .create, RecordChange(name: name, type: type, fields: fields.map { FieldChange($0.name, $0.field) }))
  }

  static func update(_ name: RecordName, tag: ChangeTag?, _ fields: Fields = [:]) -> RecordOperation {
    RecordOperation(.update, RecordChange(name: name, tag: tag, fields: fields.map { FieldChange($0.name, $0.field) }))
  }

  static func force(_ name: RecordName, _ fields: Fields = [:]) -> RecordOperation {
    RecordOperation(
      .forceUpdate, RecordChange(name: name, type: "Entry", fields: fields.map { FieldChange($0.name, $0.field) }))
  }

  static func delete(_ name: RecordName, tag: ChangeTag?) -> RecordOperation {
    RecordOperation(.delete, RecordChange(name: name, tag: tag))
  }

  static func forceDelete(_ name: RecordName) -> RecordOperation {
    RecordOperation(.forceDelete, RecordChange(name: name))
  }

  func with(_ change: (inout RecordOperation) -> Void) -> RecordOperation {
    var copy = self
    change(&copy)
    return copy
  }
}

extension RecordResult {
  var record: RecordEnvelope? { if case .record(let record) = self { record } else { nil } }
  var failure: RecordFailure? { if case .failure(let failure) = self { failure } else { nil } }
  var code: ServerErrorCode? { failure?.error.code }
  var isDeleted: Bool { if case .deleted = self { true } else { false } }
  var name: RecordName {
    switch self {
    case .record(let record): record.id.name
    case .deleted(let name, _, _): name
    case .failure(let failure): failure.name
    }
  }
}

extension RecordEnvelope {
  var fields: Fields { get throws { try Fields(json: fieldsJSON) } }
  func value(_ name: FieldName) throws -> FieldValue? { try fields[name]?.value }
  var json: String { String(decoding: fieldsJSON, as: UTF8.self) }
}

extension ZoneResult {
  var zone: ZoneEnvelope? { if case .zone(let zone) = self { zone } else { nil } }
  var code: ServerErrorCode? { if case .failure(_, let error) = self { error.code } else { nil } }
}

extension WriteTransaction {
  /// Makes an index of the zone's records and fills it at once.
  func makeIndex(_ definition: IndexDefinition, of zone: ZoneRow) throws -> RecordIndex {
    var index = try beginIndex(definition, of: zone, for: "")
    while !index.isReady { index = try fillIndex(index, of: zone, portion: .all).index }
    return index
  }
}

extension Service {
  /// Makes the indexes that `read` asks for, all in one write.
  func making<Value>(
    _ first: WriteNeeded, for user: UserName?, in transaction: any WriteTransaction, _ read: () throws -> Value
  ) throws -> Value {
    var need = first
    while true {
      while try !advance(need, for: user, portion: .all, in: transaction).isReady {}
      do { return try read() } catch let next as WriteNeeded { need = next }
    }
  }

  /// All steps of a compaction at once.
  func compact(in transaction: any WriteTransaction, now: Timestamp) throws {
    for step in try compactionSteps(in: transaction, now: now) {
      while try perform(step, in: transaction, now: now) {}
    }
  }
}
