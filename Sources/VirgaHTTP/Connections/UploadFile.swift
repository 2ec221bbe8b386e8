import CLinux
import Dispatch
import Glibc
import Synchronization
import VirgaAuth

/// A file that a body is streamed into. Unless it is handed over it goes with the last reference to it.
final class UploadFile {
  private static let number = Atomic<UInt64>(0)
  /// Bytes that go to the disk together while the next ones come, so that little is left for whoever makes the file durable.
  private static let stretchBytes: Int64 = 256 << 10
  /// Handing pages to a disk that is far behind may wait, which a loop must not.
  private static let writeBack = DispatchQueue(label: "virga.upload")

  private let path: String
  private let descriptor: Descriptor
  private var digest: SHA256?
  private var written: Int64 = 0
  private var handedToDisk: Int64 = 0
  private var isHandedOver = false

  /// - Parameter digests: Whether the digest of the bytes is wanted.
  init(in directory: String, digests: Bool = false) throws(HTTPRefusal) {
    var path: String
    var descriptor: Int32
    repeat {
      // Unique by the process and its count; whatever an earlier process with this id left is stepped over.
      let number = Self.number.add(1, ordering: .relaxed).newValue
      path = "\(directory)/upload-\(getpid())-\(number)"
      descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    } while descriptor < 0 && errno == EEXIST
    guard descriptor >= 0 else { throw Self.refusal(errno) }
    self.path = path
    self.descriptor = Descriptor(descriptor)
    digest = digests ? SHA256() : nil
  }

  deinit {
    if !isHandedOver { unlink(path) }
  }

  func append(_ data: Span<UInt8>) throws(HTTPRefusal) {
    let code: Int32? = data.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let count = write(descriptor.number, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return errno }
      }
      digest?.update(buffer)
      return nil
    }
    if let code { throw Self.refusal(code) }
    written += Int64(data.count)
    if written - handedToDisk >= Self.stretchBytes { handToDisk() }
  }

  /// Has the disk begin with what was written. That is a hint and makes nothing durable, so a failure means nothing.
  private func handToDisk() {
    let (start, count) = (handedToDisk, written - handedToDisk)
    handedToDisk = written
    Self.writeBack.async { [descriptor] in
      _ = clinux_begin_writing_back(descriptor.number, off_t(start), off_t(count))
    }
  }

  /// Leaves the file to the caller.
  func handOver() -> StreamedBody {
    isHandedOver = true
    return StreamedBody(path: path, size: written, digest: digest?.finish())
  }

  private static func refusal(_ code: Int32) -> HTTPRefusal {
    code == ENOSPC || code == EDQUOT || code == EFBIG ? .storageFull : .storageFailed
  }
}

/// A descriptor that is closed with the last reference to it.
private final class Descriptor: Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { close(number) }
}
