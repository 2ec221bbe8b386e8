import Foundation
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaHTTP

/// A continuation marker tells its holder nothing, and nobody makes or changes one.
@Suite struct SealedMarkerTests {
  private func world() async throws -> GatewayWorld {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let schema = #"DEFINE SCHEMA RECORD TYPE Trip (name STRING QUERYABLE SORTABLE, "___recordID" REFERENCE QUERYABLE);"#
    let imported = try await world.send(
      "POST", "/virga/1/schema/import?container=\(world.container)", Array(schema.utf8),
      headers: [("X-Virga-Operator", world.front.secrets.operatorToken)])
    #expect(imported.status == 200)
    _ = try await world.save(
      (0..<4).map { number in
        RecordChange(
          name: RecordName("trip-\(number)"), type: "Trip",
          fields: [FieldChange("name", Field(.string("secret place \(number)")))])
      })
    return world
  }

  private func query(
    _ world: GatewayWorld, marker: String? = nil, sort: String = "name", zone: String = "Trips", session: String? = nil
  ) async throws -> GatewayWorld.Answer {
    let place = #""zoneID":{"zoneName":"\#(zone)"}"#
    let after = marker.map { #","continuationMarker":"\#($0)""# } ?? ""
    return try await world.call(
      .recordsQuery,
      #"{\#(place),"query":{"recordType":"Trip","sortBy":[{"fieldName":"\#(sort)","ascending":true}]},"resultsLimit":2\#(after)}"#,
      session: session)
  }

  private func marker(_ answer: GatewayWorld.Answer) throws -> String {
    guard case .records(let reply) = try Reply(decoding: answer.body, for: .recordsQuery) else { return "" }
    return try #require(reply.continuationMarker)
  }

  @Test func aMarkerHoldsNothingThatCanBeRead() async throws {
    let world = try await world()
    let text = try marker(try await query(world))
    let bytes = try #require(Data(base64Encoded: text))
    for part in ["trip-1", "secret", "Trips", world.user.rawValue] {
      #expect(bytes.range(of: Data(part.utf8)) == nil)
    }
    // The same page has the same marker, and it leads on.
    #expect(try marker(try await query(world)) == text)
    let next = try await query(world, marker: text)
    #expect(next.status == 200 && next.text.contains("trip-2") && !next.text.contains("trip-1"))
  }

  @Test func aMarkerThatWasMadeOrChangedIsRefused() async throws {
    let world = try await world()
    let text = try marker(try await query(world))
    let bytes = Array(try #require(Data(base64Encoded: text)))
    var changed = [[], Array(bytes.dropLast()), bytes + [0], [1] + Array(repeating: 0, count: 40)]
    for index in stride(from: 0, to: bytes.count, by: 5) {
      var other = bytes
      other[index] ^= 1
      changed.append(other)
    }
    for other in changed {
      let answer = try await query(world, marker: Data(other).base64EncodedString())
      #expect(answer.status == 400 && answer.error.reason.contains("continuationMarker"), "\(answer.text)")
    }
  }

  /// It holds for its query, its database and its caller.
  @Test func aMarkerIsGoodForItsOwnQueryAlone() async throws {
    let world = try await world()
    let text = try marker(try await query(world))
    #expect(try await query(world, marker: text, sort: "___recordID").status == 400)
    #expect(try await query(world, marker: text, zone: "_defaultZone").status == 400)
    let stranger = try await world.stranger()
    _ = try await world.call(
      .zonesModify, #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Trips"}}}]}"#,
      session: stranger)
    #expect(try await query(world, marker: text, session: stranger).status == 400)
    // Another server's key, as after a restore elsewhere, knows it as little.
    #expect(try await query(try await self.world(), marker: text).status == 400)
  }
}
