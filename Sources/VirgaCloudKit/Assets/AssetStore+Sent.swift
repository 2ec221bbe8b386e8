import Foundation
import VirgaAuth
import VirgaModel

/// What a device sends is what it would otherwise fetch back, because its own changes come back to it.
///
/// The file is the app's, which may change it at any time. So the cache keeps no more than a second name of it until the
/// asset is asked for, and then trusts nothing but its bytes: they are checked while a copy is made. A second name in
/// place of the copy would make one file of the app's and of the fetched one: what the app then writes into its own would
/// be what others find under a digest that it no longer fits, and what is written into a fetched file would change the
/// app's. Where the app has removed its file by then, as one does with a temporary file, the bytes take their place without
/// a copy.
extension AssetStore {
  /// Keeps a file that was sent whole.
  func keep(_ asset: AssetValue, sentFrom source: FileSource, in folder: URL) async {
    let path = folder.appendingPathComponent(asset.fileName).path
    guard asset.hasDigest, Self.size(ofFileAt: path) == nil else { return }
    let own = "\(path).\(UUID().uuidString).part"
    defer { unlink(own) }
    if source.link(to: own) {
      rename(own, Self.sentPath(path))
    } else if await onDisk(asset.size, { source.copy(to: own, fitting: asset.fileChecksum) }) {
      // The app's file is on another disk, or of another user.
      rename(own, path)
    }
  }

  /// Gives the bytes of an asset that this device has sent their place in the cache; answers whether they are there.
  func takeSent(_ asset: AssetValue, to path: String) async -> Bool {
    let sent = Self.sentPath(path)
    guard Self.size(ofFileAt: sent) == asset.size, let source = try? FileSource(path: sent) else {
      unlink(sent)
      return false
    }
    let own = "\(path).\(UUID().uuidString).part"
    defer {
      unlink(own)
      // The app's file is its own again.
      unlink(sent)
    }
    guard source.isNamedOnce else {
      return await onDisk(asset.size) { source.copy(to: own, fitting: asset.fileChecksum) } && rename(own, path) == 0
    }
    guard await onDisk(asset.size, { source.fits(asset.fileChecksum) }), rename(sent, path) == 0 else { return false }
    utimes(path, nil)
    return true
  }

  private static func sentPath(_ path: String) -> String { path + CacheTrimming.sentSuffix }
}

extension FileSource {
  private static let blockBytes = 1 << 18

  /// Whether the bytes are those of a checksum.
  fileprivate func fits(_ checksum: String) -> Bool { readAll { _ in true }?.fits(checksum: checksum) ?? false }

  /// Writes the bytes to a new file, if they are those of a checksum still.
  fileprivate func copy(to path: String, fitting checksum: String) -> Bool {
    guard let sink = try? FileSink(path: path) else { return false }
    return readAll { sink.write($0) }?.fits(checksum: checksum) ?? false
  }

  /// The digest of the bytes that were read and taken; `nil` if one of both failed.
  private func readAll(_ take: (UnsafeRawBufferPointer) -> Bool) -> [UInt8]? {
    rewind()
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockBytes, alignment: 16)
    defer { block.deallocate() }
    while true {
      guard let count = read(into: block) else { return nil }
      if count == 0 { return try? finish() }
      guard take(UnsafeRawBufferPointer(rebasing: block[..<count])) else { return nil }
    }
  }
}
