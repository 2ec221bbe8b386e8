import Foundation
import VirgaAuth
import VirgaModel
import VirgaWire

extension AssetStore {
  /// How often one call goes on with a transfer that broke off after it had brought something.
  private static let resumptionsMax = 20
  /// Before it does: a network that broke needs a moment.
  private static let resumptionPause: Duration = .seconds(1)
  /// From here on, work on a file is not done where tasks run.
  private static let longFileBytes: Int64 = 1 << 20

  /// The file with an asset's bytes: the one in the cache, or a new one.
  ///
  /// A transfer that breaks off goes on where it stopped, within this call and, if the network stays away, with the next
  /// one. One that is cancelled, or finds the disk full, leaves nothing behind.
  /// - Parameter renew: Gives a new address when the asset's has expired.
  /// - Parameter progress: Told the bytes that are there so far, on the transport's thread.
  /// - Throws: `assetNotAvailable`, or why the download failed.
  func file(
    for asset: AssetValue, renew: (@Sendable () async throws -> String?)? = nil,
    progress: (@Sendable (Int64) -> Void)? = nil
  ) async throws -> URL {
    let url = try cacheFolder().appendingPathComponent(asset.fileName)
    if await isCached(asset, at: url) { return url }
    guard let source = asset.source else {
      throw CKError(.assetNotAvailable, "The service sent no address for the bytes of an asset.")
    }
    let download = Download(asset: asset, source: source, url: url, renew: renew, progress: progress)
    if let url = try await perform(download) { return url }
    // Damage is found by the checksum only at the end; what arrived is gone, so this one begins anew.
    if let url = try await perform(download) { return url }
    throw CKError(.assetNotAvailable, "The bytes of an asset did not arrive completely.")
  }

  /// The file with an asset's bytes, if it is in the cache.
  func cachedFile(of asset: AssetValue) async -> URL? {
    guard let url = try? cacheFolder().appendingPathComponent(asset.fileName), await isCached(asset, at: url) else {
      return nil
    }
    return url
  }

  private func isCached(_ asset: AssetValue, at url: URL) async -> Bool {
    if Self.size(ofFileAt: url.path) == asset.size {
      // Marks the file as used, for the next cleaning.
      utimes(url.path, nil)
      return true
    }
    // Of several that ask for the same bytes one finds them, and the others what it has made of them.
    return await takeSent(asset, to: url.path) || Self.size(ofFileAt: url.path) == asset.size
  }

  /// A name of an asset's own for its file in the cache: what an app moves away or deletes is missed by no other asset
  /// with the same bytes. They are on the disk once.
  /// - Parameter owner: Says which asset of which record it is.
  func file(_ cached: URL, of asset: AssetValue, ownedBy owner: String) async throws -> URL {
    let name = Hex.encode(SHA256.digest(of: Array(owner.utf8)).prefix(16))
    let url = URL(fileURLWithPath: cached.path + "." + name)
    if Self.isSameFile(cached.path, url.path) { return url }
    // What lies there are former bytes, or those of another file that the app put there.
    let own = cached.path + ".\(UUID().uuidString).part"
    if link(cached.path, own) != 0 {
      // A disk without hard links.
      try await onDisk(asset.size) {
        do { try FileManager.default.copyItem(atPath: cached.path, toPath: own) } catch {
          throw CKError(.internalError, "Cannot copy \(cached.path): \(error.localizedDescription)")
        }
      }
    }
    let isPlaced = rename(own, url.path) == 0
    // Between two names of one file, as when another task has placed it, this does nothing.
    unlink(own)
    guard isPlaced else { throw CKError(.internalError, "Cannot make the file \(url.path).") }
    return url
  }

  private static func isSameFile(_ path: String, _ other: String) -> Bool {
    var (status, otherStatus) = (stat(), stat())
    return stat(path, &status) == 0 && stat(other, &otherStatus) == 0
      && status.st_ino == otherStatus.st_ino && status.st_dev == otherStatus.st_dev
  }

  private struct Download: Sendable {
    var asset: AssetValue
    var source: String
    /// Where the file is to be.
    var url: URL
    var renew: (@Sendable () async throws -> String?)?
    var progress: (@Sendable (Int64) -> Void)?
  }

  /// - Returns: `nil` if what arrived is not what was asked for.
  private func perform(_ download: Download) async throws -> URL? {
    let sink = try await sink(for: download)
    sink.sizeMax = download.asset.size
    do {
      try Self.checkSpace(for: download.asset.size - sink.size, in: download.url.deletingLastPathComponent())
      try await receive(download, into: sink)
    } catch {
      // What came is kept only for a transfer that can go on, and whose outcome can be checked. After a fault of the
      // sink's own, such as a service that gives another part than was asked for, going on would only repeat it.
      let canGoOn = error.isOfNetwork && sink.fault == nil && sink.size > 0 && download.asset.hasDigest
      if !canGoOn { sink.discard() }
      throw error
    }
    guard sink.size == download.asset.size, sink.finish().fits(checksum: download.asset.fileChecksum) else {
      sink.discard()
      return nil
    }
    do {
      try await onDisk(sink.size) { () throws(TransportError) in try sink.place(at: download.url.path) }
    } catch {
      sink.discard()
      throw error
    }
    return download.url
  }

  /// The file that an earlier transfer left, or a new one.
  private func sink(for download: Download) async throws -> FileSink {
    do throws(TransportError) {
      if download.asset.hasDigest, let sink = try FileSink.taking(path: download.url.path + ".part") {
        let size = Self.size(ofFileAt: sink.path) ?? 0
        if size > download.asset.size {
          guard sink.restart() else { throw sink.fault ?? .file(sink.path) }
        } else if size > 0 {
          await onDisk(size) { sink.resume() }
        }
        return sink
      }
      // Another task or program is fetching the same bytes.
      return try FileSink(path: download.url.path + ".\(UUID().uuidString).part")
    } catch {
      throw CKError(error)
    }
  }

  private func receive(_ download: Download, into sink: FileSink) async throws {
    var source = download.source
    var resumptions = 0
    var isRenewed = false
    while sink.size < download.asset.size || sink.size == 0 {
      let before = sink.size
      let answer: TransportResponse
      do {
        answer = try await service.transport.send(request(for: download, source, sink))
      } catch {
        let error = CKError(download: error)
        guard error.isOfNetwork, sink.size > before, resumptions < Self.resumptionsMax else { throw error }
        resumptions += 1
        do { try await service.pause(Self.resumptionPause) } catch {
          throw CKError(.operationCancelled, "The download was cancelled.")
        }
        continue
      }
      switch answer.status {
      case 200, 206: return
      // The bytes have changed, or what is there is no part of them.
      case 412 where sink.size > 0, 416 where sink.size > 0:
        guard sink.restart() else { throw CKError(download: sink.fault ?? .file(sink.path)) }
      case 403 where !isRenewed, 410 where !isRenewed:
        isRenewed = true
        guard let renewed = try await download.renew?() else { throw CKError.unavailable(answer.status) }
        source = renewed
      case 429, 500...:
        throw CKError(answer, item: .request)
      default: throw CKError.unavailable(answer.status)
      }
    }
  }

  private func request(for download: Download, _ source: String, _ sink: FileSink) -> TransportRequest {
    var request = TransportRequest(method: "GET", url: source)
    request.sink = .file(sink)
    request.isRepeatable = true
    request.timeout = Self.stallTimeout
    if sink.size > 0 {
      request.headers.append(("Range", "bytes=\(sink.size)-"))
      if let version = sink.version { request.headers.append(("If-Range", version)) }
    }
    if let progress = download.progress { request.progress = { _, _ in progress(sink.size) } }
    return request
  }

  /// A download that cannot fit is not begun: it would take the last space from everybody else.
  private static func checkSpace(for bytes: Int64, in folder: URL) throws {
    var status = statvfs()
    guard statvfs(folder.path, &status) == 0 else { return }
    let free = Int64(
      clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    if bytes > free {
      throw CKError(TransportError.diskFull("\(bytes) bytes are needed in \(folder.path), \(free) are free"))
    }
  }

  /// Does work that takes time in proportion to a file's size.
  func onDisk<Value: Sendable, Failure: Error>(
    _ size: Int64, _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    if size < Self.longFileBytes { return try body() }
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: .utility).async { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }
}

extension AssetValue {
  /// A name for a file that holds these bytes, and only these: their digest as hexadecimal digits.
  var fileName: String {
    CanonicalBase64.decode(fileChecksum).map { Hex.encode($0) }
      ?? Hex.encode(SHA256.digest(of: Array(fileChecksum.utf8)))
  }

  /// Whether the checksum is one that can be checked here.
  var hasDigest: Bool { CanonicalBase64.decode(fileChecksum)?.count == SHA256.digestLength }
}

extension Error {
  /// Whether the same transfer may go on later.
  fileprivate var isOfNetwork: Bool {
    switch (self as? CKError)?.code {
    case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited: true
    default: false
    }
  }
}

extension CKError {
  /// A download has no effect that could be lost.
  fileprivate init(download error: any Error) {
    switch error as? TransportError {
    case .responseLost(let reason)?: self.init(.networkFailure, reason)
    case let error?: self.init(error)
    case nil: self.init(wrapping: error)
    }
  }

  fileprivate static func unavailable(_ status: Int) -> CKError {
    CKError(.assetNotAvailable, "The service refused to send the bytes of an asset (status \(status)).")
  }
}

extension AssetValue {
  /// Where the bytes are. Apple's addresses leave a place for the file's name.
  var source: String? { downloadURL?.replacingOccurrences(of: "${f}", with: "file") }
}
