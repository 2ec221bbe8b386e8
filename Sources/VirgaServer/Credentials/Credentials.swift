package import VirgaModel
import VirgaWire

/// The rules of what the operator hands out: API tokens and server-to-server keys. A value without state.
package struct Credentials: Sendable {
  // Each kind is listed under one owner: there are few, and the operator looks at all of them. The tokens that
  // containers' devices are given have an owner of their own, so that they take no room from the operator's.
  private static let listed = "listed"
  private static let derived = "derived"

  package init() {}

  // MARK: API tokens

  /// A token by its digest; `nil` if there is none or it was revoked.
  package func token(digest: String, in transaction: any ReadTransaction) throws -> APIToken? {
    let token: APIToken? = try transaction.entity(.apiToken, key: digest)?.decoded()
    return token?.revoked == nil ? token : nil
  }

  /// The valid tokens by digest, those of one container if it is named, in the order in which they were made.
  package func tokens(
    of container: ContainerID?, in transaction: any ReadTransaction
  ) throws -> [(digest: String, token: APIToken)] {
    try (transaction.entities(.apiToken, owner: Self.listed) + transaction.entities(.apiToken, owner: Self.derived))
      .map { (digest: $0.key, token: try $0.decoded() as APIToken) }
      .filter { $0.token.revoked == nil && (container == nil || $0.token.container == container) }
      .sorted { ($0.token.created?.milliseconds ?? 0, $0.digest) < ($1.token.created?.milliseconds ?? 0, $1.digest) }
  }

  /// Keeps a token, by its digest.
  package func add(_ token: APIToken, digest: String, in transaction: any WriteTransaction) throws {
    let count = try transaction.entities(.apiToken, owner: Self.listed).count
    guard count < Limits.apiTokensMax else {
      throw ServiceError.limitExceeded("API tokens", observed: count + 1, limit: Limits.apiTokensMax)
    }
    try put(token, digest: digest, in: transaction)
  }

  /// Makes sure of the token that a container's own devices are given, which is always the same until it is revoked.
  /// - Parameters:
  ///   - environment: The one that it is for.
  ///   - account: Whose device asks.
  ///   - digest: The digest of the n-th such token.
  /// - Returns: Which one it is.
  /// - Throws: `limitExceeded` for an account that was the first in too many containers.
  package func shareToken(
    of container: ContainerID, in environment: Environment, for account: AccountID, digest: (Int) -> String,
    transaction: any WriteTransaction, now: Timestamp
  ) throws -> Int {
    var generation = 0
    while true {
      let key = digest(generation)
      guard let entity = try transaction.entity(.apiToken, key: key) else {
        var token = APIToken(container: container, environment: environment)
        token.created = now
        token.generation = generation
        try noteContainer(container, of: account, in: transaction)
        try put(token, digest: key, in: transaction)
        return generation
      }
      var known: APIToken = try entity.decoded()
      if known.revoked == nil {
        // Kept before tokens were listed.
        if entity.owner != Self.derived {
          known.generation = generation
          try put(known, digest: key, in: transaction)
        }
        return generation
      }
      generation += 1
    }
  }

  /// Notes that an account has data in a container, or was the first there.
  /// - Throws: `limitExceeded` for one container too many.
  package func noteContainer(
    _ container: ContainerID, of account: AccountID, in transaction: any WriteTransaction
  ) throws {
    let owner = "account/\(account)"
    let entity = Entity(.apiToken, key: "\(owner)/\(container)", owner: owner, value: [])
    if try transaction.entity(.apiToken, key: entity.key) != nil { return }
    let count = try transaction.entities(.apiToken, owner: owner).count
    try Limits.check(count + 1, atMost: Limits.containersPerAccountMax, "containers of one account")
    try transaction.put(entity)
  }

  /// Ends a token.
  /// - Parameter id: The beginning of its digest, unambiguous.
  /// - Throws: `NOT_FOUND` if there is none.
  package func revokeToken(_ id: String, in transaction: any WriteTransaction, now: Timestamp) throws {
    let found = try tokens(of: nil, in: transaction).filter { $0.digest.hasPrefix(id) }
    guard found.count == 1, !id.isEmpty, let (digest, known) = found.first else {
      throw ServiceError(.notFound, "there is no API token \(id)")
    }
    var token = known
    // One that can be derived again is remembered as revoked; of others nothing need stay.
    guard token.generation != nil else { return try transaction.removeEntity(.apiToken, key: digest) }
    token.revoked = now
    try put(token, digest: digest, in: transaction)
  }

  private func put(_ token: APIToken, digest: String, in transaction: any WriteTransaction) throws {
    let owner = token.generation == nil ? Self.listed : Self.derived
    try transaction.put(try Entity(.apiToken, key: digest, owner: owner, encoding: token))
  }

  // MARK: Server-to-server keys

  package func key(_ id: String, in transaction: any ReadTransaction) throws -> ServerKey? {
    try transaction.entity(.serverKey, key: id)?.decoded()
  }

  /// The keys, those of one container if it is named, in the order in which they came.
  package func keys(of container: ContainerID?, in transaction: any ReadTransaction) throws -> [ServerKey] {
    try transaction.entities(.serverKey, owner: Self.listed)
      .map { try $0.decoded() as ServerKey }
      .filter { container == nil || $0.container == container }
      .sorted { ($0.created, $0.id) < ($1.created, $1.id) }
  }

  /// Registers a key; one that is known already stays as it is.
  package func add(_ key: ServerKey, in transaction: any WriteTransaction) throws -> ServerKey {
    if let known = try self.key(key.id, in: transaction) { return known }
    let count = try transaction.entities(.serverKey, owner: Self.listed).count
    guard count < Limits.serverKeysMax else {
      throw ServiceError.limitExceeded("server-to-server keys", observed: count + 1, limit: Limits.serverKeysMax)
    }
    try transaction.put(try Entity(.serverKey, key: key.id, owner: Self.listed, encoding: key))
    return key
  }

  /// - Throws: `NOT_FOUND` if there is no such key.
  package func removeKey(_ id: String, in transaction: any WriteTransaction) throws {
    guard try key(id, in: transaction) != nil else { throw ServiceError(.notFound, "there is no key \(id)") }
    try transaction.removeEntity(.serverKey, key: id)
  }
}
