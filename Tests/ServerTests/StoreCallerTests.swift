import Glibc
import Synchronization
import Testing
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// Small bodies that run on the thread of their caller, which may block.
struct StoreCallerTests {
  let folder = TemporaryFolder()
  let store: SQLiteStore
  let zone: ZoneRow

  init() async throws {
    // A disk of any kind counts as quick, so that what is tested happens.
    var options = SQLiteStore.Options()
    options.quickTime = .seconds(3_600)
    store = try SQLiteStore(folder: folder.path, options: options)
    zone = try await store.writing { try $0.makeZone() }
  }

  /// What came of a body that was given to the store, and on which threads.
  private final class Outcome: Sendable {
    struct Seen {
      var body: pthread_t?
      var result: Result<Int, any Error>?
    }

    let seen = Mutex(Seen())

    func noteBody() { seen.withLock { $0.body = pthread_self() } }
    func note(_ result: Result<Int, any Error>) { seen.withLock { $0.result = result } }

    var isAnswered: Bool { seen.withLock { $0.result != nil } }
    var ranHere: Bool { seen.withLock { $0.body.map { pthread_equal($0, pthread_self()) != 0 } ?? false } }
    func value() throws -> Int? { try seen.withLock { try $0.result?.get() } }
  }

  /// Adds 1 to the zone's sequence, and answers the new one.
  private func count(size: BodySize = .small, throwing error: (any Error)? = nil) -> Outcome {
    let outcome = Outcome()
    store.write(size: size) { transaction in
      outcome.noteBody()
      var row = try #require(try transaction.zone("Notes", in: diary))
      row.sequence += 1
      try transaction.put(&row)
      if let error { throw error }
      return Int(row.sequence)
    } completion: {
      outcome.note($0)
    }
    return outcome
  }

  private func read() -> Outcome {
    let outcome = Outcome()
    store.read(size: .small) { transaction in
      outcome.noteBody()
      return Int(try #require(try transaction.zone("Notes", in: diary)).sequence)
    } completion: {
      outcome.note($0)
    }
    return outcome
  }

  private func sequence() async throws -> Int {
    Int(try #require(try await store.reading(size: .small) { try $0.zone("Notes", in: diary) }).sequence)
  }

  @Test func aWriteOnItsCallersThreadIsAnsweredBeforeTheCallReturns() async throws {
    let before = try await sequence()
    let outcome = count()
    #expect(outcome.isAnswered && outcome.ranHere)
    #expect(try outcome.value() == before + 1)
    #expect(try await sequence() == before + 1, "it was not committed")
    #expect(!count(size: .any).ranHere)
  }

  @Test func aBodyThatThrowsIsUndone() async throws {
    struct Stop: Error {}
    let before = try await sequence()
    let outcome = count(throwing: Stop())
    #expect(outcome.isAnswered && outcome.ranHere)
    #expect(throws: Stop.self) { try outcome.value() }
    #expect(try await store.writing { try $0.zone("Notes", in: diary)?.sequence } == Int64(before))
    #expect(try await store.reading { try $0.zone("Notes", in: diary)?.sequence } == Int64(before))
  }

  @Test func whoComesWhileOthersWriteWaitsBehindThem() async throws {
    let before = try await sequence()
    let gate = Gate()
    gate.close(store)
    let first = count(size: .any)
    let second = count()
    #expect(!second.isAnswered && store.waitingWriteCount == 2, "it did not wait its turn")
    gate.open()
    try await store.writing { _ in }
    #expect(try first.value() == before + 1)
    #expect(try second.value() == before + 2)
  }

  /// What came meanwhile may be large.
  @Test func aCallerPerformsItsOwnWriteOnly() async throws {
    let other = Outcome()
    let mine = Outcome()
    store.write(size: .small) { [store] _ in
      mine.noteBody()
      store.write(size: .small) { _ in
        other.noteBody()
        return 0
      } completion: {
        other.note($0)
      }
      return 0
    } completion: {
      mine.note($0)
    }
    #expect(mine.isAnswered && mine.ranHere)
    try await store.writing { _ in }
    #expect(other.isAnswered && !other.ranHere)
  }

  @Test func aSmallReadRunsOnItsCallersThreadBesideAWriteThatLasts() async throws {
    let gate = Gate()
    gate.close(store)
    // The first one shows how quick the disk is.
    _ = try await store.reading(size: .small) { try $0.databases() }
    let outcome = read()
    #expect(outcome.isAnswered && outcome.ranHere)
    gate.open()
  }

  /// Many threads at once: each body runs once, alone, and on what the one before it left.
  @Test func callersAndTheStoresThreadsTakeTurns() async throws {
    try await store.writing { transaction in
      var row = try #require(try transaction.zone("Notes", in: diary))
      row.sequence = 0
      try transaction.put(&row)
    }
    let numbers = try await withThrowingTaskGroup(of: [Int64].self) { [store] group in
      for task in 0..<8 {
        group.addTask {
          var numbers: [Int64] = []
          for number in 0..<50 {
            numbers.append(
              try await store.writing(size: (task + number) % 3 != 0 ? .small : .any) { transaction in
                var row = try #require(try transaction.zone("Notes", in: diary))
                row.sequence += 1
                try transaction.put(&row)
                return row.sequence
              })
          }
          return numbers
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(numbers.sorted() == Array(1...400))
    #expect(try await store.reading { try $0.zone("Notes", in: diary)?.sequence } == 400)
  }

  @Test func aClosedStoreRefusesThemToo() async throws {
    store.close()
    #expect(throws: StoreError.closed) { try count().value() }
    #expect(throws: StoreError.closed) { try read().value() }
  }
}
