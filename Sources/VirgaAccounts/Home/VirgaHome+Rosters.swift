import FoundationEssentials
import Glibc
import VirgaAuth
import VirgaModel

extension VirgaHome {
  private struct RosterFile: Codable {
    var account: AccountID
    /// In order.
    var texts: [String]
    var life: ZoneRoster.Life?
    var former: [String]?
  }

  /// What the device has read of who takes part in a zone's shares: a server that shows less later is not believed.
  func roster(of place: ZonePlace, account: AccountID) throws(SecureFileError) -> ZoneRoster.Stored {
    guard let file: RosterFile = try decoded(rosterFile(of: place, account)), file.account == account else {
      return ZoneRoster.Stored()
    }
    return ZoneRoster.Stored(texts: file.texts, life: file.life, former: file.former)
  }

  /// Keeps what was read. Texts that are too long for a file are not kept; after a start the server is then believed as far as
  /// they are of the same life.
  func rememberRoster(
    _ stored: ZoneRoster.Stored, of place: ZonePlace, account: AccountID
  ) throws(SecureFileError) {
    let file = rosterFile(of: place, account)
    if stored.isEmpty {
      unlink(file.path)
      return
    }
    let isShort = stored.texts.reduce(0) { $0 + $1.utf8.count + 8 } < Self.rosterBytesMax
    try withLock { () throws(SecureFileError) in
      try write(
        RosterFile(
          account: account, texts: isShort ? stored.texts : [], life: stored.life, former: stored.former), to: file)
    }
  }

  private static let rosterBytesMax = 900_000

  // Names come from a server, and from apps, and are not to choose where a file lies.
  private func rosterFile(of place: ZonePlace, _ account: AccountID) -> SecureFile {
    let name = SHA256.hexDigest(of: ([account.rawValue] + place.parts).joined(separator: "\n"))
    return SecureFile(path: "\(path)/zone-\(name.prefix(32)).roster")
  }
}
