import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct ServiceLimitTests {
  @Test(arguments: [399, 400, 401])
  func aRequestHoldsNoMoreThan400Operations(count: Int) throws {
    // C13: the request over the limit fails as a whole and writes nothing.
    let harness = try Harness.withZone()
    let request = RecordsModifyRequest(
      operations: (0..<count).map { .create(RecordName("r\($0)")) }, zone: Harness.diary)
    let error = try harness.failure(.recordsModify(request))
    #expect(
      error == (count > 400 ? .limitExceeded("operations", observed: 401, limit: 400) : nil))
    #expect(try harness.lookUp(["r0"])[0].code == (count > 400 ? .notFound : nil))
    let lookup = RecordsLookupRequest(records: (0..<count).map { .init(RecordName("r\($0)")) }, zone: Harness.diary)
    #expect((try harness.failure(.recordsLookup(lookup)) != nil) == (count > 400))
    let zones = ZonesLookupRequest(zones: (0..<count).map { ZoneSelector(ZoneName("z\($0)")) })
    #expect((try harness.failure(.zonesLookup(zones)) != nil) == (count > 400))
    let feeds = zones.zones.map { ZoneChangesRequest(zone: $0) }
    #expect((try harness.failure(.changesZone(feeds)) != nil) == (count > 400))
  }

  @Test(arguments: [199, 200, 201])
  func aRequestAsksForNoMoreThan200UploadTokens(count: Int) throws {
    let item = AssetsUploadRequest.Item(recordName: nil, recordType: "Entry", fieldName: "photo")
    let request = AssetsUploadRequest(zone: ZoneSelector(), items: Array(repeating: item, count: count))
    let error = try Harness().failure(.assetsUpload(request))
    #expect(error?.reason.hasPrefix(Reason.limitExceeded) == (count > 200 ? true : nil))
  }

  @Test(arguments: [-1, 0, 1])
  func aRecordHoldsNoMoreThanOneMegabyte(over: Int) throws {
    // C61: the error is this record's alone and says how big it is and may be.
    let harness = try Harness.withZone()
    let frame = #"{"t":{"value":"","type":"STRING"}}"#.utf8.count
    let text = String(repeating: "x", count: Limits.recordBytesMax - frame + over)
    let results = try harness.modify([.create("big", ["t": .string(text)]), .create("small")], atomic: false)
    #expect(results[1].record != nil)
    if over > 0 {
      #expect(
        results[0].failure?.error
          == .limitExceeded("bytes in record 'big'", observed: Limits.recordBytesMax + 1, limit: Limits.recordBytesMax))
      #expect(try harness.record("big") == nil)
    } else {
      #expect(results[0].record != nil)
    }
  }

  @Test(arguments: [1_000, 1_001])
  func aRequestNamesNoMoreDesiredKeysThanARecordHasFields(count: Int) throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("r", ["f1": .int64(1), "n": .int64(2)]))
    let keys = (0..<count).map { FieldName("f\($0)") }
    var lookup = RecordsLookupRequest(records: [.init("r")], zone: Harness.diary)
    lookup.desiredKeys = keys
    let item = RecordsLookupRequest(records: [.init("r", desiredKeys: keys)], zone: Harness.diary)
    var query = RecordsQueryRequest(
      Query("Entry", filters: [QueryFilter("n", .equals, .int64(2))]), zone: Harness.diary)
    query.desiredKeys = keys
    var feed = ZoneChangesRequest(zone: Harness.diary)
    feed.desiredKeys = keys
    var save = RecordsModifyRequest(operations: [.force("r")], zone: Harness.diary)
    save.desiredKeys = keys
    let operation = RecordsModifyRequest(
      operations: [RecordOperation.force("r").with { $0.desiredKeys = keys }], zone: Harness.diary)
    let calls: [Call] = [
      .recordsLookup(lookup), .recordsLookup(item), .recordsQuery(query), .recordsChanges(feed), .recordsModify(save),
      .recordsModify(operation),
    ]
    for call in calls {
      let error = try harness.failure(call)
      let expected = ServiceError.limitExceeded("names in desiredKeys", observed: 1_001, limit: 1_000)
      #expect(error == (count > 1_000 ? expected : nil))
    }
  }

  @Test func aRecordCannotGrowOverTheLimitByMerging() throws {
    let harness = try Harness.withZone()
    let half = FieldValue.string(String(repeating: "x", count: 600_000))
    _ = try harness.modify(.create("r", ["a": half]))
    #expect(try harness.modify(.force("r", ["b": half])).failure?.error.reason.contains("at most 1048576") == true)
    #expect(try harness.record("r")?.fields.names == ["a"])
  }

  @Test(arguments: [999, 1_000, 1_001])
  func aRecordHoldsNoMoreThan1000Fields(count: Int) throws {
    let harness = try Harness.withZone()
    let fields = Fields((0..<count).map { .init(name: FieldName("f\($0)"), field: Field(.int64(1))) })
    #expect(try harness.modify(.create("r", fields)).code == (count > 1_000 ? .badRequest : nil))
    if count == 1_000 { #expect(try harness.modify(.force("r", ["more": .int64(1)])).code == .badRequest) }
  }

  @Test(arguments: [1_999, 2_000, 2_001])
  func aRecordTypeHoldsNoMoreThan2000Fields(count: Int) throws {
    let harness = try Harness.withZone()
    var codes: [ServerErrorCode?] = []
    for start in stride(from: 0, to: count, by: 500) {
      let range = start..<min(start + 500, count)
      let fields = Fields(range.map { .init(name: FieldName("f\($0)"), field: Field(.int64(1))) })
      codes.append(try harness.modify(.create(RecordName("r\(start)"), fields)).code)
    }
    #expect(codes.last == (count > 2_000 ? .badRequest : .some(nil)))
    #expect(codes.dropLast().allSatisfy { $0 == nil })
  }

  @Test(arguments: [49_999, 50_000, 50_001])
  func aListHoldsNoMoreThan50000Elements(count: Int) throws {
    let harness = try Harness.withZone()
    let list = FieldValue.int64List(Array(repeating: 1, count: count))
    #expect(try harness.modify(.create("r", ["l": list])).code == (count > 50_000 ? .badRequest : nil))
  }

  @Test(arguments: [(nil, 200), (0, 200), (1, 1), (200, 200), (201, 200), (-1, nil)] as [(Int?, Int?)])
  func resultsLimitIsKeptWithinWhatTheClientMayHave(requested: Int?, expected: Int?) throws {
    let harness = try Harness.withZone()
    _ = try harness.modify((0..<250).map { .create(RecordName("r\($0)")) })
    let request = ZoneChangesRequest(zone: Harness.diary, resultsLimit: requested)
    if let expected {
      #expect(try harness.page(limit: requested).records.count == expected)
    } else {
      #expect(try harness.failure(.recordsChanges(request))?.code == .badRequest)
    }
    guard
      case .recordChanges(let page) = try harness.call(
        .recordsChanges(.init(zone: Harness.diary)), wishes: .init(pageMax: 2_000))
    else { return #expect(Bool(false)) }
    #expect(page.records.count == 250)
  }

  @Test func aDatabaseHoldsNoMoreThan10000Zones() throws {
    let harness = try Harness.withZone()
    try harness.write { transaction in
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
      var database = try transaction.database(key)!
      database.sequence = 10_000
      try transaction.put(database)
      for number in 2..<10_000 {
        var row = ZoneRow(database: key, name: ZoneName("z\(number)"), incarnation: 1)
        row.databaseSequence = Int64(number)
        try transaction.put(&row)
      }
    }
    let operations = ["A", "B", "C"].map { ZonesModifyRequest.Operation(.create, ZoneSelector(ZoneName($0))) }
    let results = try harness.zones(.zonesModify(.init(operations: [operations[0]])))
    #expect(results[0].zone != nil)
    let more = [operations[1], .init(.delete, Harness.diary), operations[2]]
    #expect(try harness.zones(.zonesModify(.init(operations: more))).map(\.code) == [.badRequest, nil, nil])
  }

  @Test(arguments: [9_999, 10_000, 10_001])
  func aPageLooksAtNoMoreThan10000Changes(count: Int) throws {
    let harness = try Harness.withZone()
    for start in stride(from: 0, to: count, by: 400) {
      _ = try harness.modify((start..<min(start + 400, count)).map { .create(RecordName("r\($0)")) })
    }
    let page = try harness.page(types: ["Note"])
    #expect(page.records.isEmpty)
    #expect(page.moreComing == (count > 10_000))
    if page.moreComing {
      let rest = try harness.page(page.syncToken)
      #expect(rest.records.map(\.name) == ["r10000"])
    }
  }

  @Test func zonesOfOneRequestShareTheirBytesAndEachGetsOn() throws {
    let harness = try Harness.withZone()
    try harness.makeZone("Other")
    let text = FieldValue.string(String(repeating: "x", count: 900_000))
    for zone in [Harness.diary, ZoneSelector("Other")] {
      for index in 0..<6 { _ = try harness.modify(.create(RecordName("r\(index)"), ["t": text]), zone: zone) }
    }
    let requests = [ZoneChangesRequest(zone: Harness.diary), ZoneChangesRequest(zone: ZoneSelector("Other"))]
    guard case .zoneChanges(let results) = try harness.call(.changesZone(requests)) else {
      return #expect(Bool(false))
    }
    let pages = results.compactMap { if case .page(let page) = $0 { page } else { nil } }
    #expect(pages.map(\.records.count) == [4, 1])
    #expect(pages.map(\.moreComing) == [true, true])
  }

  /// What has no pages is bounded too: an answer of hundreds of megabytes would take as much memory, several times over.
  @Test func anAnswerWithoutPagesIsBounded() throws {
    let harness = try Harness.withZone()
    let text = FieldValue.string(String(repeating: "x", count: 1_000_000))
    for start in stride(from: 0, to: 40, by: 10) {
      let saves = (start..<start + 10).map { RecordOperation.create(RecordName("r\($0)"), ["t": text]) }
      #expect(try harness.modify(saves).allSatisfy { $0.code == nil })
    }
    let names = (0..<40).map { RecordName("r\($0)") }
    let limit = Limits.answerBytesMax
    func isTooMuch(_ call: Call) throws -> Bool {
      try harness.failure(call)?.reason.hasPrefix("\(Reason.limitExceeded): bytes of records in one answer") == true
    }
    // As often as it is asked for, and whole.
    for asked in [names, Array(repeating: "r0", count: 400)] {
      let lookup = RecordsLookupRequest(records: asked.map { .init($0) }, zone: Harness.diary)
      #expect(try isTooMuch(.recordsLookup(lookup)))
      var keys = lookup
      keys.desiredKeys = []
      #expect(try harness.failure(.recordsLookup(keys)) == nil)
    }
    // Half of them fit, as whoever divides the request finds.
    #expect(try harness.lookUp(Array(names[..<20])).count == 20)
    // Nothing is written by a request whose answer does not fit.
    let saves = RecordsModifyRequest(operations: names.map { .force($0, ["n": .int64(1)]) }, zone: Harness.diary)
    #expect(try isTooMuch(.recordsModify(saves)))
    #expect(try harness.record("r0")?.fields.names == ["t"])
    // Of conflicts the records that fit are shown, and the others can be looked up.
    let stale = try harness.modify(names.map { .update($0, tag: "zz", ["n": .int64(1)]) }, atomic: false)
    #expect(stale.allSatisfy { $0.code == .conflict })
    let shown = stale.compactMap(\.failure?.serverRecord)
    #expect(shown.count == limit / 1_000_400)
  }

  @Test func aRequestForManyFeedsIsBounded() throws {
    let harness = try Harness.withZone()
    let text = FieldValue.string(String(repeating: "x", count: 1_000_000))
    _ = try harness.modify(.create("r", ["t": text]))
    let request = ZoneChangesRequest(zone: Harness.diary)
    guard case .zoneChanges(let results) = try harness.call(.changesZone(Array(repeating: request, count: 400))) else {
      return #expect(Bool(false))
    }
    let pages = results.compactMap { if case .page(let page) = $0 { page } else { nil } }
    #expect(pages.allSatisfy { $0.records.count == 1 } && pages.count <= Limits.answerBytesMax / 1_000_000 + 1)
    guard case .failure(_, let error)? = results.last else { return #expect(Bool(false)) }
    #expect(error.reason.hasPrefix(Reason.limitExceeded))
  }

  /// Changes that nobody asked for are looked at once for a request, not for each of its zones; each gets on.
  @Test func theZonesOfOneRequestShareTheChangesThatTheyLookAt() throws {
    let harness = try Harness.withZone()
    for start in stride(from: 0, to: 10_000, by: 400) {
      _ = try harness.modify((start..<min(start + 400, 10_000)).map { .create(RecordName("r\($0)")) })
    }
    var request = ZoneChangesRequest(zone: Harness.diary)
    request.desiredRecordTypes = ["Note"]
    guard case .zoneChanges(let results) = try harness.call(.changesZone([request, request])) else {
      return #expect(Bool(false))
    }
    let pages = results.compactMap { if case .page(let page) = $0 { page } else { nil } }
    #expect(pages.map(\.moreComing) == [false, true])
    #expect(try harness.page(pages[1].syncToken, limit: 1).records.map(\.name) == ["r100"])
  }

  @Test func deletionsThatTakeTooManyAlongAreRefused() throws {
    let harness = try Harness.withZone()
    let limit = Limits.cascadedDeletionsMax
    // A tree in which record n hangs on record n / 700.
    try harness.write { transaction in
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
      var zone = try transaction.zone("Diary", in: key)!
      let stamp = RecordStamp(time: Timestamp(milliseconds: 0), user: "_alice", device: "phone")
      for number in 0...limit + 1 {
        zone.sequence += 1
        var record = StoredRecord(
          name: RecordName("r\(number)"), type: "Entry", sequence: zone.sequence, created: stamp, modified: stamp,
          fieldsJSON: Array("{}".utf8))
        if number > 0 { record.references = [.init(target: RecordName("r\(number / 700)"), kind: .deleteSelf)] }
        try transaction.put(record, in: zone, replacing: nil, keepsVersion: true)
      }
      try transaction.put(&zone)
    }
    let refused = try harness.modify(.forceDelete("r0")).failure?.error
    #expect(refused == .limitExceeded("records deleted together", observed: limit + 1, limit: limit))
    #expect(try harness.modify(.forceDelete(RecordName("r\(limit + 1)"))).isDeleted)
    #expect(try harness.modify(.forceDelete("r0")).isDeleted)
    #expect(try harness.record(RecordName("r\(limit)")) == nil)
  }

  @Test func whatASubscriptionSaysIsLimited() throws {
    let harness = Harness()
    func failure(_ change: (inout Subscription) -> Void) throws -> ServiceError? {
      var subscription = Subscription(id: "s", kind: .database)
      change(&subscription)
      return try harness.subscribe(subscription).error
    }
    let limit = Limits.notificationInfoBytesMax
    let long = try failure { $0.notificationInfo.alertBody = String(repeating: "x", count: 100_000) }
    #expect(long?.reason.hasPrefix("\(Reason.limitExceeded): bytes of a subscription's notificationInfo") == true)
    let many = try failure { $0.notificationInfo.titleLocalizationArgs = Array(repeating: "x", count: limit) }
    #expect(many?.reason.hasPrefix(Reason.limitExceeded) == true)
    let events = try failure { $0.firesOn = Array(repeating: "create", count: 100_000) }
    #expect(events?.reason.hasPrefix(Reason.limitExceeded) == true)
    #expect(try failure { $0.notificationInfo.alertBody = String(repeating: "x", count: 10_000) } == nil)
  }

  @Test func subscriptionsAreLimited() throws {
    let harness = Harness()
    for start in stride(from: 0, to: 1_000, by: 250) {
      let operations = (start..<start + 250).map {
        SubscriptionsModifyRequest.Operation(
          .create, Subscription(id: SubscriptionID("s\($0)"), kind: .database))
      }
      _ = try harness.call(.subscriptionsModify(.init(operations: operations)))
    }
    let more = SubscriptionsModifyRequest(operations: [.init(.create, Subscription(id: "more", kind: .database))])
    guard case .subscriptions(let results) = try harness.call(.subscriptionsModify(more)),
      case .failure("more", let error) = results[0]
    else { return #expect(Bool(false)) }
    #expect(error == .limitExceeded("subscriptions", observed: 1_001, limit: 1_000))
  }
}
