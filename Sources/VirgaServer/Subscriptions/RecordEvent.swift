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

/// A query that a subscription watches, checked when the subscription was saved.
struct WatchedQuery: Hashable {
  let recordType: RecordType
  let events: RecordEvents
  /// `nil` for every zone of the database.
  let zone: ZoneName?
  /// Whether a notification carries values of the record.
  let carriesFields: Bool
  /// The query dictionary, with every value of its field's type.
  let json: [UInt8]

  /// The events that were asked for, of records that meet the query: a deleted one as it last was, any other as it is
  /// now. So an update that takes a record out of the query is not told.
  func fired(by events: [RecordEvent], in zone: ZoneID, _ schemas: NotifiedSchemas) throws -> [RecordEvent] {
    guard self.zone ?? zone.name == zone.name else { return [] }
    let wanted = events.filter { $0.record.type == recordType && self.events.contains($0.reason) }
    if wanted.isEmpty { return [] }
    let query: Query
    do {
      query = try Query(json: json)
    } catch {
      throw StoreError.damaged("the query of a subscription cannot be read")
    }
    if query.filters.isEmpty { return wanted }
    let searchable = query.filters.contains { $0.field == .anySearchable } ? try schemas.searchable(recordType) : []
    var names = Set(searchable)
    for case .field(let name) in query.filters.map(\.field) { names.insert(name) }
    let matcher = QueryMatcher(query, searchable: searchable)
    let words = query.filters.filter { $0.comparator.operand == .words }.map(\.field)
    return try wanted.filter { event in
      matcher.matches(try event.subject(in: zone, with: names, words: words, searchable: Set(searchable)))
    }
  }
}

/// What is found out while events are told: schemas, and how many notifications each user was sent.
final class NotifiedSchemas {
  private let database: DatabaseKey
  private let transaction: any ReadTransaction
  private var known: [RecordType: [FieldName]] = [:]
  private var sent: [UserName: Int] = [:]
  private var reserved: [UserName: Int] = [:]

  init(_ database: DatabaseKey, in transaction: any ReadTransaction) {
    self.database = database
    self.transaction = transaction
  }

  /// Keeps room for so many notifications of a user that come later.
  func reserve(_ count: Int, for user: UserName) { reserved[user] = count }

  /// Whether there is room for another notification of a user.
  func takeRoom(for user: UserName) -> Bool {
    let most = Limits.notificationsPerCallMax - reserved[user, default: 0]
    guard sent[user, default: 0] < most else { return false }
    sent[user, default: 0] += 1
    return true
  }

  /// The fields that a search of a whole record looks at: those that are marked so now.
  func searchable(_ type: RecordType) throws -> [FieldName] {
    if let names = known[type] { return names }
    let schema = try transaction.schema(of: type, container: database.container, environment: database.environment)
    let names = schema?.fields.filter { $0.indexes.contains(.searchable) }.map(\.name) ?? []
    known[type] = names
    return names
  }
}
