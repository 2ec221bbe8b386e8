import Glibc
import Synchronization
import TestSupport
import Testing
import VirgaModel
import VirgaSQLite
import VirgaServer
import VirgaServerSQLite

/// What only a store on a disk promises.
struct StoreSQLiteTests {
  let folder = TemporaryFolder()
  var database: String { folder.path + "/virga.sqlite" }

  func open(_ options: SQLiteStore.Options = .init()) throws -> SQLiteStore {
    try SQLiteStore(folder: folder.path, options: options)
  }

  /// A store with a few rows, closed.
  func fill(records: Int = 3) async throws {
    let store = try open()
    try await store.writing { transaction in
      let zone = try transaction.makeZone()
      for number in 1...records {
        let fields = String(repeating: "x", count: 500)
        try transaction.save(stored(RecordName("r\(number)"), Int64(number), fields: fields), in: zone)
      }
    }
    store.close()
  }

  /// Why the store does not open.
  func refusal() throws -> StoreError {
    try #require(throws: StoreError.self) { try self.open() }
  }

  // MARK: Opening

  @Test func whatWasWrittenIsThereAfterReopening() async throws {
    try await fill()
    let store = try open()
    let zone = try #require(try await store.reading { try $0.zone("Notes", in: diary) })
    #expect(try await store.reading { try $0.changes(in: zone).map(\.name) } == ["r1", "r2", "r3"])
    #expect(try await store.writing { try $0.record("r2", in: zone)?.modified } == stamp(2))
  }

  @Test func theFolderIsCreatedWithItsParents() async throws {
    let store = try SQLiteStore(folder: folder.path + "/some/where/else")
    store.close()
    #expect(access(folder.path + "/some/where/else/virga.sqlite", R_OK) == 0)
  }

  @Test func aSecondStoreOnTheFolderIsRefused() throws {
    let store = try open()
    guard case .inUse(let text) = try refusal() else {
      Issue.record("another error")
      return
    }
    #expect(text == "another server uses the data folder \(folder.path) (process \(getpid()))")
    store.close()
    try open().close()
  }

  @Test func aFolderThatCannotBeMadeIsUnwritable() throws {
    folder.write("", to: "file")
    let error = #expect(throws: StoreError.self) { try SQLiteStore(folder: folder.path + "/file/data") }
    #expect(error == .unwritable("cannot create the data folder \(folder.path)/file/data: Not a directory"))
  }

  @Test func aFolderOfANewerVersionIsRefusedAndLeftAsItIs() async throws {
    try await fill()
    try Connection(path: database).execute("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE")
    #expect(try refusal() == .newerVersion(found: 99, known: 9))
    let mode = try Connection(path: database).first("PRAGMA journal_mode") { $0.text(0) }
    #expect(mode == "delete")
  }

  @Test func aDatabaseOfAnotherProgramIsRefused() throws {
    try Connection(path: database).execute("CREATE TABLE notes (text)")
    #expect(try refusal() == .damaged("\(database) belongs to another program"))
  }

  @Test func aFileOfAnotherKindIsDamaged() throws {
    folder.write(String(repeating: "not a database. ", count: 300), to: "virga.sqlite")
    #expect(try refusal() == .damaged("\(database) is not an SQLite database: restore a backup"))
  }

  @Test func aTruncatedFileIsDamaged() async throws {
    try await fill(records: 500)
    var status = stat()
    #expect(stat(database, &status) == 0)
    #expect(truncate(database, status.st_size / 2) == 0)
    #expect(
      try refusal() == .damaged("\(database) is damaged (database disk image is malformed): restore a backup"))
  }

  @Test func anEmptyOrMissingFileIsNotTakenForANewStore() async throws {
    try await fill()
    #expect(truncate(database, 0) == 0)
    #expect(
      try refusal() == .damaged("\(database) is empty: put it back from a backup, or empty the folder to start fresh"))
    #expect(unlink(database) == 0)
    #expect(
      try refusal() == .damaged("\(database) is missing: put it back from a backup, or empty the folder to start fresh")
    )
    #expect(unlink(folder.path + "/lock") == 0)
    try open().close()
  }

  /// The size of a page, and the numbers of those where tables and indexes begin.
  private func pages() throws -> (size: Int, roots: [Int]) {
    let connection = try Connection(path: database)
    let size = try connection.first("PRAGMA page_size") { $0.int(0) } ?? 0
    return (size, try connection.query("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0") { $0.int(0) })
  }

  @Test func damageFoundLaterIsAnErrorOfTheCallAndNotACrash() async throws {
    try await fill(records: 500)
    // The first pages of all tables and indexes are overwritten; what says where they are is not.
    let (size, roots) = try pages()
    let file = Glibc.open(database, O_RDWR)
    let noise = [UInt8](repeating: 0xa5, count: size)
    for root in roots { #expect(pwrite(file, noise, size, off_t((root - 1) * size)) == size) }
    Glibc.close(file)
    let store = try open()
    let error = await #expect(throws: StoreError.self) {
      try await store.reading { try $0.zone("Notes", in: diary) }
    }
    guard case .damaged = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func queuesOfALayoutBeforeGoOn() async throws {
    let store = try open()
    @Sendable func put(_ key: String, in transaction: any WriteTransaction) throws -> Int64 {
      try transaction.append(NotificationRow(pushToken: "t", coalescingKey: key, payload: Array(key.utf8)))
    }
    let last = try await store.writing { (transaction) throws in
      _ = try put("b", in: transaction)
      _ = try put("a", in: transaction)
      return try put("b", in: transaction)
    }
    store.close()
    try Connection(path: database).execute(OldLayout.six)
    let again = try open()
    #expect(try await again.reading { try $0.notifications(for: "t", limit: 9).map(\.coalescingKey) } == ["a", "b"])
    let next = try await again.writing { try put("c", in: $0) }
    #expect(next > last, "a number is not given twice")
    again.close()
  }

  @Test func historiesOfALayoutBeforeGoOn() async throws {
    let store = try open()
    let zone = try await store.writing { (transaction) throws in
      let zone = try transaction.makeZone()
      var sequence: Int64 = 0
      for name in ["a", "b", "c"] as [RecordName] {
        for _ in 0..<14 {
          sequence += 1
          try transaction.save(stored(name, sequence), in: zone, keepsVersion: sequence % 5 != 0)
        }
      }
      try transaction.save(tombstone("b", sequence + 1), in: zone)
      return zone
    }
    func contents(_ store: SQLiteStore) async throws -> StoreContents {
      try await store.reading { try StoreContents($0, names: ["a", "b", "c"], owners: [], assets: [], tokens: []) }
    }
    let before = try await contents(store)
    store.close()
    try Connection(path: database).execute(OldLayout.six)
    let again = try open()
    #expect(try await contents(again) == before)
    try await again.writing { try $0.save(stored("b", 50), in: zone) }
    let history = try await again.reading { try $0.versions(of: "b", in: zone).map(\.sequence) }
    #expect(history.count == 10 && history.first == 28, "a new life goes on where the one before ended")
    again.close()
  }

  /// Takes a file back to what it was before databases were counted, and before indexes had makers.
  private static let withoutTallies = """
    ALTER TABLE database DROP COLUMN key_bytes; ALTER TABLE database DROP COLUMN zone_count;
    ALTER TABLE database DROP COLUMN past_zone_count; ALTER TABLE database DROP COLUMN history_bytes;
    ALTER TABLE database DROP COLUMN tombstone_count; ALTER TABLE version DROP COLUMN counted_bytes;
    """
  private static let withoutMakers = """
    ALTER TABLE record_index DROP COLUMN maker; ALTER TABLE record_index DROP COLUMN filled_to;
    """

  @Test func aFileWithoutIndexesIsBroughtToTheNewestLayout() async throws {
    try await fill()
    try Connection(path: database).execute(
      """
      \(OldLayout.six) DROP TABLE record_index; DROP TABLE index_entry; ALTER TABLE zone DROP COLUMN deletion_sequence;
      \(Self.withoutTallies) PRAGMA user_version = 2
      """)
    let store = try open()
    let row = try await store.reading { try $0.zone("Notes", in: diary) }
    let zone = try #require(row)
    let definition = IndexDefinition("Entry", .values, [])
    let index = try await store.writing { try $0.makeIndex(definition, of: zone) }
    let found = try await store.reading { try ($0.entries(of: index, in: zone).count, $0.changes(in: zone).count) }
    #expect(found.0 == found.1)
    store.close()
  }

  @Test func whatWasCountedOtherwiseIsCountedAnew() async throws {
    try await fill(records: 3)
    try Connection(path: database).execute(
      """
      \(OldLayout.six) UPDATE zone SET used_bytes = -7; ALTER TABLE zone DROP COLUMN deletion_sequence;
      \(Self.withoutMakers) \(Self.withoutTallies) PRAGMA user_version = 3
      """)
    let store = try open()
    let used = try await store.reading { transaction in
      (try transaction.zone("Notes", in: diary)?.usedBytes, try transaction.database(diary)?.usedBytes)
    }
    #expect(used.0 == 3 * 500 && used.1 == 3 * 500)
    store.close()
  }

  /// A zone that lay deleted before deletions were numbered may be created again after.
  @Test func zonesThatAreDeletedAreBroughtToTheNewestLayout() async throws {
    let store = try open()
    try await store.writing { transaction in
      for name in ["Gone", "Here"] as [ZoneName] {
        var zone = try transaction.makeZone(name)
        zone.databaseSequence = 7
        if name == "Gone" { zone.noteDeletion(.purged, at: 8) }
        try transaction.put(&zone)
      }
    }
    store.close()
    try Connection(path: database).execute(
      """
      \(OldLayout.six) ALTER TABLE zone DROP COLUMN deletion_sequence; \(Self.withoutMakers) \(Self.withoutTallies)
      PRAGMA user_version = 4
      """)
    let again = try open()
    let zones = try await again.reading { try $0.zones(in: diary, after: 0, limit: 10) }
    #expect(zones.map(\.name) == ["Here", "Gone"] && zones.map(\.deletionSequence) == [0, 8])
    #expect(zones.map(\.deletionReason) == [nil, .purged])
    again.close()
  }

  @Test func theLayoutHasItsTables() throws {
    try open().close()
    let connection = try Connection(path: database)
    let tables = try connection.query(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    ) { $0.text(0) }
    #expect(
      tables == [
        "asset", "claim", "database", "entity", "index_entry", "notification", "notification_number", "record",
        "record_index", "reference", "removed_zone", "version", "word", "zone",
      ])
    #expect(try connection.first("PRAGMA user_version") { $0.int(0) } == 9)
    #expect(try connection.first("PRAGMA journal_mode") { $0.text(0) } == "wal")
    #expect(try connection.first("PRAGMA integrity_check") { $0.text(0) } == "ok")
  }

  // MARK: Closing

  @Test func closingPerformsWhatWaitsAndRefusesWhatComesLater() async throws {
    let store = try open()
    let zone = try await store.writing { try $0.makeZone() }
    let done = Atomic(0)
    for number in 1...50 {
      store.write {
        try $0.save(stored(RecordName("r\(number)"), Int64(number)), in: zone)
      } completion: { result in
        if case .success = result { done.add(1, ordering: .relaxed) }
      }
    }
    store.close()
    #expect(done.load(ordering: .relaxed) == 50)
    await #expect(throws: StoreError.closed) { try await store.writing { _ in } }
    await #expect(throws: StoreError.closed) { try await store.reading { _ in } }
    store.close()
    #expect(access(database + "-wal", F_OK) != 0, "the log was moved into the file")
    let reopened = try open()
    #expect(try await reopened.reading { try $0.changes(in: zone).count } == 50)
  }

  @Test func aStoreMayEndInItsOwnCompletion() async throws {
    var store: SQLiteStore? = try open()
    await withCheckedContinuation { continuation in
      store?.write { [store] _ in
        _ = store
      } completion: { _ in
        continuation.resume()
      }
      store = nil
    }
  }

  // MARK: Sharing

  @Test func writesThatWaitTogetherShareOneCommit() async throws {
    let store = try open()
    let zone = try await store.writing { try $0.makeZone() }
    let gate = Gate()
    gate.close(store)
    let before = store.counts.commits
    async let results = withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...40 {
        group.addTask {
          try await store.writing { try $0.save(stored(RecordName("r\(number)"), Int64(number)), in: zone) }
        }
      }
      while store.waitingWriteCount < 40 { await Task.yield() }
      gate.open()
      try await group.waitForAll()
    }
    try await results
    // Those that waited for the gate's body went into its transaction.
    #expect(store.counts.commits - before <= 2)
    #expect(try await store.reading { try $0.changes(in: zone).count } == 40)
  }

  @Test func aBodyThatThrowsIsUndoneAloneWithinItsGroup() async throws {
    struct Stop: Error {}
    let store = try open()
    let zone = try await store.writing { try $0.makeZone() }
    let gate = Gate()
    gate.close(store)
    let failed = Atomic(0)
    let finished = Latch(count: 30)
    for number in 1...30 {
      store.write {
        var row = try #require(try $0.zone("Notes", in: diary))
        row.sequence += 1
        try $0.put(&row)
        try $0.save(stored(RecordName("r\(number)"), row.sequence), in: row)
        if number % 3 == 1 { throw Stop() }
      } completion: { result in
        if case .failure = result { failed.add(1, ordering: .relaxed) }
        finished.open()
      }
    }
    gate.open()
    await finished.opened()
    #expect(failed.load(ordering: .relaxed) == 10)
    let changes = try await store.reading { try $0.changes(in: zone) }
    #expect(changes.map(\.sequence) == Array(1...20))
    #expect(!changes.map(\.name).contains("r1") && changes.map(\.name).contains("r2"))
    #expect(try await store.reading { try $0.zone("Notes", in: diary)?.sequence } == 20)
  }

  @Test func rowsThatAllJobsOfAGroupChangeAreWrittenOnceAndReadAsTheyAreMeanwhile() async throws {
    struct Stop: Error {}
    let store = try open()
    try await store.writing { _ = try $0.makeZone() }
    let gate = Gate()
    gate.close(store)
    let before = store.counts.statements
    let finished = Latch(count: 31)
    let listed = Mutex<[Int64]>([])
    for number in 1...30 {
      store.write {
        var row = try #require(try $0.zone("Notes", in: diary))
        row.sequence += 1
        try $0.put(&row)
        if number == 30 { throw Stop() }
      } completion: { _ in
        finished.open()
      }
    }
    store.write { transaction in
      let rows = try transaction.zones(in: diary, after: -1, limit: 10)
      listed.withLock { $0 = rows.map(\.sequence) }
    } completion: { _ in
      finished.open()
    }
    gate.open()
    await finished.opened()
    #expect(listed.withLock { $0 } == [29])
    #expect(try await store.reading { try $0.zone("Notes", in: diary)?.sequence } == 29)
    // A savepoint and its release for each job, the listing with the row before it, the undoing, and the commit with the row.
    #expect(store.counts.statements - before <= 2 * 31 + 10)
  }

  @Test func tooManyWaitingCallsAreRefused() async throws {
    var options = SQLiteStore.Options()
    options.waitingJobsMax = 3
    let store = try open(options)
    let gate = Gate()
    gate.close(store)
    let refused = Mutex<[StoreError]>([])
    let finished = Latch(count: 5)
    for _ in 1...5 {
      store.write { _ in
      } completion: { result in
        if case .failure(let error as StoreError) = result { refused.withLock { $0.append(error) } }
        finished.open()
      }
    }
    #expect(refused.withLock { $0 } == Array(repeating: .busy("too many calls wait for the store"), count: 2))
    gate.open()
    await finished.opened()
    try await store.writing { _ in }
  }

  @Test func aReaderSeesOneStateWhileOthersWrite() async throws {
    let store = try open()
    let zone = try await store.writing { transaction in
      let zone = try transaction.makeZone()
      try transaction.save(stored("a", 1), in: zone)
      return zone
    }
    let (began, wrote) = (Latch(), Latch())
    async let seen = store.reading { transaction in
      let first = try transaction.changes(in: zone).map(\.sequence)
      began.open()
      wrote.wait()
      return [first, try transaction.changes(in: zone).map(\.sequence)]
    }
    await began.opened()
    try await store.writing { try $0.save(stored("a", 2), in: zone) }
    #expect(
      try await store.reading { try $0.changes(in: zone).map(\.sequence) } == [2], "another reader is not held up")
    wrote.open()
    #expect(try await seen == [[1], [1]])
  }

  // MARK: Costs

  @Test func aPlainCreateCostsTwoStatementsARecord() async throws {
    let store = try open()
    let zone = try await store.writing { transaction in
      let zone = try transaction.makeZone()
      try transaction.save(stored("warm", 1), in: zone)
      return zone
    }
    let before = store.counts
    try await store.writing { transaction in
      var row = try #require(try transaction.zone("Notes", in: diary))
      for number in 1...200 {
        row.sequence += 1
        try transaction.save(stored(RecordName("r\(number)"), row.sequence + 1), in: zone)
      }
      try transaction.put(&row)
    }
    let after = store.counts
    // BEGIN, 200 × (SELECT, INSERT), UPDATE of the zone, COMMIT.
    #expect(after.statements - before.statements == 403)
    #expect(after.commits - before.commits == 1)
  }

  @Test func anUpdateThatKeepsTheVersionCostsThreeStatements() async throws {
    let store = try open()
    let zone = try await store.writing { transaction in
      let zone = try transaction.makeZone()
      try transaction.save(stored("a", 1), in: zone)
      return zone
    }
    let before = store.counts
    try await store.writing { try $0.save(stored("a", 2), in: zone) }
    // BEGIN, SELECT, INSERT of the version, DELETE of versions beyond the limit, UPDATE, COMMIT; and an UPDATE of what the
    // database counts, which a save writes with the database's row.
    #expect(store.counts.statements - before.statements == 6)
  }

  @Test(arguments: [BodySize.any, .small])
  func theLogIsBoundedWhileWritesGoOn(size: BodySize) async throws {
    var options = SQLiteStore.Options()
    options.logPagesBeforeCheckpoint = 50
    options.logPagesMax = 200
    let store = try open(options)
    let zone = try await store.writing { try $0.makeZone() }
    for batch in 0..<60 {
      try await store.writing(size: size) { transaction in
        for number in 1...20 {
          let sequence = Int64(batch * 20 + number)
          let fields = String(repeating: "y", count: 2_000)
          try transaction.save(stored(RecordName("r\(sequence)"), sequence, fields: fields), in: zone)
        }
      }
    }
    var status = stat()
    #expect(stat(database + "-wal", &status) == 0)
    #expect(status.st_size < 2 * 200 * 8_216, "the log has \(status.st_size) bytes")
    #expect(store.counts.checkpoints > 0)
    #expect(store.counts.failedCheckpoints == 0)
  }
}

/// Keeps the writer busy until `release` is called, so that jobs pile up behind it.
final class Gate: Sendable {
  private let entered = Latch()
  private let released = Latch()

  func close(_ store: SQLiteStore) {
    store.write { [entered, released] _ in
      entered.open()
      released.wait()
    } completion: { _ in
    }
    entered.wait()
  }

  func open() { released.open() }
}

/// Opens after `count` calls; threads and tasks wait for it.
final class Latch: Sendable {
  private struct State {
    var count: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>
  private let semaphore = Semaphore()

  init(count: Int = 1) { state = Mutex(State(count: count)) }

  func open() {
    let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
      state.count -= 1
      if state.count > 0 { return nil }
      defer { state.waiting = [] }
      return state.waiting
    }
    guard let waiting else { return }
    semaphore.signal()
    for continuation in waiting { continuation.resume() }
  }

  /// Blocks the thread: for bodies on a store's own threads.
  func wait() { semaphore.wait() }

  func opened() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if state.count > 0 { state.waiting.append(continuation) }
        return state.count <= 0
      }
      if isOpen { continuation.resume() }
    }
  }
}

/// A POSIX semaphore that stays open once signalled.
private final class Semaphore: @unchecked Sendable {
  // The system guards its own state.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func signal() { sem_post(semaphore) }

  func wait() {
    while sem_wait(semaphore) != 0 {}
    sem_post(semaphore)
  }
}
