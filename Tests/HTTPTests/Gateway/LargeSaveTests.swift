import Synchronization
import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Saves with hundreds of records, which threads of their own read.
struct LargeSaveTests {
  /// A store that counts its writes.
  private final class CountingStore: StoreOverMemory {
    let store: MemoryStore
    let writes = Mutex(0)

    init(_ store: MemoryStore) { self.store = store }

    func write<Value: Sendable>(
      size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
      completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      writes.withLock { $0 += 1 }
      store.write(body, completion: completion)
    }
  }

  private struct World {
    let front: GatewayWorld
    let writes: @Sendable () -> Int

    init() async throws {
      let made = Box<CountingStore?>(nil)
      front = try await GatewayWorld(over: { memory in
        let store = CountingStore(memory)
        made.value.withLock { $0 = store }
        return store
      })
      let store = try #require(made.value.withLock { $0 })
      writes = { store.writes.withLock { $0 } }
      _ = try await front.call(
        .zonesModify, #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Diary"}}}]}"#)
    }

    func save(_ body: String) async throws -> (answer: GatewayWorld.Answer, writes: Int) {
      let before = writes()
      let answer = try await front.call(.recordsModify, body)
      return (answer, writes() - before)
    }

    /// Records in the zone, by lookup of all names that the tests use.
    func count() async throws -> Int {
      let names = (0..<400).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ",")
      let answer = try await front.call(
        .recordsLookup, #"{"zoneID":{"zoneName":"Diary"},"desiredKeys":[],"records":[\#(names)]}"#)
      return answer.text.components(separatedBy: #""recordChangeTag""#).count - 1
    }
  }

  private static let filler = String(repeating: "rain ", count: 60)

  private static func create(_ number: Int, _ fields: String? = nil) -> String {
    let fields = fields ?? #"{"text":{"value":"\#(filler)\#(number)","type":"STRING"}}"#
    return #"{"operationType":"create","record":{"recordName":"r\#(number)","recordType":"Note","fields":\#(fields)}}"#
  }

  private static func body(_ operations: [String], before: String = zone, after: String = "") -> String {
    "{\(before)\"operations\":[\(operations.joined(separator: ","))]\(after)}"
  }

  private static let zone = #""zoneID":{"zoneName":"Diary"},"#

  @Test(arguments: [111, 112, 113, 400]) func allRecordsAreSavedInOneWriteAndInTheirOrder(count: Int) async throws {
    let world = try await World()
    let (answer, writes) = try await world.save(Self.body((0..<count).map { Self.create($0) }))
    #expect(answer.status == 200 && writes == 1)
    guard case .records(let reply) = try Reply(decoding: answer.body, for: .recordsModify) else {
      Issue.record("no records in \(answer.text.prefix(200))")
      return
    }
    let names = reply.records.map { if case .record(let record) = $0 { record.id.name.rawValue } else { "-" } }
    #expect(names == (0..<count).map { "r\($0)" })
    #expect(try await world.count() == count)
  }

  @Test func whatStandsBehindTheOperationsCountsAsMuch() async throws {
    let world = try await World()
    let operations = (0..<200).map { Self.create($0) }
    let (answer, writes) = try await world.save(
      Self.body(operations, before: "", after: #","zoneID":{"zoneName":"Diary"}"#))
    #expect(answer.status == 200 && writes == 1)
    #expect(try await world.count() == 200)
    let inDefault = try await world.front.call(.recordsLookup, #"{"records":[{"recordName":"r0"}]}"#)
    #expect(inDefault.text.contains("NOT_FOUND"))
  }

  @Test func aNameThatIsTakenFailsAloneOrWithAll() async throws {
    let world = try await World()
    _ = try await world.save(Self.body([Self.create(150)]))
    let operations = (0..<200).map { Self.create($0) }
    let (atomic, writes) = try await world.save(Self.body(operations))
    #expect(atomic.text.contains("CONFLICT") && atomic.text.contains("ATOMIC_ERROR") && writes == 1)
    #expect(try await world.count() == 1)
    let (rest, _) = try await world.save(Self.body(operations, before: Self.zone + #""atomic":false,"#))
    #expect(rest.text.contains("CONFLICT") && !rest.text.contains("ATOMIC_ERROR"))
    #expect(try await world.count() == 200)
  }

  static let spoilt: [(String, String)] = [
    ("broken JSON at the end", body((0..<200).map { create($0) }).dropLast(2) + "}"),
    ("an unknown kind", body((0..<199).map { create($0) } + [#"{"operationType":"upsert","record":{}}"#])),
    ("a name twice", body((0..<199).map { create($0) } + [create(3)])),
    ("too many", body((0..<401).map { create($0) })),
    ("operations twice", body((0..<200).map { create($0) }, after: #","operations":[]"#)),
    ("bytes behind the end", body((0..<200).map { create($0) }) + "x"),
  ]

  @Test(arguments: spoilt) func whatSpoilsTheRequestLeavesNothing(name: String, body: String) async throws {
    let world = try await World()
    let (answer, _) = try await world.save(body)
    #expect(answer.status == 400, "\(name): \(answer.text.prefix(200))")
    #expect(answer.text.contains("BAD_REQUEST"))
    #expect(try await world.count() == 0)
    let (next, _) = try await world.save(Self.body((0..<100).map { Self.create($0) }))
    #expect(next.status == 200)
  }

  @Test func aRecordThatIsRefusedIsTold() async throws {
    let world = try await World()
    let bad = Self.create(170, #"{"text":{"value":7,"type":"INT64"}}"#)
    let operations = (0..<200).map { $0 == 170 ? bad : Self.create($0) }
    let (answer, _) = try await world.save(Self.body(operations, before: Self.zone + #""atomic":false,"#))
    #expect(answer.status == 200 && answer.text.contains("invalid attempt to set value type"))
    #expect(try await world.count() == 199)
  }
}
