import Glibc

/// The file of the write-ahead log.
enum LogFile {
  private static let pieceBytes = 1 << 20
  /// The log takes no more than this part of what is free.
  private static let partOfFreeSpace: Int64 = 64

  /// Makes the file as long as the log may become, with zeros behind what it holds; SQLite takes them for the log's end.
  /// A commit then overwrites blocks that the file has already. If it made the file longer, that too would have to become
  /// durable, which costs a quick disk as much again.
  ///
  /// Nobody may write to the log meanwhile. Only speed depends on it: the file stays shorter on a disk that is nearly
  /// full, that fails, or that is not done when `time` is over.
  static func makeRoom(_ path: String, bytes: Int64, within time: Duration) {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    defer { close(file) }
    var space = statvfs()
    guard fstatvfs(file, &space) == 0,
      Int64(clamping: space.f_bavail) / partOfFreeSpace >= bytes / Int64(clamping: max(1, space.f_frsize))
    else { return }
    let end = ContinuousClock.now + time
    let zeros = [UInt8](repeating: 0, count: pieceBytes)
    var length = Int64(lseek(file, 0, SEEK_END))
    while length >= 0, length < bytes, ContinuousClock.now < end {
      let count = pwrite(file, zeros, Int(min(Int64(pieceBytes), bytes - length)), off_t(length))
      // Piece by piece, since a later commit would have to wait for whatever is not on the disk yet.
      guard count > 0, fdatasync(file) == 0 else { return }
      length += Int64(count)
    }
  }
}
