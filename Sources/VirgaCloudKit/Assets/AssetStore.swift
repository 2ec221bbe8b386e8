import Foundation
import VirgaAuth
import VirgaModel
import VirgaWire

/// The bytes of a container's assets: sends them up, fetches them down, and keeps what was fetched.
///
/// The cache is named by the digests of its files, so an asset that did not change is never fetched again. What was sent is
/// in it too: see `keep(_:sentFrom:)`. Files that nobody asked for in a week are removed while the cache is used, and the
/// oldest if all together are too large.
final class AssetStore: Sendable {
  let service: RemoteService
  let container: ContainerID
  let finishedUploads = FinishedUploads()

  /// Transfers of one call at the same time. More would share the same line and only wait for one another.
  static let parallelTransfers = 4
  /// How long a transfer may stand still.
  static let stallTimeout: Duration = .seconds(60)

  private let trimming: CacheTrimming

  init(service: RemoteService, container: ContainerID, trimming: CacheTrimming = CacheTrimming()) {
    self.service = service
    self.container = container
    self.trimming = trimming
  }

  // MARK: Up

  /// Sends a file to where an upload token says. The protocol knows no parts of an upload: one that is cut off begins
  /// anew.
  /// - Parameter renew: Gives a new address when the token's time is over: it runs while other files are being sent, and
  ///   while the device sleeps.
  /// - Returns: What goes into the record's field.
  /// - Throws: `assetFileModified`, or why the upload failed.
  func upload(
    _ source: FileSource, to url: String, renew: @Sendable () async throws -> String,
    progress: (@Sendable (Int64) -> Void)? = nil
  ) async throws -> AssetValue {
    var answer = try await post(source, to: url, progress)
    if answer.status == 403 || answer.status == 410 { answer = try await post(source, to: renew(), progress) }
    guard answer.status == 200 else { throw CKError(upload: answer) }
    guard let receipt = try? AssetReceipt(decoding: answer.body) else { throw CKError.unexpected("an upload") }
    let digest: [UInt8]
    do throws(FileSource.Failure) { digest = try source.finish() } catch {
      throw CKError(.assetFileModified, "The file of an asset changed while it was sent.")
    }
    guard receipt.size == source.size, digest.fits(checksum: receipt.fileChecksum) else {
      throw CKError(.networkFailure, "The service received different bytes from those that were sent.")
    }
    var value = AssetValue(fileChecksum: receipt.fileChecksum, size: receipt.size, receipt: receipt.receipt)
    value.referenceChecksum = receipt.referenceChecksum
    value.wrappingKey = receipt.wrappingKey
    // A cache that cannot take it costs a download later, and no save.
    if let folder = try? cacheFolder() { await keep(value, sentFrom: source, in: folder) }
    return value
  }

  private func post(
    _ source: FileSource, to url: String, _ progress: (@Sendable (Int64) -> Void)?
  ) async throws -> TransportResponse {
    var request = TransportRequest(method: "POST", url: url)
    request.headers = [("Content-Type", "application/octet-stream")]
    request.body = .file(source)
    request.timeout = Self.stallTimeout
    if let progress { request.progress = { sent, _ in progress(sent) } }
    do { return try await service.transport.send(request) } catch TransportError.file {
      throw CKError(.assetFileModified, "The file of an asset changed while it was sent.")
    } catch let error as TransportError {
      throw CKError(error, from: url)
    }
  }

  // MARK: The cache

  func cacheFolder() throws -> URL {
    let folder = URL(fileURLWithPath: service.cacheFolder)
      .appendingPathComponent(container.rawValue.percentEncodedPathSegment, isDirectory: true)
    var isThere: ObjCBool = false
    if FileManager.default.fileExists(atPath: folder.path, isDirectory: &isThere), isThere.boolValue {
      trimming.trimIfDue(folder.path, at: Date())
      return folder
    }
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw CKError(.internalError, "Cannot make the folder \(folder.path): \(error.localizedDescription)")
    }
    return folder
  }

  static func size(ofFileAt path: String) -> Int64? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int64(status.st_size)
  }
}

extension CKError {
  /// Why an upload was not taken. That its address does not count says nothing of the record: another try gets another one.
  fileprivate init(upload answer: TransportResponse) {
    switch answer.status {
    case 403, 404, 410:
      self.init(
        .networkFailure, "The service refused an upload at the address that it gave (status \(answer.status)).")
    default: self.init(answer, item: .record)
    }
  }
}

extension [UInt8] {
  /// Whether this SHA-256 is what a checksum of a service says. Checksums of another length are of another kind, which
  /// only their service can check.
  func fits(checksum: String) -> Bool {
    guard let expected = CanonicalBase64.decode(checksum), expected.count == count else { return true }
    return expected == self
  }
}
