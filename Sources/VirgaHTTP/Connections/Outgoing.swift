import CLinux
import Glibc

/// What is left of an answer that the socket did not take at once.
struct Outgoing {
  var head: [UInt8]
  var body: [UInt8] = []
  var file: AnswerFile?
  /// Bytes of head and body that are sent.
  var offset = 0
  /// Bytes sent of all.
  var sent: Int64 = 0
  var began: Instant
  /// What a large body takes of the server's memory.
  var share: AnswerShare?
}

/// A part of a file on its way out.
final class AnswerFile {
  let descriptor: Int32
  var offset: off_t
  var remaining: Int64

  /// Opens the file; `nil` if it is not there or does not hold the part.
  init?(path: String, offset: Int64, length: Int64) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    self.offset = off_t(offset)
    remaining = length
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0, Int64(status.st_size) - offset >= length else { return nil }
  }

  deinit {
    if descriptor >= 0 { Glibc.close(descriptor) }
  }
}
