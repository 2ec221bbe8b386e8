import VirgaModel
import VirgaWire

/// A proof of upload as the server keeps it: what it is bound to, and whether a record used it.
///
/// As an entity's value it is text, a line for each part. It is listed under the day on which it expires, so that
/// housekeeping finds those that are past.
struct AssetReceiptRecord: Hashable {
  let key: String
  let claim: UploadGrant
  let checksum: String
  let size: Int64
  /// When the receipt expires; the claim's own moment is that of the upload URL.
  let expires: Timestamp
  var isSpent = false

  /// Whether it was given for bytes that a record holds already, so that any other record may hold them too.
  var isForAnyRecord: Bool { claim.recordName.rawValue.isEmpty }

  var spent: AssetReceiptRecord {
    var copy = self
    copy.isSpent = true
    return copy
  }

  var entity: Entity {
    let parts = [
      claim.container.rawValue, claim.environment.rawValue, claim.user.rawValue, claim.recordName.rawValue,
      claim.fieldName.rawValue, checksum, String(size), String(expires.milliseconds), isSpent ? "1" : "0",
    ]
    return Entity(
      .receipt, key: key, owner: Self.owner(day: Self.day(of: expires)),
      value: Array(parts.joined(separator: "\n").utf8))
  }

  init(key: String, claim: UploadGrant, checksum: String, size: Int64, expires: Timestamp) {
    self.key = key
    self.claim = claim
    self.checksum = checksum
    self.size = size
    self.expires = expires
  }

  init(_ entity: Entity) throws {
    let parts = String(decoding: entity.value, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    guard parts.count == 9, let environment = Environment(rawValue: String(parts[1])), let size = Int64(parts[6]),
      let expires = Int64(parts[7]).map(Timestamp.init(milliseconds:))
    else { throw StoreError.damaged("upload receipt \(entity.key) cannot be read") }
    let claim = UploadGrant(
      container: ContainerID(String(parts[0])), environment: environment, user: UserName(String(parts[2])),
      recordName: RecordName(String(parts[3])), fieldName: FieldName(String(parts[4])), expires: expires)
    self.init(key: entity.key, claim: claim, checksum: String(parts[5]), size: size, expires: expires)
    isSpent = parts[8] == "1"
  }

  static func day(of moment: Timestamp) -> Int64 { moment.milliseconds / 86_400_000 }
  static func owner(day: Int64) -> String { "day \(day)" }
}
