import VirgaModel
import VirgaWire

/// Reads one page of a query, zone by zone.
///
/// In each zone it takes one of two ways. Where a filter's index leads to few records it *gathers* them all, filters
/// and sorts. Else it *walks* an index in the order of the query, filters, and stops when the page is full. Both give the
/// same order, so pages may change between the ways.
///
/// Where a page ends depends on records that the caller may see, and on no others: a page that ended because many hidden
/// ones were read would tell of them. So where some are hidden, it gathers what the caller may see, however much else there
/// is; if that is too much, it walks, and counts what it reads of the visible ones alone.
struct QueryRun {
  private let query: Query
  private let matcher: QueryMatcher
  private let searchable: [FieldName]
  private let fieldNames: Set<FieldName>
  private let start: QueryPosition?
  private let scanMax: Int64
  private let transaction: any ReadTransaction
  private let paths: [QueryPath]
  private var page: QueryPage
  /// Up to here all zones were read, if a walk had to end early.
  private var horizon: QueryPosition?
  private var readsLeft = Limits.recordsReadPerQueryPageMax
  /// Records that were read and that the caller does not see: they end no page.
  private(set) var hiddenReads = 0

  /// Walks read so many records of each zone at least, so that each page gets on.
  private static let readsPerZoneMin = 100

  init(
    _ query: CheckedQuery, after start: QueryPosition?, limit: Int, scanMax: Int64, transaction: any ReadTransaction
  ) {
    self.query = query.query
    matcher = QueryMatcher(query.query, searchable: query.searchable)
    self.start = start
    self.scanMax = scanMax
    self.transaction = transaction
    searchable = query.searchable
    fieldNames = query.fieldNames
    paths = query.query.filters.flatMap(\.paths)
    page = QueryPage(limit: limit)
  }

  mutating func read(_ zone: OpenZone) throws {
    guard let row = zone.row else { return }
    let visible = try zone.visiblePart(of: query.recordType)
    if case .none = visible { return }
    let first = QueryPosition(key: [], zone: zone.id, name: "")
    // Without a sort, zones follow each other.
    if query.sorts.isEmpty {
      if let start, zone.id < start.zone { return }
      if page.isCut && page.excludes(first) || horizon != nil { return }
      if readsLeft <= 0 {
        horizon = first
        return
      }
    }
    if row.sequence <= scanMax {
      try transaction.changes(in: row, after: 0, limit: .max, portion: Limits.recordsPerLargePageMax) { record in
        try gather(record, in: zone)
        return true
      }
    } else if let names = leastNames {
      for name in names {
        let record = try transaction.record(name, in: row)
        if let record { try gather(record, in: zone) }
        if record == nil, !visible.hidesSome { readsLeft -= 1 }
      }
    } else {
      try readByIndex(zone, row, visible)
    }
  }

  /// The page, and where the next one begins if there is one.
  func finish() -> (entries: [QueryPage.Entry], end: QueryPosition?) {
    guard let horizon else { return (page.entries, page.isCut ? page.entries.last?.position : nil) }
    var page = page
    let count = page.entries.count
    page.cut(after: horizon)
    let isFull = page.isCut && page.entries.count == count
    return (page.entries, isFull ? page.entries.last?.position : horizon)
  }

  // MARK: Choosing

  private var leastNames: [RecordName]? {
    var least: [RecordName]?
    for case .names(let names) in paths where names.count < least?.count ?? .max { least = names }
    return least
  }

  /// The index whose order is the query's; `nil` if it sorts by distance.
  private var order: IndexDefinition? {
    if query.sorts.contains(where: { $0.origin != nil }) { return nil }
    let components = query.sorts.map { IndexDefinition.Component($0.field, descending: !$0.isAscending) }
    return IndexDefinition(query.recordType, .values, components)
  }

  /// An index and the part of it to read.
  private struct Part {
    var index: RecordIndex
    var ranges: [IndexRange]
    var count: Int
  }

  private mutating func readByIndex(_ zone: OpenZone, _ row: ZoneRow, _ visible: VisiblePart) throws {
    let order = order
    let walkRanges = order.flatMap(boundsOfWalk)
    let least = try leastPart(of: row, besidesWalk: walkRanges != nil)
    if let least, least.count <= Limits.recordsGatheredPerQueryMax { return try gather(least, of: row, in: zone) }
    if try gatherVisible(visible, of: row, in: zone, besides: least) { return }
    if let order {
      return try walk(try index(order, of: row), walkRanges ?? [.all], of: row, in: zone)
    }
    let limit = visible.hidesSome ? Limits.recordsReadPerQueryPageMax : Limits.recordsSortedPerQueryMax
    let all = try least ?? part(IndexDefinition(query.recordType, .values, []), [.all], of: row)
    if all.count > limit || visible.hidesSome {
      throw ServiceError.limitExceeded(
        "records to sort by distance; a NEAR filter leaves fewer", observed: visible.hidesSome ? limit + 1 : all.count,
        limit: limit)
    }
    try gather(all, of: row, in: zone)
  }

  /// Gathers all that the caller may see, where that is a part and not too much.
  private mutating func gatherVisible(
    _ visible: VisiblePart, of row: ZoneRow, in zone: OpenZone, besides other: Part?
  ) throws -> Bool {
    let limit = Limits.recordsReadPerQueryPageMax
    switch visible {
    case .all: return false
    case .none: return true
    case .madeBy(let user):
      let wanted = IndexDefinition(query.recordType, .values, [IndexDefinition.Component(.system(.createdBy))])
      let definition = try serving(wanted, in: row) ?? wanted
      let maker = KeyInterval(IndexKey.key(of: .reference(Reference(recordName: RecordName(user.rawValue)))))
      let range = maker.range(descending: definition.components[0].isDescending)
      let part = try part(definition, [range], of: row, besides: other)
      guard part.count <= limit else { return false }
      try gather(part, of: row, in: zone)
    case .below(let reach):
      guard let names = try reach.names(in: row, atMost: limit, transaction) else { return false }
      for name in names {
        if let record = try transaction.record(name, in: row) { try gather(record, in: zone) }
      }
    }
    return true
  }

  /// Where a walk in the query's order finds all that meet the filters on the first field of its order.
  private func boundsOfWalk(_ order: IndexDefinition) -> [IndexRange]? {
    guard let first = order.components.first else { return nil }
    for case .index(.values, let field, let bounds, _) in paths where field == first.field {
      return bounds.ranges(descending: first.isDescending)
    }
    return nil
  }

  /// The part of an index that leads to the fewest records. Ranges are looked at only if nothing else is there, and not
  /// if the walk is bounded anyway: an index is not made where another will do.
  private func leastPart(of row: ZoneRow, besidesWalk: Bool) throws -> Part? {
    var least: Part?
    for looksAtRanges in besidesWalk ? [false] : [false, true] {
      for case .index(let kind, let field, let bounds, let isRange) in paths where isRange == looksAtRanges {
        let fields = field == .anySearchable ? searchable.map { QueryField.field($0) } : [field]
        let wanted = IndexDefinition(query.recordType, kind, fields.map { IndexDefinition.Component($0) })
        let definition = try serving(wanted, in: row) ?? wanted
        let isDescending = kind == .values && definition.components[0].isDescending
        let found = try part(definition, bounds.ranges(descending: isDescending), of: row, besides: least)
        if found.count < least?.count ?? .max { least = found }
      }
      if least != nil { break }
    }
    return least
  }

  /// An index that there is already and that finds values of the same field.
  private func serving(_ wanted: IndexDefinition, in row: ZoneRow) throws -> IndexDefinition? {
    let known = try transaction.indexes(of: row).filter(\.isReady).map(\.definition)
      .filter { $0.recordType == wanted.recordType }
    if known.contains(wanted) { return wanted }
    guard wanted.kind == .values else { return nil }
    return known.first { $0.kind == .values && $0.components.first?.field == wanted.components.first?.field }
  }

  private func part(
    _ definition: IndexDefinition, _ ranges: [IndexRange], of row: ZoneRow, besides other: Part? = nil
  ) throws -> Part {
    let index = try index(definition, of: row, besides: other?.index)
    var count = 0
    for range in ranges {
      let most = Limits.recordsSortedPerQueryMax + 1 - count
      if most <= 0 { break }
      count += try transaction.countEntries(of: index, of: row, in: range, limit: most)
    }
    return Part(index: index, ranges: ranges, count: count)
  }

  /// - Parameter other: An index that is still to be read, so that it does not have to go for this one.
  /// - Throws: `WriteNeeded` if the index is not ready.
  private func index(
    _ definition: IndexDefinition, of row: ZoneRow, besides other: RecordIndex? = nil
  ) throws -> RecordIndex {
    let known = try transaction.indexes(of: row)
    if let index = known.first(where: { $0.definition == definition }), index.isReady { return index }
    throw WriteNeeded(zone: ZoneAddress(row.name, in: row.database), definition: definition, besides: other?.id)
  }

  // MARK: Reading

  private mutating func gather(_ part: Part, of row: ZoneRow, in zone: OpenZone) throws {
    // A list has an entry for each member, a text for each word.
    var seen: Set<RecordName> = []
    for range in part.ranges {
      try transaction.entries(of: part.index, of: row, in: range, after: nil) { entry, record in
        if seen.insert(entry.name).inserted { try gather(record, in: zone) }
        return true
      }
    }
  }

  private mutating func gather(_ record: StoredRecord, in zone: OpenZone) throws {
    guard try isVisible(record, in: zone) else { return }
    readsLeft -= record.readCost
    guard let position = try match(record, in: zone) else { return }
    if let start, position <= start { return }
    page.add(QueryPage.Entry(position: position, record: record, zone: zone))
  }

  private mutating func walk(
    _ index: RecordIndex, _ ranges: [IndexRange], of row: ZoneRow, in zone: OpenZone
  ) throws {
    var left = max(readsLeft, Self.readsPerZoneMin)
    let most = left
    defer { readsLeft -= most - left }
    var isOver = false
    for range in ranges where !isOver {
      guard let (range, entry) = remainder(of: range, in: zone.id) else { continue }
      try transaction.entries(of: index, of: row, in: range, after: entry) { entry, record in
        let position = QueryPosition(key: entry.key, zone: zone.id, name: entry.name)
        guard try isVisible(record, in: zone) else { return true }
        if page.excludes(position) && page.isCut {
          isOver = true
        } else if let match = try match(record, in: zone) {
          page.add(QueryPage.Entry(position: match, record: record, zone: zone))
          isOver = page.isCut && page.excludes(position)
        }
        left -= record.readCost
        if left <= 0 && !isOver {
          horizon = horizon.map { min($0, position) } ?? position
          isOver = true
        }
        return !isOver
      }
    }
  }

  /// What of a range comes after the page before.
  private func remainder(of range: IndexRange, in zone: ZoneID) -> (IndexRange, after: IndexEntry?)? {
    guard let start else { return (range, nil) }
    let from = zone < start.zone ? start.key + [0] : start.key
    guard from.lexicographicallyPrecedes(range.upper) else { return nil }
    let lower = range.lower.lexicographicallyPrecedes(from) ? from : range.lower
    let entry = zone == start.zone ? IndexEntry(key: start.key, name: start.name) : nil
    return (IndexRange(lower: lower, upper: range.upper), entry)
  }

  private mutating func isVisible(_ record: StoredRecord, in zone: OpenZone) throws -> Bool {
    let isVisible = try zone.reach?.sees(record) ?? zone.grants?.mayRead(record) ?? true
    if !isVisible { hiddenReads += 1 }
    return isVisible
  }

  /// Where a visible record belongs, if it meets the query.
  private func match(_ record: StoredRecord, in zone: OpenZone) throws -> QueryPosition? {
    guard record.type == query.recordType, !record.isDeleted else { return nil }
    let subject = try record.subject(in: zone.id, only: fieldNames)
    guard matcher.matches(subject) else { return nil }
    var key: [UInt8] = []
    for sort in query.sorts {
      let start = key.count
      IndexKey.append(sort.key(of: subject), to: &key)
      if !sort.isAscending { for index in start..<key.count { key[index] = ~key[index] } }
    }
    return QueryPosition(key: key, zone: zone.id, name: record.name)
  }
}

extension StoredRecord {
  /// How many reads it counts as: a large one takes as long as several.
  fileprivate var readCost: Int { 1 + fieldsJSON.count / Limits.bytesPerQueryRead }
}
