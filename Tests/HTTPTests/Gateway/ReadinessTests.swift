import Glibc
import Synchronization
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// `/healthz` says that the server can read, `/readyz` that it can save.
@Suite struct ReadinessTests {
  private final class MoodyStore: StoreOverMemory {
    let store: MemoryStore
    let error = Mutex<StoreError?>(nil)
    let writes = Mutex(0)

    init(_ store: MemoryStore) { self.store = store }

    func write<Value: Sendable>(
      size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
      completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      writes.withLock { $0 += 1 }
      if let error = error.withLock({ $0 }) { return completion(.failure(error)) }
      store.write(body, completion: completion)
    }
  }

  private func world() async throws -> (GatewayWorld, MoodyStore) {
    let made = Box<MoodyStore?>(nil)
    let world = try await GatewayWorld(over: { memory in
      let store = MoodyStore(memory)
      made.value.withLock { $0 = store }
      return store
    })
    return (world, try #require(made.value.withLock { $0 }))
  }

  @Test(arguments: [StoreError.full("x"), .diskFailed("x"), .busy("x")])
  func aStoreThatCannotSaveIsNotReadyButHealthy(error: StoreError) async throws {
    let (world, store) = try await world()
    let ready = try await world.send("GET", "/readyz")
    #expect(ready.status == 200 && ready.text == #"{"status":"ready"}"#)
    store.error.withLock { $0 = error }
    world.clock.advance(by: Readiness.age)
    let refused = try await world.send("GET", "/readyz")
    #expect(refused.status == 503 && refused.headers["Retry-After"] != nil, "\(refused.text)")
    #expect(try await world.send("GET", "/healthz").status == 200)
    store.error.withLock { $0 = nil }
    #expect(try await world.send("GET", "/readyz").status == 200)
    #expect(try await world.send("POST", "/readyz").status == 405)
    #expect(try world.files(in: "uploads").isEmpty)
  }

  /// Strangers may ask; they make the server save once a second and no more.
  @Test func oneSaveAnswersAllWhoAskWithinASecond() async throws {
    let (world, store) = try await world()
    let before = store.writes.withLock { $0 }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<50 { group.addTask { _ = try? await world.send("GET", "/readyz") } }
    }
    #expect(store.writes.withLock { $0 } == before + 1)
    world.clock.advance(by: Readiness.age - .milliseconds(1))
    _ = try await world.send("GET", "/readyz")
    #expect(store.writes.withLock { $0 } == before + 1)
    world.clock.advance(by: .milliseconds(1))
    _ = try await world.send("GET", "/readyz")
    #expect(store.writes.withLock { $0 } == before + 2)
  }

  /// A folder for uploads that is gone is no place to save.
  @Test func uploadsNeedTheirFolder() async throws {
    let (world, _) = try await world()
    rmdir(world.folder + "/uploads")
    #expect(try await world.send("GET", "/readyz").status == 503)
    mkdir(world.folder + "/uploads", 0o700)
    #expect(try await world.send("GET", "/readyz").status == 200)
  }
}
