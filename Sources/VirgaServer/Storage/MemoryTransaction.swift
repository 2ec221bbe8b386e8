import VirgaModel

/// A transaction on a memory store. It changes the rows in place and notes how to take each change back.
final class MemoryTransaction: WriteTransaction {
  let tables: MemoryTables
  var undo: [() -> Void] = []
  private var touchedZones: [MemoryZone] = []
  var touchedDatabases: [MemoryDatabase] = []
  private var isOpen = true

  init(_ tables: MemoryTables) { self.tables = tables }

  func commit() {
    for zone in touchedZones {
      let records = zone.contents.records
      zone.contents.log.compact { sequence, name in records[name]?.sequence == sequence }
    }
    for database in touchedDatabases {
      let zones = tables.zones
      database.log.compact { sequence, id in zones[id]?.row.databaseSequence == sequence }
    }
  }

  func rollBack() { rollBack(to: 0) }

  private func rollBack(to count: Int) {
    while undo.count > count { undo.removeLast()() }
  }

  func attempt<Value>(_ part: () throws -> Value) throws -> Value {
    let count = undo.count
    do {
      return try part()
    } catch {
      rollBack(to: count)
      throw error
    }
  }

  /// After this nothing may be read or written through the transaction.
  func end() {
    isOpen = false
    undo = []
  }

  private func known(_ key: DatabaseKey) -> MemoryDatabase? {
    precondition(isOpen, "the transaction has ended")
    return tables.databases[key]
  }

  func contents(_ zone: ZoneRow) throws -> MemoryZone {
    precondition(isOpen, "the transaction has ended")
    guard let found = tables.zones[zone.id] else { throw StoreError.other("no zone has the number \(zone.id)") }
    return found
  }
}

// MARK: - Databases and zones

extension MemoryTransaction {
  func database(_ key: DatabaseKey) throws -> DatabaseRow? { known(key)?.row }

  func tally(of database: DatabaseKey) throws -> DatabaseTally { known(database)?.tally ?? DatabaseTally() }

  /// Changes what is counted of a database.
  func count(in key: DatabaseKey, _ change: (inout DatabaseTally) -> Void) {
    guard let database = known(key) else { return }
    let old = database.tally
    change(&database.tally)
    undo.append { database.tally = old }
  }

  func databases() throws -> [DatabaseRow] {
    precondition(isOpen, "the transaction has ended")
    return tables.databases.values.map(\.row).sorted {
      let (left, right) = ($0.key, $1.key)
      return (left.container, left.environment.rawValue, left.owner ?? "")
        < (right.container, right.environment.rawValue, right.owner ?? "")
    }
  }

  func zone(_ name: ZoneName, in database: DatabaseKey) throws -> ZoneRow? {
    known(database)?.zones[name]?.row
  }

  func zones(in database: DatabaseKey, after position: Int64, limit: Int) throws -> [ZoneRow] {
    guard let database = known(database) else { return [] }
    var rows: [ZoneRow] = []
    for entry in database.log.entries[database.log.index(after: position)...] {
      if rows.count >= limit { break }
      guard let row = tables.zones[entry.element]?.row, row.databaseSequence == entry.sequence else { continue }
      rows.append(row)
    }
    return rows
  }

  func zonesToCompact(tombstonesBefore: Timestamp, versionsBefore: Timestamp) throws -> [ZoneAddress] {
    precondition(isOpen, "the transaction has ended")
    return tables.zones.sorted { $0.key < $1.key }.map(\.value).filter { zone in
      zone.row.sharing != .none
        || zone.contents.records.values.contains { $0.isDeleted && $0.modified.time < tombstonesBefore }
        || zone.contents.versions.values.joined().min { $0.replacedBy < $1.replacedBy }
          .map { $0.replaced < versionsBefore } ?? false
    }.map { ZoneAddress($0.row.name, in: $0.row.database) }
  }

  func put(_ database: DatabaseRow) throws {
    if let known = known(database.key) {
      let old = known.row
      known.row = database
      undo.append { known.row = old }
    } else {
      let tables = tables
      tables.databases[database.key] = MemoryDatabase(database)
      undo.append { tables.databases[database.key] = nil }
    }
  }

  func put(_ zone: inout ZoneRow) throws {
    guard let database = known(zone.database) else {
      throw StoreError.other("the database of a zone was not put before it")
    }
    let known: MemoryZone
    if zone.id == 0 {
      guard database.zones[zone.name] == nil else { throw StoreError.other("a second row for a zone") }
      let tables = tables
      tables.lastZoneID += 1
      zone.id = tables.lastZoneID
      known = MemoryZone(zone)
      tables.zones[zone.id] = known
      database.zones[zone.name] = known
      let (id, name) = (zone.id, zone.name)
      undo.append {
        tables.lastZoneID -= 1
        tables.zones[id] = nil
        database.zones[name] = nil
      }
      database.log.add(id, at: zone.databaseSequence)
      let sequence = zone.databaseSequence
      undo.append { database.log.remove(id, at: sequence) }
      count(in: zone.database) { [zone] in $0.note(zone, replacing: nil) }
    } else {
      known = try contents(zone)
      let old = known.row
      guard old.database == zone.database, old.name == zone.name else {
        throw StoreError.other("a zone cannot be renamed")
      }
      known.row = zone
      undo.append { known.row = old }
      if old.isDeleted != zone.isDeleted { count(in: zone.database) { [zone] in $0.note(zone, replacing: old) } }
      if old.databaseSequence != zone.databaseSequence {
        let (id, sequence) = (zone.id, zone.databaseSequence)
        database.log.add(id, at: sequence)
        database.log.noteStale()
        undo.append { database.log.remove(id, at: sequence) }
        touchedDatabases.append(database)
      }
    }
  }

}

// MARK: - Records

extension MemoryTransaction {
  func record(_ name: RecordName, in zone: ZoneRow) throws -> StoredRecord? {
    try contents(zone).contents.records[name]
  }

  func changes(in zone: ZoneRow, after position: Int64, limit: Int, _ body: (StoredRecord) throws -> Bool) throws {
    let contents = try contents(zone).contents
    var given = 0
    for entry in contents.log.entries[contents.log.index(after: position)...] {
      if given >= limit { return }
      guard let record = contents.records[entry.element], record.sequence == entry.sequence else { continue }
      given += 1
      if try !body(record) { return }
    }
  }

  func changes(in zone: ZoneRow, before position: Int64, limit: Int, _ body: (StoredRecord) throws -> Bool) throws {
    let contents = try contents(zone).contents
    var given = 0
    let end = position > Int64.min ? contents.log.index(after: position - 1) : 0
    for entry in contents.log.entries[..<end].reversed() {
      if given >= limit { return }
      guard let record = contents.records[entry.element], record.sequence == entry.sequence else { continue }
      given += 1
      if try !body(record) { return }
    }
  }

  func version(_ sequence: Int64, of name: RecordName, in zone: ZoneRow) throws -> StoredRecord? {
    let contents = try contents(zone).contents
    if let record = contents.records[name], record.sequence == sequence { return record }
    return try versions(of: name, in: zone).first { $0.sequence == sequence }
  }

  func versions(of name: RecordName, in zone: ZoneRow) throws -> [StoredRecord] {
    try contents(zone).contents.versions[name]?.prefix(Limits.versionsPerRecordMax).map(\.record) ?? []
  }

  func replacedVersions(
    in zone: ZoneRow, after position: Int64, _ body: (StoredRecord, Int64) throws -> Bool
  ) throws {
    let versions = try contents(zone).contents.versions.values.joined().filter { $0.replacedBy > position }
    for version in versions.sorted(by: { $0.replacedBy < $1.replacedBy }) {
      if try !body(version.record, version.replacedBy) { return }
    }
  }

  func references(to target: RecordName, kind: StoredReference.Kind, in zone: ZoneRow, limit: Int) throws
    -> [RecordName]
  {
    let sources = try contents(zone).contents.sources[target] ?? []
    return Array(sources.filter { $0.kind == kind }.map(\.name).sorted().prefix(max(0, limit)))
  }

  func put(_ record: StoredRecord, in zone: ZoneRow, replacing previous: StoredRecord?, keepsVersion: Bool) throws {
    let zone = try contents(zone)
    let name = record.name
    let old = zone.contents.records[name]
    if previous == nil && old != nil { throw RecordExists() }
    guard old?.sequence == previous?.sequence else {
      throw StoreError.other("the record replaced is not the newest version")
    }
    try updateIndexes(from: old, to: record, in: zone)
    if record.isDeleted || old?.isDeleted == true {
      count(in: zone.row.database) { $0.note(record, replacing: old) }
    }
    setRecord(record, in: zone, replacing: old)
    if let old {
      if keepsVersion && !old.isDeleted {
        let counted = countedBytes(of: old, in: zone, replacedBy: record)
        let version = MemoryRecords.Version(
          record: old, replaced: record.modified.time, replacedBy: record.sequence, countedBytes: counted)
        count(in: zone.row.database) { $0.historyBytes += counted }
        zone.contents.versions[name, default: []].insert(version, at: 0)
        undo.append { zone.contents.versions[name]?.removeFirst() }
        if record.trimsHistory(replacing: old) {
          dropVersions(of: name, beyond: Limits.versionsPerRecordMax, in: zone)
        }
      } else if old.hasAssets {
        endAssetReferences(of: old.sequence, in: zone)
      }
      if old.hasReferences { setReferences([], of: name, in: zone) }
    }
    let references = record.isDeleted ? [] : Set(record.references)
    if !references.isEmpty { setReferences(references, of: name, in: zone) }
    if !record.assetChecksums.isEmpty {
      let sequence = record.sequence
      let checksums = Set(record.assetChecksums)
      zone.contents.claims[sequence] = checksums
      undo.append { zone.contents.claims[sequence] = nil }
      countAssetReferences(checksums, by: 1)
    }
  }

  /// What a version takes once it is replaced: assets that the next one has too are counted there.
  private func countedBytes(of record: StoredRecord, in zone: MemoryZone, replacedBy next: StoredRecord) -> Int64 {
    let gone = (zone.contents.claims[record.sequence] ?? []).subtracting(next.assetChecksums)
    return gone.reduce(Int64(record.fieldsJSON.count + record.unknownMembers.count)) {
      $0 + (tables.assets[$1]?.size ?? 0)
    }
  }

  /// Drops the versions of a record but for its newest ones.
  private func dropVersions(of name: RecordName, beyond kept: Int, in zone: MemoryZone) {
    guard let versions = zone.contents.versions[name], versions.count > kept else { return }
    zone.contents.versions[name] = kept == 0 ? nil : Array(versions.prefix(kept))
    undo.append { zone.contents.versions[name] = versions }
    count(in: zone.row.database) { tally in
      tally.historyBytes -= versions.dropFirst(kept).reduce(0) { $0 + $1.countedBytes }
    }
    for version in versions.dropFirst(kept) where version.record.hasAssets {
      endAssetReferences(of: version.record.sequence, in: zone)
    }
  }

  private func setRecord(_ record: StoredRecord, in zone: MemoryZone, replacing old: StoredRecord?) {
    var stored = record
    stored.hasAssets = !record.assetChecksums.isEmpty
    stored.hasReferences = !record.references.isEmpty && !record.isDeleted
    stored.assetChecksums = []
    stored.references = []
    let (name, sequence) = (record.name, record.sequence)
    zone.contents.records[name] = stored
    zone.contents.log.add(name, at: sequence)
    if old != nil { zone.contents.log.noteStale() }
    touchedZones.append(zone)
    undo.append {
      zone.contents.records[name] = old
      zone.contents.log.remove(name, at: sequence)
    }
  }

  private func setReferences(_ references: Set<StoredReference>, of source: RecordName, in zone: MemoryZone) {
    let old = zone.contents.references[source] ?? []
    func replace(_ old: Set<StoredReference>, by new: Set<StoredReference>) {
      for reference in old {
        zone.contents.sources[reference.target]?.remove(.init(name: source, kind: reference.kind))
        if zone.contents.sources[reference.target]?.isEmpty == true { zone.contents.sources[reference.target] = nil }
      }
      for reference in new {
        zone.contents.sources[reference.target, default: []].insert(.init(name: source, kind: reference.kind))
      }
      zone.contents.references[source] = new.isEmpty ? nil : new
    }
    replace(old, by: references)
    undo.append { replace(references, by: old) }
  }

  private func endAssetReferences(of sequence: Int64, in zone: MemoryZone) {
    guard let checksums = zone.contents.claims.removeValue(forKey: sequence) else { return }
    undo.append { zone.contents.claims[sequence] = checksums }
    countAssetReferences(checksums, by: -1)
  }

  func countAssetReferences(_ checksums: Set<String>, by step: Int) {
    let tables = tables
    func count(_ step: Int) {
      for checksum in checksums {
        let count = tables.assetReferenceCounts[checksum, default: 0] + step
        tables.assetReferenceCounts[checksum] = count == 0 ? nil : count
      }
    }
    count(step)
    undo.append { count(-step) }
  }

  func forget(_ name: RecordName, in zone: ZoneRow) throws {
    let zone = try contents(zone)
    guard let old = zone.contents.records[name] else { return }
    zone.contents.records[name] = nil
    zone.contents.log.noteStale()
    touchedZones.append(zone)
    undo.append { zone.contents.records[name] = old }
    if old.isDeleted { count(in: zone.row.database) { $0.tombstones -= 1 } }
    if old.hasAssets { endAssetReferences(of: old.sequence, in: zone) }
    setReferences([], of: name, in: zone)
    dropVersions(of: name, beyond: 0, in: zone)
  }

  func forgetVersion(replacedBy: Int64, in zone: ZoneRow) throws {
    let zone = try contents(zone)
    let found = zone.contents.versions.values.joined().first { $0.replacedBy == replacedBy }
    guard let found, let old = zone.contents.versions[found.record.name] else { return }
    let rest = old.filter { $0.replacedBy != replacedBy }
    zone.contents.versions[found.record.name] = rest.isEmpty ? nil : rest
    undo.append { zone.contents.versions[found.record.name] = old }
    count(in: zone.row.database) { $0.historyBytes -= found.countedBytes }
    if found.record.hasAssets { endAssetReferences(of: found.record.sequence, in: zone) }
  }

  func rewrite(_ record: StoredRecord, in zone: ZoneRow) throws {
    let zone = try contents(zone)
    guard let old = zone.contents.records[record.name], old.sequence == record.sequence else {
      throw StoreError.other("the record rewritten is not the newest version")
    }
    precondition(zone.contents.indexes.isEmpty, "a zone whose records are rewritten has no indexes")
    var record = record
    (record.hasAssets, record.hasReferences) = (old.hasAssets, old.hasReferences)
    zone.contents.records[record.name] = record
    undo.append { zone.contents.records[record.name] = old }
  }

  func rewriteVersion(_ record: StoredRecord, replacedBy: Int64, in zone: ZoneRow) throws {
    let zone = try contents(zone)
    let old = zone.contents.versions[record.name] ?? []
    guard let place = old.firstIndex(where: { $0.replacedBy == replacedBy }) else {
      throw StoreError.other("the version rewritten is not in the history")
    }
    var versions = old
    versions[place].record = record
    versions[place].record.hasAssets = old[place].record.hasAssets
    zone.contents.versions[record.name] = versions
    undo.append { zone.contents.versions[record.name] = old }
  }

  func dropTombstones(in zone: ZoneRow, before moment: Timestamp, limit: Int) throws -> [Int64] {
    let zone = try contents(zone)
    let old = zone.contents.records
    let past = old.values.filter { $0.isDeleted && $0.modified.time < moment }
      .sorted { ($0.modified.time, $0.sequence) < ($1.modified.time, $1.sequence) }
    let dropped = past.prefix(max(0, limit))
    guard !dropped.isEmpty else { return [] }
    for record in dropped {
      zone.contents.records[record.name] = nil
      zone.contents.log.noteStale()
    }
    touchedZones.append(zone)
    undo.append { zone.contents.records = old }
    count(in: zone.row.database) { $0.tombstones -= dropped.count }
    for record in dropped { dropVersions(of: record.name, beyond: 0, in: zone) }
    return dropped.map(\.sequence)
  }

  func dropVersions(in zone: ZoneRow, before moment: Timestamp, limit: Int) throws -> Int {
    let zone = try contents(zone)
    let oldest = zone.contents.versions.values.joined().sorted { $0.replacedBy < $1.replacedBy }
    let dropped = oldest.prefix { $0.replaced < moment }.prefix(max(0, limit))
    guard !dropped.isEmpty else { return 0 }
    let old = zone.contents.versions
    undo.append { zone.contents.versions = old }
    count(in: zone.row.database) { $0.historyBytes -= dropped.reduce(0) { $0 + $1.countedBytes } }
    for version in dropped {
      let name = version.record.name
      zone.contents.versions[name]?.removeAll { $0.replacedBy == version.replacedBy }
      if zone.contents.versions[name]?.isEmpty == true { zone.contents.versions[name] = nil }
      if version.record.hasAssets { endAssetReferences(of: version.record.sequence, in: zone) }
    }
    return dropped.count
  }
}

// MARK: - Entities, assets, notifications

extension MemoryTransaction {
  func entity(_ kind: Entity.Kind, key: String) throws -> Entity? {
    precondition(isOpen, "the transaction has ended")
    return tables.entities[kind]?[EntityText(key)]
  }

  func entities(_ kind: Entity.Kind, owner: String, from key: String) throws -> [Entity] {
    precondition(isOpen, "the transaction has ended")
    guard let keys = tables.owned[kind]?[EntityText(owner)], let entities = tables.entities[kind] else { return [] }
    let first = EntityText(key)
    return keys.filter { $0 >= first }.sorted().compactMap { entities[$0] }
  }

  func allEntities(_ kind: Entity.Kind, after key: String, limit: Int) throws -> [Entity] {
    precondition(isOpen, "the transaction has ended")
    guard let entities = tables.entities[kind] else { return [] }
    let first = EntityText(key)
    return entities.keys.filter { $0 > first }.sorted().prefix(max(0, limit)).compactMap { entities[$0] }
  }

  func assets(after checksum: String, limit: Int) throws -> [AssetRow] {
    precondition(isOpen, "the transaction has ended")
    let rows = tables.assets.values.filter { checksum.utf8.lexicographicallyPrecedes($0.checksum.utf8) }
    return Array(rows.sorted { $0.checksum.utf8.lexicographicallyPrecedes($1.checksum.utf8) }.prefix(max(0, limit)))
  }

  func space() throws -> StoreSpace {
    precondition(isOpen, "the transaction has ended")
    var space = StoreSpace(recordBytes: 0, versionBytes: 0, otherBytes: 0, freeBytes: 0)
    for zone in tables.zones.values {
      space.recordBytes += zone.contents.records.values.reduce(0) { $0 + $1.weight }
      space.versionBytes += zone.contents.versions.values.joined().reduce(0) { $0 + $1.record.weight }
    }
    for entities in tables.entities.values {
      space.otherBytes += entities.values.reduce(0) { $0 + Int64($1.value.count) }
    }
    return space
  }

  func releaseSpace(bytes: Int) throws -> Bool { false }

  func put(_ entity: Entity) throws { setEntity(entity.kind, entity.key, entity) }

  func removeEntity(_ kind: Entity.Kind, key: String) throws { setEntity(kind, key, nil) }

  private func setEntity(_ kind: Entity.Kind, _ key: String, _ entity: Entity?) {
    precondition(isOpen, "the transaction has ended")
    let tables = tables
    let key = EntityText(key)
    func replace(_ old: Entity?, by new: Entity?) {
      if let old, !old.owner.isEmpty {
        let owner = EntityText(old.owner)
        tables.owned[kind]?[owner]?.remove(key)
        if tables.owned[kind]?[owner]?.isEmpty == true { tables.owned[kind]?[owner] = nil }
      }
      if let new, !new.owner.isEmpty {
        tables.owned[kind, default: [:]][EntityText(new.owner), default: []].insert(key)
      }
      tables.entities[kind, default: [:]][key] = new
    }
    let old = tables.entities[kind]?[key]
    replace(old, by: entity)
    undo.append { replace(entity, by: old) }
  }

  func asset(_ checksum: String) throws -> AssetRow? {
    precondition(isOpen, "the transaction has ended")
    return tables.assets[checksum]
  }

  func unreferencedAssets(before moment: Timestamp, limit: Int) throws -> [AssetRow] {
    precondition(isOpen, "the transaction has ended")
    let rows = tables.assets.values.filter { tables.assetReferenceCounts[$0.checksum] == nil && $0.uploaded < moment }
    let sorted = rows.sorted { $0.checksum.utf8.lexicographicallyPrecedes($1.checksum.utf8) }
    return Array(sorted.prefix(max(0, limit)))
  }

  func put(_ asset: AssetRow) throws { setAsset(asset.checksum, asset) }

  func removeAsset(_ checksum: String) throws { setAsset(checksum, nil) }

  private func setAsset(_ checksum: String, _ asset: AssetRow?) {
    precondition(isOpen, "the transaction has ended")
    let tables = tables
    let old = tables.assets[checksum]
    tables.assets[checksum] = asset
    undo.append { tables.assets[checksum] = old }
  }

  func notifications(for pushToken: String, limit: Int) throws -> [NotificationRow] {
    precondition(isOpen, "the transaction has ended")
    return Array((tables.notifications[pushToken] ?? []).prefix(max(0, limit)))
  }

  func append(_ notification: NotificationRow) throws -> Int64 {
    let lastID = tables.lastNotificationID
    let tables = tables
    undo.append { tables.lastNotificationID = lastID }
    tables.lastNotificationID += 1
    var row = notification
    row.id = tables.lastNotificationID
    var queue = tables.notifications[row.pushToken] ?? []
    queue.removeAll { $0.coalescingKey.hasSameBytes(as: row.coalescingKey) }
    queue.append(row)
    setQueue(of: row.pushToken, Array(queue.suffix(Limits.notificationsPerTokenMax)))
    return row.id
  }

  func removeNotifications(_ ids: [Int64], of pushToken: String) throws {
    guard let queue = tables.notifications[pushToken] else { return }
    setQueue(of: pushToken, queue.filter { !ids.contains($0.id) })
  }

  private func setQueue(of pushToken: String, _ queue: [NotificationRow]) {
    precondition(isOpen, "the transaction has ended")
    let tables = tables
    let old = tables.notifications.updateValue(queue, forKey: pushToken)
    if queue.isEmpty { tables.notifications[pushToken] = nil }
    undo.append { tables.notifications[pushToken] = old }
  }
}
