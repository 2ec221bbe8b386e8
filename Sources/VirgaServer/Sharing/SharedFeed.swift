import VirgaModel

/// The state of a user's feed of shared zones.
struct SharedFeed: Hashable {
  let key: String
  private var ownIncarnation: UInt64
  var sequence: Int64
  /// Differs after a restore as well, since it hangs on the incarnation of the user's own database.
  private(set) var incarnation: UInt64

  init(_ text: [UInt8]?, key: String, databaseIncarnation: UInt64, random: () -> UInt64) throws {
    self.key = key
    if let text {
      let parts = String(decoding: text, as: UTF8.self).split(separator: "\n")
      guard parts.count == 2, let incarnation = UInt64(parts[0]), let sequence = Int64(parts[1]) else {
        throw StoreError.damaged("the feed of shared zones \(key) cannot be read")
      }
      (ownIncarnation, self.sequence) = (incarnation, sequence)
    } else {
      (ownIncarnation, sequence) = (random(), 0)
    }
    incarnation = ownIncarnation ^ databaseIncarnation
    if incarnation == 0 { incarnation = 1 }
  }

  /// Makes every token of the feed expire.
  mutating func renew(_ incarnation: UInt64) {
    let rest = self.incarnation ^ ownIncarnation
    ownIncarnation = incarnation
    self.incarnation = incarnation ^ rest
  }

  var entity: Entity { Entity(.sharedFeed, key: key, value: Array("\(ownIncarnation)\n\(sequence)".utf8)) }
}
