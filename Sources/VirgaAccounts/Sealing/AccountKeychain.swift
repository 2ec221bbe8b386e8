import FoundationEssentials
import VirgaAuth
package import VirgaModel

/// The keys of an account that a device has.
package struct AccountKeychain: Hashable, Sendable {
  /// Oldest first.
  package var keys: [AccountKey]
  /// Whether the last one is the account's present one. Where it is not, the account has gone on without this device.
  package var isCurrent: Bool

  /// What is written with.
  package var current: AccountKey? { isCurrent ? keys.last : nil }

  package subscript(id: KeyID) -> AccountKey? { keys.first { $0.id == id } }
}
