import VirgaModel

/// The engine's timings and bounds.
package struct SyncPolicy: Sendable {
  /// From an addition to the send that it causes, if none happened lately.
  package var sendDelay: Duration = .milliseconds(200)
  /// The least time between two sends.
  package var sendSpacingMin: Duration = .seconds(1)
  /// Soon after a send, the next one waits until additions have paused for this long …
  package var sendQuiet: Duration = .milliseconds(300)
  /// … but not longer than this after the last send, while they go on.
  package var sendSpacing: Duration = .seconds(5)
  /// From a push to the fetch that it causes; pushes in between need no fetch of their own.
  package var pushDelay: Duration = .milliseconds(20)
  /// From a change of the state to the report of it.
  package var reportDelay: Duration = .milliseconds(100)
  /// Of how many pending changes one has to leave the list, while a send goes on, for a report: after a fifth of a long
  /// list, if this is four. A process that ends in between sends so many again.
  package var settlementsPerReport = 4
  /// The report of an addition is put off by a millisecond for so many pending changes.
  package var pendingPerMillisecond = 100
  /// Between fetches while pushes can arrive, and while they cannot: a push is a hint, never the only trigger.
  package var pollInterval: Duration = .seconds(300)
  package var pollIntervalWithoutPush: Duration = .seconds(60)
  /// How long a zone is left alone whose keys had not come, unless it changes or the app asks; it doubles each time up to the
  /// maximum.
  package var keyWait: Duration = .seconds(60)
  package var keyWaitMax: Duration = .seconds(900)
  /// The keys of one zone that are waited for. A zone has a key more whenever its owner's account left a device out.
  package var missingKeysMax = 100
  /// The wait after the first failure; it doubles with each further one up to the maximum.
  package var backoff: Duration = .seconds(1)
  package var backoffMax: Duration = .seconds(300)
  /// After being told to slow down, requests keep the distance that was asked for, up to this much …
  package var paceMax: Duration = .seconds(2)
  /// … for this long.
  package var paceAge: Duration = .seconds(600)
  /// Failures of one record or zone, each after the app added it again, before it has to wait for a later run.
  package var attemptsPerItemMax = 5
  /// Records whose last failure is remembered after a run, besides those that wait to be sent.
  package var failedRecordsMax = 1_000
  /// Zone changes in one request.
  package var itemsPerRequestMax = Limits.operationsPerRequestMax

  package init() {}

  /// How long to wait after `failures` failures in a row, at least one.
  ///
  /// What the service asks for is a lower bound; up to a tenth is added so that its clients do not return together.
  /// - Parameter jitter: A random number in `0..<1`.
  package func wait(afterFailures failures: Int, retryAfter: Duration?, jitter: Double) -> Duration {
    if let retryAfter, retryAfter > .zero { return retryAfter + retryAfter * (jitter / 10) }
    let doublings = min(max(failures, 1) - 1, 20)
    let full = min(backoff * (1 << doublings), backoffMax)
    return full * (0.5 + jitter / 2)
  }
}
