import CLinux
import Glibc
import VirgaAuth
import VirgaServer
import VirgaWire

/// The files of assets: each lies at a place that its digest names, so equal bytes are kept once.
///
/// `uploads` holds bodies under way. Both lie on one file system, so that a body gets to its place by a rename.
package final class AssetFolder: Sendable {
  /// What an upload turned out to be.
  struct Content: Hashable, Sendable {
    /// Standard Base64 of the SHA-256.
    var checksum: String
    var size: Int64
  }

  let uploads: String
  private let places: String
  private let workers = DiskWorkers(count: 4)
  /// Uploads settle together, collections alone: a file that arrives anew must not be removed for its old row's sake.
  let gate = SharedGate()

  /// Makes the folders where they are missing, and removes what uploads left that were cut off.
  package init(in data: String) throws(AssetFolderError) {
    uploads = "\(data)/\(DataFile.uploads)"
    places = "\(data)/\(DataFile.assets)"
    for path in [uploads, places] { try Self.makeFolder(path) }
    // One that is made for an upload has to be made durable in it.
    var isAnyNew = false
    for number in UInt8.min ... .max where try Self.makeFolder("\(places)/\(Hex.encode([number]))") { isAnyNew = true }
    if isAnyNew { try Self.sync(folder: places) }
    try Self.removeUploads(in: uploads, before: .max)
  }

  /// Where the bytes of a digest lie; `nil` if it is none.
  func path(ofChecksum checksum: String) -> String? { place(ofChecksum: checksum)?.path }

  private func place(ofChecksum checksum: String) -> (folder: String, path: String)? {
    guard let digest = [UInt8](base64: checksum), digest.count == SHA256.digestLength else { return nil }
    let name = Hex.encode(digest)
    let folder = "\(places)/\(name.prefix(2))"
    return (folder, "\(folder)/\(name)")
  }

  /// Moves an upload's bytes to their place, durably. The upload is gone afterwards, also on failure.
  /// - Parameter boundary: Separates the parts of a multipart body; `nil` for raw bytes.
  /// - Parameter digest: That of the raw bytes, if it is known.
  func settle(
    upload path: String, boundary: String?, digest: [UInt8]? = nil
  ) async throws(AssetFolderError) -> Content {
    try await workers.run { () throws(AssetFolderError) in
      do throws(AssetFolderError) {
        if let boundary { try MultipartFile.reduce(path, boundary: boundary) }
        return try self.settle(path, boundary == nil ? digest : nil)
      } catch {
        unlink(path)
        throw error
      }
    }
  }

  private func settle(_ path: String, _ digest: [UInt8]?) throws(AssetFolderError) -> Content {
    let file = try OpenFile(path, O_RDONLY)
    let content = if let digest { Content(checksum: digest.base64, size: try file.size) } else { try Self.read(file) }
    guard let place = place(ofChecksum: content.checksum) else {
      throw .failed(path: path, reason: "its digest has no place")
    }
    if try Self.makeFolder(place.folder) { try Self.sync(folder: places) }
    if try Self.move(path, to: place.path) {
      // The upload is answered once the file and its name are both durable. In this order we wait for the disk only once.
      try file.sync()
    } else {
      // The bytes that lie there are claimed, maybe. Others take their place only when these are durable.
      try file.sync()
      guard rename(path, place.path) == 0 else { throw .last(place.path) }
    }
    try Self.sync(folder: place.folder)
    return content
  }

  /// Renames a file unless there is one of the new name.
  /// - Returns: Whether it was renamed; not if there is one, or if the file system cannot tell.
  private static func move(_ path: String, to new: String) throws(AssetFolderError) -> Bool {
    if clinux_rename_without_replacing(path, new) == 0 { return true }
    guard errno == EEXIST || errno == EINVAL || errno == ENOSYS else { throw .last(new) }
    return false
  }

  private static func read(_ file: borrowing OpenFile) throws(AssetFolderError) -> Content {
    var hash = SHA256()
    var size: Int64 = 0
    try file.forEachBlock(from: 0, to: .max) { block in
      hash.update(block)
      size += Int64(block.count)
    }
    return Content(checksum: hash.finish().base64, size: size)
  }

  /// Writes bytes that came in memory where a streamed body would lie.
  func write(upload bytes: [UInt8], name: String) async throws(AssetFolderError) -> String {
    let path = "\(uploads)/upload-\(name)"
    return try await workers.run { () throws(AssetFolderError) in
      let file = try OpenFile(path, O_WRONLY | O_CREAT | O_EXCL)
      do throws(AssetFolderError) { try file.write(bytes) } catch {
        unlink(path)
        throw error
      }
      return path
    }
  }

  func remove(upload path: String) async {
    await workers.run { _ = unlink(path) }
  }

  /// Whether the bytes of a digest are there with that size. Asks as the answer does that opens the file: a change of
  /// thread would take many times as long.
  func holds(_ path: String, size: Int64) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && Int64(status.st_size) == size
  }

  /// Removes the bytes of digests that no row names any more.
  func remove(checksums: [String]) async {
    let paths = checksums.compactMap { path(ofChecksum: $0) }
    await workers.run { for path in paths { unlink(path) } }
  }

  /// The digests of all bytes that lie here and were last written before a moment, in seconds since 1970.
  func checksums(writtenBefore moment: Int) async throws(AssetFolderError) -> [String] {
    let places = places
    return try await workers.run { () throws(AssetFolderError) in
      var checksums: [String] = []
      for folder in try Self.names(in: places) where folder.utf8.count == 2 {
        for name in try Self.names(in: "\(places)/\(folder)") {
          guard let digest = Hex.decode(name), digest.count == SHA256.digestLength,
            Self.isOld("\(places)/\(folder)/\(name)", before: moment)
          else { continue }
          checksums.append(digest.base64)
        }
      }
      return checksums
    }
  }

  /// Removes what uploads left that ended without an answer.
  /// - Parameter moment: Those last written before it, in seconds since 1970.
  func removeUploads(before moment: Int) async throws(AssetFolderError) {
    let uploads = uploads
    try await workers.run { () throws(AssetFolderError) in try Self.removeUploads(in: uploads, before: moment) }
  }

  private static func removeUploads(in folder: String, before moment: Int) throws(AssetFolderError) {
    for name in try names(in: folder) where name.hasPrefix("upload-") {
      let path = "\(folder)/\(name)"
      if isOld(path, before: moment) { unlink(path) }
    }
  }

  private static func isOld(_ path: String, before moment: Int) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mtim.tv_sec < moment
  }

  private static func names(in folder: String) throws(AssetFolderError) -> [String] {
    guard let stream = opendir(folder) else { throw .last(folder) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { buffer in
          String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        })
    }
    return names.sorted()
  }

  /// - Returns: Whether the folder is new.
  @discardableResult
  private static func makeFolder(_ path: String) throws(AssetFolderError) -> Bool {
    if mkdir(path, 0o700) == 0 { return true }
    guard errno == EEXIST else { throw .last(path) }
    return false
  }

  private static func sync(folder: String) throws(AssetFolderError) {
    let file = try OpenFile(folder, O_RDONLY | O_DIRECTORY)
    guard fsync(file.descriptor) == 0 else { throw .last(folder) }
  }
}
