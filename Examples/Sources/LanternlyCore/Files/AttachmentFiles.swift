import Foundation
import Synchronization

/// The files of a diary's attachments, each under the digest of its content, so that equal files are kept once.
package struct AttachmentFiles: Sendable {
  package let root: String
  let temporary: String

  package struct Stored: Hashable, Sendable {
    package var sha256: String
    package var md5: String
    package var byteCount: Int64
  }

  package func path(sha256: String) -> String { "\(root)/\(sha256.prefix(2))/\(sha256)" }

  package func contains(sha256: String) -> Bool { access(path(sha256: sha256), R_OK) == 0 }

  static let chunkBytes = 256 * 1024

  /// Copies a file into the diary. It is durable when this returns, so that a row may name it; a copy that is cut off
  /// leaves nothing but a temporary file.
  package func adopt(_ source: String) throws(FileError) -> Stored {
    let stored = try place(source)
    try synchronizeFolders(of: [stored])
    return stored
  }

  /// Copies files, some at a time: what takes long is to wait for the disk, and it takes several waits at once.
  /// - Returns: What became of each, in their order; those that succeeded are durable.
  package func adopt(_ sources: [String]) throws(FileError) -> [Result<Stored, FileError>] {
    let results = Mutex<[Int: Result<Stored, FileError>]>([:])
    DispatchQueue.concurrentPerform(iterations: sources.count) { index in
      let result = Result { () throws(FileError) in try place(sources[index]) }
      results.withLock { $0[index] = result }
    }
    let found = results.withLock { results in
      sources.indices.map { results[$0] ?? .failure(FileError(.read, sources[$0], errorNumber: EIO)) }
    }
    try synchronizeFolders(of: found.compactMap { try? $0.get() })
    return found
  }

  private func place(_ source: String) throws(FileError) -> Stored {
    let partial = "\(temporary)/copy-\(UUID().uuidString.lowercased())"
    do throws(FileError) {
      let stored = try Self.copy(source, to: partial)
      let target = path(sha256: stored.sha256)
      try Folder.make(folder(of: stored))
      guard rename(partial, target) == 0 else { throw FileError(.rename, target) }
      return stored
    } catch {
      unlink(partial)
      throw error
    }
  }

  private func folder(of stored: Stored) -> String { "\(root)/\(stored.sha256.prefix(2))" }

  private func synchronizeFolders(of stored: [Stored]) throws(FileError) {
    if stored.isEmpty { return }
    for folder in Set(stored.map(folder)).sorted() { try Folder.synchronize(folder) }
    try Folder.synchronize(root)
  }

  /// Copies a file to a path where no file is yet, and returns what it read.
  static func copy(_ source: String, to target: String) throws(FileError) -> Stored {
    let input = try FileHandleOwned(reading: source)
    let output = try FileHandleOwned(creating: target)
    // What nobody holds was left by a process that is gone.
    flock(output.descriptor, LOCK_SH)
    var sha256 = Digest(.sha256)
    var md5 = Digest(.md5)
    var total: Int64 = 0
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkBytes, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      let count = try input.read(into: buffer, path: source)
      if count == 0 { break }
      let chunk = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      sha256.update(chunk)
      md5.update(chunk)
      try output.write(chunk, path: target)
      total += Int64(count)
    }
    try output.synchronize(path: target)
    return Stored(sha256: sha256.hex(), md5: md5.hex(), byteCount: total)
  }

  package func remove(sha256: String) { unlink(path(sha256: sha256)) }
}
