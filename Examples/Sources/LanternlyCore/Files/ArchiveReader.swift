import CArchive
import Foundation
import VirgaCommandLine

/// Unpacks ZIP files that came from elsewhere.
package enum ArchiveReader {
  /// What an archive may hold at most. Sizes are counted while unpacking; what the archive says of itself is not believed.
  package struct Limits: Sendable {
    package var filesMax = 200_000
    package var totalBytesMax: Int64 = 256 << 30
    /// Unpacked bytes for each byte of the archive, beyond the first 64 MB.
    package var expansionMax: Int64 = 200

    package init() {}
  }

  package enum Failure: Error, Hashable, CustomStringConvertible {
    case unreadable(String)
    /// A name that leads out of the folder, or something that is neither a file nor a folder.
    case unsafeName(String)
    case repeatedName(String)
    case tooLarge
    case file(FileError)

    package var description: String {
      switch self {
      case .unreadable(let text): text
      case .unsafeName(let name): "a name in it leads outside: \(name)"
      case .repeatedName(let name): "it holds \(name) twice"
      case .tooLarge: "it would unpack to far too much"
      case .file(let error): error.description
      }
    }
  }

  /// Unpacks into an empty folder.
  package static func extract(_ path: String, into folder: String, limits: Limits = Limits()) throws(Failure) {
    // The library hands over names in the thread's character set, and none for a name that this cannot hold.
    let locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
    let previous = locale.flatMap { uselocale($0) }
    defer {
      if let locale {
        uselocale(previous)
        freelocale(locale)
      }
    }
    guard let archive = archive_read_new() else { throw .unreadable("no memory") }
    defer { archive_read_free(archive) }
    archive_read_support_format_zip(archive)
    guard archive_read_open_filename(archive, path, 64 * 1024) == ARCHIVE_OK else {
      throw .unreadable(message(archive))
    }
    var budget = Budget(limits: limits, archiveBytes: size(of: path))
    while let entry = try nextEntry(archive) {
      try budget.addFile()
      guard let name = archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry) else {
        throw .unreadable("a name in it cannot be read")
      }
      try extract(entry, name: String(cString: name), of: archive, into: folder, budget: &budget)
    }
  }

  private static func nextEntry(_ archive: OpaquePointer) throws(Failure) -> OpaquePointer? {
    var entry: OpaquePointer?
    switch archive_read_next_header(archive, &entry) {
    case ARCHIVE_OK, ARCHIVE_WARN: return entry
    case ARCHIVE_EOF: return nil
    default: throw .unreadable(message(archive))
    }
  }

  private static func extract(
    _ entry: OpaquePointer, name: String, of archive: OpaquePointer, into folder: String, budget: inout Budget
  ) throws(Failure) {
    let parts = name.split(separator: "/").map(String.init)
    let isUnsafe = parts.contains { $0 == ".." || $0.split(separator: "\\").contains("..") }
    if name.hasPrefix("/") || name.hasPrefix("\\") || isUnsafe || parts.isEmpty { throw .unsafeName(name) }
    let kind = UInt32(archive_entry_filetype(entry)) & 0o170000
    if parts[0] == "__MACOSX" || parts.last == ".DS_Store" { return }
    do {
      if kind == 0o040000 { return try Folder.make(([folder] + parts).joined(separator: "/")) }
      guard kind == 0o100000, archive_entry_hardlink(entry) == nil else { throw Failure.unsafeName(name) }
      try Folder.make(([folder] + parts.dropLast()).joined(separator: "/"))
      try write(archive, to: ([folder] + parts).joined(separator: "/"), budget: &budget)
    } catch let error as FileError {
      throw error.errorNumber == EEXIST ? .repeatedName(name) : .file(error)
    } catch let error as Failure {
      throw error
    } catch {
      throw .unreadable(plainText(of: error))
    }
  }

  private static func write(_ archive: OpaquePointer, to path: String, budget: inout Budget) throws {
    let output = try FileHandleOwned(creating: path)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: AttachmentFiles.chunkBytes, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      let count = archive_read_data(archive, buffer.baseAddress, buffer.count)
      if count == 0 { return }
      guard count > 0 else { throw Failure.unreadable(message(archive)) }
      try budget.add(bytes: Int64(count))
      try output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), path: path)
    }
  }

  private struct Budget {
    var limits: Limits
    var archiveBytes: Int64
    var files = 0
    var bytes: Int64 = 0

    mutating func addFile() throws(Failure) {
      files += 1
      if files > limits.filesMax { throw .tooLarge }
    }

    mutating func add(bytes count: Int64) throws(Failure) {
      bytes += count
      let isBomb = bytes - (64 << 20) > archiveBytes.multipliedReportingOverflow(by: limits.expansionMax).partialValue
      if bytes > limits.totalBytesMax || isBomb { throw .tooLarge }
    }
  }

  private static func size(of path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
  }

  private static func message(_ archive: OpaquePointer) -> String {
    archive_error_string(archive).map { String(cString: $0) } ?? "unreadable archive"
  }
}
