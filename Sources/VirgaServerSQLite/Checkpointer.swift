import VirgaSQLite

/// Moves pages from the write-ahead log into the file, beside the writer and not inside its commits.
final class Checkpointer {
  private let connection: Connection
  private let queue: JobQueue<Void>
  private let state: StoreState

  init(_ connection: Connection, queue: JobQueue<Void>, state: StoreState) {
    self.connection = connection
    self.queue = queue
    self.state = state
  }

  /// Returns once the queue is closed and empty.
  func run() {
    while !queue.take(atMost: 1).isEmpty { connection.checkpoint(state) }
  }
}

extension Connection {
  /// A checkpoint that fails loses nothing: the log keeps all, and the next one tries again.
  func checkpoint(_ state: StoreState) {
    do {
      try checkpoint()
      state.count { $0.checkpoints += 1 }
    } catch {
      if error.condition == .syncFailed { state.noteDiskFailure() }
      state.count { $0.failedCheckpoints += 1 }
    }
  }
}
