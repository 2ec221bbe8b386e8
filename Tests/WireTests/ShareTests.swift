import Testing
import VirgaModel
import VirgaWire

/// Shares, participants and users on the wire.
struct ShareWireTests {
  private static let owner = """
    {"participantId":"P1","userIdentity":{"userRecordName":"_a","nameComponents":{},"lookupInfo":{"userRecordName":"_a"}},\
    "type":"OWNER","acceptanceStatus":"ACCEPTED","permission":"READ_WRITE"}
    """
  private static let invited = """
    {"participantId":"P2","userIdentity":{"nameComponents":{"givenName":"Bo"},"lookupInfo":{"emailAddress":"b@example.com"}},\
    "type":"USER","acceptanceStatus":"INVITED","permission":"READ_ONLY"}
    """
  private static let share = """
    {"recordName":"Share-1","recordType":"cloudkit.share","fields":{},"pluginFields":{},"recordChangeTag":"2",\
    "created":{"timestamp":1,"userRecordName":"_a","deviceID":"d"},\
    "modified":{"timestamp":1,"userRecordName":"_a","deviceID":"d"},"deleted":false,\
    "zoneID":{"zoneName":"Z","ownerRecordName":"_a","zoneType":"REGULAR_CUSTOM_ZONE"},"share":{"recordName":"root"},\
    "shortGUID":"g","publicPermission":"NONE","participants":[\(owner),\(invited)],"owner":\(owner),\
    "currentUserParticipant":\(owner)}
    """

  @Test func aShareRecordTravelsBothWays() throws {
    let text = "{\"records\":[\(Self.share)]}"
    let reply = try Reply(decoding: Array(text.utf8), for: .recordsLookup)
    guard case .records(let records) = reply, case .record(let record) = records.records[0] else {
      return #expect(Bool(false))
    }
    let details = try #require(record.shareDetails)
    #expect(details.publicPermission == SharePermission.none)
    #expect(details.participants.map(\.role) == [.owner, .privateUser])
    #expect(details.participants[1].identity.lookupInfo == .emailAddress("b@example.com"))
    #expect(details.currentUserIndex == 0)
    #expect(record.unknownMembers.isEmpty)
    #expect(String(decoding: reply.encoded(extensions: false, uuid: "u"), as: UTF8.self) == text)
    #expect(try Record(record).shareDetails == details)
  }

  @Test func aRequestForAShareTravelsBothWays() throws {
    let text = """
      {"zoneID":{"zoneName":"Z"},"atomic":true,"operations":[{"operationType":"create","record":\
      {"recordType":"cloudkit.share","forRecord":{"recordName":"root","recordChangeTag":"1"},\
      "publicPermission":"READ_ONLY","participants":[\(Self.invited)]}},{"operationType":"update","record":\
      {"recordName":"root","recordChangeTag":"1","share":{"recordName":"Share-1"},"createShortGUID":true}}]}
      """
    let call = try Call(decoding: Array(text.utf8), for: .recordsModify)
    guard case .recordsModify(let request) = call else { return #expect(Bool(false)) }
    let change = request.operations[0].record.shareChange
    #expect(change.root == .init("root", tag: "1"))
    #expect(change.publicPermission == .readOnly && change.participants?.count == 1)
    #expect(request.operations[1].record.share?.recordName == "Share-1")
    #expect(String(decoding: call.encoded(), as: UTF8.self) == text)
  }

  @Test(arguments: [
    (
      #"{"type":"PRIVATE_USER","acceptanceStatus":"PENDING","permission":"READ_ONLY"}"#,
      ShareParticipant.Role.privateUser
    ),
    (#"{"type":"SOMETHING","permission":"MORE","publicKeyVersion":3}"#, .unknown),
  ])
  func otherSpellingsOfParticipantsAreUnderstood(text: String, role: ShareParticipant.Role) throws {
    let body = #"{"operations":[{"operationType":"create","record":{"participants":["# + text + "]}}]}"
    guard case .recordsModify(let request) = try Call(decoding: Array(body.utf8), for: .recordsModify) else {
      return #expect(Bool(false))
    }
    let participant = try #require(request.operations[0].record.shareChange.participants?.first)
    #expect(participant.role == role && participant.acceptanceStatus == .invited)
  }

  @Test(arguments: [VirgaWire.Operation.recordsResolve, .recordsAccept])
  func shortGUIDsTravelBothWays(operation: VirgaWire.Operation) throws {
    let bare = try Call(decoding: Array(#"{"shortGUIDs":[{"value":"g"},"h"]}"#.utf8), for: operation)
    let text = """
      {"shortGUIDs":[{"value":"g","shouldFetchRootRecord":true},{"value":"h","shouldFetchRootRecord":true}]}
      """
    #expect(String(decoding: bare.encoded(), as: UTF8.self) == text)
    #expect(try Call(decoding: Array(text.utf8), for: operation) == bare)
    #expect(bare.operation == operation)
    #expect(throws: ServiceError.self) { try Call(decoding: Array(#"{"shortGUIDs":[{}]}"#.utf8), for: operation) }
  }

  @Test func metadataAndFailuresTravelBothWays() throws {
    let text = """
      {"results":[{"shortGUID":{"value":"g","shouldFetchRootRecord":false,"rootRecordDesiredKeys":["title"]},\
      "containerIdentifier":"iCloud.x","environment":"production","databaseScope":"SHARED",\
      "zoneID":{"zoneName":"Z","ownerRecordName":"_a","zoneType":"REGULAR_CUSTOM_ZONE"},"share":\(Self.share),\
      "rootRecordName":"root","ownerIdentity":{"userRecordName":"_a","nameComponents":{},"lookupInfo":{}},\
      "participantType":"PUBLIC_USER","participantStatus":"ACCEPTED","participantPermission":"READ_ONLY",\
      "webpageURL":"https://example.com/share/g"},{"shortGUID":{"value":"h","shouldFetchRootRecord":true},\
      "uuid":"u","serverErrorCode":"ACCESS_DENIED","reason":"no"}]}
      """
    let reply = try Reply(decoding: Array(text.utf8), for: .recordsAccept)
    guard case .shares(let results) = reply, case .metadata(let metadata) = results[0] else {
      return #expect(Bool(false))
    }
    #expect(metadata.scope == .shared && metadata.environment == .production)
    #expect(metadata.participantRole == .publicUser && metadata.participantStatus == .accepted)
    #expect(metadata.share.shareDetails != nil && metadata.rootRecord == nil)
    #expect(results[1] == .failure(ShortGUID("h"), ServiceError(.accessDenied, "no")))
    #expect(String(decoding: reply.encoded(extensions: false, uuid: "u"), as: UTF8.self) == text)
  }

  @Test(arguments: [
    (VirgaWire.Operation.usersDiscover, #"{"lookupInfos":[{"userRecordName":"_a"},{"phoneNumber":"1"}]}"#),
    (.usersLookupEmail, #"{"users":[{"emailAddress":"a@example.com"}]}"#),
    (.usersLookupID, #"{"users":[{"userRecordName":"_a"}]}"#),
    (.usersLookupPhone, #"{"users":[{"phoneNumber":"1"}]}"#),
    (.usersLookupContacts, #"{"contacts":[{"emailAddress":"a@example.com"}]}"#),
  ])
  func usersAreAskedForInEachSpelling(operation: VirgaWire.Operation, text: String) throws {
    let call = try Call(decoding: Array(text.utf8), for: operation)
    #expect(call.operation == operation)
    #expect(String(decoding: call.encoded(), as: UTF8.self) == text)
    let reply = Reply.users([UserIdentity(userRecordName: "_a", lookupInfo: .userRecordName("_a"))])
    #expect(try Reply(decoding: reply.encoded(extensions: false, uuid: "u"), for: operation) == reply)
  }
}
