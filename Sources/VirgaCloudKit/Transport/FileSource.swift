import Foundation
import VirgaAuth

/// A file that is being uploaded. While it is open, that it is moved or deleted does no harm.
///
/// One user at a time: whoever saves hands it to the transport and waits for the answer.
package final class FileSource: @unchecked Sendable {
  // Unchecked because the hand-over between the two is ordered by the transport's queue and continuation.
  package enum Failure: Error, Hashable, CustomStringConvertible {
    case notFound, modified

    package var description: String { self == .notFound ? "the file cannot be read" : "the file has changed" }
  }

  /// What tells that a file is still the same, and has the same bytes.
  struct Version: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
    var size: Int64
    var modifiedSeconds: Int
    var modifiedNanoseconds: Int

    /// nil for what is not a plain file.
    init?(_ descriptor: Int32) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { return nil }
      self.init(status)
    }

    init?(path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      self.init(status)
    }

    private init?(_ status: stat) {
      guard status.st_mode & S_IFMT == S_IFREG else { return nil }
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
      size = Int64(status.st_size)
      modifiedSeconds = status.st_mtim.tv_sec
      modifiedNanoseconds = status.st_mtim.tv_nsec
    }
  }

  private let path: String
  let version: Version
  private var descriptor: Int32
  private var offset: Int64 = 0
  private var hash = SHA256()

  /// - Throws: `Failure.notFound` if there is no plain file that can be read.
  package init(path: String) throws(Failure) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .notFound }
    guard let version = Version(descriptor) else {
      close(descriptor)
      throw .notFound
    }
    self.path = path
    self.version = version
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  package var size: Int64 { version.size }

  /// Gives the file another name; answers whether it has that name, and is still the file that was opened.
  func link(to name: String) -> Bool {
    guard linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 else { return false }
    let linked = open(name, O_RDONLY | O_CLOEXEC)
    defer { if linked >= 0 { close(linked) } }
    if linked >= 0, Version(linked) == version { return true }
    unlink(name)
    return false
  }

  /// Whether the file has no other name than this one, so that it is nobody else's.
  var isNamedOnce: Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_nlink == 1
  }

  /// Closes the file until it is read: a process may hold only so many open. It then has to be there still.
  package func release() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  /// Starts over.
  package func rewind() {
    offset = 0
    _ = hash.finish()
    if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC) }
  }

  /// Fills the buffer with the bytes that come next.
  /// - Returns: How many; 0 at the end, which is where `size` says; `nil` if the file cannot be read.
  package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let wanted = min(buffer.count, Int(size - offset))
    guard wanted > 0 else { return 0 }
    let count = pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
    guard count > 0 else { return nil }
    hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    offset += Int64(count)
    return count
  }

  /// The digest of the bytes read, once all were. Closes the file.
  /// - Throws: `Failure.modified` if the file is not what it was at first.
  package func finish() throws(Failure) -> [UInt8] {
    defer { release() }
    guard offset == size, Version(descriptor) == version else { throw .modified }
    return hash.finish()
  }
}
