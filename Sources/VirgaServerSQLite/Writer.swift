import VirgaSQLite
import VirgaServer

/// A write that waits. `run` answers what tells the caller of its success, once that is durable.
struct WriteJob: Sendable {
  let run: @Sendable (any WriteTransaction) throws -> @Sendable () -> Void
  let fail: @Sendable (any Error) -> Void
}

/// Performs writes, one after another, in groups: all that wait share one transaction and its one durable commit.
///
/// Each body has a savepoint of its own, so one that throws is undone alone. Nobody is answered before the commit; if
/// that fails, all of the group fail.
///
/// It belongs to whoever has the turn of its queue.
final class Writer {
  private let connection: Connection
  private let queue: JobQueue<WriteJob>
  private let checkpoints: JobQueue<Void>
  private let state: StoreState
  private let options: SQLiteStore.Options
  private let transaction: SQLiteTransaction
  private let clock = ContinuousClock()
  private var pace: GroupPace
  private var pagesAtCheckpoint = 0

  init(
    _ connection: Connection, queue: JobQueue<WriteJob>, checkpoints: JobQueue<Void>, state: StoreState,
    options: SQLiteStore.Options
  ) {
    self.connection = connection
    self.queue = queue
    self.checkpoints = checkpoints
    self.state = state
    self.options = options
    pace = GroupPace(quickTime: options.quickTime)
    transaction = SQLiteTransaction(connection, isWriter: true)
  }

  /// Returns once the queue is closed and empty.
  func run() {
    while let job = queue.acquireExclusiveAccess() {
      let answers = performGroup(startingWith: job)
      // Whoever was answered may come back at once, and finds the turn free.
      let isFull = logIsFull
      if !isFull { queue.releaseExclusiveAccess() }
      for answer in answers { answer() }
      guard isFull else { continue }
      connection.checkpoint(state)
      pagesAtCheckpoint = connection.walPageCount
      queue.releaseExclusiveAccess()
    }
  }

  /// Performs a job on the thread of its caller, who has the turn, and nothing else, if that is quicker than two changes of
  /// thread.
  /// - Returns: What tells the caller; `nil` if the job is one for the writer's thread.
  func performOnCaller(_ job: WriteJob) -> [@Sendable () -> Void]? {
    guard pace.isQuickForOne, !logIsFull else { return nil }
    return performGroup(startingWith: job, isAlone: true)
  }

  // MARK: A group

  /// A job whose writes are in the open transaction.
  private struct Performed {
    let job: WriteJob
    let succeed: @Sendable () -> Void
  }

  /// Performs the job and, unless it is to be alone, those that come meanwhile.
  /// - Returns: What tells the callers.
  private func performGroup(startingWith first: WriteJob, isAlone: Bool = false) -> [@Sendable () -> Void] {
    let (statements, rows) = (connection.statementCount, connection.rowCount)
    let changes = connection.totalChangeCount
    let start = clock.now
    var performed: [Performed] = []
    var answers: [@Sendable () -> Void] = []
    var count = 0
    var next: WriteJob? = first
    var failure: (any Error)?
    while let job = next {
      count += 1
      do {
        do { performed.append(try perform(job, isFirst: performed.isEmpty)) } catch let alone as FailedAlone {
          answers.append { job.fail(alone.error) }
        }
      } catch {
        // The transaction is gone: nothing of this group can be kept.
        failure = error
        answers.append { job.fail(error) }
        break
      }
      if isAlone { break }
      let elapsed = clock.now - start
      if count >= options.jobsPerCommitMax || elapsed >= options.timePerCommitMax { break }
      next = queue.take(atMost: 1, waiting: pace.wait(performedCount: count, elapsed: elapsed)).first
    }
    let commitStart = clock.now
    if failure == nil && !performed.isEmpty { failure = commit() }
    // A commit of nothing says nothing of the disk.
    pace.note(jobCount: count, commit: connection.totalChangeCount == changes ? nil : clock.now - commitStart)
    state.count {
      $0.writes += count
      $0.commits += failure == nil && !performed.isEmpty ? 1 : 0
      $0.statements += connection.statementCount - statements
      $0.rows += connection.rowCount - rows
    }
    for one in performed {
      if let failure { answers.append { one.job.fail(failure) } } else { answers.append(one.succeed) }
    }
    askForCheckpoint()
    return answers
  }

  /// What a job failed with whose writes were undone; the transaction goes on.
  private struct FailedAlone: Error, CustomStringConvertible {
    let error: any Error

    var description: String { "\(error)" }
  }

  /// Performs one job.
  /// - Parameter isFirst: It needs no savepoint then: the transaction itself can be undone.
  /// - Throws: `FailedAlone`; anything else if the transaction cannot go on.
  private func perform(_ job: WriteJob, isFirst: Bool) throws -> Performed {
    if state.diskHasFailed { throw StoreError(Self.diskFailed) }
    do {
      if !connection.isInTransaction { try connection.statement(literal: "BEGIN IMMEDIATE").run() }
      if !isFirst { try connection.statement(literal: "SAVEPOINT job").run() }
    } catch {
      try giveUp(error)
    }
    let changes = connection.totalChangeCount
    let succeed: @Sendable () -> Void
    transaction.begin()
    do {
      succeed = try job.run(transaction)
      transaction.end()
      // A full disk and the like end the whole transaction, whether or not the body lets the error through.
      guard connection.isInTransaction else { throw StoreError.other("the transaction was ended by an error") }
    } catch {
      transaction.end()
      transaction.undoJob(hasWritten: connection.totalChangeCount != changes)
      if !connection.isInTransaction && !isFirst { try giveUp(error) }
      do {
        if isFirst {
          try connection.abandon()
        } else {
          try connection.statement(literal: "ROLLBACK TO job").run()
          try connection.statement(literal: "RELEASE job").run()
        }
      } catch {
        try giveUp(error)
      }
      throw FailedAlone(error: StoreError.translating(error))
    }
    if !isFirst {
      do { try connection.statement(literal: "RELEASE job").run() } catch { try giveUp(error) }
    }
    return Performed(job: job, succeed: succeed)
  }

  /// Answers why it failed, if it did.
  private func commit() -> (any Error)? {
    do {
      try transaction.writeBack()
      try connection.statement(literal: "COMMIT").run()
      return nil
    } catch {
      if let error = error as? SQLiteError, error.condition == .syncFailed { state.noteDiskFailure() }
      do { try giveUp(error) } catch { return error }
    }
  }

  /// Undoes the whole transaction.
  private func giveUp(_ error: any Error) throws -> Never {
    transaction.dropCaches()
    // Undoing may fail too, on a disk that fails; what counts to the callers is the first error.
    try? connection.abandon()
    throw StoreError.translating(error)
  }

  private static let diskFailed = SQLiteError(condition: .syncFailed, code: 0, message: "the disk failed before")

  // MARK: Checkpoints

  /// Whether the log has to begin anew before it grows further.
  private var logIsFull: Bool { connection.walPageCount >= options.logPagesMax }

  private func askForCheckpoint() {
    let pages = connection.walPageCount
    if pages < pagesAtCheckpoint { pagesAtCheckpoint = 0 }
    guard pages - pagesAtCheckpoint >= options.logPagesBeforeCheckpoint else { return }
    // A refusal means that one waits already.
    if checkpoints.push(()) == nil { pagesAtCheckpoint = pages }
  }
}
