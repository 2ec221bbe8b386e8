import Foundation

/// A file could not be read or written.
package struct FileError: Error, Hashable, CustomStringConvertible {
  package enum Action: String, Sendable { case open, read, write, rename, make, list }

  package var action: Action
  package var path: String
  /// The system's own words, where it refused.
  package var reason: String
  /// The system's number for it; 0 where it did not refuse.
  package var errorNumber: Int32 = 0

  package var description: String { "\(path): \(reason)" }

  package var isDiskFull: Bool { errorNumber == ENOSPC || errorNumber == EDQUOT }

  package init(_ action: Action, _ path: String, errorNumber: Int32 = errno) {
    self.action = action
    self.path = path
    reason = String(cString: strerror(errorNumber))
    self.errorNumber = errorNumber
  }

  package init(_ action: Action, _ path: String, reason: String) {
    self.action = action
    self.path = path
    self.reason = reason
  }
}

/// An open file, closed when it goes out of use.
struct FileHandleOwned: ~Copyable {
  let descriptor: Int32

  /// Says what is wrong with a file that a path leads to, before anything waits for its content.
  static func check(_ path: String) throws(FileError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw FileError(.open, path) }
    guard [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else { throw FileError(.open, path, reason: device) }
  }

  private static let device = "it is a pipe or a device"

  init(reading path: String) throws(FileError) {
    // Neither a link nor a pipe or device: what is imported comes from other people.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw errno == ELOOP ? FileError(.open, path, reason: "it is a link") : FileError(.open, path)
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError(.open, path) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return
    case S_IFDIR: throw FileError(.open, path, errorNumber: EISDIR)
    default: throw FileError(.open, path, reason: Self.device)
    }
  }

  init(creating path: String) throws(FileError) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileError(.open, path) }
  }

  deinit { close(descriptor) }

  /// The descriptor, which the caller closes.
  consuming func released() -> Int32 {
    let descriptor = descriptor
    discard self
    return descriptor
  }

  /// Fills the buffer as far as the file goes; 0 at its end.
  func read(into buffer: UnsafeMutableRawBufferPointer, path: String) throws(FileError) -> Int {
    try Self.read(descriptor, into: buffer, path: path)
  }

  static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, path: String
  ) throws(FileError) -> Int {
    while true {
      let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
      if count >= 0 { return count }
      guard errno == EINTR else { throw FileError(.read, path) }
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, path: String) throws(FileError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
      if count > 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      } else if errno != EINTR {
        throw FileError(.write, path)
      }
    }
  }

  func synchronize(path: String) throws(FileError) {
    guard fsync(descriptor) == 0 else { throw FileError(.write, path) }
  }
}

enum Folder {
  /// Makes a folder that only its owner can enter, and those above it.
  static func make(_ path: String) throws(FileError) {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, let end = path.lastIndex(of: "/"), end != path.startIndex else {
      throw FileError(.make, path)
    }
    try make(String(path[..<end]))
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileError(.make, path) }
  }

  /// Makes the names in a folder durable.
  static func synchronize(_ path: String) throws(FileError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(.open, path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileError(.write, path) }
  }

  /// The names in a folder, in the order of their bytes.
  static func names(in path: String) throws(FileError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    } catch {
      throw FileError(.list, path, errorNumber: access(path, R_OK | X_OK) == 0 ? EIO : errno)
    }
  }

  static func exists(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Removes what is temporary; a leftover is found and removed by the next start.
  static func remove(_ path: String) {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      return
    }
  }
}
