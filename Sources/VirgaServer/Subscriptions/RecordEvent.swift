import VirgaModel
import VirgaWire

/// What a call did to one record, as the subscriptions to queries look at it.
struct RecordEvent {
  let reason: PushReason
  /// The record as it is now; a deleted one as it last was.
  let record: StoredRecord
  private let reading = Reading()

  init(_ reason: PushReason, _ record: StoredRecord) {
    self.reason = reason
    self.record = record
  }

  /// What was read of the record's fields.
  private final class Reading {
    var subject: QuerySubject?
    /// The fields that were looked for; `nil` for all.
    var names: Set<FieldName>? = []
  }

  /// The record as queries look at it, with these fields at least. It is read twice at most, however many subscriptions
  /// ask: for the first alone, and whole.
  func subject(in zone: ZoneID, with names: Set<FieldName>) throws -> QuerySubject {
    if let subject = reading.subject, subject.id.zone == zone, reading.names?.isSuperset(of: names) ?? true {
      return subject
    }
    reading.names = reading.subject == nil ? names : nil
    let subject = try record.subject(in: zone, only: reading.names)
    reading.subject = subject
    return subject
  }

  /// The same with the words of these fields, which are found once, however many subscriptions look for some.
  func subject(
    in zone: ZoneID, with names: Set<FieldName>, words: [QueryField], searchable: Set<FieldName>
  ) throws -> QuerySubject {
    var subject = try subject(in: zone, with: names)
    if words.isEmpty { return subject }
    for field in words { subject.keepTokens(of: field, searchable: searchable) }
    reading.subject = subject
    return subject
  }
}

/// Which events a subscription asks for.
struct RecordEvents: OptionSet, Hashable {
  let rawValue: Int

  private static let words = ["create", "update", "delete"]

  init(rawValue: Int) { self.rawValue = rawValue }

  /// - Parameter words: As `firesOn` has them.
  init(words: [String]) {
    self.init(rawValue: Self.words.indices.reduce(0) { words.contains(Self.words[$1]) ? $0 | 1 << $1 : $0 })
  }

  func contains(_ reason: PushReason) -> Bool {
    switch reason {
    case .created: rawValue & 1 != 0
    case .updated: rawValue & 2 != 0
    case .deleted: rawValue & 4 != 0
    }
  }
}
