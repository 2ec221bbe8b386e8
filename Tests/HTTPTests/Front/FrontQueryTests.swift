import Testing
import VirgaModel
import VirgaWire

@testable import VirgaHTTP

/// Queries through the front: reads that first have to make an index, and markers that travel.
@Suite struct FrontQueryTests {
  @Test func queriesArePagedOverTheWire() async throws {
    let world = try await FrontWorld()
    try await world.makeZone()
    for batch in 0..<3 {
      _ = try await world.save(
        (0..<150).map { number in
          RecordChange(
            name: RecordName("r\(batch)-\(number)"), type: "Trip",
            fields: [FieldChange("nights", Field(.int64(Int64(number % 2))))])
        })
    }
    let query =
      #""query":{"recordType":"Trip","filterBy":[{"comparator":"EQUALS","fieldName":"nights","fieldValue":{"value":1}}]}"#
    var marker = "null"
    var counts: [Int] = []
    repeat {
      let answer = try await world.call(
        .recordsQuery, "{\(query),\"zoneID\":\"Trips\",\"continuationMarker\":\(marker)}")
      #expect(answer.status == 200)
      guard case .records(let reply) = try Reply(decoding: answer.body, for: .recordsQuery) else { return }
      counts.append(reply.records.count)
      marker = reply.continuationMarker.map { "\"\($0)\"" } ?? "null"
    } while marker != "null" && counts.count < 9
    #expect(counts == [200, 25])
  }

  @Test func aQueryIsPosted() async throws {
    let world = try await FrontWorld()
    let answer = try await world.send("GET", world.path(.recordsQuery), [])
    #expect(answer.status == 405)
  }
}
