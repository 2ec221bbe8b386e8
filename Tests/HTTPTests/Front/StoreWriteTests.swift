import Synchronization
import Testing
import VirgaModel
import VirgaServer

@testable import VirgaHTTP

/// Answers that are written while their commit is under way.
struct StoreWriteTests {
  /// Lets a test say what becomes of each write.
  private final class MoodyStore: StoreOverMemory {
    enum Mood { case commits, failsToCommit, runsTwice }

    let store = MemoryStore()
    private let mood: Mood

    init(_ mood: Mood) { self.mood = mood }

    func write<Value: Sendable>(
      mayBlock: Bool, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
      completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      switch mood {
      case .commits: store.write(body, completion: completion)
      case .failsToCommit: store.write(body) { _ in completion(.failure(StoreError.full("no space is left"))) }
      case .runsTwice:
        store.write(body) { _ in }
        store.write(body, completion: completion)
      }
    }
  }

  private struct Refusal: Error {}

  @Test func whatWasPreparedIsGivenOnceTheWriteIsDurable() async throws {
    let answer = try await MoodyStore(.commits).write { _ in
      7
    } whileCommitting: {
      "\($0)"
    }
    #expect(answer == "7")
  }

  @Test func nothingPreparedIsGivenIfTheCommitFails() async throws {
    let store = MoodyStore(.failsToCommit)
    await #expect(throws: StoreError.full("no space is left")) {
      try await store.write { _ in
        7
      } whileCommitting: {
        "\($0)"
      }
    }
  }

  @Test func nothingIsPreparedOfABodyThatThrows() async throws {
    let prepared = Atomic(0)
    await #expect(throws: Refusal.self) {
      try await MoodyStore(.commits).write { _ -> Int in
        throw Refusal()
      } whileCommitting: { _ in
        prepared.add(1, ordering: .relaxed)
      }
    }
    #expect(prepared.load(ordering: .relaxed) == 0)
  }

  @Test func ofABodyThatRunsTwiceTheSecondRunCounts() async throws {
    let runs = Atomic(0)
    let answer = try await MoodyStore(.runsTwice).write { _ in
      runs.add(1, ordering: .relaxed).newValue
    } whileCommitting: {
      "run \($0)"
    }
    #expect(answer == "run 2")
  }
}
