import TestSupport
import Testing
import VirgaModel

@testable import VirgaWire

/// What servers must understand of what clients send.
@Suite struct CallDecodingTests {
  private func decode(_ text: String, _ operation: VirgaWire.Operation) throws -> Call {
    try Call(decoding: Array(text.utf8), for: operation)
  }

  /// A parent that is null is none, and one that is left out is not spoken of.
  @Test(arguments: [
    (#""parent":null,"#, ParentChange.cleared), (#""parent":{},"#, .cleared), ("", .unchanged),
    (#""parent":{"recordName":null},"#, .cleared), (#""parent":{"recordName":"p"},"#, .set(Reference(recordName: "p"))),
  ])
  func aParentIsSetClearedOrNotSpokenOf(member: String, expected: ParentChange) throws {
    let body = #"{"operations":[{"operationType":"forceReplace","record":{\#(member)"recordName":"r"}}]}"#
    guard case .recordsModify(let request) = try Call(decoding: Array(body.utf8), for: .recordsModify) else {
      Issue.record("another call")
      return
    }
    #expect(request.operations.map(\.record.parent) == [expected])
  }

  /// In ascending order, in none, few and many.
  @Test(arguments: [
    ["a", "a"], ["b", "a", "b"], ["c", "a", "d", "a"], ["b", "a", "c", "d", "c"],
    (0..<20).map { "z\($0)" } + ["z3"], (0..<40).map { "f\(39 - $0)" } + ["f39"], (10..<60).map { "f\($0)" } + ["f59"],
  ])
  func aFieldIsSaidOnce(names: [String]) throws {
    func body(_ names: some Sequence<String>) -> String {
      let fields = names.map { #""\#($0)":{"value":1}"# }.joined(separator: ",")
      return #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"r","fields":{\#(fields)}}}]}"#
    }
    #expect(throws: ServiceError.self) { try decode(body(names), .recordsModify) }
    guard case .recordsModify(let request) = try decode(body(names.dropLast()), .recordsModify) else {
      Issue.record("another call")
      return
    }
    #expect(request.operations[0].record.fields.map(\.name.rawValue) == names.dropLast())
  }

  @Test func recordsModifyIsReadWhole() throws {
    let call = try decode(
      """
      { "atomic": false, "zoneID": {"zoneName": "Trips", "ownerRecordName": "_me"}, "desiredKeys": ["name", "name"],
        "numbersAsStrings": true,
        "operations": [
          {"operationType": "create", "record": {"recordName": "t1", "recordType": "Trip", "createShortGUID": true,
            "parent": {"recordName": "p"}, "desiredKeys": [],
            "fields": {"name": {"value": "Rome", "type": "STRING"}, "nights": {"value": 3}}}},
          {"desiredKeys": ["name"], "record": {"recordName": "t2", "recordChangeTag": "1e", "parent": {},
            "zoneID": "Trips", "fields": {}}, "operationType": "update"},
          {"operationType": "forceDelete", "record": {"recordName": "t3", "recordType": null}}]}
      """, .recordsModify)
    var create = RecordOperation(
      .create,
      RecordChange(
        name: "t1", type: "Trip",
        fields: [
          FieldChange("name", Field(.string("Rome"))), FieldChange("nights", Field(.int64(3)), isTagged: false),
        ]))
    create.record.createShortGUID = true
    create.record.parent = .set(Reference(recordName: "p"))
    create.desiredKeys = []
    var update = RecordOperation(.update, RecordChange(name: "t2", tag: "1e"))
    update.record.parent = .cleared
    update.record.zone = ZoneSelector("Trips")
    update.desiredKeys = ["name"]
    let delete = RecordOperation(.forceDelete, RecordChange(name: "t3"))
    var expected = RecordsModifyRequest(
      operations: [create, update, delete], zone: ZoneSelector("Trips", owner: "_me"), atomic: false)
    expected.desiredKeys = ["name", "name"]
    expected.numbersAsStrings = true
    #expect(call == .recordsModify(expected))
  }

  @Test func batchesAreAtomicUnlessSaidOtherwiseAndWhatIsSaidIsKnown() throws {
    for (text, stated, isAtomic) in [
      (#"{"operations":[]}"#, nil, true), (#"{"operations":[],"zoneID":null,"atomic":null}"#, nil, true),
      (#"{"operations":[],"atomic":true}"#, true, true), (#"{"operations":[],"atomic":false}"#, false, false),
    ] as [(String, Bool?, Bool)] {
      let call = try decode(text, .recordsModify)
      #expect(call == .recordsModify(RecordsModifyRequest(operations: [], atomic: stated)))
      guard case .recordsModify(let request) = call else { return }
      #expect(request.isAtomic == isAtomic)
    }
  }

  @Test(arguments: [
    (#""Trips""#, ZoneSelector("Trips")),
    (#"{"zoneName":"Trips"}"#, ZoneSelector("Trips")),
    (
      #"{"zoneName":"Trips","ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"}"#,
      ZoneSelector("Trips", owner: "_o")
    ),
    (#"{"zoneName":"Trips","ownerName":"_o"}"#, ZoneSelector("Trips", owner: "_o")),
    (#"{"zoneName":"Trips","ownerRecordName":"__defaultOwner__"}"#, ZoneSelector("Trips")),
    (#"{"ownerRecordName":"_o"}"#, ZoneSelector(owner: "_o")),
    (#"{"zoneName":null,"ownerRecordName":null}"#, ZoneSelector()),
    ("{}", ZoneSelector()),
  ])
  func aZoneIsNamedInManyWays(_ text: String, _ zone: ZoneSelector) throws {
    let lookup = Call.recordsLookup(RecordsLookupRequest(records: [], zone: zone))
    #expect(try decode(#"{"records":[],"zoneID":\#(text)}"#, .recordsLookup) == lookup)
    for zones in ["[\(text)]", "\(text)", #"[{"zoneID":\#(text)}]"#, #"{"zoneID":\#(text)}"#] {
      let expected = Call.zonesLookup(ZonesLookupRequest(zones: [zone]))
      #expect(try decode(#"{"zones":\#(zones)}"#, .zonesLookup) == expected, "\(zones)")
    }
  }

  @Test func recordsAreLookedUpByDictionaryOrName() throws {
    var expected = RecordsLookupRequest(
      records: [.init("a"), .init("b", desiredKeys: ["x"]), .init("c/d +%?")], zone: ZoneSelector("Z"))
    expected.desiredKeys = []
    expected.numbersAsStrings = true
    let text =
      #"{"records":[{"recordName":"a"},{"recordName":"b","desiredKeys":["x"]},"c\/d +%?"],"zoneID":{"zoneName":"Z"},"#
      + #""desiredKeys":[],"numberAsStrings":true}"#
    #expect(try decode(text, .recordsLookup) == .recordsLookup(expected))
  }

  @Test func zoneChangesTakeDefaultsFromTheTopWhereverItStands() throws {
    var first = ZoneChangesRequest(zone: ZoneSelector("A"), syncToken: "t=", resultsLimit: 50)
    first.isReversed = true
    first.desiredRecordTypes = ["Trip"]
    var second = ZoneChangesRequest(zone: ZoneSelector("B", owner: "_o"), resultsLimit: 10)
    second.desiredRecordTypes = ["Trip"]
    second.desiredKeys = ["name"]
    let text =
      #"{"zones":[{"zoneID":{"zoneName":"A"},"syncToken":"t=","reverse":true,"resultsLimit":50},"#
      + #"{"zoneID":{"zoneName":"B","ownerRecordName":"_o"},"syncToken":null,"desiredKeys":["name"]}],"#
      + #""resultsLimit":10,"desiredRecordTypes":["Trip"],"moreComing":true}"#
    #expect(try decode(text, .changesZone) == .changesZone([first, second]))
    #expect(throws: ServiceError.self) { try decode(#"{"zones":[{}]}"#, .changesZone) }
    #expect(throws: ServiceError.self) { try decode("{}", .changesZone) }
  }

  @Test(arguments: [
    (VirgaWire.Operation.zonesChanges, #"{"metaSyncToken":"AQ==","resultsLimit":5}"#, "AQ=="),
    (.changesDatabase, #"{"syncToken":"AQ==","resultsLimit":5}"#, "AQ=="),
  ])
  func databaseChangesNameTheirTokenByOperation(_ operation: VirgaWire.Operation, _ text: String, _ token: String)
    throws
  {
    let request = DatabaseChangesRequest(syncToken: token, resultsLimit: 5)
    let expected: Call = operation == .zonesChanges ? .zonesChanges(request) : .changesDatabase(request)
    #expect(try decode(text, operation) == expected)
  }

  @Test(arguments: [
    (VirgaWire.Operation.zonesChanges, #"{"syncToken":"AQ=="}"#, "metaSyncToken"),
    (.changesDatabase, #"{"metaSyncToken":"AQ=="}"#, "syncToken"),
    (.changesDatabase, #"{"SyncTOKEN":"AQ=="}"#, "syncToken"),
    (.changesZone, #"{"zones":[{"zoneID":"Z","token":"AQ=="}]}"#, "syncToken"),
    (.changesZone, #"{"zones":[{"zoneID":"Z"}],"syncToken":"AQ=="}"#, "syncToken of each zone"),
    (.recordsChanges, #"{"zoneID":"Z","serverChangeToken":"AQ=="}"#, "syncToken"),
  ])
  func aMisspeltTokenIsRefusedNotIgnored(_ operation: VirgaWire.Operation, _ text: String, _ right: String) {
    // C90: an ignored token would serve the first page for ever.
    let error = #expect(throws: ServiceError.self) { try decode(text, operation) }
    #expect(error?.code == .badRequest)
    #expect(error?.reason.contains("under the key \(right), not") == true)
  }

  @Test func otherUnknownKeysAreIgnored() throws {
    #expect(try decode(#"{"resultsLimit":null,"x":[{}],"token":null}"#, .changesDatabase) == .changesDatabase(.init()))
    #expect(try decode(#"{"anything":1}"#, .zonesList) == .zonesList)
  }

  @Test func unknownKeysOfARecordAreCarried() throws {
    let text =
      #"{"operations":[{"operationType":"create","record":{"recordType":"T","tint" : {"a" : [1]},"pluginFields":{},"#
      + #""created":{},"deleted":false,"mood":"x \" y","share":null}}]}"#
    guard case .recordsModify(let request) = try decode(text, .recordsModify) else { return }
    #expect(
      String(decoding: request.operations[0].record.unknownMembers, as: UTF8.self)
        == #""tint":{"a":[1]},"mood":"x \" y""#)
    #expect(throws: ServiceError.self) {
      try decode(#"{"operations":[{"operationType":"create","record":{"a":1,"a":2}}]}"#, .recordsModify)
    }
  }

  @Test func zonesAreCreatedAndDeleted() throws {
    let text =
      #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"A"}}},"#
      + #"{"operationType":"delete","zone":{"zoneName":"B"}}]}"#
    #expect(
      try decode(text, .zonesModify)
        == .zonesModify(ZonesModifyRequest(operations: [.init(.create, .init("A")), .init(.delete, .init("B"))])))
    #expect(throws: ServiceError.self) {
      try decode(#"{"operations":[{"operationType":"rename","zone":{}}]}"#, .zonesModify)
    }
  }

  @Test func subscriptionsComeInEveryKind() throws {
    let text =
      #"{"operations":["#
      + #"{"operationType":"create","subscription":{"subscriptionID":"z","subscriptionType":"zone","zoneID":"Z","#
      + #""notificationInfo":{"shouldSendContentAvailable":true,"alertLocalizationArgs":["a"],"title":"T"}}},"#
      + #"{"operationType":"create","subscription":{"subscriptionType":"zone","zoneWide":true,"subscriptionID":"d"}},"#
      + #"{"operationType":"update","subscription":{"subscriptionID":"e","subscriptionType":"database"}},"#
      + #"{"subscription":{"subscriptionID":"q","subscriptionType":"query","query":{"recordType": "T"},"#
      + #""firesOn":["create"],"firesOnce":true},"operationType":"create"},"#
      + #"{"operationType":"delete","subscription":{"subscriptionID":"x"}}]}"#
    guard case .subscriptionsModify(let request) = try decode(text, .subscriptionsModify) else { return }
    #expect(request.operations.map(\.fault) == [nil, nil, nil, nil, nil])
    #expect(request.operations.map(\.subscription.id) == ["z", "d", "e", "q", "x"])
    #expect(request.operations[0].subscription.kind == .zone(ZoneSelector("Z")))
    #expect(request.operations[0].subscription.notificationInfo.shouldSendContentAvailable)
    #expect(request.operations[0].subscription.notificationInfo.alertLocalizationArgs == ["a"])
    #expect(request.operations[1].subscription.kind == .database)
    #expect(request.operations[2].subscription.kind == .database)
    #expect(
      request.operations[3].subscription.kind == .query(json: Array(#"{"recordType":"T"}"#.utf8), zone: nil))
    #expect(request.operations[3].subscription.firesOnce)
    #expect(request.operations[4].kind == .delete)
  }

  @Test(arguments: [
    #"{"subscriptionID":"s"}"#, #"{"subscriptionID":"s","subscriptionType":"moon"}"#,
    #"{"subscriptionID":"s","subscriptionType":"zone"}"#, #"{"subscriptionID":"s","subscriptionType":"query"}"#,
    #"{"firesOn":["sleep"],"subscriptionType":"database","subscriptionID":"s"}"#,
    #"{"subscriptionID":"s","subscriptionType":"query","query":[]}"#,
  ])
  func aSubscriptionThatMakesNoSenseSpoilsItsOperationAlone(_ text: String) throws {
    let body =
      #"{"operations":[{"operationType":"create","subscription":\#(text)},"#
      + #"{"operationType":"delete","subscription":{"subscriptionID":"t"}}]}"#
    guard case .subscriptionsModify(let request) = try decode(body, .subscriptionsModify) else { return }
    #expect(request.operations[0].fault?.code == .badRequest)
    #expect(request.operations[0].subscription.id == "s")
    #expect(request.operations[1].fault == nil)
  }

  @Test func uploadsAndTokensAreRead() throws {
    #expect(
      try decode(
        #"{"zoneID":{"zoneName":"Z"},"tokens":[{"recordName":"r","recordType":"T","fieldName":"f"},{"recordType":"T","fieldName":"g"}]}"#,
        .assetsUpload)
        == .assetsUpload(
          AssetsUploadRequest(
            zone: ZoneSelector("Z"),
            items: [
              .init(recordName: "r", recordType: "T", fieldName: "f"),
              .init(recordName: nil, recordType: "T", fieldName: "g"),
            ])))
    #expect(
      try decode(#"{"apnsEnvironment":"development","clientId":"c"}"#, .tokensCreate)
        == .tokensCreate(PushTokenRequest(apnsEnvironment: "development", clientID: "c")))
    #expect(
      try decode(#"{"apnsEnvironment":"production","apnsToken":"AA=="}"#, .tokensRegister)
        == .tokensRegister(PushTokenRequest(apnsEnvironment: "production", apnsToken: "AA==")))
  }

  @Test(arguments: VirgaWire.Operation.allCases)
  func anEmptyBodyCountsAsAnEmptyObject(_ operation: VirgaWire.Operation) {
    let needsNothing: Set<VirgaWire.Operation> = [
      .zonesList, .zonesChanges, .changesDatabase, .subscriptionsList, .usersCaller, .usersCurrent, .recordsChanges,
      .usersDiscover,
    ]
    #expect((try? Call(decoding: [], for: operation)) == (try? decode("{}", operation)))
    #expect(((try? Call(decoding: [], for: operation)) != nil) == needsNothing.contains(operation))
    for text in ["[]", "7", "null", "{} x", "{"] {
      #expect(throws: ServiceError.self) { try decode(text, operation) }
    }
  }

  @Test(arguments: [
    #"{"operations":{}}"#, #"{"operations":[7]}"#, #"{"operations":[{"operationType":"create"}]}"#,
    #"{"operations":[{"record":{}}]}"#, #"{"operations":[{"operationType":"eat","record":{}}]}"#,
    #"{"operations":[{"operationType":"create","record":{"recordName":7}}]}"#, #"{"operations":[],"atomic":1}"#,
    #"{"operations":[{"operationType":"create","record":{"fields":[]}}]}"#, #"{"operations":[],"zoneID":7}"#,
  ])
  func aRequestOfAnotherShapeIsRefusedWhole(_ text: String) {
    let error = #expect(throws: ServiceError.self) { try decode(text, .recordsModify) }
    #expect(error?.code == .badRequest)
  }

  @Test(arguments: [399, 400, 401])
  func theNumberOfOperationsIsLimited(_ count: Int) throws {
    let operation = #"{"operationType":"forceDelete","record":{"recordName":"r"}}"#
    let body = #"{"operations":[\#(Array(repeating: operation, count: count).joined(separator: ","))]}"#
    if count <= Limits.operationsPerRequestMax {
      _ = try decode(body, .recordsModify)
    } else {
      let error = #expect(throws: ServiceError.self) { try decode(body, .recordsModify) }
      #expect(error?.reason.hasPrefix(Reason.limitExceeded) == true)
    }
  }

  private static let recordedRequests: [(String, VirgaWire.Operation, ZoneSelector?)] = Corpus.cases(
    own: ["create", "replace", "delete"].map {
      ("own/\($0)-request.json", .recordsModify, ZoneSelector("Diary", owner: "_5eed0f0a11ce"))
    } + [("own/zones-list-request.json", .zonesList, nil)],
    recorded: ["add_photo", "create", "remove_photo"].map {
      (
        "pyicloud/photos_browser_mutations/album_\($0)_request.json", .recordsModify,
        ZoneSelector("PrimarySync", owner: "OWNER_RECORD_NAME_001")
      )
    } + [("icloudpd-recordings/zones-list-private.request.json", .zonesList, nil)])

  @Test(
    arguments: recordedRequests)
  func recordedRequestsAreUnderstood(
    _ path: String, _ operation: VirgaWire.Operation, _ zone: ZoneSelector?
  ) throws {
    let call = try Call(decoding: try Corpus.bytes(path), for: operation)
    if case .recordsModify(let request) = call {
      #expect(request.zone == zone)
      #expect(request.operations.count == 1)
      #expect(request.operations[0].fault == nil)
    }
  }
}
