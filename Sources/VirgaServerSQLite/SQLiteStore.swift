import Synchronization
import VirgaSQLite
public import VirgaServer

/// A store in one SQLite file, written by one thread and read by a few.
///
/// Writes that wait at the same time share a transaction and its one durable commit; see `Writer`. Completions are
/// called on the store's threads: they hand over and return.
public final class SQLiteStore: Store {
  public struct Options: Sendable {
    /// Threads that read, each with a connection.
    public var readerCount = 2
    /// Bodies that may wait for the writer or for the readers; more are refused with `.busy`.
    public var waitingJobsMax = 8_192
    /// Bodies that share one commit at most, and after which time no further one joins them.
    public var jobsPerCommitMax = 256
    public var timePerCommitMax: Duration = .milliseconds(30)
    /// Pages of the write-ahead log after which they are moved to the file from the side, and after which the writer
    /// itself does what remains, so that the log begins anew.
    public var logPagesBeforeCheckpoint = 1_000
    public var logPagesMax = 4_000
    /// How long opening the store may take to make room for the log, which pays for whoever writes often.
    public var logRoomTime: Duration = .zero
    /// Up to how long commits and small reads may take lately for small bodies to run on the threads of their callers.
    public var quickTime: Duration = .milliseconds(1)
    /// Told of what takes a while when the store is opened.
    public var note: @Sendable (String) -> Void = { _ in }

    public init() {}
  }

  /// What was done since the store was opened.
  public struct Counters: Hashable, Sendable {
    public var reads = 0
    public var writes = 0
    public var commits = 0
    /// Statements begun, those that only delimit transactions too.
    public var statements = 0
    /// Rows that statements gave.
    public var rows = 0
    public var checkpoints = 0
    public var failedCheckpoints = 0
  }

  private let folder: DataFolder
  private let state: StoreState
  private let writes: JobQueue<WriteJob>
  private let reads: JobQueue<ReadJob>
  private let checkpoints: JobQueue<Void>
  /// The writer's thread is the last one.
  private let threads: Mutex<[WorkerThread]>
  /// Reads on the threads of callers; `nil` once the store is closed.
  private let callers: Mutex<Reader?>
  /// Belongs to whoever has the turn of `writes`.
  nonisolated(unsafe) private var writer: Writer?

  /// Opens the store in a folder, which is created if it is missing, and brings it to the newest layout.
  /// - Throws: `StoreError`: `.inUse`, `.unwritable`, `.damaged`, `.newerVersion` or `.full`.
  public init(folder path: String, options: Options = Options()) throws {
    let folder = try DataFolder(path)
    try folder.checkFile()
    try folder.noteBeginning()
    do {
      let connection = try Self.openWriter(folder, options.note)
      Self.makeShrinkable(connection, folder, options.note)
      try folder.noteStore()
      LogFile.makeRoom(
        folder.databasePath + "-wal", bytes: Int64(options.logPagesMax) * Self.frameBytes, within: options.logRoomTime)
      let state = StoreState(quickTime: options.quickTime)
      let writes = JobQueue<WriteJob>(capacity: options.waitingJobsMax)
      let reads = JobQueue<ReadJob>(capacity: options.waitingJobsMax)
      let checkpoints = JobQueue<Void>(capacity: 1)
      let readers = try (0..<max(1, options.readerCount)).map { _ in
        Reader(try Self.openReader(folder), queue: reads, state: state)
      }
      let callersReader = Reader(try Self.openReader(folder), queue: reads, state: state)
      let checkpointer = Checkpointer(try Self.openCheckpointer(folder), queue: checkpoints, state: state)
      nonisolated(unsafe) let writer = Writer(
        connection, queue: writes, checkpoints: checkpoints, state: state, options: options)
      var threads = readers.map { reader in
        nonisolated(unsafe) let reader = reader  // Used by its thread alone from here on.
        return WorkerThread("virga-read") { reader.run() }
      }
      threads.append(WorkerThread("virga-tidy") { checkpointer.run() })
      threads.append(WorkerThread("virga-write") { writer.run() })
      self.threads = Mutex(threads)
      callers = Mutex(callersReader)
      self.writer = writer
      self.folder = folder
      self.state = state
      self.writes = writes
      self.reads = reads
      self.checkpoints = checkpoints
    } catch MigrationError.newerVersion(let found, let known) {
      throw StoreError.newerVersion(found: found, known: known)
    } catch MigrationError.foreign {
      throw StoreError.damaged("\(folder.databasePath) belongs to another program")
    } catch let error as SQLiteError {
      throw Self.openingError(error, folder)
    }
  }

  deinit { close() }

  public func read<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any ReadTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let job = ReadJob(isSmall: size == .small) { transaction in
      let result = Result { try body(transaction) }
      return { completion(result.mapError(StoreError.translating)) }
    } fail: {
      completion(.failure($0))
    }
    if size == .small, state.readsAreQuick, let answer = callers.withLockIfAvailable({ $0?.perform(job) }) ?? nil {
      return answer()
    }
    refuse(reads.push(job), job.fail)
  }

  public func write<Value: Sendable>(
    size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let job = WriteJob { transaction in
      let value = try body(transaction)
      return { completion(.success(value)) }
    } fail: {
      completion(.failure($0))
    }
    if size == .small, writes.tryExclusiveAccess() {
      let answers = writer?.performOnCaller(job)
      writes.releaseExclusiveAccess()
      if let answers {
        for answer in answers { answer() }
        return
      }
    }
    refuse(writes.push(job), job.fail)
  }

  private func refuse<Job>(_ refusal: JobQueue<Job>.Refusal?, _ fail: (any Error) -> Void) {
    switch refusal {
    case .full: fail(StoreError.busy("too many calls wait for the store"))
    case .closed: fail(StoreError.closed)
    case nil: break
    }
  }

  /// Performs what waits, then closes the files; what comes later fails with `.closed`. Returns when all is done,
  /// unless it is called on a thread of the store. Further calls do nothing.
  public func close() {
    let threads = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    guard let writer = threads.last else { return }
    reads.close()
    checkpoints.close()
    for thread in threads.dropLast() { thread.join() }
    callers.withLock { $0 = nil }
    // The last connection to close moves the log into the file, so it must be one that writes.
    writes.close()
    writer.join()
    self.writer = nil
    folder.unlock()
  }

  /// What was done so far; bodies that run are not counted yet.
  public var counts: Counters { state.counts }

  /// Bodies that wait for the writer.
  public var waitingWriteCount: Int { writes.count }

  // MARK: Opening

  private static func openWriter(_ folder: DataFolder, _ note: (String) -> Void) throws -> Connection {
    let connection = try Connection(path: folder.databasePath)
    // Also finds out whether it is a database at all, and whether a part of it is missing.
    try connection.checkLayout(applicationID: Layout.applicationID, known: Layout.migrations.count)
    // A new file can give space back; of an older one this says nothing before it is written anew.
    try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.execute(durable)
    // 8 MB hold the upper pages of the trees of a million records. What else a save needs lies in the system's memory, which
    // others can have when they need it; this process's own they cannot.
    try connection.execute("PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY")
    connection.ownCheckpoints()
    var tenths = -1
    try connection.migrate(applicationID: Layout.applicationID, Layout.migrations) { step, share in
      guard Int(share * 10) > tenths else { return }
      tenths = Int(share * 10)
      note("bringing \(folder.databasePath) to layout \(step): \(tenths * 10) %")
    }
    return connection
  }

  /// From this size on, rewriting a file takes long enough to be mentioned.
  private static let bytesMentioned: Int64 = 16 << 20

  /// Rewrites a file that an earlier version made, so that it can give space back from now on. A stop on the way leaves
  /// it as it was, and so does a disk without room for a second copy; then the next start tries again.
  private static func makeShrinkable(_ connection: Connection, _ folder: DataFolder, _ note: (String) -> Void) {
    do {
      let mode = try connection.first("PRAGMA auto_vacuum") { $0.int(0) }
      guard mode == 0 else { return }
      let pages = try connection.first("PRAGMA page_count") { $0.int64(0) } ?? 0
      let bytes = pages * 4_096
      // A copy beside the file, and the log.
      guard DataFolder.freeBytes(at: folder.databasePath) > 5 * bytes / 2 else {
        return note(
          "\(folder.databasePath) gives no space back before the disk has \(5 * bytes >> 21) MB free to rewrite it")
      }
      if bytes >= bytesMentioned {
        note(
          "rewriting \(folder.databasePath) (\(bytes >> 20) MB) once, so that it can give space back to the disk; you may "
            + "stop this, and the next start does it again from the beginning")
      }
      try connection.execute("PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
      _ = try connection.query("PRAGMA wal_checkpoint(TRUNCATE)") { $0.int(0) }
      if bytes >= bytesMentioned { note("\(folder.databasePath) is rewritten") }
    } catch {
      let why = (error as? SQLiteError)?.message ?? "it cannot be read"
      note("\(folder.databasePath) could not be rewritten, and gives no space back: \(why)")
    }
    do { try connection.execute("PRAGMA temp_store = MEMORY") } catch {
      note("\(folder.databasePath): \(error.message)")
    }
  }

  private static func openReader(_ folder: DataFolder) throws -> Connection {
    let connection = try Connection(path: folder.databasePath, access: .readOnly)
    try connection.execute("PRAGMA cache_size = -4000; PRAGMA temp_store = MEMORY")
    return connection
  }

  private static func openCheckpointer(_ folder: DataFolder) throws -> Connection {
    let connection = try Connection(path: folder.databasePath, access: .readWrite)
    try connection.execute(durable)
    return connection
  }

  /// Each commit is on the disk before it is answered. The log is cut to this size when it begins anew after a burst.
  private static let durable = "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 33554432"

  /// A page in the log, with its head.
  private static let frameBytes: Int64 = 4_096 + 24

  private static func openingError(_ error: SQLiteError, _ folder: DataFolder) -> StoreError {
    let path = folder.databasePath
    return switch error.condition {
    case .corrupt: .damaged("\(path) is damaged (\(error.message)): restore a backup")
    case .notADatabase: .damaged("\(path) is not an SQLite database: restore a backup")
    case .full: .full("no space is left for \(path)")
    case .readOnly, .cannotOpen: .unwritable("\(path) cannot be opened for writing: \(error.message)")
    case .busy: .inUse("\(path) is locked by another program")
    case .syncFailed, .ioFailed, .constraint, .other: StoreError(error)
    }
  }
}
