package import VirgaModel

/// What an engine must remember between launches. It holds no record: the app has those.
package struct SyncState: Sendable {
  /// The user whose database the rest speaks of; `nil` before the first sign-in and after a sign-out.
  package internal(set) var user: UserName?
  package internal(set) var zones = PendingList<ZoneID>()
  package internal(set) var records = PendingList<RecordID>()
  /// Whether the app has changes that it does not list.
  package internal(set) var hasUntrackedChanges = false
  /// Where the reader of the database's feed stopped.
  package internal(set) var databaseToken: String?
  /// Where the reader of each zone's feed stopped.
  package internal(set) var zoneTokens: [ZoneID: String] = [:]
  /// Zones that the database's feed named and whose own feeds were not read since, in the order they were named.
  package internal(set) var unfetchedZones: [ZoneID] = []
  /// Zones whose token had expired and that are not yet read to their end again.
  package internal(set) var rereadZones: Set<ZoneID> = []

  package init() {}

  package var zoneChanges: [PendingZoneChange] { zones.entries.map { PendingZoneChange($0.kind, $0.key) } }
  package var recordChanges: [PendingRecordChange] { records.entries.map { PendingRecordChange($0.kind, $0.key) } }

  /// Forgets everything that belongs to one user.
  mutating func reset(to user: UserName?) {
    self = SyncState()
    self.user = user
  }

  mutating func noteUnfetched(_ zone: ZoneID) {
    if !unfetchedZones.contains(zone) { unfetchedZones.append(zone) }
  }

  mutating func forget(_ zone: ZoneID) {
    zoneTokens[zone] = nil
    rereadZones.remove(zone)
    unfetchedZones.removeAll { $0 == zone }
  }
}

/// The form is open at both ends: a reader ignores keys that it does not know and fills in those that are missing.
/// What is missing costs a fetch from the beginning at worst. A change of a kind that a reader does not know is
/// skipped alone.
///
/// Records are texts such as `+0 name`: what to do, the place of their zone in a list, and their name. The state is
/// written often, and may hold tens of thousands of them.
extension SyncState: Codable {
  private enum Key: String, CodingKey {
    case version, user, zones, recordZones, records, untracked, databaseToken, zoneTokens, unfetched, reread
  }

  private struct ZoneToken: Codable {
    var zone: ZoneID
    var token: String
  }

  /// Decodes what it can of one element, so that a foreign one does not cost the rest.
  private struct Lenient<Value: Decodable>: Decodable {
    var value: Value?
    init(from decoder: any Decoder) throws {
      do { value = try Value(from: decoder) } catch is DecodingError { value = nil }
    }
  }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    func list<Value: Decodable>(_ key: Key, of type: Value.Type) throws -> [Value] {
      try values.decodeIfPresent([Lenient<Value>].self, forKey: key)?.compactMap(\.value) ?? []
    }
    user = try values.decodeIfPresent(UserName.self, forKey: .user)
    for change in try list(.zones, of: PendingZoneChange.self) { zones.add(change.kind, change.zone) }
    let recordZones = try values.decodeIfPresent([ZoneID].self, forKey: .recordZones) ?? []
    for text in try list(.records, of: String.self) {
      guard let change = PendingRecordChange(text, zones: recordZones) else { continue }
      records.add(change.kind, change.record)
    }
    hasUntrackedChanges = try values.decodeIfPresent(Bool.self, forKey: .untracked) ?? false
    databaseToken = try values.decodeIfPresent(String.self, forKey: .databaseToken)
    for entry in try list(.zoneTokens, of: ZoneToken.self) { zoneTokens[entry.zone] = entry.token }
    unfetchedZones = try list(.unfetched, of: ZoneID.self)
    rereadZones = Set(try list(.reread, of: ZoneID.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(1, forKey: .version)
    try values.encodeIfPresent(user, forKey: .user)
    try values.encode(zoneChanges, forKey: .zones)
    var recordZones: [ZoneID] = []
    var places: [ZoneID: Int] = [:]
    var texts: [String] = []
    texts.reserveCapacity(records.count)
    for (record, kind) in records.entries {
      let place = places[record.zone] ?? recordZones.count
      if place == recordZones.count {
        places[record.zone] = place
        recordZones.append(record.zone)
      }
      texts.append("\(kind == .save ? "+" : "-")\(place) \(record.name)")
    }
    try values.encode(recordZones, forKey: .recordZones)
    try values.encode(texts, forKey: .records)
    try values.encode(hasUntrackedChanges, forKey: .untracked)
    try values.encodeIfPresent(databaseToken, forKey: .databaseToken)
    let tokens = zoneTokens.sorted { $0.key < $1.key }.map { ZoneToken(zone: $0.key, token: $0.value) }
    try values.encode(tokens, forKey: .zoneTokens)
    try values.encode(unfetchedZones, forKey: .unfetched)
    try values.encode(rereadZones.sorted(), forKey: .reread)
  }
}

extension PendingRecordChange {
  /// Reads the text of a state; `nil` for a kind or a form that is not known.
  fileprivate init?(_ text: String, zones: [ZoneID]) {
    let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let place = Int(parts[0].dropFirst()), zones.indices.contains(place) else { return nil }
    let record = RecordID(RecordName(String(parts[1])), in: zones[place])
    switch parts[0].first {
    case "+": self.init(.save, record)
    case "-": self.init(.delete, record)
    default: return nil
    }
  }
}
