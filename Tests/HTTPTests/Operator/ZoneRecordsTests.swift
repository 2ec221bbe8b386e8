import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// The operator reads a zone in pages, however large it is.
@Suite struct ZoneRecordsTests {
  private let token = "a-token-of-the-operator"

  private func page(_ world: GatewayWorld, _ marker: String?) async throws -> GatewayWorld.Answer {
    let more = marker.map { "&marker=\($0)" } ?? ""
    return try await world.send(
      "GET", "/virga/1/zone-records?container=\(world.container)&user=\(world.user)&zone=Trips" + more,
      headers: [("X-Virga-Operator", token)])
  }

  private func filled(records: Int, bytes: Int) async throws -> GatewayWorld {
    let token = token
    let world = try await GatewayWorld { $0.operatorToken = token }
    try await world.makeZone()
    let text = String(repeating: "x", count: bytes)
    for start in stride(from: 0, to: records, by: 20) {
      _ = try await world.save(
        (start..<min(start + 20, records)).map {
          RecordChange(name: RecordName("r\($0)"), type: "T", fields: [FieldChange("t", Field(.string(text)))])
        })
    }
    return world
  }

  @Test func pagesHaveABoundAndHoldEverythingTogether() async throws {
    let world = try await filled(records: 50, bytes: 300_000)
    var names: [RecordName] = []
    var marker: String?
    var pages = 0
    repeat {
      let answer = try await page(world, marker)
      #expect(answer.status == 200 && answer.body.count < Limits.pageBytesMax + 2 * Limits.recordBytesMax)
      guard case .records(let reply) = try Reply(decoding: answer.body, for: .recordsQuery) else { return }
      names += reply.records.compactMap { if case .record(let record) = $0 { record.id.name } else { nil } }
      marker = reply.continuationMarker
      pages += 1
    } while marker != nil && pages < 20
    #expect(pages == 4 && names == (0..<50).map { RecordName("r\($0)") }, "\(pages) pages of 15 MB")
  }

  @Test func aMarkerOfAnotherZoneIsRefused() async throws {
    let world = try await filled(records: 1, bytes: 1)
    for marker in ["1.1", "x", "1", "1.2.3"] { #expect(try await page(world, marker).status == 400) }
  }
}
