import Foundation
import Synchronization
import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// The server's answers, read by a decoder that shares nothing with it and held to the protocol's tables both ways: what
/// has to be there is there with the right type, and nothing else is.
@Suite(.timeLimit(.minutes(2))) struct ProtocolTableTests {
  /// A server, and what it answered so far.
  private final class Talk: Sendable {
    let world: GatewayWorld
    let seen = Mutex<Set<VirgaWire.Operation>>([])

    init() async throws { world = try await GatewayWorld() }

    /// Sends a request, and holds the answer to its table.
    @discardableResult
    func ask(
      _ operation: VirgaWire.Operation, _ body: String, _ scope: DatabaseScope = .private, method: String = "POST",
      query: String = "", session: String? = nil, status: Int = 200, numbersAsStrings: Bool = false,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> PlainJSON {
      let answer = try await world.send(
        method, world.path(operation, scope: scope) + query, Array(body.utf8), session: session)
      let json = try PlainJSON(answer.body)
      #expect(answer.status == status, "\(operation.rawValue): \(answer.text)", sourceLocation: sourceLocation)
      let table =
        answer.status == 200
        ? ProtocolTables.answer(to: operation, numbersAsStrings: numbersAsStrings) : ProtocolTables.error
      let objections = table.objections(to: json, at: operation.rawValue)
      #expect(objections.isEmpty, "\(answer.text)", sourceLocation: sourceLocation)
      #expect(answer.headers["Content-Type"] == "application/json; charset=UTF-8", sourceLocation: sourceLocation)
      if answer.status == 200 { seen.withLock { _ = $0.insert(operation) } }
      return json
    }

    /// Sends the bytes of an asset and answers the value to save.
    func asset(_ field: String, of record: String = "all") async throws -> PlainJSON {
      let tokens = try await ask(
        .assetsUpload,
        #"{"zoneID":{"zoneName":"Diary"},"tokens":[{"recordName":"\#(record)","recordType":"Entry","fieldName":"\#(field)"}]}"#
      )
      let url = try #require(tokens["tokens"]?.elements.first?["url"]?.string)
      let answer = try await world.send("POST", try world.target(of: url), Array("picture of \(field)".utf8))
      let receipt = try PlainJSON(answer.body)
      #expect(ProtocolTables.upload.objections(to: receipt, at: "upload").isEmpty, "\(answer.text)")
      return try #require(receipt["singleFile"])
    }
  }

  private static let zone = #""zoneID":{"zoneName":"Diary"}"#

  private func operations(_ list: String...) -> String {
    #"{\#(Self.zone),"operations":[\#(list.joined(separator: ","))]}"#
  }

  private func fill(_ talk: Talk) async throws {
    try await talk.ask(
      .zonesModify,
      #"{"operations":[{"operationType":"create","zone":{\#(Self.zone)}},"#
        + #"{"operationType":"create","zone":{"zoneID":{"zoneName":"Old"}}}]}"#)
    try await talk.ask(
      .recordsModify,
      operations(#"{"operationType":"create","record":{"recordName":"target","recordType":"Entry","fields":{}}}"#))
    let (photo, first, second) = (
      try await talk.asset("photo").json, try await talk.asset("photos").json, try await talk.asset("photos").json
    )
    // A value of every type, with and without its list.
    let fields = """
      {"text":{"value":"Hi","type":"STRING"},"count":{"value":3,"type":"INT64"},"ratio":{"value":1.5,"type":"DOUBLE"},\
      "whole":{"value":2,"type":"DOUBLE"},"when":{"value":1760000000000,"type":"TIMESTAMP"},\
      "bytes":{"value":"AQI=","type":"BYTES"},"to":{"value":{"recordName":"target","action":"VALIDATE"},"type":"REFERENCE"},\
      "place":{"value":{"latitude":1.5,"longitude":2,"timestamp":1760000000000},"type":"LOCATION"},\
      "photo":{"value":\(photo),"type":"ASSETID"},"photos":{"value":[\(first),\(second)],"type":"ASSETID_LIST"},\
      "texts":{"value":["a"],"type":"STRING_LIST"},"counts":{"value":[1,2],"type":"INT64_LIST"},\
      "ratios":{"value":[1.5],"type":"DOUBLE_LIST"},"whens":{"value":[1760000000000],"type":"TIMESTAMP_LIST"},\
      "parts":{"value":["AQI="],"type":"BYTES_LIST"},\
      "tos":{"value":[{"recordName":"target"}],"type":"REFERENCE_LIST"},\
      "places":{"value":[{"latitude":1,"longitude":2}],"type":"LOCATION_LIST"},"none":{"value":[],"type":"STRING_LIST"},\
      "secret":{"value":"s","type":"STRING","isEncrypted":true},"hidden":{"value":"AQI=","type":"ENCRYPTED_BYTES"}}
      """
    let saved = try await talk.ask(
      .recordsModify,
      operations(
        #"{"operationType":"create","record":{"recordName":"all","recordType":"Entry","createShortGUID":true,"fields":\#(fields)}}"#
      ), query: "?getCurrentSyncToken=true")
    #expect(saved["records"]?.elements.first?["fields"]?.members.count == 20)
    #expect(saved["syncToken"] != nil)
  }

  @Test func everyAnswerIsWhatTheTablesSay() async throws {
    let talk = try await Talk()
    try await fill(talk)
    try await records(talk)
    try await feeds(talk)
    try await shares(talk)
    try await usersAndSubscriptions(talk)
    try await pushes(talk)
    let missing = Set(VirgaWire.Operation.allCases).subtracting(talk.seen.withLock { $0 })
    #expect(missing.isEmpty, "no answer to these was looked at")
  }

  private func records(_ talk: Talk) async throws {
    let lookUp = #"{\#(Self.zone),"records":[{"recordName":"all"},{"recordName":"gone"}]"#
    try await talk.ask(.recordsLookup, lookUp + "}")
    try await talk.ask(.recordsLookup, lookUp + #","desiredKeys":["text"]}"#, query: "?getCurrentSyncToken=True")
    try await talk.ask(.recordsLookup, lookUp + #","numbersAsStrings":true}"#, numbersAsStrings: true)
    // Each kind of failure beside the others of an atomic batch, and alone.
    try await talk.ask(
      .recordsModify,
      operations(
        #"{"operationType":"update","record":{"recordName":"all","recordType":"Entry","recordChangeTag":"zz","fields":{}}}"#,
        #"{"operationType":"create","record":{"recordName":"n","recordType":"Entry"}}"#,
        #"{"operationType":"create","record":{"recordName":"target","recordType":"Entry"}}"#,
        #"{"operationType":"delete","record":{"recordName":"nothing","recordChangeTag":"1"}}"#,
        #"{"operationType":"create","record":{"recordName":"w","recordType":"Entry","fields":{"when":{"value":"x","type":"TIMESTAMP"}}}}"#
      ))
    for index in 0..<3 {
      try await talk.ask(
        .recordsModify,
        operations(
          #"{"operationType":"create","record":{"recordName":"n\#(index)","recordType":"Note","parent":{"recordName":"all"},"#
            + #""fields":{"order":{"value":\#(index)}}}}"#))
    }
    let all = #""filterBy":[{"comparator":"GREATER_THAN","fieldName":"order","fieldValue":{"value":-1}}]"#
    let query =
      #"{\#(Self.zone),"resultsLimit":2,"query":{"recordType":"Note","sortBy":[{"fieldName":"order"}],\#(all)}"#
    let first = try await talk.ask(.recordsQuery, query + "}", query: "?getCurrentSyncToken=true")
    let marker = try #require(first["continuationMarker"]?.string)
    let last = try await talk.ask(.recordsQuery, query + #","continuationMarker":"\#(marker)"}"#)
    #expect(last["continuationMarker"] == nil && last["records"]?.elements.count == 1)
    let unknown = try await talk.ask(
      .recordsQuery, #"{\#(Self.zone),"query":{"recordType":"Nothing",\#(all)}}"#, status: 404)
    #expect(unknown["serverErrorCode"]?.string == "NOT_FOUND")
    try await talk.ask(
      .assetsRereference, #"{\#(Self.zone),"assets":[{"recordName":"all","fieldName":"photo"}]}"#)
    try await talk.ask(
      .assetsRereference,
      #"{\#(Self.zone),"assets":[{"recordName":"all","fieldName":"photo"},{"recordName":"all","fieldName":"text"}]}"#,
      status: 400)
  }

  private func feeds(_ talk: Talk) async throws {
    let deleted = try await talk.ask(
      .recordsModify, operations(#"{"operationType":"forceDelete","record":{"recordName":"n0"}}"#))
    #expect(deleted["records"]?.elements.first?["deleted"] == .flag(true))
    try await talk.ask(
      .zonesModify,
      #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Old"}}},"#
        + #"{"operationType":"delete","zone":{"zoneID":{"zoneName":"Never"}}}]}"#)
    for scope in DatabaseScope.allCases { try await talk.ask(.zonesList, "", scope, method: "GET") }
    try await talk.ask(.zonesList, "{}")
    try await talk.ask(
      .zonesLookup, #"{"zones":[{"zoneName":"Diary"},{"zoneName":"Never"},{"zoneName":"_defaultZone"}]}"#)
    try await talk.ask(.changesDatabase, "{}")
    try await talk.ask(.changesDatabase, #"{"resultsLimit":1}"#)
    try await talk.ask(.zonesChanges, "{}")
    let start = try await talk.ask(.recordsChanges, #"{\#(Self.zone),"resultsLimit":1}"#)
    let token = try #require(start["syncToken"]?.string)
    try await talk.ask(.recordsChanges, #"{\#(Self.zone),"reverse":true}"#)
    try await talk.ask(
      .changesZone,
      #"{"zones":[{\#(Self.zone),"syncToken":"\#(token)"},{"zoneID":{"zoneName":"Never"}},"#
        + #"{"zoneID":{"zoneName":"_defaultZone"}}]}"#)
    try await talk.ask(
      .changesZone, #"{"zones":[{\#(Self.zone),"numberAsStrings":true}]}"#, numbersAsStrings: true)
    try await talk.ask(.changesDatabase, #"{"syncToken":"notAToken"}"#, status: 400)
    try await talk.ask(.zonesChanges, #"{"syncToken":"x"}"#, status: 400)
  }

  private func shares(_ talk: Talk) async throws {
    let root = try await talk.ask(.recordsLookup, #"{\#(Self.zone),"records":[{"recordName":"all"}]}"#)
    let tag = try #require(root["records"]?.elements.first?["recordChangeTag"]?.string)
    let saved = try await talk.ask(
      .recordsModify,
      operations(
        #"{"operationType":"create","record":{"recordType":"cloudkit.share","publicPermission":"READ_WRITE","#
          + #""fields":{"cloudkit.title":{"value":"Trip","type":"STRING"}},"#
          + #""forRecord":{"recordName":"all","recordChangeTag":"\#(tag)"}}}"#))
    let guid = try #require(saved["records"]?.elements.first?["shortGUID"]?.string)
    let request = #"{"shortGUIDs":[{"value":"\#(guid)"},{"value":"nothing"}]}"#
    let stranger = try await talk.world.stranger()
    try await talk.ask(.recordsResolve, request, .public)
    try await talk.ask(.recordsResolve, request, .public, session: stranger)
    try await talk.ask(.recordsAccept, request, .public, session: stranger)
    try await talk.ask(.recordsResolve, request, .public, session: stranger)
    let zones = try await talk.ask(.zonesList, "{}", .shared, session: stranger)
    let owner = try #require(zones["zones"]?.elements.first?["zoneID"]?["ownerRecordName"]?.string)
    let zone = #""zoneID":{"zoneName":"Diary","ownerRecordName":"\#(owner)"}"#
    try await talk.ask(.recordsLookup, #"{\#(zone),"records":[{"recordName":"all"}]}"#, .shared, session: stranger)
    try await talk.ask(.changesZone, #"{"zones":[{\#(zone)}]}"#, .shared, session: stranger)
    try await talk.ask(.changesDatabase, "{}", .shared, session: stranger)
  }

  private func usersAndSubscriptions(_ talk: Talk) async throws {
    let user = talk.world.user
    for method in ["GET", "POST"] {
      try await talk.ask(.usersCaller, "", .public, method: method)
      try await talk.ask(.usersCurrent, "", .public, method: method)
      try await talk.ask(.usersDiscover, "", .public, method: method)
    }
    try await talk.ask(
      .usersDiscover,
      #"{"lookupInfos":[{"userRecordName":"\#(user)"},{"emailAddress":"a@example.com"},{"phoneNumber":"1"}]}"#, .public)
    try await talk.ask(.usersLookupID, #"{"users":[{"userRecordName":"\#(user)"}]}"#, .public)
    try await talk.ask(.usersLookupEmail, #"{"users":[{"emailAddress":"a@example.com"}]}"#, .public)
    try await talk.ask(.usersLookupPhone, #"{"users":[{"phoneNumber":"1"}]}"#, .public)
    try await talk.ask(.usersLookupContacts, #"{"contacts":[]}"#, .public)
    let info = #""notificationInfo":{"alertBody":"New","shouldBadge":true,"shouldSendContentAvailable":true}"#
    try await talk.ask(
      .subscriptionsModify,
      #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"z","subscriptionType":"zone",\#(Self.zone),\#(info)}},"#
        + #"{"operationType":"create","subscription":{"subscriptionID":"all","subscriptionType":"zone","zoneWide":true}},"#
        + #"{"operationType":"delete","subscription":{"subscriptionID":"never"}}]}"#)
    try await talk.ask(.subscriptionsList, "", method: "GET")
    try await talk.ask(.subscriptionsList, "{}")
    try await talk.ask(
      .subscriptionsLookup, #"{"subscriptions":[{"subscriptionID":"z"},{"subscriptionID":"never"}]}"#)
  }

  private func pushes(_ talk: Talk) async throws {
    let made = try await talk.ask(.tokensCreate, #"{"apnsEnvironment":"development","clientId":"watcher"}"#)
    try await talk.ask(
      .tokensRegister,
      #"{"apnsEnvironment":"development","apnsToken":"\#(made["apnsToken"]?.string ?? "")","clientId":"watcher"}"#)
    _ = try await talk.ask(
      .recordsModify,
      operations(#"{"operationType":"create","record":{"recordName":"late","recordType":"Note"}}"#),
      query: "?clientId=writer")
    let target = try talk.world.target(of: #require(made["webcourierURL"]?.string))
    for _ in 0..<2 {
      let answer = try await talk.world.send("GET", target)
      let objections = ProtocolTables.notification.objections(to: try PlainJSON(answer.body), at: "push")
      #expect(objections.isEmpty, "\(answer.text)")
    }
    _ = try await talk.ask(
      .subscriptionsModify,
      #"{"operations":[{"operationType":"delete","subscription":{"subscriptionID":"z"}}]}"#)
  }

  @Test func wholeErrorsAreWhatTheTablesSay() async throws {
    let world = try await GatewayWorld()
    let token = try await world.makeToken().text
    let path = world.path(.zonesList)
    for (method, target, session, status) in [
      ("POST", "/database/1/\(world.container)/development/private/zones/liste", nil, 404),
      ("DELETE", path, nil, 405), ("POST", "/nothing", nil, 404), ("POST", path, "", 401),
      ("POST", "\(path)?ckAPIToken=\(token)", "", 421), ("POST", "\(path)?ckAPIToken=wrong", "", 401),
      ("GET", world.path(.recordsQuery), nil, 405), ("POST", world.path(.recordsQuery), nil, 400),
    ] as [(String, String, String?, Int)] {
      let answer = try await world.send(method, target, session: session)
      #expect(answer.status == status, "\(method) \(target): \(answer.text)")
      let objections = ProtocolTables.error.objections(to: try PlainJSON(answer.body), at: "error")
      #expect(objections.isEmpty, "\(answer.text)")
    }
  }

  /// Whoever asks for our extensions gets those that are documented, and nothing else.
  @Test func extensionsAreWhatIsDocumented() async throws {
    let talk = try await Talk()
    try await fill(talk)
    let update = #"{"operationType":"update","record":{"recordName":"all","recordChangeTag":"zz","fields":{}}}"#
    let delete = #"{"operationType":"forceDelete","record":{"recordName":"target"}}"#
    let calls: [(VirgaWire.Operation, String)] = [
      (.zonesModify, #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Old"}}}]}"#),
      (.recordsModify, #"{\#(Self.zone),"atomic":false,"operations":[\#(update),\#(delete)]}"#),
      (.recordsLookup, #"{\#(Self.zone),"records":[{"recordName":"all"}]}"#), (.zonesList, "{}"),
      (.changesDatabase, "{}"), (.recordsChanges, "{\(Self.zone)}"), (.subscriptionsList, "{}"), (.usersCaller, "{}"),
    ]
    var found: Set<String> = []
    for (operation, body) in calls {
      let answer = try await talk.world.call(operation, body, headers: [("X-Virga-Extensions", "1")])
      let objections = ProtocolTables.answer(to: operation).objections(to: try PlainJSON(answer.body))
      for objection in objections {
        let words = objection.split(separator: " ")
        #expect(objection.hasSuffix(" is not in the table"), "\(objection)")
        found.insert(words[0].split(separator: ".").last.map(String.init) ?? "")
      }
    }
    #expect(found.isSubset(of: ["ancestorRecord", "recordType", "atomic", "deletionReason"]))
    #expect(found.contains("deletionReason"))
  }

  /// The tables notice what they are for.
  @Test func aMissingKeyAWrongTypeAndAnUnknownKeyAreFound() throws {
    let table = ProtocolTables.answer(to: .zonesChanges)
    let good = #"{"zones":[],"metaSyncToken":"AQ==","moreComing":false}"#
    #expect(table.objections(to: try PlainJSON(good)).isEmpty)
    for (wrong, objection) in [
      (#"{"zones":[],"moreComing":false}"#, ".metaSyncToken is missing"),
      (#"{"zones":[],"metaSyncToken":"AQ==","moreComing":0}"#, ".moreComing is a number"),
      (#"{"zones":[],"metaSyncToken":"AQ==","moreComing":false,"syncToken":"AQ=="}"#, ".syncToken is not in the table"),
    ] {
      #expect(table.objections(to: try PlainJSON(wrong)) == [objection])
    }
    #expect(throws: PlainJSON.Malformed.self) { try PlainJSON(#"{"a":1,"a":2}"#) }
    #expect(throws: PlainJSON.Malformed.self) { try PlainJSON("[1,]") }
    #expect(throws: PlainJSON.Malformed.self) { try PlainJSON("01") }
  }
}
