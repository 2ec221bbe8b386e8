import Synchronization
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Queries have their indexes made a step at a time, each in a write of its own.
@Suite struct IndexMakingTests {
  /// Counts the writes, and how many of them were asked for before the one before was done.
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

  /// As many queries at once as would take each other's indexes away for ever.
  @Test(.timeLimit(.minutes(1))) func moreQueriesAtOnceThanAVisitorHasIndexesAllEnd() async throws {
    let (world, writes) = try await world(records: 0)
    let fields = (0..<Limits.indexesPerVisitorMax + 4).map { "f\($0)" }
    let values = fields.map { #""\#($0)":{"value":1,"type":"INT64"}"# }.joined(separator: ",")
    for start in [0, 200] {
      let operations = (start..<start + 200).map {
        #"{"operationType":"create","record":{"recordName":"p\#($0)","recordType":"Trip","fields":{\#(values)}}}"#
      }
      let answer = try await world.send(
        "POST", world.path(.recordsModify, scope: .public),
        Array(#"{"operations":[\#(operations.joined(separator: ","))]}"#.utf8))
      try #require(answer.status == 200, "\(answer.text)")
    }
    func ask(_ field: String) async throws -> GatewayWorld.Answer {
      let filter = #"{"comparator":"NOT_EQUALS","fieldName":"\#(field)","fieldValue":{"value":-5}}"#
      let sort = #"{"fieldName":"\#(field)"}"#
      let query = #"{"query":{"recordType":"Trip","filterBy":[\#(filter)],"sortBy":[\#(sort)]},"resultsLimit":1}"#
      return try await world.send("POST", world.path(.recordsQuery, scope: .public), Array(query.utf8))
    }
    let before = writes()
    let answers = try await withThrowingTaskGroup(of: GatewayWorld.Answer.self) { group in
      for field in fields { group.addTask { try await ask(field) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.allSatisfy { $0.status == 200 || $0.status == 503 }, "\(answers.map(\.text))")
    #expect(answers.count { $0.status == 200 } >= Limits.indexesPerVisitorMax)
    // Each index is begun and filled in two steps.
    #expect(writes() - before <= 4 * fields.count, "\(writes() - before) writes")
    let next = try await ask(fields[fields.count - 1])
    #expect(next.status == 200, "\(next.text)")
  }

  @Test func anIndexThatIsBegunCountsAsAStep() async throws {
    let (world, _) = try await world(records: 250)
    let front = world.front
    front.indexes.charge(
      Limits.indexedRecordsPerUserMax - 250 - 1, "account-phone", "elsewhere", now: world.clock.now)
    #expect(try await world.call(.recordsQuery, query(["n"])).status == 200)
    #expect(throws: ServiceError.self) { try front.indexes.check("account-phone", "z", now: world.clock.now) }
  }

  private func world(records: Int) async throws -> (GatewayWorld, writes: @Sendable () -> Int) {
    let made = Box<CountingStore?>(nil)
    let world = try await GatewayWorld(over: { memory in
      let store = CountingStore(memory)
      made.value.withLock { $0 = store }
      return store
    })
    try await world.makeZone()
    for start in stride(from: 0, to: records, by: 400) {
      _ = try await world.save(
        (start..<min(start + 400, records)).map { number in
          RecordChange(
            name: RecordName("r\(number)"), type: "Trip",
            fields: [
              FieldChange("nights", Field(.int64(Int64(number % 7)))), FieldChange("n", Field(.int64(Int64(number)))),
            ])
        })
    }
    let store = try #require(made.value.withLock { $0 })
    return (world, { store.writes.withLock { $0 } })
  }

  private func query(_ sorts: [String]) -> String {
    let sorts = sorts.map { #"{"fieldName":"\#($0)","ascending":true}"# }.joined(separator: ",")
    let filter = #"{"comparator":"NOT_EQUALS","fieldName":"n","fieldValue":{"value":-5}}"#
    return
      #"{"query":{"recordType":"Trip","filterBy":[\#(filter)],"sortBy":[\#(sorts)]},"zoneID":"Trips","resultsLimit":1}"#
  }

  @Test func eachStepIsAWriteOfItsOwnAndSmall() async throws {
    let count = 3 * Limits.recordsPerIndexStepMax
    let (world, writes) = try await world(records: count)
    let before = writes()
    let answer = try await world.call(.recordsQuery, query(["nights", "n"]))
    #expect(answer.status == 200 && answer.text.contains(#""recordName":"r0""#), "\(answer.text)")
    #expect((4...5).contains(writes() - before), "\(writes() - before) writes: one to begin and one for each step")
    let ready = writes()
    #expect(try await world.call(.recordsQuery, query(["nights", "n"])).status == 200)
    #expect(writes() == ready)
  }

  @Test func whoAskedForTooMuchWaitsAndOthersDoNot() async throws {
    let (world, _) = try await world(records: 300)
    #expect(try await world.call(.recordsQuery, query(["n"])).status == 200)
    let front = world.front
    front.indexes.charge(Limits.indexedRecordsPerUserMax, "account-phone", "elsewhere", now: world.clock.now)
    let refused = try await world.call(.recordsQuery, query(["nights"]))
    #expect(refused.status == 429 && refused.error.retryAfterSeconds ?? 0 > 0, "\(refused.text)")
    #expect(try await world.call(.recordsQuery, query(["n"])).status == 200, "what is there is used")
    front.indexes.charge(Limits.indexedRecordsPerZoneMax, "nobody", "z", now: world.clock.now)
    #expect(throws: ServiceError.self) { try front.indexes.check("other", "z", now: world.clock.now) }
    #expect(throws: Never.self) { try front.indexes.check("other", "y", now: world.clock.now) }
    world.clock.advance(by: .seconds(3_600))
    #expect(try await world.call(.recordsQuery, query(["nights"])).status == 200)
  }
}
