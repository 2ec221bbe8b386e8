import FoundationEssentials
import Glibc
import VirgaAuth
import VirgaModel

extension VirgaHome {
  private struct RosterFile: Codable {
    var account: AccountID
    /// In order.
    var texts: [String]
  }

  /// What the device has read of who takes part in a zone's shares: a server that shows less later is not believed.
  func rosterTexts(of place: ZonePlace, account: AccountID) throws(SecureFileError) -> [String] {
    guard let stored: RosterFile = try decoded(rosterFile(of: place, account)), stored.account == account else {
      return []
    }
    return stored.texts
  }

  /// Keeps what was read. What is too much for a file is not kept; the server is then believed after a start.
  func rememberRoster(_ texts: [String], of place: ZonePlace, account: AccountID) throws(SecureFileError) {
    let file = rosterFile(of: place, account)
    guard !texts.isEmpty, texts.reduce(0, { $0 + $1.utf8.count + 8 }) < Self.rosterBytesMax else {
      unlink(file.path)
      return
    }
    try withLock { () throws(SecureFileError) in
      try write(RosterFile(account: account, texts: texts), to: file)
    }
  }

  private static let rosterBytesMax = 900_000

  // Names come from a server, and from apps, and are not to choose where a file lies.
  private func rosterFile(of place: ZonePlace, _ account: AccountID) -> SecureFile {
    let name = SHA256.hexDigest(of: ([account.rawValue] + place.parts).joined(separator: "\n"))
    return SecureFile(path: "\(path)/zone-\(name.prefix(32)).roster")
  }
}
