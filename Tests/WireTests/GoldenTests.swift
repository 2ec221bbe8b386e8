import Testing
import VirgaModel

@testable import VirgaWire

/// Bytes on the wire, both ways. The files under `Fixtures` are what other implementations see of us.
@Suite struct GoldenTests {
  static let calls: [(String, Call)] = {
    let zone = ZoneSelector("Trips", owner: "_0a1b")
    var create = RecordOperation(
      .create,
      RecordChange(name: "t1", type: "Trip", fields: everyField.map { FieldChange($0.name, $0.field) }))
    create.record.parent = .set(Reference(recordName: "p", zone: ZoneID("Trips", owner: "_0a1b")))
    create.record.createShortGUID = true
    create.record.unknownMembers = Array(#""mood":[1,{"a":null}]"#.utf8)
    var update = RecordOperation(
      .update, RecordChange(name: "t2", type: "Trip", tag: "7", fields: [FieldChange("name", nil)]))
    update.record.parent = .cleared
    update.desiredKeys = []
    var modify = RecordsModifyRequest(
      operations: [create, update, RecordOperation(.delete, RecordChange(name: "t3", tag: "8"))], zone: zone)
    modify.atomic = true
    modify.desiredKeys = ["name"]
    var lookup = RecordsLookupRequest(records: [.init("t1"), .init("t \"2\" / é", desiredKeys: ["name"])], zone: zone)
    lookup.numbersAsStrings = true
    var changes = ZoneChangesRequest(zone: zone, syncToken: "AQ==", resultsLimit: 200)
    changes.desiredRecordTypes = ["Trip"]
    var trips = RecordsQueryRequest(
      Query(
        "Trip",
        filters: [
          QueryFilter("name", .beginsWith, .string("Ro")), QueryFilter("stays", .listContainsAny, .int64List([.max])),
          QueryFilter("place", .near, .location(Location(latitude: 41.9, longitude: 12)), distance: 1_500.5),
          QueryFilter("___createdBy", .equals, .reference(Reference(recordName: "_0a1b"))),
          QueryFilter("nights", .greaterThan, .int64(3), isTagged: false),
          QueryFilter(.anySearchable, .containsAllTokens, .string("rome rain")),
        ],
        sorts: [
          QuerySort("name", ascending: false), QuerySort("___modTime"),
          QuerySort("place", origin: Location(latitude: 1, longitude: -2)),
        ]), zone: zone)
    trips.resultsLimit = 20
    trips.continuationMarker = "AQ=="
    trips.desiredKeys = ["name"]
    trips.numbersAsStrings = true
    var query = Subscription(id: "q", kind: .query(json: Array(#"{"recordType":"Trip"}"#.utf8), zone: zone))
    query.firesOn = ["create", "delete"]
    query.firesOnce = true
    query.notificationInfo.alertBody = "A trip"
    query.notificationInfo.alertLocalizationArgs = ["name"]
    query.notificationInfo.shouldBadge = true
    var silent = Subscription(id: "z", kind: .zone(zone))
    silent.notificationInfo.shouldSendContentAvailable = true
    return [
      ("records-query", .recordsQuery(trips)),
      ("records-query-wide", .recordsQuery(RecordsQueryRequest(Query("Trip"), zoneWide: true))),
      ("records-modify", .recordsModify(modify)),
      ("records-lookup", .recordsLookup(lookup)),
      ("records-changes", .recordsChanges(changes)),
      ("zones-list", .zonesList),
      ("zones-lookup", .zonesLookup(ZonesLookupRequest(zones: [zone, ZoneSelector()]))),
      (
        "zones-modify",
        .zonesModify(ZonesModifyRequest(operations: [.init(.create, ZoneSelector("A")), .init(.delete, zone)]))
      ),
      ("zones-changes", .zonesChanges(DatabaseChangesRequest(syncToken: "AQ==", resultsLimit: 9))),
      ("changes-database", .changesDatabase(DatabaseChangesRequest(syncToken: "AQ=="))),
      ("changes-zone", .changesZone([changes, ZoneChangesRequest(zone: ZoneSelector("B"))])),
      ("subscriptions-list", .subscriptionsList),
      ("subscriptions-lookup", .subscriptionsLookup(SubscriptionsLookupRequest(ids: ["q", "z"]))),
      (
        "subscriptions-modify",
        .subscriptionsModify(
          SubscriptionsModifyRequest(operations: [
            .init(.create, query), .init(.create, silent), .init(.update, Subscription(id: "d", kind: .database)),
          ]))
      ),
      ("users-caller", .usersCaller),
      ("users-current", .usersCurrent),
      (
        "assets-upload",
        .assetsUpload(
          AssetsUploadRequest(
            zone: zone,
            items: [
              .init(recordName: "t1", recordType: "Trip", fieldName: "photo"),
              .init(recordName: nil, recordType: "Trip", fieldName: "photo"),
            ]))
      ),
      ("tokens-create", .tokensCreate(PushTokenRequest(apnsEnvironment: "development", clientID: "c1"))),
      ("tokens-register", .tokensRegister(PushTokenRequest(apnsEnvironment: "production", apnsToken: "AA=="))),
    ]
  }()

  static let everyField: Fields = {
    var place = Location(latitude: 41.9, longitude: 12)
    place.altitude = 21.5
    place.course = 90
    place.speed = 0
    place.horizontalAccuracy = 5
    place.verticalAccuracy = 1e-3
    place.timestamp = Timestamp(milliseconds: 1_700_000_000_123)
    var fields: Fields = [
      "asset": .asset(AssetValue(fileChecksum: "c2hh", size: 12_345)),
      "assets": .assetList([AssetValue(fileChecksum: "c2hh", size: 1)]),
      "blob": .bytes([0, 255]),
      "blobs": .bytesList([[], [1]]),
      "due": .timestamp(Timestamp(milliseconds: -1)),
      "dues": .timestampList([Timestamp(milliseconds: 0)]),
      "empty": .stringList([]),
      "factor": .double(1),
      "factors": .doubleList([0.1, 1e300]),
      "guide": .reference(
        Reference(recordName: "g", action: .validate, zone: ZoneID("Trips", owner: "_0a1b"))),
      "guides": .referenceList([Reference(recordName: "g"), Reference(recordName: "h", action: .deleteSelf)]),
      "name": .string("Rom \"é\" 😀\n"),
      "names": .stringList(["a", ""]),
      "nights": .int64(.max),
      "place": .location(place),
      "places": .locationList([Location(latitude: 0, longitude: 0)]),
      "stays": .int64List([.min, 0]),
    ]
    fields["secret"] = Field(.string("s"), isEncrypted: true)
    return fields
  }()

  private static let zone = ZoneID("Trips", owner: "_0a1b")
  private static let stamp = RecordStamp(
    time: Timestamp(milliseconds: 1_760_000_000_000), user: "_0a1b", device: "iCloud")

  private static let record: RecordEnvelope = {
    var record = RecordEnvelope(
      id: RecordID("t1", in: zone), type: "Trip", tag: "1e", created: stamp, modified: stamp,
      fieldsJSON: everyField.storedJSON)
    record.parent = Reference(recordName: "p", zone: zone)
    record.share = Reference(recordName: "Share-1")
    record.shortGUID = "0Ab"
    record.unknownMembers = Array(#""mood":[1]"#.utf8)
    return record
  }()

  private static let failures: [RecordResult] = {
    var conflict = RecordFailure("t2", ServiceError(.conflict, Reason.staleTag))
    conflict.serverRecord = plainRecord
    conflict.ancestorRecord = plainRecord
    return [
      .failure(conflict),
      .failure(RecordFailure("t3", ServiceError(.throttled, "slow down", retryAfterSeconds: 13))),
      .deleted("t4", zone: zone, type: "Trip"),
      .deleted("t5", zone: nil, type: nil),
    ]
  }()

  private static let plainRecord = RecordEnvelope(
    id: RecordID("t2", in: zone), type: "Trip", tag: "7", created: stamp, modified: stamp, fieldsJSON: Array("{}".utf8))

  static let replies: [(String, VirgaWire.Operation, Reply)] = {
    var purged = ZoneEnvelope(id: ZoneID("Old", owner: "_0a1b"), syncToken: nil, isAtomic: true, isDeleted: true)
    purged.deletionReason = .purged
    let zones: [ZoneResult] = [
      .zone(ZoneEnvelope(id: ZoneID(.default, owner: "_0a1b"), syncToken: nil, isAtomic: false)),
      .zone(ZoneEnvelope(id: zone, syncToken: "AQ==", isAtomic: true)), .zone(purged),
      .failure(ZoneSelector("Gone"), ServiceError(.zoneNotFound, Reason.zoneNotFound)),
    ]
    let page = ZoneChangesPage(
      zone: zone, records: [.record(plainRecord), .deleted("t4", zone: zone, type: "Trip")], syncToken: "Ag==",
      moreComing: true)
    var silent = Subscription(id: "z", kind: .zone(ZoneSelector(zone)))
    silent.notificationInfo.shouldSendContentAvailable = true
    return [
      ("records", .recordsModify, .records(RecordsReply(records: [.record(record)] + failures, syncToken: "AQ=="))),
      ("record-changes", .recordsChanges, .recordChanges(page)),
      (
        "zone-changes", .changesZone,
        .zoneChanges([
          .page(page), .failure(ZoneSelector("Gone"), ServiceError(.zoneNotFound, Reason.zoneNotFound)),
        ])
      ),
      ("zones", .zonesList, .zones(zones)),
      (
        "database-changes", .changesDatabase,
        .databaseChanges(DatabaseChangesReply(zones: zones, syncToken: "AQ==", moreComing: false))
      ),
      (
        "zones-changes", .zonesChanges,
        .zonesChanges(DatabaseChangesReply(zones: [], syncToken: "AQ==", moreComing: false))
      ),
      (
        "subscriptions", .subscriptionsList,
        .subscriptions([
          .subscription(silent), .subscription(Subscription(id: "d", kind: .database)), .deleted("x"),
          .failure("y", ServiceError(.notFound, "no such subscription")),
        ])
      ),
      ("user", .usersCaller, .user("_a1b2")),
      (
        "upload-tokens", .assetsUpload,
        .uploadTokens([AssetUploadToken(recordName: "t1", fieldName: "photo", url: "http://h/assets/1/upload?a=b&c")])
      ),
      (
        "push-token", .tokensCreate,
        .pushToken(
          PushTokenReply(apnsEnvironment: "development", apnsToken: "AA==", webcourierURL: "http://h/push/1/x"))
      ),
      ("empty", .tokensRegister, .empty),
    ]
  }()

  @Test(arguments: calls)
  func requestsAreWrittenAsEverAndReadBack(_ name: String, _ call: Call) throws {
    let bytes = call.encoded()
    try Fixture.expect(bytes, equals: "call-\(name).json")
    #expect(try Call(decoding: bytes, for: call.operation) == call)
  }

  @Test(arguments: replies)
  func answersAreWrittenAsEver(_ name: String, _ operation: VirgaWire.Operation, _ reply: Reply) throws {
    try Fixture.expect(reply.encoded(extensions: false, uuid: "u-1"), equals: "reply-\(name).json")
    let bytes = reply.encoded(extensions: true, uuid: "u-1")
    try Fixture.expect(bytes, equals: "reply-\(name)-extended.json")
    // The older operation does not name the zone; its reader knows which one it asked for.
    #expect(try Reply(decoding: bytes, for: operation, in: Self.zone) == reply)
  }

  @Test(arguments: replies)
  func keysThatStrictClientsRefuseAreSentOnRequestOnly(
    _ name: String, _ operation: VirgaWire.Operation, _ reply: Reply
  ) throws {
    let plain = String(decoding: reply.encoded(extensions: false, uuid: "u-1"), as: UTF8.self)
    for key in ["atomic", "deletionReason", "ancestorRecord"] { #expect(!plain.contains("\"\(key)\"")) }
    _ = try Reply(decoding: Array(plain.utf8), for: operation)
  }

  @Test func aRecordComesBackAsItWas() throws {
    guard case .records(let reply) = try Reply(decoding: Fixture.bytes(of: "reply-records.json"), for: .recordsModify),
      case .record(let envelope) = reply.records[0]
    else {
      Issue.record("no record")
      return
    }
    let record = try Record(envelope)
    #expect(record.fields == Self.everyField)
    #expect(record.id == RecordID("t1", in: Self.zone))
    #expect(record.created == Self.stamp)
    #expect(record.unknownMembers == Array(#""mood":[1]"#.utf8))
  }

  @Test func anUploadAnswersItsReceipt() throws {
    let receipt = AssetReceipt(
      fileChecksum: "c2hh", size: 12_345, receipt: "cmVj", wrappingKey: "d3I=", referenceChecksum: "cmVm")
    try Fixture.expect(receipt.encoded(), equals: "asset-receipt.json")
    #expect(try AssetReceipt(decoding: receipt.encoded()) == receipt)
    #expect(throws: WireError.self) { try AssetReceipt(decoding: Array(#"{"singleFile":{"size":1}}"#.utf8)) }
  }
}

@Suite struct ServiceErrorTests {
  @Test(arguments: ServerErrorCode.allCases)
  func everyCodeComesBack(_ code: ServerErrorCode) {
    // C95
    var error = ServiceError(code, "because \"x\"", retryAfterSeconds: 13)
    error.redirectURL = "http://h/sign-in"
    #expect(ServiceError(decoding: error.encoded(uuid: "u"), status: code.httpStatus) == error)
    #expect(ServiceError.isOne(error.encoded(uuid: "u")))
    for other in ["", "<html>", "{}", "[]", #"{"reason":"x"}"#] { #expect(!ServiceError.isOne(Array(other.utf8))) }
  }

  @Test(arguments: [
    (#"{"serverErrorCode":"LIMIT_EXCEEDED","reason":"r"}"#, 400, ServerErrorCode.badRequest, "LIMIT_EXCEEDED: r"),
    (#"{"serverErrorCode":"SOMETHING","reason":"r"}"#, 503, .tryAgainLater, "SOMETHING: r"),
    ("<html>", 502, .tryAgainLater, "HTTP status 502, without a readable error"),
    // A proxy that takes no body of this length. A service that is out of space says so in a body.
    ("", 413, .badRequest, "limit exceeded: HTTP status 413, without a readable error"),
    ("{}", 413, .badRequest, "limit exceeded: HTTP status 413"),
    (#"{"serverErrorCode":"SOMETHING","reason":"r"}"#, 413, .quotaExceeded, "SOMETHING: r"),
    ("{}", 500, .internalError, "HTTP status 500"),
  ])
  func whatIsNotKnownIsJudgedByItsStatus(_ body: String, _ status: Int, _ code: ServerErrorCode, _ reason: String) {
    // C95: an unknown code keeps its name, its status and its reason.
    #expect(ServiceError(decoding: Array(body.utf8), status: status) == ServiceError(code, reason))
  }

  @Test func aBodyHasWhatEveryClientReads() throws {
    try Fixture.expect(
      ServiceError(.tryAgainLater, "busy", retryAfterSeconds: 2).encoded(uuid: "u-1"), equals: "error-try-again.json")
    var signIn = ServiceError(.authenticationRequired, "request needs authorization")
    signIn.redirectURL = "http://h/sign-in"
    try Fixture.expect(signIn.encoded(uuid: "u-1"), equals: "error-sign-in.json")
  }

  @Test func aFractionOfASecondIsWaitedOut() {
    let body = #"{"serverErrorCode":"THROTTLED","reason":"","retryAfter":1.2}"#
    #expect(ServiceError(decoding: Array(body.utf8), status: 429).retryAfterSeconds == 2)
  }
}
