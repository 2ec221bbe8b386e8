import Foundation

/// Lets one process at a time sync a diary. The lock goes with the process, however it ends.
final class SyncLock: Sendable {
  private let descriptor: Int32

  /// `nil` if another process holds it. One that merely looks holds it for an instant, which is waited for.
  init?(_ path: String) throws(FileError) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError(.open, path) }
    for _ in 0..<10 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      usleep(10_000)
    }
    close(descriptor)
    return nil
  }

  deinit { close(descriptor) }

  static func isHeld(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0
  }
}
