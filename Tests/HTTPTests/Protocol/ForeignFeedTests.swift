import Glibc
import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Positions in feeds, and clients that wait and go, over sockets (C144).
@Suite(.timeLimit(.minutes(2))) struct ForeignFeedTests {
  private static let zone = #""zoneID":{"zoneName":"Trips"}"#
  private static let expired = "client knowledge differs from server knowledge"

  /// A position that cannot be read is never taken for none: that would send the whole list as if nothing were wrong.
  @Test func aPositionThatIsNoneHasExpiredAndGivesNoRecords() async throws {
    try await ForeignClient.run { client in
      try await client.world.makeZone("Other")
      _ = try client.save("")
      let own = try client.call(.recordsChanges, "{\(Self.zone)}").json
      #expect(own["records"]?.elements.count == 1)
      let other = try client.call(.recordsChanges, #"{"zoneID":{"zoneName":"Other"}}"#).json["syncToken"]?.json ?? ""
      let database = try client.call(.changesDatabase, "{}").json["syncToken"]?.json ?? ""
      let zones = try client.call(.zonesList, "{}").json["zones"]?.elements.compactMap { $0["syncToken"]?.json } ?? []
      #expect(zones.contains(other))
      for token in [#""foobar""#, #""""#, #""17""#, other, database] {
        let old = try client.call(.recordsChanges, #"{\#(Self.zone),"syncToken":\#(token)}"#)
        #expect(old.status == 400 && old.error == .badRequest(Self.expired), "\(token): \(old.text)")
        let new = try client.call(.changesZone, #"{"zones":[{\#(Self.zone),"syncToken":\#(token)}]}"#).json["zones"]
        #expect(new?.elements[0]["serverErrorCode"]?.string == "BAD_REQUEST")
        #expect(new?.elements[0]["reason"]?.string == Self.expired && new?.elements[0]["records"] == nil)
        if token == database { continue }
        for (operation, key) in [(VirgaWire.Operation.changesDatabase, "syncToken"), (.zonesChanges, "metaSyncToken")] {
          let answer = try client.call(operation, #"{"\#(key)":\#(token)}"#)
          #expect(answer.error == .badRequest(Self.expired), "\(answer.text)")
        }
      }
      for (operation, body) in [
        (VirgaWire.Operation.recordsChanges, #"{\#(Self.zone),"syncToken":17}"#),
        (.changesZone, #"{"zones":[{\#(Self.zone),"syncToken":17}]}"#), (.changesDatabase, #"{"syncToken":17}"#),
        (.zonesChanges, #"{"metaSyncToken":17}"#), (.recordsChanges, #"{\#(Self.zone),"syncToken":{}}"#),
      ] {
        let answer = try client.call(operation, body)
        #expect(answer.status == 400 && answer.error.reason.contains("expected a string"), "\(answer.text)")
      }
      let all = try client.call(.recordsChanges, #"{\#(Self.zone),"syncToken":null}"#)
      #expect(try all.json == own)
    }
  }

  @Test func aMarkerThatIsNoneIsRefused() async throws {
    try await ForeignClient.run { client in
      for name in ["a", "b"] { _ = try client.save(#""n":{"value":1}"#, name: name) }
      let filter = #"{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}"#
      func query(_ marker: String, _ type: String = "T") throws -> SocketClient.Answer {
        try client.call(
          .recordsQuery,
          #"{\#(Self.zone),"resultsLimit":1,"continuationMarker":\#(marker),"query":{"recordType":"T","filterBy":[\#(filter)]}}"#
        )
      }
      let first = try query("null").json
      let marker = try #require(first["continuationMarker"]?.json)
      #expect(try query(marker).json["records"]?.elements[0]["recordName"]?.string == "b")
      let token = try client.call(.recordsChanges, "{\(Self.zone)}").json["syncToken"]?.json ?? ""
      for wrong in [#""foobar""#, #""""#, #""17""#, token, "17", "{}"] {
        let answer = try query(wrong)
        #expect(answer.status == 400 && answer.error.code == .badRequest, "\(wrong): \(answer.text)")
        #expect(try answer.json["records"] == nil)
      }
    }
  }

  /// 150 of 200 clients that wait leave, half of them without a word; the others are answered when the time is over.
  @Test func clientsThatLeaveAreNoticedAndTheOthersGetAnEmptyAnswer() async throws {
    try await ForeignClient.run { client in
      let front = client.world.front
      var waiting: [SocketClient] = []
      for number in 0..<(200 / PollTable.pollsPerTokenMax) {
        let made = try client.call(
          .tokensCreate, #"{"apnsEnvironment":"development","clientId":"c\#(number)"}"#, as: .device)
        let target = try client.world.target(of: try #require(try made.json["webcourierURL"]?.string))
        for _ in 0..<PollTable.pollsPerTokenMax {
          let poll = client.connection()
          poll.send("GET \(target) HTTP/1.1\r\nHost: server.example\r\n\r\n")
          waiting.append(poll)
        }
      }
      try await client.world.untilParked(waiting.count)
      for poll in waiting.prefix(75) { poll.resetOnClose() }
      waiting.removeFirst(150)
      let start = ContinuousClock.now
      try await client.world.until(within: .seconds(20)) {
        front.polls.count == waiting.count && client.openConnections == waiting.count
      }
      #expect(ContinuousClock.now - start < .seconds(2))
      // The clock is handed in: as many ticks as a poll has seconds.
      for _ in 0...51 { front.polls.tick() }
      for poll in waiting {
        let answer = poll.answer()
        #expect(answer?.status == 200 && answer?.body == [])
      }
      #expect(front.polls.count == 0)
    }
  }
}

extension SocketClient {
  /// Lets the connection end with a reset instead of an end of its stream.
  func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
