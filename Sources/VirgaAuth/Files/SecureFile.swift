import Glibc

/// A small file that only its owner may read (mode 0600). It is written whole or not at all.
package struct SecureFile: Sendable {
  package enum Content: Sendable {
    /// Refused if others may read it.
    case secret
    /// Made as privately, but read as it lies: people write it too.
    case settings
  }

  package let path: String
  private let content: Content

  /// Bytes of the largest file that is read; what lies in a home is far smaller.
  private static let sizeBytesMax = 1 << 20

  package init(path: String, content: Content = .secret) {
    self.path = path
    self.content = content
  }

  private var folder: String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  /// The file's bytes; `nil` if there is no such file.
  package func read() throws(SecureFileError) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw .unreadable(path: path, reason: errorText())
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .unreadable(path: path, reason: errorText()) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .unreadable(path: path, reason: "not a file") }
    guard status.st_mode & 0o077 == 0 || content == .settings else {
      throw .tooOpen(path: path, mode: status.st_mode & 0o777)
    }
    guard status.st_size <= Self.sizeBytesMax else { throw .damaged(path: path, reason: "is far too large") }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw .unreadable(path: path, reason: errorText())
      }
      if count == 0 { return bytes }
      bytes += buffer.prefix(count)
    }
  }

  /// Replaces the file; after a crash either the old or the new content is there.
  package func write(_ bytes: [UInt8]) throws(SecureFileError) {
    let draft = try writeDraft(bytes)
    guard rename(draft, path) == 0 else {
      let error = writeError(path)
      unlink(draft)
      throw error
    }
    try syncFolder()
  }

  /// Writes the file unless there is one; of several processes that try at once one succeeds, and none sees half a file.
  /// - Returns: Whether this call made it.
  @discardableResult
  package func create(_ bytes: [UInt8]) throws(SecureFileError) -> Bool {
    let draft = try writeDraft(bytes)
    defer { unlink(draft) }
    // A hard link, unlike a rename, fails if the name is taken.
    if link(draft, path) == 0 {
      try syncFolder()
      return true
    }
    if errno == EEXIST { return false }
    throw writeError(path)
  }

  private func writeDraft(_ bytes: [UInt8]) throws(SecureFileError) -> String {
    let draft = "\(path).\(getpid()).\(Hex.encode(SystemRandom.bytes(6)))"
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw writeError(path) }
    defer { close(descriptor) }
    var start = 0
    while start < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.write(descriptor, buffer.baseAddress.map { $0 + start }, buffer.count - start)
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else {
        let error = writeError(path)
        unlink(draft)
        throw error
      }
      start += count
    }
    guard fsync(descriptor) == 0 else {
      let error = writeError(path)
      unlink(draft)
      throw error
    }
    return draft
  }

  private func syncFolder() throws(SecureFileError) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw writeError(folder) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw writeError(folder) }
  }
}

/// Why the last call did not write a file.
private func writeError(_ path: String) -> SecureFileError {
  errno == ENOSPC || errno == EDQUOT ? .full(path: path) : .unwritable(path: path, reason: errorText())
}

/// The system's text for the error of the last call.
package func errorText() -> String { String(cString: strerror(errno)) }
