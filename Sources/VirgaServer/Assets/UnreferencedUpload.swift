import VirgaModel
import VirgaWire

/// Bytes that a user uploaded and no record has claimed so far. Where there is a quota they count against it, so that
/// nobody fills the disk with what never becomes part of a record. It is kept until a record claims it or its receipt
/// expires; the same bytes once more are the same upload.
///
/// As an entity's value it is text, a line for each part.
struct UnreferencedUpload: Hashable {
  let checksum: String
  let size: Int64
  /// Of the database that it is meant for, whose quota counts.
  let scope: DatabaseScope
  let expires: Timestamp

  static func owner(_ claim: UploadGrant) -> String { "\(claim.container)/\(claim.environment)/\(claim.user)" }

  static func key(_ claim: UploadGrant, checksum: String) -> String { "\(owner(claim))/\(checksum)" }

  func entity(of claim: UploadGrant) -> Entity {
    let parts = [checksum, String(size), scope.pathName, String(expires.milliseconds)]
    return Entity(
      .upload, key: Self.key(claim, checksum: checksum), owner: Self.owner(claim),
      value: Array(parts.joined(separator: "\n").utf8))
  }

  init(checksum: String, size: Int64, scope: DatabaseScope, expires: Timestamp) {
    self.checksum = checksum
    self.size = size
    self.scope = scope
    self.expires = expires
  }

  init(_ entity: Entity) throws {
    let parts = String(decoding: entity.value, as: UTF8.self).split(separator: "\n")
    guard parts.count == 4, let size = Int64(parts[1]), let scope = DatabaseScope(pathName: parts[2]),
      let expires = Int64(parts[3])
    else { throw StoreError.damaged("upload \(entity.key) cannot be read") }
    self.init(
      checksum: String(parts[0]), size: size, scope: scope, expires: Timestamp(milliseconds: expires))
  }
}

extension Quotas {
  /// Counts an upload among those of its user that no record claims.
  /// - Throws: `quotaExceeded` if they are too many, or together larger than what they are meant for may hold.
  func admit(
    _ upload: UnreferencedUpload, for claim: UploadGrant, in transaction: any WriteTransaction, now: Timestamp
  ) throws {
    guard let limit = claim.scope == .public ? publicBytes : userBytes else { return }
    var bytes = upload.size
    var count = 1
    for entity in try transaction.entities(.upload, owner: UnreferencedUpload.owner(claim)) {
      let earlier = try UnreferencedUpload(entity)
      if earlier.expires < now {
        try transaction.removeEntity(.upload, key: entity.key)
      } else if earlier.checksum != upload.checksum {
        count += 1
        if (earlier.scope == .public) == (upload.scope == .public) { bytes += earlier.size }
      }
    }
    guard bytes <= limit, count <= Limits.unreferencedUploadsMax else {
      throw ServiceError(
        .quotaExceeded,
        "\(Reason.quotaExceeded): \(count) uploads that no record uses yet, of \(bytes) bytes; \(limit) are allowed")
    }
    try transaction.put(upload.entity(of: claim))
  }
}

extension WriteTransaction {
  /// The bytes of a receipt are claimed, or too late to be.
  func removeUnreferenced(_ receipt: AssetReceiptRecord) throws {
    try removeEntity(.upload, key: UnreferencedUpload.key(receipt.claim, checksum: receipt.checksum))
  }
}
