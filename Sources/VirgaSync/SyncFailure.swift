package import VirgaModel

/// Why a request or one item of it failed, as far as the engine acts on it differently.
package struct SyncFailure: Error, Sendable, CustomStringConvertible {
  package enum Kind: String, Hashable, Sendable {
    /// The network, or a service that is busy or restricts its callers: the same again later, and nothing else now.
    case unreachable
    /// The service asks for slower requests.
    case throttled
    /// One zone is busy; others may go on.
    case zoneBusy
    /// No account, or one that cannot be used at present.
    case noAccount
    case cancelled
    /// A change token is too old.
    case tokenExpired
    /// The request was too large as a whole.
    case limitExceeded
    /// The request could not be understood as a whole; one of its items may be to blame.
    case rejected
    /// The service broke down on the request; an item may be to blame, or the service's own state.
    case broken
    /// Another item of the atomic batch is to blame.
    case collateral
    /// The record is not as the app believed: it changed or was deleted meanwhile. The app's to resolve.
    case conflict
    /// The zone is not there.
    case zoneGone
    /// Changes wait, but the app gave no batch for them.
    case unprovided
    /// The service is closed to this app or to this account, whatever is asked of it.
    case barred
    /// Everything that waiting does not mend.
    case final
    /// Some items of a send failed, each with a failure of its own.
    case partial
  }

  /// What a send failed with for one of its items.
  package struct Item: Sendable {
    package enum Name: Hashable, Sendable {
      case record(RecordID)
      case zone(ZoneID)
    }

    package var name: Name
    package var failure: SyncFailure
  }

  package var kind: Kind
  /// How long the service asks to wait.
  package var retryAfter: Duration?
  /// The error as the façade knows it; takes no part in comparisons.
  package var underlying: (any Error)?
  /// What is left of that error where a state keeps it: its number and its text; `nil` if there was no error.
  package var note: Note?
  /// For `partial`, what failed, in the order in which it did.
  package private(set) var items: [Item] = []

  package struct Note: Hashable, Sendable, Codable {
    package var code: Int
    package var text: String

    package init(code: Int, text: String) {
      self.code = code
      self.text = text
    }
  }

  package init(_ kind: Kind, retryAfter: Duration? = nil, underlying: (any Error)? = nil) {
    self.kind = kind
    self.retryAfter = retryAfter
    self.underlying = underlying
  }

  /// The failure of a send in which these items failed.
  init(of items: [Item]) {
    self.init(.partial, retryAfter: items.compactMap(\.failure.retryAfter).max())
    self.items = items
  }

  package var description: String { underlying.map { "\($0)" } ?? "the sync failed" }

  /// Whether a pending change that failed so stays pending.
  package var isRetryable: Bool {
    switch kind {
    case .unreachable, .throttled, .zoneBusy, .noAccount, .cancelled, .barred: true
    case .tokenExpired, .limitExceeded, .rejected, .broken, .collateral, .conflict, .zoneGone, .unprovided, .final,
      .partial:
      false
    }
  }

  /// Whether an item's failure is one that a further request would meet at once, whatever it holds. One that wants of an
  /// account lacks something that others may have, such as the key of its zone: without an account requests fail as a
  /// whole.
  var endsRun: Bool {
    switch kind {
    case .unreachable, .throttled, .cancelled, .barred: true
    default: false
    }
  }

  /// Whether a request that failed so as a whole may pass without one of its items.
  var mayBeOneItems: Bool {
    switch kind {
    case .limitExceeded, .rejected, .broken, .final: true
    default: false
    }
  }
}

extension SyncFailure: Equatable {
  package static func == (left: SyncFailure, right: SyncFailure) -> Bool {
    left.kind == right.kind && left.retryAfter == right.retryAfter
  }
}
