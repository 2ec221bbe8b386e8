import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaHTTP

/// Damaged requests at every door: whatever comes, the front answers in the protocol's form and lives on.
///
/// A short run belongs to the tests; `make fuzz SECONDS=600` goes on for as long, from a seed that it prints.
@Suite struct GatewayFuzzTests {
  private static let bodies = [
    #"{"records":[{"recordName":"r","desiredKeys":["a"]}],"zoneID":{"zoneName":"Trips"}}"#,
    #"{"zoneID":{"zoneName":"Trips"},"atomic":false,"operations":[{"operationType":"forceUpdate","record":{"recordName":"r","recordType":"T","fields":{"a":{"value":1},"b":{"value":[1.5,2],"type":"DOUBLE_LIST"},"c":{"value":{"latitude":1,"longitude":2}},"d":{"value":"QUJD","type":"BYTES"},"e":{"value":{"recordName":"r","action":"DELETE_SELF"}}}}}]}"#,
    #"{"zones":[{"zoneID":{"zoneName":"Trips"},"syncToken":"AQAAAAAAAAAAAAAAAAAAAAA=","resultsLimit":3,"reverse":true}]}"#,
    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#,
    #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","subscriptionType":"zone","zoneID":{"zoneName":"Trips"},"firesOn":["create"],"notificationInfo":{"alertBody":"x"}}}]}"#,
    #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":1}}],"sortBy":[{"fieldName":"a","ascending":true}]},"resultsLimit":2,"zoneID":{"zoneName":"Trips"}}"#,
    #"{"zoneID":{"zoneName":"Trips"},"tokens":[{"recordName":"r","recordType":"T","fieldName":"f"}]}"#,
    #"{"shortGUIDs":[{"value":"abc"}]}"#, #"{"apnsEnvironment":"development","clientId":"c"}"#, "{}", "[]",
    "DEFINE SCHEMA RECORD TYPE T (a INT64 QUERYABLE, b LIST<STRING>, GRANT READ TO \"_world\");",
    #"{"seed":1,"faults":[{"when":{"call":2},"do":{"throttle":3}}]}"#,
  ]
  private static let pieces = [
    "{", "}", "[", "]", "\"", "\\u0000", "\\ud800", "null", "1e999", "-9223372036854775809", "%00", "%ff", "/", "?",
    "..",
    "\u{0}", "\u{ff}", "_defaultZone", "__defaultOwner__", "\"value\":", "LIST<", "--", "99999999999999999999",
  ]

  private static func mutate(_ bytes: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    var bytes = bytes
    for _ in 0...(random.next() % 4) {
      let place = bytes.isEmpty ? 0 : Int(random.next() % UInt64(bytes.count))
      switch random.next() % 6 {
      case 0: if !bytes.isEmpty { bytes[place] = UInt8(truncatingIfNeeded: random.next()) }
      case 1: if !bytes.isEmpty { bytes.remove(at: place) }
      case 2: bytes.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))].utf8, at: place)
      case 3: bytes.removeSubrange(place...)
      case 4:
        let end = min(bytes.count, place + Int(random.next() % 40))
        bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
      default: break
      }
    }
    return bytes
  }

  @Test(.timeLimit(.minutes(30))) func damagedRequestsAreAnswered() async throws {
    let seconds = ProcessInfo.processInfo.environment["VIRGA_FUZZ_SECONDS"].flatMap(Int.init)
    let seed: UInt64 = seconds == nil ? 20_261_130 : UInt64(Date().timeIntervalSince1970)
    if seconds != nil { print("fuzzing with seed \(seed)") }
    var random = SplitMix64(seed: seed)
    let world = try await GatewayWorld()
    try await world.makeZone()
    let targets =
      VirgaWire.Operation.allCases.flatMap { operation in
        DatabaseScope.allCases.map { world.path(operation, scope: $0) }
      }
      + ["schema/import?container=iCloud.f", "schema/validate?container=iCloud.f", "faults", "operate", "history"]
      .map { "/virga/1/\($0)" }
      + ["/virga/1/challenge", "/virga/1/enrol", "/virga/1/session", "/assets/1/upload?t=a.b", "/push/1/x", "/metrics"]
    let end = seconds.map { ContinuousClock.now + .seconds($0) }
    var round = 0
    while end.map({ ContinuousClock.now < $0 }) ?? (round < 4_000) {
      round += 1
      var target = targets[Int(random.next() % UInt64(targets.count))]
      if random.next() % 4 == 0 {
        target = "/" + String(decoding: Self.mutate(Array(target.utf8.dropFirst()), &random), as: UTF8.self)
      }
      // What waits for a notification would wait.
      if target.hasPrefix("/push/") && target.utf8.count > 60 { continue }
      var body = Array(Self.bodies[Int(random.next() % UInt64(Self.bodies.count))].utf8)
      if random.next() % 8 != 0 { body = Self.mutate(body, &random) }
      let method = ["POST", "POST", "POST", "GET", "PUT", "DELETE"][Int(random.next() % 6)]
      let head = HTTPRequestHead(
        method: method, target: target,
        headers: HTTPHeaders([
          ("Host", "127.0.0.1"), ("X-Virga-Session", world.session),
          ("X-Virga-Operator", world.front.secrets.operatorToken), ("X-Virga-Extensions", "\(random.next() % 2)"),
        ]))
      let answer = await world.front.exchange(HTTPRequest(head: head, body: .bytes(body)))
      let shown = "seed \(seed), round \(round): \(method) \(target) \(String(decoding: body, as: UTF8.self))"
      #expect((200..<600).contains(answer.status), "\(shown)")
      #expect(answer.status != 500, "\(shown)")
      // Faults that were taken would act on what follows.
      world.front.faults.clear()
    }
    #expect(round > 1_000)
  }
}
