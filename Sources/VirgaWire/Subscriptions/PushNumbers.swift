package import VirgaModel

// The numbers of the push payload. They are the wire's own, as logged on Apple's devices; those of the API's enums may
// differ from them.

extension DatabaseScope {
  /// The database in a push (`dbs`). `CKDatabase.Scope` counts in another order.
  package var pushNumber: Int {
    switch self {
    case .private: 1
    case .public: 2
    case .shared: 3
    }
  }

  package init?(pushNumber: Int) {
    guard let scope = Self.allCases.first(where: { $0.pushNumber == pushNumber }) else { return nil }
    self = scope
  }
}

/// What a push says was done to a record (`fo`).
package enum PushReason: Sendable, CaseIterable {
  case created, updated, deleted

  package var pushNumber: Int {
    switch self {
    case .created: 1
    case .updated: 2
    case .deleted: 3
    }
  }

  package init?(pushNumber: Int) {
    guard let reason = Self.allCases.first(where: { $0.pushNumber == pushNumber }) else { return nil }
    self = reason
  }
}
