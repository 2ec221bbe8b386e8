import Synchronization

/// The cache folders that this process has cleaned.
final class CleanedFolders: Sendable {
  private let paths = Mutex<Set<String>>([])

  /// Answers whether the folder is new.
  func insert(_ path: String) -> Bool { paths.withLock { $0.insert(path).inserted } }
}
