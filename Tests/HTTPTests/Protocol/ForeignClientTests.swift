import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// What public clients of Apple's service depend on, over sockets, with an API token and a web-auth token.
@Suite(.timeLimit(.minutes(2))) struct ForeignClientTests {
  private static let zone = #""zoneID":{"zoneName":"Trips"}"#

  private func modify(_ operations: [String], _ more: String = "") -> String {
    #"{\#(more)"operations":[\#(operations.joined(separator: ","))]}"#
  }

  private func operation(_ kind: String, _ name: String, type: String = "T", fields: String = "") -> String {
    #"{"operationType":"\#(kind)","record":{"recordName":"\#(name)","recordType":"\#(type)","fields":{\#(fields)}}}"#
  }

  // MARK: Errors of saves

  @Test func aCreateOfATakenNameIsAConflictAndAZoneThatIsThereIsNone() async throws {
    try await ForeignClient.run { client in
      let create = modify([operation("create", "r")], "\(Self.zone),")
      #expect(try client.call(.recordsModify, create).json["records"]?.elements[0]["recordChangeTag"] != nil)
      let again = try #require(try client.call(.recordsModify, create).json["records"]?.elements[0])
      #expect(again["serverErrorCode"]?.string == "CONFLICT")
      #expect(again["reason"]?.string == "record to insert already exists")
      #expect(again["serverRecord"]?["recordName"]?.string == "r" && again["ancestorRecord"] == nil)
      let zone = #"{"operations":[{"operationType":"create","zone":{\#(Self.zone)}}]}"#
      #expect(try client.call(.zonesModify, zone).json["zones"]?.elements[0]["serverErrorCode"] == nil)
      for (body, code) in [(#""zoneWide":true"#, nil), (#""zoneWide":true"#, nil), (Self.zone, "EXISTS")] {
        let subscription = #"{"subscriptionID":"s","subscriptionType":"zone",\#(body)}"#
        let answer = try client.call(
          .subscriptionsModify, #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
        #expect(try answer.json["subscriptions"]?.elements[0]["serverErrorCode"]?.string == code)
      }
    }
  }

  /// A save of a type that production does not know fails for itself, and says what would help.
  @Test func anUnknownTypeInProductionIsNotFoundForItsRecordAlone() async throws {
    try await ForeignClient.run { client in
      try await client.signIn(to: .production)
      let path = "/database/1/\(client.world.container)/production/private/"
      func call(_ operation: String, _ body: String) throws -> SocketClient.Answer {
        try client.send("POST", path + operation + client.query(.user), Array(body.utf8))
      }
      #expect(
        try call("zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(Self.zone)}}]}"#).status == 200)
      for kind in ["create", "forceUpdate", "forceReplace"] {
        let saved = try call("records/modify", modify([operation(kind, "r")], #"\#(Self.zone),"atomic":false,"#))
        let record = try saved.json["records"]?.elements[0]
        #expect(saved.status == 200 && record?["serverErrorCode"]?.string == "NOT_FOUND", "\(saved.text)")
        #expect(record?["reason"]?.string?.hasPrefix("Cannot create new type T in production schema") == true)
      }
      let query = try call("records/query", #"{\#(Self.zone),"query":{"recordType":"T"}}"#)
      #expect(query.status == 404 && query.error.code == .notFound)
      #expect(query.error.reason == "Did not find record type: T")
    }
  }

  @Test func anAnonymousWriteWithoutTheRightSendsItsUserToSignIn() async throws {
    try await ForeignClient.run { client in
      for kind in ["create", "forceUpdate", "forceDelete"] {
        let answer = try client.call(.recordsModify, modify([operation(kind, "r")]), as: .apiToken, in: .public)
        #expect(answer.status == 421 && answer.error.code == .authenticationRequired)
        #expect(answer.error.redirectURL?.hasPrefix("http://server.example/virga/1/sign-in?") == true)
      }
      let lookup = #"{"records":[{"recordName":"r"}]}"#
      #expect(try client.call(.recordsLookup, lookup, as: .apiToken, in: .public).text.contains("NOT_FOUND"))
      #expect(
        try client.call(.recordsModify, modify([operation("create", "r")]), as: .user, in: .public).status == 200)
      #expect(try client.call(.recordsLookup, lookup, as: .apiToken, in: .public).text.contains("recordChangeTag"))
    }
  }

  @Test(arguments: [DatabaseScope.private, .public])
  func whoAsksForAnAtomicSaveInTheDefaultZoneIsRefused(scope: DatabaseScope) async throws {
    try await ForeignClient.run { client in
      for zone in ["", #""zoneID":{"zoneName":"_defaultZone"},"#] {
        let body = modify([operation("create", "r")], zone + #""atomic":true,"#)
        let answer = try client.call(.recordsModify, body, in: scope)
        #expect(answer.status == 400 && answer.error.code == .badRequest)
        #expect(answer.error.reason == "atomic operations not supported in default zone")
      }
      for more in ["", #""atomic":false,"#, #""atomic":null,"#] {
        #expect(
          try client.call(.recordsModify, modify([operation("forceUpdate", "r")], more), in: scope).text.contains(
            "recordChangeTag"))
      }
      if scope == .private {
        let body = modify([operation("create", "r")], #"\#(Self.zone),"atomic":true,"#)
        #expect(try client.call(.recordsModify, body).text.contains("recordChangeTag"))
      }
    }
  }

  @Test func aQueryOverAllZonesIsForOnesOwnDatabase() async throws {
    try await ForeignClient.run { client in
      _ = try client.save(#""n":{"value":1}"#)
      let filter = #"{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}"#
      let query = #"{"query":{"recordType":"T","filterBy":[\#(filter)]},"zoneWide":true}"#
      #expect(try client.call(.recordsQuery, query).text.contains(#""recordName":"r""#))
      let shared = try client.call(.recordsQuery, query, in: .shared)
      #expect(shared.status == 400 && shared.error.code == .badRequest)
      #expect(shared.error.reason.hasPrefix("SharedDB does not support Zone Wide queries"))
    }
  }

  // MARK: Limits

  /// Bodies with so many parts.
  private static let lists: [(VirgaWire.Operation, @Sendable (Int) -> String)] = [
    (
      .recordsModify,
      { count in
        let operations = (0..<count).map {
          #"{"operationType":"forceUpdate","record":{"recordName":"r\#($0)","recordType":"T"}}"#
        }
        return #"{\#(zone),"operations":[\#(operations.joined(separator: ","))]}"#
      }
    ),
    (.recordsLookup, { #"{\#(zone),"records":[\#(list($0, #""r""#))]}"# }),
    (.zonesLookup, { #"{"zones":[\#(list($0, #""Trips""#))]}"# }),
    (
      .zonesModify,
      { count in
        let operations = (0..<count).map { #"{"operationType":"create","zone":{"zoneID":{"zoneName":"z\#($0)"}}}"# }
        return #"{"operations":[\#(operations.joined(separator: ","))]}"#
      }
    ),
    (.changesZone, { #"{"resultsLimit":1,"zones":[\#(list($0, #"{"zoneID":"Trips"}"#))]}"# }),
    (.subscriptionsLookup, { #"{"subscriptions":[\#(list($0, #""s""#))]}"# }),
    (.recordsResolve, { #"{"shortGUIDs":[\#(list($0, #""g""#))]}"# }),
    (.usersDiscover, { #"{"lookupInfos":[\#(list($0, #"{"emailAddress":"a@example.com"}"#))]}"# }),
  ]

  private static func list(_ count: Int, _ element: String) -> String {
    Array(repeating: element, count: count).joined(separator: ",")
  }

  @Test(arguments: lists.indices)
  func foreignClientsSend200PartsAndOurs400(index: Int) async throws {
    let (operation, body) = Self.lists[index]
    try await ForeignClient.run { client in
      for (credentials, most) in [(ForeignClient.Credentials.user, 200), (.device, 400)] {
        #expect(try client.call(operation, body(most), as: credentials).status == 200)
        let refused = try client.call(operation, body(most + 1), as: credentials)
        #expect(refused.status == 400 && refused.error.code == .badRequest)
        #expect(
          refused.error.reason.hasPrefix("limit exceeded: ")
            && refused.error.reason.hasSuffix("\(most + 1) given, at most \(most) allowed"), "\(refused.text)")
      }
    }
  }

  /// A save that is large enough to be performed while it is read is counted too.
  @Test func aLargeSaveIsCountedWhileItIsRead() async throws {
    try await ForeignClient.run { client in
      let filler = #""a":{"value":"\#(String(repeating: "x", count: 400))","type":"STRING"}"#
      let operations = (0..<201).map { operation("create", "r\($0)", fields: filler) }
      let refused = try client.call(.recordsModify, modify(operations, "\(Self.zone),"))
      #expect(refused.status == 400 && refused.error.reason.hasPrefix("limit exceeded"), "\(refused.text)")
      #expect(try client.call(.recordsLookup, #"{\#(Self.zone),"records":["r0"]}"#).text.contains("NOT_FOUND"))
    }
  }

  @Test func aBodyThatIsTooLargeIsABadRequestAndAFileIsTooLarge() async throws {
    try await ForeignClient.run({ $0.assetBytesMax = 1_000 }) { client in
      let large = [UInt8](repeating: 0x20, count: Limits.requestBytesMax + 1)
      let answer = try client.send(
        "POST", client.world.path(.recordsModify) + client.query(.user), large)
      #expect(answer.status == 400 && answer.error.code == .badRequest)
      #expect(answer.error.reason.hasPrefix("limit exceeded"))
      let upload = try client.world.target(of: try await uploadURL(client))
      #expect(try client.send("POST", upload, [UInt8](repeating: 1, count: 1_001)).status == 413)
    }
  }

  // MARK: Zones

  @Test func everyZoneOfAnAnswerHasItsThreeParts() async throws {
    try await ForeignClient.run { client in
      var found = 0
      func check(_ operation: VirgaWire.Operation, _ body: String, in scope: DatabaseScope = .private) throws {
        let answer = try client.call(operation, body, in: scope)
        #expect(answer.status == 200, "\(answer.text)")
        let owner = scope == .public ? "_defaultOwner" : client.world.user.rawValue
        for zone in try answer.json.all("zoneID") {
          found += 1
          #expect(zone.members.map(\.name) == ["zoneName", "ownerRecordName", "zoneType"], "\(answer.text)")
          #expect(zone["ownerRecordName"]?.string == owner || zone["ownerRecordName"]?.string == "_bob")
          let isDefault = zone["zoneName"]?.string == "_defaultZone"
          #expect(zone["zoneType"]?.string == (isDefault ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE"))
        }
      }
      try check(.recordsModify, modify([operation("create", "r"), operation("create", "s")], "\(Self.zone),"))
      let n = #""n":{"value":1}"#
      try check(.recordsModify, modify([operation("create", "r", fields: n)]), in: .public)
      try check(.recordsModify, modify([operation("create", "r")]))
      try check(.recordsLookup, #"{"records":["r"]}"#, in: .public)
      let filter = #"{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}"#
      try check(.recordsQuery, #"{"query":{"recordType":"T","filterBy":\#(filter)}}"#, in: .public)
      try check(.recordsModify, modify([operation("forceDelete", "s")], "\(Self.zone),"))
      try check(.recordsChanges, "{\(Self.zone)}")
      for scope in [DatabaseScope.private, .public] {
        try check(.zonesList, "{}", in: scope)
        try check(.zonesLookup, #"{"zones":["_defaultZone","Trips","Nowhere"]}"#, in: scope)
        try check(
          .zonesLookup, #"{"zones":[{"zoneName":"Trips","ownerRecordName":"_bob"},{"ownerName":"__defaultOwner__"}]}"#,
          in: scope)
      }
      try check(.changesZone, #"{"zones":[{\#(Self.zone)},{"zoneID":"Nowhere"},{"zoneID":"_defaultZone"}]}"#)
      try check(.changesDatabase, "{}")
      try check(.zonesChanges, "{}")
      let query = #""subscriptionType":"query","query":{"recordType":"T","filterBy":\#(filter)},"firesOn":["create"]"#
      let subscribe =
        #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"q",\#(query),ZONE}}]}"#
      try check(.subscriptionsModify, subscribe.replacing("ZONE", with: Self.zone))
      try check(.subscriptionsModify, subscribe.replacing("ZONE", with: #""zoneID":"_defaultZone""#), in: .public)
      try check(.subscriptionsList, "{}")
      try check(.subscriptionsList, "{}", in: .public)
      try check(
        .zonesModify,
        #"{"operations":[{"operationType":"delete","zone":{\#(Self.zone)}},{"operationType":"delete","zone":{"zoneID":"No"}}]}"#
      )
      try check(.changesDatabase, "{}")
      #expect(found > 30)
    }
  }

  // MARK: Values

  @Test(arguments: [
    #"{"value":1,"value":2,"type":"INT64"}"#, #"{"type":"INT64","value":1,"type":"STRING"}"#,
    #"{"value":"a","isEncrypted":true,"type":"STRING","isEncrypted":false}"#, #"{"value":"a","x":1,"x":2}"#,
    #"{"value":null,"value":1}"#, #"{"value":1,"\u0076alue":2}"#,
  ])
  func aKeyTwiceInOneFieldSpoilsThatRecordAlone(field: String) async throws {
    try await ForeignClient.run { client in
      let body = modify(
        [operation("create", "bad", fields: #""f":\#(field)"#), operation("create", "good")],
        #"\#(Self.zone),"atomic":false,"#)
      let records = try client.call(.recordsModify, body).json["records"]?.elements ?? []
      #expect(records[0]["serverErrorCode"]?.string == "BAD_REQUEST")
      let reason = records[0]["reason"]?.string ?? ""
      #expect(reason.hasPrefix("Invalid value for field 'f'") && reason.hasSuffix("twice."), "\(reason)")
      #expect(records[1]["recordChangeTag"] != nil)
    }
  }

  @Test(arguments: [
    #"{"value":[{"value":"a"}]}"#, #"{"value":[{"value":"a","type":"STRING"}],"type":"STRING_LIST"}"#,
    #"{"value":[{"value":1}],"type":"LIST"}"#, #"{"value":["a",{"value":"b"}],"type":"STRING_LIST"}"#,
    #"{"value":[1,{"value":2}]}"#, #"{"type":"REFERENCE_LIST","value":[{"value":{"recordName":"r"}}]}"#,
    #"{"value":[{"type":"LOCATION","value":{"latitude":1,"longitude":2}}],"type":"LOCATION_LIST"}"#,
  ])
  func whoWrapsTheElementsOfAListIsToldThatTheyAreBare(field: String) async throws {
    // C139
    try await ForeignClient.run { client in
      let saved = try client.save(#""f":\#(field)"#)
      #expect(saved["serverErrorCode"]?.string == "BAD_REQUEST")
      let reason = saved["reason"]?.string ?? ""
      #expect(reason.contains("field 'f'") && reason.contains("bare values as elements of the list"), "\(reason)")
    }
  }

  @Test func valuesComeInTheShapesThatClientsWriteThem() async throws {
    // C139
    try await ForeignClient.run { client in
      let tags = try client.save(
        #""i":{"value":3,"type":"NUMBER_INT64"},"d":{"value":10,"type":"NUMBER_DOUBLE"},"#
          + #""a":{"value":["a","b"]},"b":{"value":["a","b"],"type":"LIST"},"c":{"value":["a","b"],"type":"STRING_LIST"},"#
          + #""e":{"value":0.30000000000000004,"type":"DOUBLE"}"#)
      let list = #"{"value":["a","b"],"type":"STRING_LIST"}"#
      for (name, json) in [
        ("i", #"{"value":3,"type":"INT64"}"#), ("d", #"{"value":10.0,"type":"DOUBLE"}"#), ("a", list), ("b", list),
        ("c", list), ("e", #"{"value":0.30000000000000004,"type":"DOUBLE"}"#),
      ] {
        #expect(tags["fields"]?[name]?.json == json)
      }
      // A whole number in a field of doubles comes back as one.
      let whole = try client.save(#""d":{"value":10}"#)
      #expect(whole["fields"]?["d"]?.json == #"{"value":10.0,"type":"DOUBLE"}"#)
      let body = modify(
        [operation("create", "bad", fields: #""f":{"value":1,"type":"MONEY"}"#), operation("create", "good")],
        #"\#(Self.zone),"atomic":false,"#)
      let records = try client.call(.recordsModify, body).json["records"]?.elements ?? []
      let reason = records[0]["reason"]?.string ?? ""
      #expect(reason.contains("'f'") && reason.contains("MONEY"), "\(reason)")
      #expect(records[1]["recordChangeTag"] != nil)
    }
  }

  @Test func nullAndAnEmptyObjectClearAField() async throws {
    // C131
    try await ForeignClient.run { client in
      let filled = #""a":{"value":"x"},"b":{"value":[1]},"c":{"value":"aGk=","type":"BYTES"},"d":{"value":"k"}"#
      for empty in [#"{"value":null}"#, "{}", "null", #"{"value":null,"type":"STRING"}"#] {
        _ = try client.save(filled)
        let cleared = try client.save(#""a":\#(empty),"b":\#(empty),"c":\#(empty)"#, kind: "forceUpdate")
        #expect(cleared["fields"]?.members.map(\.name) == ["d"], "\(empty)")
        let looked = try client.call(.recordsLookup, #"{\#(Self.zone),"records":["r"]}"#)
        #expect(try looked.json["records"]?.elements[0]["fields"] == cleared["fields"])
      }
      _ = try client.save(filled)
      let list = try client.save(#""b":{"value":[],"type":"INT64_LIST"}"#, kind: "forceUpdate")
      #expect(list["fields"]?["b"]?.json == #"{"value":[],"type":"INT64_LIST"}"#)
      // What is not named stays.
      #expect(try client.save("", kind: "forceUpdate")["fields"] == list["fields"])
    }
  }

  // MARK: Messages

  @Test func aByteOrderMarkIsPassedOver() async throws {
    try await ForeignClient.run { client in
      let mark: [UInt8] = [0xef, 0xbb, 0xbf]
      let target = client.world.path(.zonesList) + client.query(.user)
      let plain = try client.send("POST", target, Array("{}".utf8))
      for body in [mark + Array(" {}".utf8), mark, mark + Array("{\"x\":\"\u{feff}\"}".utf8)] {
        #expect(try client.send("POST", target, body).body == plain.body)
      }
      #expect(try client.send("POST", target, mark + mark + Array("{}".utf8)).status == 400)
      #expect(try client.send("POST", target, Array("{}".utf8) + mark).status == 400)
    }
  }

  @Test func answersThatFailCarryTheNextTokenToo() async throws {
    try await ForeignClient.run { client in
      let names = ["x-apple-cloudkit-web-auth-token", "x-apple-cloudkit-session"]
      for (operation, body, status) in [
        (VirgaWire.Operation.zonesList, "{}", 200), (.recordsModify, "{", 400), (.recordsModify, "{}", 400),
        (.recordsLookup, #"{"zoneID":"Nowhere","records":["r"]}"#, 404),
      ] {
        let answer = try client.call(operation, body)
        #expect(answer.status == status)
        #expect(names.map { answer.fields[$0] } == [client.webToken, client.webToken], "\(answer.text)")
        #expect(try client.call(operation, body, as: .device).fields[names[0]] == nil)
      }
      let forged = client.world.path(.zonesList) + "?ckAPIToken=\(client.apiToken)&ckWebAuthToken=158__54__x"
      let refused = try client.send("POST", forged, Array("{}".utf8))
      #expect(refused.status == 421 && refused.fields[names[0]] == nil)
    }
    // A throttled page keeps its token.
    try await ForeignClient.run({ $0.userRate = Rate(perSecond: 1, burst: 2) }) { client in
      var last: SocketClient.Answer?
      for _ in 0..<3 { last = try client.call(.zonesList, "{}") }
      #expect(last?.status == 429 && last?.fields["x-apple-cloudkit-web-auth-token"] == client.webToken)
    }
  }

  @Test func theEnvironmentOfAPushTokenIsKeptUnlessItIsStated() async throws {
    try await ForeignClient.run { client in
      let made = try client.call(.tokensCreate, #"{"apnsEnvironment":"production","clientId":"c"}"#).json
      let token = try #require(made["apnsToken"]?.string)
      #expect(try client.call(.tokensCreate, "{}").status == 400)
      for body in [
        #"{"apnsToken":"\#(token)"}"#, #"{"apnsToken":"\#(token)","apnsEnvironment":null,"clientId":"c"}"#,
        #"{"apnsToken":"\#(token)","apnsEnvironment":"development"}"#,
        #"{"apnsToken":"\#(String(repeating: "ab", count: 32))"}"#,
      ] {
        let answer = try client.call(.tokensRegister, body)
        #expect(answer.status == 200 && answer.text == "{}", "\(answer.text)")
      }
      #expect(try client.call(.tokensRegister, #"{"apnsToken":"\#(token)","apnsEnvironment":"x"}"#).status == 400)
    }
  }

  // MARK: Methods and conditions

  @Test func whatAllowNamesIsAllowedAndNothingElse() async throws {
    try await ForeignClient.run { client in
      let world = client.world
      let receipt = try await world.upload([1, 2, 3])
      let urls = SignedURLs(place: .base(""), secrets: world.front.secrets)
      let file = urls.downloadURL(
        checksum: receipt.fileChecksum, size: receipt.size, expires: world.clock.now + .seconds(60))
      let targets = [
        (world.path(.zonesList) + client.query(.user), "GET, HEAD, POST"),
        (world.path(.subscriptionsList) + client.query(.user), "GET, HEAD, POST"),
        (world.path(.usersCaller, scope: .public) + client.query(.user), "GET, HEAD, POST"),
        (world.path(.recordsModify) + client.query(.user), "POST"), (file, "GET, HEAD"), ("/healthz", "GET, HEAD"),
        ("/metrics", "GET, HEAD"), ("/assets/1/upload?t=x", "POST, PUT"), ("/push/1/x", "GET"),
        ("/share/\(world.container)/development/x", "GET, HEAD"),
      ]
      for (target, allowed) in targets {
        let asked = try client.send("OPTIONS", target)
        #expect(asked.status == 204 && asked.fields["allow"] == "\(allowed), OPTIONS", "\(target)")
        for method in allowed.split(separator: ", ") {
          #expect(asked.fields["access-control-allow-methods"]?.contains(method) == true)
        }
        let methods = allowed.split(separator: ", ").map(String.init)
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"] {
          let answer = try client.send(method, target, method == "POST" ? Array("{}".utf8) : [])
          #expect((answer.status == 405) == !methods.contains(method), "\(method) \(target): \(answer.status)")
          if answer.status == 405 { #expect(answer.fields["allow"] == "\(allowed), OPTIONS") }
        }
        guard methods.contains("HEAD"), target != "/metrics" else { continue }
        let (head, get) = (try client.send("HEAD", target), try client.send("GET", target))
        #expect(head.status == get.status && head.body.isEmpty)
        #expect(head.fields["content-length"] == get.fields["content-length"], "\(target)")
        #expect(head.fields["content-type"] == get.fields["content-type"])
      }
    }
  }

  @Test func aFileThatIsKnownIsNotSentAgain() async throws {
    try await ForeignClient.run { client in
      let receipt = try await client.world.upload([1, 2, 3])
      let urls = SignedURLs(place: .base(""), secrets: client.world.front.secrets)
      let target = urls.downloadURL(
        checksum: receipt.fileChecksum, size: receipt.size, expires: client.world.clock.now + .seconds(60))
      let tag = try #require(try client.send("GET", target).fields["etag"])
      for (field, status) in [
        ("*", 304), (tag, 304), ("W/\(tag)", 304), ("\"x\", \(tag)", 304), ("\"x\",*", 304), ("\"x\"", 200),
        (String(tag.dropFirst().dropLast()), 200), ("\"*\"", 200), ("", 200),
      ] {
        let answer = try client.send("GET", target, [], "If-None-Match: \(field)\r\n")
        #expect(answer.status == status, "\(field)")
        #expect(answer.fields["etag"] == tag && answer.body == (status == 200 ? [1, 2, 3] : []))
      }
      let gone = try client.send("GET", target.replacing("size=3", with: "size=4"), [], "If-None-Match: *\r\n")
      #expect(gone.status == 403)
    }
  }

  private func uploadURL(_ client: ForeignClient) async throws -> String {
    let body = #"{\#(Self.zone),"tokens":[{"recordName":"r","recordType":"T","fieldName":"f"}]}"#
    return try #require(try client.call(.assetsUpload, body).json["tokens"]?.elements[0]["url"]?.string)
  }
}

extension PlainJSON {
  /// All members of that name, wherever they stand.
  fileprivate func all(_ name: String) -> [PlainJSON] {
    switch self {
    case .object(let members): members.flatMap { ($0.name == name ? [$0.value] : []) + $0.value.all(name) }
    case .list(let elements): elements.flatMap { $0.all(name) }
    default: []
    }
  }
}
