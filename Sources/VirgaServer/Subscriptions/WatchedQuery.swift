import VirgaModel
import VirgaWire

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
