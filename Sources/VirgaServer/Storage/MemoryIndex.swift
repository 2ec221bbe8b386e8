import VirgaModel

/// An index of a zone in memory: its entries in their order.
struct MemoryIndex {
  let index: RecordIndex
  private(set) var entries: [IndexEntry]

  init(_ index: RecordIndex, _ entries: [IndexEntry]) {
    self.index = index
    self.entries = entries.sorted()
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
      precondition(entries.count == count - gone.count, "an index has every record's entries")
      entries += come
      entries.sort()
    }
  }

  private mutating func remove(_ entry: IndexEntry) {
    let position = position(of: entry)
    precondition(position < entries.count && entries[position] == entry, "an index has every record's entries")
    entries.remove(at: position)
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

  func makeIndex(_ definition: IndexDefinition, of zone: ZoneRow) throws -> RecordIndex {
    let zone = try contents(zone)
    let tables = tables
    tables.lastIndexID += 1
    let index = RecordIndex(id: tables.lastIndexID, definition: definition)
    var entries: [IndexEntry] = []
    for record in zone.contents.records.values {
      for key in try IndexDefinition.keys(of: record, in: [definition])[0] {
        entries.append(IndexEntry(key: key, name: record.name))
      }
    }
    zone.contents.indexes.append(MemoryIndex(index, entries))
    undo.append {
      tables.lastIndexID -= 1
      zone.contents.indexes.removeLast()
    }
    return index
  }

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
      zone.contents.indexes[position].replace(gone, by: come)
      undo.append { zone.contents.indexes[position].replace(come, by: gone) }
    }
  }
}
