import Foundation

/// A folder for the time that something takes. It goes with its owner; what a process that was killed left is found by the next
/// one, as nobody holds it any more.
final class ScratchFolder {
  let path: String
  private let descriptor: Int32

  init(_ path: String) throws(FileError) {
    self.path = path
    try Folder.make(path)
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw FileError(.open, path) }
  }

  deinit {
    Folder.remove(path)
    close(descriptor)
  }

  /// How long something is young, and may be about to be held.
  private static let youthSeconds: Int64 = 60

  /// Whether what lies there was left by a process that is gone.
  static func isLeft(_ path: String, at now: Moment) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0,
      Int64(status.st_mtim.tv_sec) + youthSeconds < now.milliseconds / 1000
    else { return false }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }
}
