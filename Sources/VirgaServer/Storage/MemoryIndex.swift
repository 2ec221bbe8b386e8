import VirgaModel

/// An index of a zone in memory: its entries in their order.
struct MemoryIndex {
  var index: RecordIndex
  private(set) var entries: [IndexEntry] = []
  /// Records that are still to be entered, the last first. What comes to the zone meanwhile `put` enters.
  var left: [RecordName]

  init(_ index: RecordIndex, of names: [RecordName]) {
    self.index = index
    left = names.sorted(by: >)
  }

  /// Enters what was in the zone before the index.
  mutating func add(_ new: [IndexEntry]) {
    // Of a record that was changed meanwhile, `put` has entered some.
    let missing = new.filter { entry in
      let position = position(of: entry)
      return position >= entries.count || entries[position] != entry
    }
    entries += missing
    entries.sort()
  }

  /// Up to so many entries are moved one by one; more are cheaper all at once.
  private static let movesMax = 32

  mutating func replace(_ gone: [IndexEntry], by come: [IndexEntry]) {
    if gone.count + come.count <= Self.movesMax {
      for entry in gone { remove(entry) }
      for entry in come { entries.insert(entry, at: position(of: entry)) }
    } else {
      let (old, count) = (Set(gone), entries.count)
      entries.removeAll(where: old.contains)
      precondition(
        entries.count == count - gone.count || !index.isReady, "an index has every record's entries")
      entries += come
      entries.sort()
    }
  }

  private mutating func remove(_ entry: IndexEntry) {
    let position = position(of: entry)
    let isThere = position < entries.count && entries[position] == entry
    precondition(isThere || !index.isReady, "an index has every record's entries")
    if isThere { entries.remove(at: position) }
  }

  /// Where the first entry lies that is not less.
  func position(of entry: IndexEntry) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle] < entry { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func positions(in range: IndexRange, after entry: IndexEntry?) -> Range<Int> {
    var start = position(of: IndexEntry(key: range.lower, name: ""))
    if let entry {
      let next = position(of: entry)
      start = max(start, next < entries.count && entries[next] == entry ? next + 1 : next)
    }
    return start..<max(start, position(of: IndexEntry(key: range.upper, name: "")))
  }
}

extension MemoryTransaction {
  func indexes(of zone: ZoneRow) throws -> [RecordIndex] { try contents(zone).contents.indexes.map(\.index) }

  func countEntries(of index: RecordIndex, of zone: ZoneRow, in range: IndexRange, limit: Int) throws -> Int {
    let known = try contents(zone).contents.indexes.first { $0.index.id == index.id }
    return min(limit, known?.positions(in: range, after: nil).count ?? 0)
  }

  func entries(
    of index: RecordIndex, of zone: ZoneRow, in range: IndexRange, after position: IndexEntry?,
    _ body: (IndexEntry, StoredRecord) throws -> Bool
  ) throws {
    let contents = try contents(zone).contents
    guard let known = contents.indexes.first(where: { $0.index.id == index.id }) else { return }
    for entry in known.entries[known.positions(in: range, after: position)] {
      guard let record = contents.records[entry.name] else {
        throw StoreError.damaged("an index names the record '\(entry.name)', which is missing")
      }
      if try !body(entry, record) { return }
    }
  }

  func beginIndex(_ definition: IndexDefinition, of zone: ZoneRow, for maker: String) throws -> RecordIndex {
    let zone = try contents(zone)
    let tables = tables
    tables.lastIndexID += 1
    let index = RecordIndex(id: tables.lastIndexID, definition: definition, maker: maker, isReady: false)
    zone.contents.indexes.append(MemoryIndex(index, of: Array(zone.contents.records.keys)))
    undo.append {
      tables.lastIndexID -= 1
      zone.contents.indexes.removeLast()
    }
    return index
  }

  func fillIndex(
    _ index: RecordIndex, of zone: ZoneRow, portion: IndexPortion
  ) throws -> (index: RecordIndex, records: Int) {
    let zone = try contents(zone)
    guard let place = zone.contents.indexes.firstIndex(where: { $0.index.id == index.id }) else {
      throw StoreError.other("the zone has no such index")
    }
    let before = zone.contents.indexes[place]
    var entries: [IndexEntry] = []
    var (count, byteCount) = (0, 0)
    while count < portion.records, entries.count < portion.entries, byteCount < portion.bytes,
      let name = zone.contents.indexes[place].left.popLast()
    {
      count += 1
      guard let record = zone.contents.records[name] else { continue }
      byteCount += record.fieldsJSON.count
      for key in try IndexDefinition.keys(of: record, in: [index.definition])[0] {
        entries.append(IndexEntry(key: key, name: name))
      }
    }
    zone.contents.indexes[place].add(entries)
    if zone.contents.indexes[place].left.isEmpty { zone.contents.indexes[place].index.isReady = true }
    undo.append { zone.contents.indexes[place] = before }
    return (zone.contents.indexes[place].index, count)
  }

  func clearRemovedIndexes(limit: Int) throws -> Bool { false }

  func removeIndex(_ index: RecordIndex, of zone: ZoneRow) throws {
    let zone = try contents(zone)
    guard let position = zone.contents.indexes.firstIndex(where: { $0.index.id == index.id }) else { return }
    let removed = zone.contents.indexes.remove(at: position)
    undo.append { zone.contents.indexes.insert(removed, at: position) }
  }

  func updateIndexes(from old: StoredRecord?, to record: StoredRecord, in zone: MemoryZone) throws {
    let definitions = zone.contents.indexes.map(\.index.definition)
    guard !definitions.isEmpty else { return }
    let before = try old.map { try IndexDefinition.keys(of: $0, in: definitions) } ?? definitions.map { _ in [] }
    let after = try IndexDefinition.keys(of: record, in: definitions)
    let name = record.name
    for position in definitions.indices where before[position] != after[position] {
      let gone = before[position].map { IndexEntry(key: $0, name: name) }
      let come = after[position].map { IndexEntry(key: $0, name: name) }
      guard zone.contents.indexes[position].index.isReady else {
        let before = zone.contents.indexes[position]
        zone.contents.indexes[position].replace(gone, by: come)
        undo.append { zone.contents.indexes[position] = before }
        continue
      }
      zone.contents.indexes[position].replace(gone, by: come)
      undo.append { zone.contents.indexes[position].replace(come, by: gone) }
    }
  }
}
