import VirgaAuth
package import VirgaModel

/// The keys of the account as a device sees them, and what else lies with them on the server.
package struct AccountKeys: Sendable {
  package var account: AccountID
  package var keychain: AccountKeychain
  /// All texts of the account, by name.
  package var texts: [String: String]

  /// Whether the account has a key at all.
  package var hasFirst: Bool { texts[AccountKeyLog.first] != nil }
}
