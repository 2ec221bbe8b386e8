import VirgaModel

extension CallContext {
  /// Never 0, which stands for a database that nobody has written to.
  mutating func makeIncarnation() -> UInt64 { RandomText.incarnation(using: &random) }

  /// An upper-case UUID of version 4, as CloudKit names what was given no name.
  mutating func makeUUID() -> String { RandomText.uuid(using: &random) }

  /// The text in a share's address: nobody can guess it.
  mutating func makeShortGUID() -> String { String(makeSecret().prefix(32)) }

  mutating func makeSecret() -> String { RandomText.secret(using: &random) }

  /// The caller's mark on what it writes now.
  /// - Parameter earlier: That of the version that is replaced. A server's clock may be set back; the times of one record's
  ///   versions do not follow it, since clients take the later one for the newer.
  func stamp(by user: UserName, after earlier: RecordStamp? = nil) -> RecordStamp {
    RecordStamp(time: earlier.map { max(now, $0.time) } ?? now, user: user, device: principal.deviceName)
  }
}
