import FoundationEssentials
package import VirgaModel

/// A code that lets somebody make an account on a server that invites.
package struct Invitation: Hashable, Sendable, Codable {
  package var expires: Timestamp
}
