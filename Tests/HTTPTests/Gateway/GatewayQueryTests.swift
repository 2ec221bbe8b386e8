import Testing
import VirgaModel
import VirgaWire

@testable import VirgaHTTP

/// Queries through the front: reads that first have to make an index, and markers that travel.
@Suite struct GatewayQueryTests {
  @Test func queriesArePagedOverTheWire() async throws {
    let world = try await GatewayWorld()
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
    let world = try await GatewayWorld()
    let answer = try await world.send("GET", world.path(.recordsQuery), [])
    #expect(answer.status == 405)
  }

  /// Strict clients refuse a key that they do not know.
  @Test func theTypeOfAZonesSubscriptionIsToldToWhoAsksForExtensions() async throws {
    let world = try await GatewayWorld()
    let subscription = #"{"subscriptionID":"s","subscriptionType":"database","recordType":"Trip"}"#
    let body = #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#
    #expect(try await world.call(.subscriptionsModify, body).status == 200)
    #expect(
      try await world.call(.subscriptionsList, "{}").text
        == #"{"subscriptions":[{"subscriptionID":"s","subscriptionType":"zone","zoneWide":true}]}"#)
    var typed = Subscription(id: "s", kind: .database)
    typed.recordType = "Trip"
    let shown = String(
      decoding: Reply.subscriptions([.subscription(typed)]).encoded(extensions: true, uuid: "u"), as: UTF8.self)
    #expect(shown.contains(#""zoneWide":true,"recordType":"Trip""#))
  }

  /// As CloudKit JS states a subscription, and as the reference shows the push.
  @Test func aSubscriptionToAQueryTravelsBothWays() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let type = RecordChange(name: "first", type: "Trip", fields: [FieldChange("nights", Field(.int64(1)))])
    _ = try await world.save([type])
    let target = try await world.makePushTarget()
    let filter = #"{"comparator":"GREATER_THAN","fieldName":"nights","fieldValue":{"value":2,"type":"INT64"}}"#
    let query = #"{"recordType":"Trip","filterBy":[\#(filter)]}"#
    let info = #"{"alertBody":"A long trip","additionalFields":["nights"]}"#
    let subscription =
      #"{"subscriptionID":"long","subscriptionType":"query","query":\#(query),"zoneWide":true,"firesOn":["create"],"#
      + #""notificationInfo":\#(info)}"#
    let made = try await world.call(
      .subscriptionsModify, #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
    #expect(made.text == #"{"subscriptions":[\#(subscription)]}"#)
    #expect(try await world.call(.subscriptionsList, "{}").text.contains(subscription))
    let body =
      #"{"zoneID":"Trips","operations":[{"operationType":"create","record":{"recordName":"r","recordType":"Trip","#
      + #""fields":{"nights":{"value":3}}}}]}"#
    #expect(try await world.call(.recordsModify, body, query: "?clientId=writer").status == 200)
    // Another subscription of this client tells of the zone.
    let pushes = [try await world.send("GET", target).text, try await world.send("GET", target).text]
    let push = try #require(pushes.first { $0.contains(#""qry""#) })
    #expect(push.hasPrefix(#"{"aps":{"alert":{"body":"A long trip"}},"ck":{"cid":"#))
    #expect(push.contains(#""qry":{"sid":"long","rid":"r","zid":"Trips","zoid":"#))
    #expect(push.hasSuffix(#""dbs":1,"fo":1,"af":{"nights":3}}}}"#))
  }
}
