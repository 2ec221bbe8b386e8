import FoundationEssentials
package import VirgaModel

/// An account: what its devices have in common.
package struct Account: Hashable, Sendable, Codable {
  package var id: AccountID
  package var created: Timestamp
}
