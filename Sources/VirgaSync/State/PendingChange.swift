package import VirgaModel

/// What is to become of a record or a zone on the server.
package enum PendingKind: String, Hashable, Sendable, Codable {
  case save
  case delete
}

package struct PendingZoneChange: Hashable, Sendable, Codable {
  package var kind: PendingKind
  package var zone: ZoneID

  package init(_ kind: PendingKind, _ zone: ZoneID) {
    self.kind = kind
    self.zone = zone
  }
}

package struct PendingRecordChange: Hashable, Sendable, Codable {
  package var kind: PendingKind
  package var record: RecordID

  package init(_ kind: PendingKind, _ record: RecordID) {
    self.kind = kind
    self.record = record
  }
}

/// The intents that wait to be sent: at most one for each record or zone.
///
/// Adding the same again keeps its place; adding the opposite replaces the kind and keeps the place. Each addition
/// is stamped, also when it changes nothing: one that was stamped after a request's content was asked for is not
/// covered by that request, and stays when the request succeeds.
package struct PendingList<Key: Hashable & Sendable>: Sendable {
  /// One word, because there may be very many.
  private struct Intent: Sendable {
    private var bits: UInt64

    init(_ kind: PendingKind, stamp: UInt64) { bits = stamp << 1 | (kind == .save ? 1 : 0) }

    var kind: PendingKind { bits & 1 == 1 ? .save : .delete }
    var stamp: UInt64 { bits >> 1 }
  }

  private var table = OrderedTable<Key, Intent>()
  /// The stamp of the latest addition.
  package private(set) var stamp: UInt64 = 0

  package init() {}

  package var count: Int { table.count }
  package var isEmpty: Bool { table.isEmpty }
  package var entries: some Sequence<(key: Key, kind: PendingKind)> { table.lazy.map { ($0.key, $0.value.kind) } }

  package func contains(_ key: Key) -> Bool { table[key] != nil }
  package func kind(of key: Key) -> PendingKind? { table[key]?.kind }

  package mutating func add(_ kind: PendingKind, _ key: Key) {
    stamp += 1
    table[key] = Intent(kind, stamp: stamp)
  }

  /// Removes an intent if it is of that kind.
  package mutating func remove(_ kind: PendingKind, _ key: Key) {
    if table[key]?.kind == kind { table[key] = nil }
  }

  /// Removes an intent that a request settled, unless it was added again after the request's content was asked for.
  package mutating func settle(_ key: Key, askedAt: UInt64) {
    if let intent = table[key], intent.stamp <= askedAt { table[key] = nil }
  }

  package mutating func moveToEnd(_ key: Key) { table.moveToEnd(key) }
  package mutating func removeAll() { table.removeAll() }
}
