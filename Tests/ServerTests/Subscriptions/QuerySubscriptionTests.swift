import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// Subscriptions to queries in a private database.
struct ServiceQuerySubscriptionTests {
  private static let open = QueryFilter("state", .equals, .string("open"))
  private static let opened: Fields = ["state": .string("open")]
  private static let closed: Fields = ["state": .string("closed")]

  /// A zone whose type `Entry` has a text, and a queue of the client that listens.
  private static func world() throws -> (harness: Harness, queue: String) {
    let harness = try Harness.withZone()
    _ = try harness.modify([.create("old", opened), .create("past", closed)])
    return (harness, try harness.queue())
  }

  @Test(arguments: [
    (["create"], ["created n"]), (["update"], ["updated old"]), (["delete"], ["deleted old"]),
    (["delete", "create"], ["created n", "deleted old"]),
    (Subscription.every, ["created n", "updated old", "deleted old"]),
  ])
  func itFiresForTheEventsThatItAsksFor(events: [String], told: [String]) throws {
    let (harness, queue) = try Self.world()
    #expect(try harness.subscribe(.query("q", [Self.open], on: events)).error == nil)
    _ = try harness.modify([.create("n", Self.opened), .create("m", Self.closed)])
    _ = try harness.modify(.force("old", ["n": .int64(1)]))
    _ = try harness.modify(.force("past", ["n": .int64(1)]))
    _ = try harness.modify([.forceDelete("old"), .forceDelete("past"), .forceDelete("none")])
    #expect(try harness.told(queue) == told)
  }

  @Test func anUpdateCountsAsItIsNowAndADeletionAsItWas() throws {
    let (harness, queue) = try Self.world()
    _ = try harness.subscribe(.query("q", [Self.open]))
    _ = try harness.modify(.force("past", Self.opened))
    #expect(try harness.told(queue) == ["updated past"])
    _ = try harness.modify(.force("past", Self.closed))
    #expect(try harness.told(queue) == [])
    _ = try harness.modify(.forceDelete("past"))
    #expect(try harness.told(queue) == [])
    _ = try harness.modify(.forceDelete("old"))
    #expect(try harness.told(queue) == ["deleted old"])
  }

  /// However many subscriptions look at a record, it is not read for each of them.
  @Test func manySubscriptionsLookAtOneLargeRecord() throws {
    let (harness, queue) = try Self.world()
    let names = (0..<Limits.watchedQueriesPerTypeMax).map { FieldName("f\($0)") }
    _ = try harness.modify(.create("large", Fields(names.map { .init(name: $0, field: Field(.int64(0))) })))
    for name in names {
      let filter = QueryFilter(.field(name), .equals, .int64(1))
      #expect(try harness.subscribe(.query(SubscriptionID(name.rawValue), [filter])).error == nil)
    }
    let text = FieldValue.stringList(Array(repeating: String(repeating: "\u{e4}", count: 10), count: 10_000))
    _ = try harness.modify(.force("large", ["a": text, "f7": .int64(1)]))
    #expect(try harness.told(queue) == ["updated large"])
  }

  @Test func aRecordThatWasDeletedIsCreatedAgain() throws {
    let (harness, queue) = try Self.world()
    _ = try harness.subscribe(.query("q", [Self.open]))
    _ = try harness.modify(.forceDelete("old"))
    _ = try harness.modify(.force("old", Self.opened))
    #expect(try harness.told(queue) == ["deleted old", "created old"])
  }

  @Test func recordsThatGoWithAnotherAreTold() throws {
    let (harness, queue) = try Self.world()
    _ = try harness.modify(.create("child", Self.opened).with { $0.record.parent = .set("past") })
    let reference = Reference(recordName: "past", action: .deleteSelf)
    _ = try harness.modify(.create("holder", ["state": .string("open"), "of": .reference(reference)]))
    _ = try harness.subscribe(.query("q", [Self.open], on: ["delete"]))
    _ = try harness.modify([.forceDelete("past"), .forceDelete("child")])
    #expect(Set(try harness.told(queue)) == ["deleted child", "deleted holder"])
  }

  @Test func otherTypesZonesAndDatabasesAreNotTold() throws {
    let (harness, queue) = try Self.world()
    try harness.makeZone("Other")
    _ = try harness.subscribe(.query("all"))
    _ = try harness.subscribe(.query("here", zone: Harness.diary))
    _ = try harness.modify(.create("note", Self.opened, type: "Note"))
    _ = try harness.modify(.create("open", Self.opened), zone: ZoneSelector(), in: .open)
    _ = try harness.modify(.create("bobs", Self.opened), zone: ZoneSelector(), as: .bob)
    #expect(try harness.told(queue) == [])
    _ = try harness.modify(.create("there", Self.opened), zone: ZoneSelector("Other"))
    _ = try harness.modify(.create("nowhere", Self.opened), zone: ZoneSelector())
    #expect(
      try harness.take(queue).map { "\($0.event) \($0.query["sid"] as? String ?? "")" } == [
        "created there all", "created nowhere all",
      ])
    _ = try harness.modify(.create("here", Self.opened))
    #expect(try harness.take(queue).compactMap { $0.query["sid"] as? String } == ["all", "here"])
  }

  @Test func aFailedSaveIsNotTold() throws {
    let (harness, queue) = try Self.world()
    _ = try harness.subscribe(.query("q"))
    let results = try harness.modify([
      .create("new", Self.opened), .update("old", tag: ChangeTag(sequence: 99), Self.opened),
    ])
    #expect(results.map(\.code) == [.atomicError, .conflict])
    #expect(try harness.told(queue) == [])
  }

  /// C32: with a subscription on one kind of change, who makes it is told nothing and every other client once.
  @Test(arguments: ["create", "update", "delete"])
  func theOriginatorIsNotTold(change: String) throws {
    let (harness, laptop) = try Self.world()
    let phone = try harness.queue(as: .alice)
    let web = try harness.queue(as: Harness.Caller("_alice", clientID: "web"))
    _ = try harness.subscribe(.query("q", [Self.open], on: [change]))
    switch change {
    case "create": _ = try harness.modify(.create("new", Self.opened))
    case "update": _ = try harness.modify(.force("old", Self.opened))
    default: _ = try harness.modify(.forceDelete("old"))
    }
    #expect(harness.wakes == [laptop, web])
    #expect(try harness.told(phone) == [])
    #expect(try harness.told(laptop).count == 1)
    #expect(try harness.told(web).count == 1)
  }

  /// C31
  @Test func savingASubscriptionOverAndOverFiresOnceForEachWrite() throws {
    let (harness, queue) = try Self.world()
    for number in 0..<1_000 {
      #expect(try harness.subscribe(.query("q", [Self.open])).error == nil)
      let isMatch = number % 2 == 0
      _ = try harness.modify(.force(RecordName("r\(number)"), isMatch ? Self.opened : Self.closed))
      #expect(try harness.told(queue) == (isMatch ? ["created r\(number)"] : []))
    }
    guard case .subscriptions(let all) = try harness.call(.subscriptionsList) else { return #expect(Bool(false)) }
    #expect(all.count == 1)
  }

  @Test func whatWaitsIsToldOnce() throws {
    let (harness, queue) = try Self.world()
    _ = try harness.subscribe(.query("q", [Self.open]))
    for number in 0..<5 { _ = try harness.modify(.force("old", ["n": .int64(Int64(number))])) }
    _ = try harness.modify(.create("new", Self.opened))
    _ = try harness.modify(.force("new", Self.opened))
    #expect(try harness.told(queue) == ["updated old", "created new", "updated new"])
  }

  @Test func aQueueTakesTheLastOfVeryManyRecords() throws {
    let (harness, queue) = try Self.world()
    _ = try harness.subscribe(.query("q", [Self.open]))
    _ = try harness.modify((0..<250).map { .create(RecordName("r\($0)"), Self.opened) })
    #expect(try harness.told(queue) == (150..<250).map { "created r\($0)" })
  }

  @Test func pushesOfOneCollapseKeyReplaceOneAnother() throws {
    let (harness, queue) = try Self.world()
    var info = NotificationInfo()
    info.collapseIDKey = "tickets"
    _ = try harness.subscribe(.query("q", [Self.open], info: info))
    _ = try harness.modify([.create("a", Self.opened), .create("b", Self.opened)])
    #expect(try harness.told(queue) == ["created b"])
  }

  /// Queries that fire for very many records take neither the room of the database's notification nor, unsent, one that
  /// is told once.
  @Test func queriesLeaveRoomForTheDatabase() throws {
    let (harness, queue) = try Self.world()
    for number in 0..<10 { _ = try harness.queue(as: .init("_alice", device: DeviceID("other\(number)"))) }
    _ = try harness.subscribe(.query("a", [Self.open], on: ["create"]))
    var once = Subscription.query("b", [Self.open], on: ["create"])
    once.firesOnce = true
    _ = try harness.subscribe(once)
    var database = Subscription(id: "c", kind: .database)
    database.firesOnce = true
    _ = try harness.subscribe(database)
    _ = try harness.modify((0..<120).map { .create(RecordName("r\($0)"), Self.opened) })
    let told = try harness.take(queue)
    #expect(told.count { $0.query.isEmpty } == 1, "of the database")
    guard case .subscriptions(let left) = try harness.call(.subscriptionsList) else { return #expect(Bool(false)) }
    #expect(left.contains(.subscription(once)), "nobody was told")
    _ = try harness.modify(.create("one more", Self.opened))
    #expect(
      try harness.call(.subscriptionsList) == .subscriptions([.subscription(.query("a", [Self.open], on: ["create"]))]))
  }

  @Test func oneThatFiresOnceIsGoneThen() throws {
    let (harness, queue) = try Self.world()
    var once = Subscription.query("q", [Self.open], on: ["create"])
    once.firesOnce = true
    _ = try harness.subscribe(once)
    _ = try harness.modify(.create("no", Self.closed))
    guard case .subscriptions(let before) = try harness.call(.subscriptionsList) else { return #expect(Bool(false)) }
    #expect(before == [.subscription(once)])
    _ = try harness.modify([.create("a", Self.opened), .create("b", Self.opened)])
    #expect(try harness.told(queue) == ["created a"])
    #expect(try harness.call(.subscriptionsList) == .subscriptions([]))
  }

  @Test func aPushSaysWhatWasAskedFor() throws {
    let (harness, queue) = try Self.world()
    var info = NotificationInfo()
    info.alertLocalizationKey = "OPENED_BY"
    info.alertLocalizationArgs = ["by", "count", "missing"]
    info.titleLocalizationKey = "TITLE"
    info.titleLocalizationArgs = ["when"]
    info.shouldBadge = true
    info.soundName = "ding"
    info.category = "tickets"
    info.shouldSendContentAvailable = true
    info.additionalFields = ["by", "count", "secret"]
    let query = Subscription.query("q", [Self.open], info: info)
    #expect(try harness.subscribe(query) == .subscription(query))
    let long = String(repeating: "é", count: 150)
    _ = try harness.modify(
      .create(
        "r",
        [
          "state": .string("open"), "by": .string(long), "count": .int64(9_007_199_254_740_993),
          "when": .timestamp(Timestamp(milliseconds: 1_700_000_000_000)),
        ]
      ).with { $0.record.fields.append(FieldChange("secret", Field(.string("s"), isEncrypted: true))) })
    let push = try #require(try harness.take(queue).first)
    let cut = String(repeating: "é", count: 100)
    let text = push.text.replacing(/"nid":"[0-9A-F-]{36}"/, with: "NID")
    let alert =
      #""alert":{"title-loc-key":"TITLE","title-loc-args":["2023-11-14T22:13:20Z"],"loc-key":"OPENED_BY","#
      + #""loc-args":["\#(cut)","9007199254740993",""]}"#
    let aps = #"{\#(alert),"badge":1,"sound":"ding","category":"tickets","content-available":1}"#
    let body =
      #"{"sid":"q","rid":"r","zid":"Diary","zoid":"_alice","dbs":1,"fo":1,"#
      + #""af":{"by":"\#(cut)","count":9007199254740993}}"#
    #expect(
      text == #"{"aps":\#(aps),"ck":{"cid":"iCloud.test",NID,"ce":2,"ckuserid":"_alice","qry":\#(body)}}"#)
  }

  @Test func encryptedValuesAreNeverInAPush() throws {
    let harness = try Harness.withZone()
    harness.cipher = TestCipher()
    let queue = try harness.queue()
    func operation(_ name: RecordName) -> RecordOperation {
      RecordOperation.create(name, Self.opened).with {
        $0.record.fields.append(FieldChange("secret", Field(.int64(420_042_004_200), isEncrypted: true)))
      }
    }
    _ = try harness.modify(operation("first"))
    var info = NotificationInfo()
    info.additionalFields = ["secret", "state"]
    info.alertLocalizationArgs = ["secret"]
    info.alertLocalizationKey = "KEY"
    _ = try harness.subscribe(.query("q", [Self.open], info: info))
    _ = try harness.modify(operation("second"))
    let push = try #require(try harness.take(queue).first)
    #expect(push.query["af"] as? [String: String] == ["state": "open"])
    #expect(!push.text.contains("420042004200"))
  }

  @Test(arguments: [(100, []), (3_600, ["cid", "rid"]), (9_000, ["cid", "rid", "fo", "af", "alert"])])
  func whatDoesNotFitIsLeftOut(length: Int, missing: [String]) throws {
    let (harness, queue) = try Self.world()
    var info = NotificationInfo()
    info.alertBody = String(repeating: "x", count: length)
    info.additionalFields = ["text"]
    _ = try harness.subscribe(.query("q", [Self.open], info: info))
    let name = RecordName(String(repeating: "r", count: 255))
    _ = try harness.modify(
      .create(name, ["state": .string("open"), "text": .string(String(repeating: "y", count: 99))]))
    let push = try #require(try harness.take(queue).first)
    #expect(push.bytes.count <= Limits.notificationBytesMax)
    #expect((push.ck["p"] != nil) == !missing.isEmpty)
    #expect(push.query["sid"] as? String == "q")
    for (key, value) in [
      ("cid", push.ck["cid"]), ("rid", push.query["rid"]), ("fo", push.query["fo"]), ("af", push.query["af"]),
      ("alert", push.aps["alert"]),
    ] {
      #expect((value == nil) == missing.contains(key), "\(key)")
    }
  }

  @Test func itIsKeptAsItWasGiven() throws {
    let (harness, _) = try Self.world()
    var info = NotificationInfo()
    info.alertBody = "New \"entry\"\nhere"
    info.additionalFields = ["state"]
    let zone = ZoneSelector("Diary", owner: "_alice")
    let json = Array(
      "{\n \"filterBy\":[{\"fieldName\":\"n\",\"comparator\":\"LESS_THAN\",\"fieldValue\":{\"value\":3}}],\n\"recordType\":\"Entry\"}"
        .utf8)
    _ = try harness.modify(.create("double", ["n": .double(1.5)]))
    var given = Subscription(id: "a/b c", kind: .query(json: json, zone: zone))
    given.firesOn = ["delete", "create"]
    given.notificationInfo = info
    #expect(try harness.subscribe(given) == .subscription(given))
    #expect(try harness.subscribe(given) == .subscription(given))
    #expect(try harness.call(.subscriptionsList) == .subscriptions([.subscription(given)]))
    var other = given
    other.firesOn = ["create"]
    #expect(try harness.subscribe(other).error?.code == .exists)
    #expect(try harness.subscribe(other, .update) == .subscription(other))
    #expect(try harness.subscribe(other, .delete) == .deleted("a/b c"))
    #expect(try harness.call(.subscriptionsList) == .subscriptions([]))
  }

  /// A value without a type is taken for the field's, and words are searched in the fields that are marked so.
  @Test(arguments: [
    #"{"filterBy":{"fieldName":"n","comparator":"LESS_THAN","fieldValue":{"value":3}},"recordType":"Entry"}"#,
    #"{"filterBy":[{"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"RAIN cafe"}}],"recordType":"Entry"}"#,
    #"{"filterBy":[{"fieldName":"tags","comparator":"LIST_CONTAINS","fieldValue":{"value":"x"}}],"recordType":"Entry"}"#,
    #"{"filterBy":[{"systemFieldName":"createdUserRecordName","comparator":"EQUALS","#
      + #""fieldValue":{"value":{"recordName":"_alice"}}}],"recordType":"Entry"}"#,
  ])
  func whatQueriesFindIsWhatSubscriptionsTell(json: String) throws {
    let (harness, queue) = try Self.world()
    _ = try harness.modify(
      .create("typed", ["n": .double(9), "text": .string("x"), "tags": .stringList(["y"])]))
    let isSystem = json.contains("systemFieldName")
    var query = Subscription(id: "q", kind: .query(json: Array(json.utf8), zone: nil))
    query.firesOn = ["create"]
    let refusal = try harness.subscribe(query).error
    if isSystem {
      #expect(refusal?.reason.contains("is not marked queryable") == true)
      return
    }
    #expect(refusal == nil)
    _ = try harness.modify([
      .create("yes", ["n": .double(2.5), "text": .string("Rain in the Café"), "tags": .stringList(["y", "x"])]),
      .create("no", ["n": .double(3.5), "text": .string("Rainy café"), "tags": .stringList(["xx"])]),
    ])
    #expect(try harness.told(queue) == ["created yes"])
  }

  @Test(arguments: [
    (#"{"recordType":"None"}"#, ServerErrorCode.notFound, "Did not find record type: None"),
    (#"{"recordType":"Users"}"#, .badRequest, "Can't query system types"),
    (#"{}"#, .badRequest, "recordType"),
    (
      #"{"recordType":"Entry","filterBy":[{"fieldName":"state","comparator":"OR","fieldValue":{"value":1}}]}"#,
      .badRequest, "a known comparator, not OR"
    ),
    (
      #"{"recordType":"Entry","filterBy":[{"fieldName":"none","comparator":"EQUALS","fieldValue":{"value":1}}]}"#,
      .badRequest, "Unknown field 'none'"
    ),
    (
      #"{"recordType":"Entry","filterBy":[{"fieldName":"___createTime","comparator":"EQUALS","fieldValue":{"value":1}}]}"#,
      .badRequest, "is not marked queryable"
    ),
    (
      #"{"recordType":"Entry","filterBy":[{"fieldName":"state","comparator":"LIST_CONTAINS","fieldValue":{"value":"x"}}]}"#,
      .badRequest, "cannot be queried using filter type LIST_CONTAINS"
    ),
  ])
  func itsQueryIsRefusedAsOneThatIsRun(json: String, code: ServerErrorCode, reason: String) throws {
    let (harness, _) = try Self.world()
    var subscription = Subscription(id: "q", kind: .query(json: Array(json.utf8), zone: nil))
    subscription.firesOn = ["create"]
    let refusal = try #require(try harness.subscribe(subscription).error)
    #expect(refusal.code == code && refusal.reason.contains(reason), "\(refusal)")
    #expect(try harness.call(.subscriptionsList) == .subscriptions([]))
    if let query = try? Query(json: Array(json.utf8)) {
      #expect(try harness.failure(.recordsQuery(RecordsQueryRequest(query, zone: Harness.diary))) == refusal)
    }
  }

  @Test func whatCouldNeverFireIsRefused() throws {
    let (harness, _) = try Self.world()
    func refusal(_ subscription: Subscription, in place: Harness.Where = .own) throws -> ServerErrorCode? {
      try harness.subscribe(subscription, in: place).error?.code
    }
    #expect(try refusal(.query(on: [])) == .badRequest)
    #expect(try refusal(.query(zone: ZoneSelector("None"))) == .zoneNotFound)
    #expect(try refusal(.query(zone: ZoneSelector("Diary")), in: .open) == .zoneNotFound)
    #expect(try refusal(.query(), in: .shared) == .badRequest)
    var info = NotificationInfo()
    for count in 2...4 {
      info.additionalFields = (0..<count).map { "f\($0)" }
      #expect(
        (try refusal(.query(SubscriptionID("q\(count)"), info: info)) == nil) == (count <= Limits.notificationFieldsMax)
      )
    }
  }

  @Test func aQueryHasItsLimit() throws {
    let (harness, _) = try Self.world()
    let frame = #"{"recordType":"Entry","x":""}"#.utf8.count
    for extra in -1...1 {
      let filler = String(repeating: "x", count: Limits.subscriptionQueryBytesMax - frame + extra)
      var subscription = Subscription(
        id: SubscriptionID("q\(extra)"),
        kind: .query(json: Array(#"{"recordType":"Entry","x":"\#(filler)"}"#.utf8), zone: nil))
      subscription.firesOn = ["create"]
      #expect((try harness.subscribe(subscription).error == nil) == (extra <= 0))
    }
  }
}
