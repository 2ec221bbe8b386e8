import Synchronization
import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Saves over a version that is not the newest: the answer is the writer's, but the writer need not give it.
struct StaleSaveTests {
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
    let store: CountingStore

    init() async throws {
      let made = Box<CountingStore?>(nil)
      front = try await GatewayWorld(over: { memory in
        let store = CountingStore(memory)
        made.value.withLock { $0 = store }
        return store
      })
      store = try #require(made.value.withLock { $0 })
      _ = try await front.call(
        .zonesModify, #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Diary"}}}]}"#)
    }

    /// - Returns: The first record's result, and how many writes it took.
    func save(
      _ kind: String, tag: ChangeTag? = nil, _ value: Int = 0, type: String = "INT64", zone: String = "Diary"
    ) async throws -> (result: RecordResult, writes: Int) {
      let before = store.writes.withLock { $0 }
      let tag = tag.map { #","recordChangeTag":"\#($0)""# } ?? ""
      let answer = try await front.call(
        .recordsModify,
        #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[{"operationType":"\#(kind)","record":{"recordName":"r","#
          + #""recordType":"Note","fields":{"n":{"value":\#(value),"type":"\#(type)"}}\#(tag)}}]}"#)
      guard case .records(let reply) = try Reply(decoding: answer.body, for: .recordsModify) else {
        throw ServiceError(.internalError, answer.text)
      }
      return (try #require(reply.records.first), store.writes.withLock { $0 } - before)
    }
  }

  private func record(_ result: RecordResult) throws -> RecordEnvelope {
    guard case .record(let record) = result else { throw ServiceError(.internalError, "\(result)") }
    return record
  }

  private func failure(_ result: RecordResult) throws -> RecordFailure {
    guard case .failure(let failure) = result else { throw ServiceError(.internalError, "\(result)") }
    return failure
  }

  @Test(arguments: ["update", "replace", "delete"])
  func aTagThatIsKnownToBeOldIsAnsweredWithoutTheWriter(kind: String) async throws {
    let world = try await World()
    let first = try record(await world.save("create").result)
    let second = try record(await world.save("update", tag: first.tag, 1).result)
    let (stale, writes) = try await world.save(kind, tag: first.tag, 2)
    let failure = try failure(stale)
    #expect(failure.error == ServiceError(.conflict, Reason.staleTag) && writes == 0)
    #expect(failure.serverRecord?.tag == second.tag && failure.serverRecord?.fieldsJSON == second.fieldsJSON)
    // With the tag that the answer brought it is saved.
    let third = try record(await world.save("update", tag: failure.serverRecord?.tag, 3).result)
    #expect(third.tag != second.tag)
  }

  /// What is remembered is no more than a hint.
  @Test func whatIsNoConflictAnyMoreGoesToTheWriter() async throws {
    let world = try await World()
    let first = try record(await world.save("create").result)
    _ = try await world.save("update", tag: first.tag, 1)
    _ = try await world.save("forceDelete")
    let (gone, writes) = try await world.save("update", tag: first.tag, 2)
    #expect(try failure(gone).error.code == .notFound && writes == 1)
    _ = try await world.front.call(
      .zonesModify, #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Other"}}}]}"#)
    let other = try await world.save("update", tag: first.tag, zone: "Other")
    #expect(other.writes == 1)
  }

  /// A save that is in conflict and spoilt besides is told of what the writer would have looked at first.
  @Test func theWritersOrderOfRefusalsStays() async throws {
    let world = try await World()
    let first = try record(await world.save("create").result)
    _ = try await world.save("update", tag: first.tag, 1)
    let (spoilt, _) = try await world.save("update", tag: first.tag, 2, type: "STRING")
    #expect(try failure(spoilt).error.code == .badRequest)
  }
}
