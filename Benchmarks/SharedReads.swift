import Dispatch
import Synchronization
import VirgaModel
import VirgaServer
import VirgaServerSQLite
import VirgaWire

/// What it costs to read records that others share, against reading one's own: the rules over the store, without HTTP.
enum SharedReads {
  private static let owner: UserName = "_owner"
  private static let guest: UserName = "_guest"

  /// - Parameter count: How many records lie in each zone.
  static func measure(count: Int = 20_000, on store: SQLiteStore) throws {
    let whole = try makeZone("Whole", count: count, root: nil, on: store)
    let tree = try makeZone("Tree", count: count, root: "root", on: store)
    for (name, zone) in [("a zone", whole), ("a hierarchy", tree)] {
      // In turns, so that other work on the machine weighs on both, and the least of each: what is over it is not ours.
      var own: (feed: Double, lookup: Double) = (.infinity, .infinity)
      var shared = own
      for _ in 0..<7 {
        let (next, theirs) = (
          try seconds(zone, as: owner, in: .private, on: store), try seconds(zone, as: guest, in: .shared, on: store)
        )
        own = (min(own.feed, next.feed), min(own.lookup, next.lookup))
        shared = (min(shared.feed, theirs.feed), min(shared.lookup, theirs.lookup))
      }
      let (feed, lookup) = (shared.feed / own.feed, shared.lookup / own.lookup)
      Bench.report("shared reads of \(name): feed", "\(count) records", feed, "of private reads")
      Bench.report("shared reads of \(name): lookups", "pages of 200", lookup, "of private reads")
    }
  }

  private static func makeZone(_ name: ZoneName, count: Int, root: RecordName?, on store: SQLiteStore) throws -> ZoneID
  {
    let zone = ZoneID(name, owner: owner)
    _ = try call(.zonesModify(.init(operations: [.init(.create, ZoneSelector(name))])), as: owner, in: .private, store)
    var first = RecordOperation(.create, RecordChange(name: root ?? "first", type: "Note"))
    first.record.createShortGUID = true
    var share = RecordOperation(.create, RecordChange(name: nil, type: .share))
    share.record.shareChange = ShareChange(
      root: root.map { .init($0) },
      participants: [
        ShareParticipant(identity: UserIdentity(lookupInfo: .userRecordName(guest)), permission: .readWrite)
      ])
    let made = try call(
      .recordsModify(.init(operations: [first, share], zone: ZoneSelector(zone))), as: owner, in: .private, store)
    guard case .records(let reply) = made, case .record(let record) = reply.records[1],
      let shortGUID = record.shortGUID
    else { throw BenchError("the zone could not be shared") }
    for start in stride(from: 0, to: count, by: 400) {
      let operations = (start..<min(start + 400, count)).map { number in
        var operation = RecordOperation(
          .create,
          RecordChange(
            name: RecordName("note\(number)"), type: "Note",
            fields: [FieldChange("text", Field(.string(String(repeating: "virga ", count: 40))))]))
        if let root { operation.record.parent = .set(Reference(recordName: root)) }
        return operation
      }
      _ = try call(
        .recordsModify(.init(operations: operations, zone: ZoneSelector(zone))), as: owner, in: .private, store)
    }
    _ = try call(.recordsAccept(.init(shortGUIDs: [.init(shortGUID)])), as: guest, in: .public, store)
    return zone
  }

  private static func seconds(
    _ zone: ZoneID, as user: UserName, in scope: DatabaseScope, on store: SQLiteStore
  ) throws -> (feed: Double, lookup: Double) {
    // Time of the processor, which other work on the machine moves less than it moves the clock.
    let start = StoreLevel.processorSeconds()
    do {
      var token: String?
      var isComing = true
      while isComing {
        let request = ZoneChangesRequest(zone: ZoneSelector(zone), syncToken: token, resultsLimit: 200)
        guard case .recordChanges(let page) = try call(.recordsChanges(request), as: user, in: scope, store) else {
          throw BenchError("no page")
        }
        (token, isComing) = (page.syncToken, page.moreComing)
      }
    }
    let middle = StoreLevel.processorSeconds()
    do {
      for start in stride(from: 0, to: 10_000, by: 200) {
        let items = (start..<start + 200).map { RecordsLookupRequest.Item(RecordName("note\($0)")) }
        _ = try call(.recordsLookup(.init(records: items, zone: ZoneSelector(zone))), as: user, in: scope, store)
      }
    }
    return (middle - start, StoreLevel.processorSeconds() - middle)
  }

  private static func call(_ call: Call, as user: UserName, in scope: DatabaseScope, _ store: SQLiteStore) throws
    -> Reply
  {
    let endpoint = Endpoint(
      container: "iCloud.org.example.Bench", environment: .development, scope: scope, operation: call.operation)
    let context = CallContext(
      endpoint: endpoint, principal: Principal(user: user, account: nil, device: "bench"),
      now: Timestamp(milliseconds: 1_800_000_000_000), random: SystemRandomNumberGenerator(), urls: NoURLs())
    let box = Mutex<Result<Reply, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    if call.operation.isReadOnly {
      store.read(
        { transaction in
          var context = context
          return try Service().read(call, in: transaction, context: &context)
        },
        completion: { result in
          box.withLock { $0 = result }
          done.signal()
        })
    } else {
      store.write(
        { transaction in
          var context = context
          return try Service().write(call, in: transaction, context: &context)
        },
        completion: { result in
          box.withLock { $0 = result }
          done.signal()
        })
    }
    done.wait()
    guard let result = box.withLock({ $0 }) else { throw BenchError("no answer") }
    return try result.get()
  }
}

private struct NoURLs: URLMaker {
  func uploadURL(for claim: UploadGrant) -> String { "" }
  func downloadURL(checksum: String, size: Int64, expires: Timestamp) -> String { "" }
  func pushURL(token: String) -> String { "" }
}
