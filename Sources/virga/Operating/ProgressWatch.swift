import Foundation
import Glibc
import Synchronization
import VirgaCommandLine

/// Looks now and then how far some work is that does not say so itself, on a thread of its own.
final class ProgressWatch: Sendable {
  private let isOver = Mutex(false)

  /// Follows a file that grows.
  /// - Parameter total: What it grows to; `nil` if nobody knows.
  static func file(_ path: String, of total: Int64?, _ meter: ProgressMeter) -> ProgressWatch {
    ProgressWatch {
      var status = stat()
      meter.update(done: stat(path, &status) == 0 ? Int64(status.st_size) : 0, total: total)
    }
  }

  /// Shows that work goes on of which nobody knows how much it is.
  static func time(_ meter: ProgressMeter) -> ProgressWatch {
    ProgressWatch { meter.update(done: 0) }
  }

  private init(_ look: @escaping @Sendable () -> Void) {
    Thread.detachNewThread { [self] in
      while !isOver.withLock(\.self) {
        look()
        usleep(100_000)
      }
    }
  }

  func stop() { isOver.withLock { $0 = true } }
}
