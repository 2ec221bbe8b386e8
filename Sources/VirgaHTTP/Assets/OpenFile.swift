import Glibc

/// A file descriptor that is closed with its owner.
struct OpenFile: ~Copyable {
  let descriptor: Int32
  private let path: String

  private static let blockBytes = 1 << 20

  init(_ path: String, _ flags: Int32) throws(AssetFolderError) {
    descriptor = open(path, flags | O_CLOEXEC, 0o600)
    self.path = path
    guard descriptor >= 0 else { throw .last(path) }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  var size: Int64 {
    get throws(AssetFolderError) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw .last(path) }
      return Int64(status.st_size)
    }
  }

  /// Makes the bytes durable, with all that is needed to read them.
  borrowing func sync() throws(AssetFolderError) {
    guard fdatasync(descriptor) == 0 else { throw .last(path) }
  }

  /// Calls `body` with the bytes between two places, block by block; the end of the file ends them too.
  borrowing func forEachBlock(
    from start: Int64, to end: Int64, _ body: (UnsafeRawBufferPointer) throws(AssetFolderError) -> Void
  ) throws(AssetFolderError) {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockBytes, alignment: 16)
    defer { block.deallocate() }
    var position = start
    while position < end {
      let count = try read(at: position, into: block, atMost: end - position)
      if count == 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: block[..<count]))
      position += Int64(count)
    }
  }

  /// Reads as much as there is, up to `limit` or the room in `block`; 0 at the end of the file.
  borrowing func read(
    at position: Int64, into block: UnsafeMutableRawBufferPointer, atMost limit: Int64
  ) throws(AssetFolderError) -> Int {
    while true {
      let count = pread(descriptor, block.baseAddress, Int(min(Int64(block.count), limit)), off_t(position))
      if count >= 0 { return count }
      guard errno == EINTR else { throw .last(path) }
    }
  }

  borrowing func write(_ bytes: [UInt8]) throws(AssetFolderError) {
    let error: AssetFolderError? = bytes.withUnsafeBytes { buffer in
      do throws(AssetFolderError) { try write(buffer) } catch { return error }
      return nil
    }
    if let error { throw error }
  }

  borrowing func write(_ bytes: UnsafeRawBufferPointer) throws(AssetFolderError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw .last(path)
      }
    }
  }
}
