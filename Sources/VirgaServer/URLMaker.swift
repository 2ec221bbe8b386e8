public import VirgaModel
public import VirgaWire

/// Makes the URLs that answers carry; they are signed and expire.
public protocol URLMaker: Sendable {
  /// Where to send the bytes of one asset.
  func uploadURL(for claim: UploadGrant) -> String
  /// Where to fetch bytes.
  func downloadURL(checksum: String, size: Int64, expires: Timestamp) -> String
  /// Where to wait for notifications.
  func pushURL(token: String) -> String
  /// Where a share is found by whoever is given its address.
  func shareURL(_ path: SharePath) -> String?
}

extension URLMaker {
  public func shareURL(_ path: SharePath) -> String? { nil }
}
