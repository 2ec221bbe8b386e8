import VirgaModel

/// What the last attempts with one record came to.
struct FailedAttempts: Sendable {
  /// Failures since it was last saved.
  var count = 0
  var failure: SyncFailure
  /// How often in a row it had to wait.
  var holds = 0
  /// The record is left out of requests until then.
  var heldUntil: Timestamp?
  /// Whether the present run held it, so that not even a call of the app tries it again now.
  var isHeldForRun = false
  /// Whether the app took the change back, and so has settled the failure.
  var isDropped = false

  init(_ failure: SyncFailure) { self.failure = failure }
}
