import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Sharing through the front, as JSON.
struct GatewaySharingTests {
  @Test(arguments: VirgaWire.Operation.allCases, [DatabaseScope.public, .private, .shared])
  func withoutACredentialNothingIsAnswered(operation: VirgaWire.Operation, scope: DatabaseScope) async throws {
    let world = try await GatewayWorld()
    let answer = try await world.send("POST", world.path(operation, scope: scope), Array("{}".utf8), session: "")
    #expect(answer.status == 401)
    #expect(answer.error.code == .authenticationFailed)
  }

  @Test func aShareIsMadeAcceptedAndUsed() async throws {
    let world = try await GatewayWorld()
    let bob = try await world.stranger()
    try await world.makeZone("Trips")
    func post(
      _ operation: VirgaWire.Operation, _ scope: DatabaseScope, _ text: String, session: String? = nil
    ) async throws -> GatewayWorld.Answer {
      try await world.send("POST", world.path(operation, scope: scope), Array(text.utf8), session: session)
    }

    let caller = try await world.send("GET", world.path(.usersCaller, scope: .public), session: bob)
    guard case .user(let name) = try Reply(decoding: caller.body, for: .usersCaller) else {
      return #expect(Bool(false))
    }
    let found = try await post(
      .usersLookupID, .public, #"{"users":[{"userRecordName":"\#(name)"},{"userRecordName":"_nobody"}]}"#)
    #expect(
      found.text
        == #"{"users":[{"userRecordName":"\#(name)","nameComponents":{},"lookupInfo":{"userRecordName":"\#(name)"},"#
        + #""firstName":null,"lastName":null}]}"#)

    let made = try await post(
      .recordsModify, .private,
      #"""
      {"zoneID":{"zoneName":"Trips"},"operations":[
       {"operationType":"create","record":{"recordName":"trip","recordType":"Trip","createShortGUID":true}},
       {"operationType":"create","record":{"recordType":"cloudkit.share","forRecord":{"recordName":"trip"},
        "publicPermission":"NONE","participants":[{"userIdentity":{"lookupInfo":{"userRecordName":"\#(name)"}},
        "type":"USER","permission":"READ_WRITE"}]}}]}
      """#)
    guard case .records(let reply) = try Reply(decoding: made.body, for: .recordsModify),
      case .record(let share) = reply.records[1]
    else {
      Issue.record("\(made.text)")
      return
    }
    let shortGUID = try #require(share.shortGUID)
    let accepted = try await post(.recordsAccept, .public, #"{"shortGUIDs":[{"value":"\#(shortGUID)"}]}"#, session: bob)
    guard case .shares(let shares) = try Reply(decoding: accepted.body, for: .recordsAccept),
      case .metadata(let metadata) = shares[0]
    else {
      Issue.record("\(accepted.text)")
      return
    }
    #expect(metadata.participantStatus == .accepted && metadata.rootRecordName == "trip")
    #expect(
      metadata.webpageURL == "http://server.example/share/\(world.container)/development/\(shortGUID)")

    let zone = #"{"zoneName":"Trips","ownerRecordName":"\#(world.user)"}"#
    let list = try await post(.zonesList, .shared, "{}", session: bob)
    #expect(list.text.contains(#""ownerRecordName":"\#(world.user)""#))
    let saved = try await post(
      .recordsModify, .shared,
      #"{"zoneID":\#(zone),"operations":[{"operationType":"create","record":{"recordName":"day","recordType":"Day","#
        + #""parent":{"recordName":"trip"}}}]}"#, session: bob)
    #expect(saved.text.contains(#""userRecordName":"\#(name)""#), "\(saved.text)")
    let refused = try await post(
      .recordsLookup, .private, #"{"zoneID":\#(zone),"records":[{"recordName":"day"}]}"#, session: bob)
    #expect(refused.status == 403 && refused.error.reason.contains(world.user.rawValue))
  }
}
