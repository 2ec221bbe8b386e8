import Foundation
import VirgaAuth

/// A file that is being downloaded into. It is locked, so that nobody else writes to it, until it is placed or given up.
///
/// One user at a time: whoever fetches hands it to the transport and waits for the answer.
package final class FileSink: @unchecked Sendable {
  // Unchecked because the hand-over between the two is ordered by the transport's queue and continuation.
  package let path: String
  private let descriptor: Int32
  private var hash = SHA256()
  package private(set) var size: Int64 = 0
  /// What the source calls this version of the bytes (a strong `ETag`); further parts are asked for only of that one.
  package private(set) var version: String?
  /// More bytes than these are not taken, so that no service can fill the disk.
  package var sizeMax = Int64.max
  /// Why bytes were not written.
  package private(set) var fault: TransportError?

  private static let blockBytes = 1 << 18
  private static let lockTriesMax = 8

  /// Makes a new file.
  package convenience init(path: String) throws(TransportError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .lastFileError(path) }
    self.init(path: path, descriptor: descriptor)
  }

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// The file of that name, which may hold the beginning of the bytes, or a new one; `nil` if it is being written to.
  package static func taking(path: String) throws(TransportError) -> FileSink? {
    for _ in 0..<lockTriesMax {
      let sink = FileSink(path: path, descriptor: open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
      guard sink.descriptor >= 0 else { throw .lastFileError(path) }
      guard flock(sink.descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
      // Who held the lock before may have placed or removed the file since it was opened.
      var opened = stat()
      var named = stat()
      if fstat(sink.descriptor, &opened) == 0, stat(path, &named) == 0, opened.st_ino == named.st_ino { return sink }
    }
    return nil
  }

  /// Takes the bytes that the file holds already for the beginning. Reads them all.
  package func resume() {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockBytes, alignment: 16)
    defer { block.deallocate() }
    while true {
      let count = pread(descriptor, block.baseAddress, block.count, off_t(size))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      hash.update(UnsafeRawBufferPointer(rebasing: block[..<count]))
      size += Int64(count)
    }
  }

  /// Makes ready for an answer's bytes: all of them, or those from where the file ends.
  /// - Returns: Whether the answer brings bytes that fit; one that is no success brings none.
  package func begin(status: Int, contentRange: String?, version: String?) -> Bool {
    switch status {
    case 200:
      guard size == 0 || restart() else { return false }
    case 206:
      let first = contentRange.flatMap { $0.wholeMatch(of: /bytes ([0-9]+)-[0-9]+\/.*/) }.flatMap { Int64($0.output.1) }
      guard first == size else {
        fault = .failed("the service sent a different part of the bytes from the one asked for")
        return false
      }
    default: return false
    }
    self.version = version?.hasPrefix("W/") == true ? nil : version
    return true
  }

  /// Forgets the bytes so far.
  package func restart() -> Bool {
    guard ftruncate(descriptor, 0) == 0 else {
      fault = .lastFileError(path)
      return false
    }
    size = 0
    version = nil
    _ = hash.finish()
    return true
  }

  /// Appends the bytes; answers whether all of them were written.
  package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard size + Int64(bytes.count) <= sizeMax else {
      fault = .failed("the service sent more bytes than an asset has")
      return false
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      let place = off_t(size) + off_t(bytes.count - rest.count)
      let count = pwrite(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, place)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else {
        fault = .lastFileError(path)
        return false
      }
      rest = rest.dropFirst(count)
    }
    hash.update(bytes)
    size += Int64(bytes.count)
    return true
  }

  /// The digest of all bytes; after it no more can be written.
  package func finish() -> [UInt8] { hash.finish() }

  /// Gives the file its name, durably: a file of that name is whole, also after a power cut. Waits for the disk.
  package func place(at name: String) throws(TransportError) {
    guard fdatasync(descriptor) == 0, rename(path, name) == 0 else { throw .lastFileError(name) }
  }

  /// Removes the file.
  package func discard() { unlink(path) }
}

extension TransportError {
  fileprivate static func lastFileError(_ path: String) -> TransportError {
    let code = errno
    let reason = "cannot write \(path): \(String(cString: strerror(code)))"
    return code == ENOSPC || code == EDQUOT ? .diskFull(reason) : .file(reason)
  }
}
