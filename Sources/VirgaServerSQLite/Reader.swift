import VirgaSQLite
import VirgaServer

/// A read that waits. `run` never throws: what the body threw is in the answer.
struct ReadJob: Sendable {
  let isSmall: Bool
  let run: @Sendable (any ReadTransaction) -> @Sendable () -> Void
  let fail: @Sendable (any Error) -> Void
}

/// Performs reads on a connection of its own, each on one snapshot. It has a thread, or serves callers on theirs.
final class Reader {
  private let connection: Connection
  private let queue: JobQueue<ReadJob>
  private let state: StoreState
  private let transaction: SQLiteTransaction

  init(_ connection: Connection, queue: JobQueue<ReadJob>, state: StoreState) {
    self.connection = connection
    self.queue = queue
    self.state = state
    transaction = SQLiteTransaction(connection, isWriter: false)
  }

  /// Returns once the queue is closed and empty.
  func run() {
    while let job = queue.take(atMost: 1).first { perform(job)() }
  }

  /// - Returns: What tells the caller.
  func perform(_ job: ReadJob) -> @Sendable () -> Void {
    let start = ContinuousClock.now
    let (statements, rows) = (connection.statementCount, connection.rowCount)
    let answer: @Sendable () -> Void
    do {
      answer = try connection.transaction(.deferred) {
        transaction.begin()
        defer { transaction.end() }
        return job.run(transaction)
      }
    } catch {
      answer = { job.fail(StoreError.translating(error)) }
    }
    state.count {
      $0.reads += 1
      $0.statements += connection.statementCount - statements
      $0.rows += connection.rowCount - rows
    }
    if job.isSmall { state.noteSmallRead(ContinuousClock.now - start) }
    return answer
  }
}
