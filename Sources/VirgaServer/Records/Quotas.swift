import VirgaModel
import VirgaWire

/// How much a database may hold: the JSON of its live records, the bytes of their assets, and what its owner's devices
/// keep for each other. `nil` sets no bound. Versions that were replaced have the same room again, and so have tombstones.
///
/// A user's quota counts what lies in their private database, whoever wrote it.
public struct Quotas: Hashable, Sendable {
  public var userBytes: Int64?
  public var publicBytes: Int64?

  public init(userBytes: Int64? = nil, publicBytes: Int64? = nil) {
    self.userBytes = userBytes
    self.publicBytes = publicBytes
  }

  func limit(of database: DatabaseKey) -> Int64? { database.owner == nil ? publicBytes : userBytes }
}
