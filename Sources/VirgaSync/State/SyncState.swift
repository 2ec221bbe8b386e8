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
  /// Keys that values of a zone needed, up to its token, and that had not come, in the order in which they were met. Once
  /// one of them has come, the zone is read from its beginning, so that the app is given what it could not be given then.
  package internal(set) var missingKeys: [ZoneID: [KeyID]] = [:]
  /// Zones that the database's feed named and whose own feeds were not read since, in the order they were named.
  package internal(set) var unfetchedZones: [ZoneID] = []
  /// Zones that were read to their end and hold values whose keys had not come by then, in the order in which they were read.
  package internal(set) var keylessZones: [ZoneID] = []
  /// Zones whose token had expired and that are not yet read to their end again.
  package internal(set) var rereadZones: Set<ZoneID> = []
  /// Records whose last attempt failed, oldest first.
  var failedAttempts = OrderedTable<RecordID, FailedAttempts>()

  package init() {}

  package var zoneChanges: [PendingZoneChange] { zones.entries.map { PendingZoneChange($0.kind, $0.key) } }
  package var recordChanges: [PendingRecordChange] { records.entries.map { PendingRecordChange($0.kind, $0.key) } }

  /// Calls `body` with each pending record in turn. Not generic, so that callers in other modules do not pay for that.
  package func forEachRecordChange(_ body: (PendingRecordChange) -> Void) {
    for (record, kind) in records.entries { body(PendingRecordChange(kind, record)) }
  }

  /// Forgets everything that belongs to one user.
  mutating func reset(to user: UserName?) {
    self = SyncState()
    self.user = user
  }

  mutating func noteUnfetched(_ zone: ZoneID) {
    if !unfetchedZones.contains(zone) { unfetchedZones.append(zone) }
  }

  /// - Returns: Whether a key is new.
  mutating func noteMissing(_ keys: [KeyID], in zone: ZoneID, atMost limit: Int) -> Bool {
    let known = missingKeys[zone] ?? []
    let all = known + keys.filter { !known.contains($0) }
    missingKeys[zone] = all.isEmpty ? nil : Array(all.prefix(limit))
    return all.count > known.count && known.count < limit
  }

  mutating func forget(_ zone: ZoneID) {
    zoneTokens[zone] = nil
    missingKeys[zone] = nil
    rereadZones.remove(zone)
    unfetchedZones.removeAll { $0 == zone }
    keylessZones.removeAll { $0 == zone }
    // Its records are gone with it, but for those that are still to be sent.
    for record in failedAttempts.map(\.key) where record.zone == zone && !records.contains(record) {
      failedAttempts[record] = nil
    }
  }
}

/// The form is open at both ends: a reader ignores keys that it does not know and fills in those that are missing.
/// What is missing costs a fetch from the beginning at worst. A change of a kind that a reader does not know is
/// skipped alone.
///
/// Records are lines such as `+0 name`: what to do, the place of their zone in a list, and their name. The state is
/// written often, and may hold a hundred thousand of them, so they are one text: as a list of texts they took ten times
/// as long. A name with a line break, which no service takes, is in such a list.
extension SyncState: Codable {
  private enum Key: String, CodingKey {
    case version, user, zones, recordZones, records, recordLines, untracked, databaseToken, zoneTokens, unfetched
    case reread, keyless, missingKeys, failures
  }

  private struct ZoneToken: Codable {
    var zone: ZoneID
    var token: String
  }

  private struct MissingKeys: Codable {
    var zone: ZoneID
    var keys: [KeyID]
  }

  private struct Failure: Codable {
    var record: RecordID
    var kind: String
    var retryAfterMilliseconds: Int64?
    var note: SyncFailure.Note?
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
    func add(_ text: Substring) {
      guard let change = PendingRecordChange(text, zones: recordZones) else { return }
      records.add(change.kind, change.record)
    }
    let lines = try values.decodeIfPresent(String.self, forKey: .recordLines) ?? ""
    for line in Substring(lines).utf8.split(separator: UInt8(ascii: "\n")) { add(Substring(line)) }
    for text in try list(.records, of: String.self) { add(Substring(text)) }
    hasUntrackedChanges = try values.decodeIfPresent(Bool.self, forKey: .untracked) ?? false
    databaseToken = try values.decodeIfPresent(String.self, forKey: .databaseToken)
    for entry in try list(.zoneTokens, of: ZoneToken.self) {
      // A former release wrote the missing keys behind the token.
      let parts = entry.token.split(separator: " lacks ", maxSplits: 1).map(String.init)
      zoneTokens[entry.zone] = parts.first ?? entry.token
      if parts.count > 1 { missingKeys[entry.zone] = parts[1].split(separator: ",").map { KeyID(String($0)) } }
    }
    for entry in try list(.missingKeys, of: MissingKeys.self) { missingKeys[entry.zone] = entry.keys }
    unfetchedZones = try list(.unfetched, of: ZoneID.self)
    keylessZones = try list(.keyless, of: ZoneID.self)
    rereadZones = Set(try list(.reread, of: ZoneID.self))
    for entry in try list(.failures, of: Failure.self) {
      // A kind of a later release is one that only the app can mend, as far as is known here.
      var failure = SyncFailure(SyncFailure.Kind(rawValue: entry.kind) ?? .final)
      failure.retryAfter = entry.retryAfterMilliseconds.map { .milliseconds($0) }
      failure.note = entry.note
      failedAttempts[entry.record] = FailedAttempts(failure)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(1, forKey: .version)
    try values.encodeIfPresent(user, forKey: .user)
    try values.encode(zoneChanges, forKey: .zones)
    var recordZones: [ZoneID] = []
    var places: [ZoneID: Int] = [:]
    var lines: [UInt8] = []
    lines.reserveCapacity(records.count * 24)
    var texts: [String] = []
    for (record, kind) in records.entries {
      let place = places[record.zone] ?? recordZones.count
      if place == recordZones.count {
        places[record.zone] = place
        recordZones.append(record.zone)
      }
      let start = lines.count
      lines.append(contentsOf: "\(kind.sign)\(place) ".utf8)
      let nameStart = lines.count
      var name = record.name.rawValue
      name.withUTF8 { lines.append(contentsOf: $0) }
      lines.append(UInt8(ascii: "\n"))
      guard lines[nameStart..<lines.count - 1].contains(UInt8(ascii: "\n")) else { continue }
      texts.append(String(decoding: lines[start..<lines.count - 1], as: UTF8.self))
      lines.removeSubrange(start...)
    }
    try values.encode(recordZones, forKey: .recordZones)
    try values.encode(String(decoding: lines, as: UTF8.self), forKey: .recordLines)
    if !texts.isEmpty { try values.encode(texts, forKey: .records) }
    try values.encode(hasUntrackedChanges, forKey: .untracked)
    try values.encodeIfPresent(databaseToken, forKey: .databaseToken)
    let tokens = zoneTokens.sorted { $0.key < $1.key }.map { ZoneToken(zone: $0.key, token: $0.value) }
    try values.encode(tokens, forKey: .zoneTokens)
    try values.encode(unfetchedZones, forKey: .unfetched)
    if !keylessZones.isEmpty { try values.encode(keylessZones, forKey: .keyless) }
    let missing = missingKeys.sorted { $0.key < $1.key }.map { MissingKeys(zone: $0.key, keys: $0.value) }
    if !missing.isEmpty { try values.encode(missing, forKey: .missingKeys) }
    try values.encode(rereadZones.sorted(), forKey: .reread)
    try encodeFailures(into: &values)
  }

  private func encodeFailures(into values: inout KeyedEncodingContainer<Key>) throws {
    var failures = failedAttempts.filter { !$0.value.isDropped }.map { attempts in
      let failure = attempts.value.failure
      return Failure(
        record: attempts.key, kind: failure.kind.rawValue,
        retryAfterMilliseconds: failure.retryAfter?.wholeMilliseconds,
        note: failure.note.map { .init(code: $0.code, text: String($0.text.prefix(Self.noteLengthMax))) })
    }
    failures.removeFirst(max(0, failures.count - Self.failuresMax))
    if !failures.isEmpty { try values.encode(failures, forKey: .failures) }
  }

  /// The state is written often: the latest failures are kept in it, and of each no more than its reader needs.
  private static let failuresMax = 1_000
  private static let noteLengthMax = 1_000
}

extension PendingKind {
  fileprivate var sign: String { self == .save ? "+" : "-" }
}

extension PendingRecordChange {
  /// Reads the text of a state; `nil` for a kind or a form that is not known.
  fileprivate init?(_ text: Substring, zones: [ZoneID]) {
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
