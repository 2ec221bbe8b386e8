import VirgaAuth
package import VirgaModel
package import VirgaServer

/// What a server's front is told of the world.
package struct GatewayConfiguration: Sendable {
  /// The data folder: assets lie in `assets`, bodies under way in `uploads`.
  package var folder: String
  /// The containers that are served; `nil` serves any.
  package var containers: Set<ContainerID>?
  /// Where clients reach the server, without a slash at the end; `nil` takes each request's `Host`.
  package var baseURL: String?
  /// The names that it answers to; `nil` for the machine's own and that of `baseURL`.
  package var names: ServedNames?
  package var policy: EnrolmentPolicy
  /// What the server's operator may show to be known as such, besides the token that the server's key makes.
  package var operatorToken: String?
  package var now: @Sendable () -> Timestamp
  /// Gives each request its own dice.
  package var makeRandom: @Sendable () -> any RandomNumberGenerator & Sendable
  /// Takes what an operator should know. The texts hold no secrets.
  package var log: @Sendable (String) -> Void = { _ in }
  /// Waits, where a fault on purpose asks for it.
  package var sleep: @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }
  /// Where large bodies are read and what they ask for is done; `nil` does it where the request came.
  package var workThreads: WorkThreads?
  /// How much a database may hold.
  package var quotas = Quotas()
  package var assetBytesMax: Int64 = Int64(Limits.assetBytesMax)
  /// How often one address and one user may ask; `nil` for as often as they like.
  package var addressRate: Rate?
  package var userRate: Rate?
  /// How long a sign-in on a web page lasts, and one that the user wants to keep.
  package var signInAge = Limits.signInAge
  package var keptSignInAge = Limits.webTokenAge
  /// How long a long poll is parked.
  package var pollTime: Duration = .seconds(50)

  package init(
    folder: String, policy: EnrolmentPolicy, now: @escaping @Sendable () -> Timestamp,
    makeRandom: @escaping @Sendable () -> any RandomNumberGenerator & Sendable = { SystemRandom() }
  ) {
    self.folder = folder
    self.policy = policy
    self.now = now
    self.makeRandom = makeRandom
  }

  func serves(_ container: ContainerID) -> Bool { containers?.contains(container) ?? true }
}
