package import VirgaModel

/// Names one call of the app that waits for its run to end.
package struct CallID: Hashable, Sendable {
  package var rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

package enum SendScope: Hashable, Sendable {
  case all
  case allExcluding([ZoneID])
  case zones([ZoneID])
  case records([RecordID])

  /// Whether changes of the zone itself are meant.
  package func contains(zone: ZoneID) -> Bool {
    switch self {
    case .all: true
    case .allExcluding(let zones): !zones.contains(zone)
    case .zones(let zones): zones.contains(zone)
    case .records(let records): records.contains { $0.zone == zone }
    }
  }

  package func contains(record: RecordID) -> Bool {
    switch self {
    case .records(let records): records.contains(record)
    default: contains(zone: record.zone)
    }
  }
}

package enum FetchScope: Hashable, Sendable {
  case all
  case allExcluding([ZoneID])
  case zones([ZoneID])

  package func contains(_ zone: ZoneID) -> Bool {
    switch self {
    case .all: true
    case .allExcluding(let zones): !zones.contains(zone)
    case .zones(let zones): zones.contains(zone)
    }
  }
}

/// Why a run happens: the app's call, or the schedule.
package struct SendContext: Hashable, Sendable {
  package var call: CallID?
  package var scope: SendScope

  package init(call: CallID?, scope: SendScope) {
    self.call = call
    self.scope = scope
  }
}

package struct FetchContext: Hashable, Sendable {
  package var call: CallID?
  package var scope: FetchScope
  package var prioritized: [ZoneID]

  package init(call: CallID?, scope: FetchScope, prioritized: [ZoneID]) {
    self.call = call
    self.scope = scope
    self.prioritized = prioritized
  }
}

/// Part of a batch that the app gave: what one request is to save and delete.
package struct BatchPart: Hashable, Sendable {
  package var saves: [RecordID]
  package var deletes: [RecordID]
  package var isAtomic: Bool

  package init(saves: [RecordID], deletes: [RecordID], isAtomic: Bool = false) {
    self.saves = saves
    self.deletes = deletes
    self.isAtomic = isAtomic
  }

  package var count: Int { saves.count + deletes.count }
  package var records: [RecordID] { saves + deletes }

  package func filtered(_ isIncluded: (RecordID) -> Bool) -> BatchPart {
    BatchPart(saves: saves.filter(isIncluded), deletes: deletes.filter(isIncluded), isAtomic: isAtomic)
  }

  /// Two halves in order, or for an atomic batch one part for each of several zones; `nil` if it cannot be divided.
  package func divided() -> [BatchPart]? {
    guard count > 1 else { return nil }
    if isAtomic {
      var zones: [ZoneID] = []
      for record in records where !zones.contains(record.zone) { zones.append(record.zone) }
      return zones.count > 1 ? zones.map { zone in filtered { $0.zone == zone } } : nil
    }
    let half = count / 2
    let firstSaves = min(half, saves.count)
    let firstDeletes = half - firstSaves
    return [
      BatchPart(saves: Array(saves.prefix(firstSaves)), deletes: Array(deletes.prefix(firstDeletes))),
      BatchPart(saves: Array(saves.dropFirst(firstSaves)), deletes: Array(deletes.dropFirst(firstDeletes))),
    ]
  }
}

/// What the app is told. Payloads that the machine does not hold (records, errors of items) are those of the reply
/// that was last handed in.
package enum Notice: Equatable, Sendable {
  case signIn(UserName)
  case signOut(previous: UserName)
  case switchAccounts(previous: UserName, current: UserName)
  case stateUpdate
  case willSend(SendContext)
  /// The outcomes of the last request; with `failed`, that it failed as a whole and each zone is handed over with it.
  case sentZones(failed: SyncFailure?)
  /// The outcomes of the last request; with `failed`, that it failed as a whole and each item is handed over with it.
  case sentRecords(BatchPart, failed: SyncFailure?)
  case didSend(SendContext)
  case willFetch(FetchContext)
  case fetchedDatabaseChanges(DatabasePage)
  case willFetchZone(ZoneID)
  case fetchedRecords(ZonePage)
  case didFetchZone(ZoneID, SyncFailure?)
  case didFetch(FetchContext)
}

/// What the shell performs, one at a time; each is answered by one event.
package enum SyncStep: Equatable, Sendable {
  /// Answered by `.account`.
  case checkAccount
  /// Answered by `.told`.
  case tell(Notice)
  /// Answered by `.fetchOptions`.
  case askFetchOptions(FetchContext)
  /// Answered by `.batch`.
  case askBatch(SendContext)
  /// Answered by `.zonesSent`.
  case sendZones([PendingZoneChange])
  /// Answered by `.recordsSent`.
  case sendRecords(BatchPart)
  /// Answered by `.databasePage`.
  case fetchDatabase(token: String?)
  /// Answered by `.zonePage`.
  case fetchZone(ZoneID, token: String?)
  /// Answered by `.paused`.
  case pause(until: Timestamp)

  /// Whether the step talks to the service.
  var isRequest: Bool {
    switch self {
    case .checkAccount, .sendZones, .sendRecords, .fetchDatabase, .fetchZone: true
    case .tell, .askFetchOptions, .askBatch, .pause: false
    }
  }
}

package enum SyncAction: Equatable, Sendable {
  case perform(SyncStep)
  /// Begin this fetch while the app handles the page before it. A step for the same page takes what comes of it.
  case prefetch(ZoneID, token: String)
  /// Cut short the step that is being performed, if it waits for the network or the clock, and drop what was prefetched.
  case interrupt
  /// Hand in `.wake` at that time; replaces what was asked before.
  case wake(at: Timestamp?)
  case finish(CallID, SyncFailure?)
}

package struct ItemOutcome: Equatable, Sendable {
  package var record: RecordID
  package var failure: SyncFailure?
  package init(_ record: RecordID, _ failure: SyncFailure? = nil) {
    self.record = record
    self.failure = failure
  }
}

package struct ZoneOutcome: Equatable, Sendable {
  package var zone: ZoneID
  package var failure: SyncFailure?
  package init(_ zone: ZoneID, _ failure: SyncFailure? = nil) {
    self.zone = zone
    self.failure = failure
  }
}

/// A page of the database's feed.
package struct DatabasePage: Equatable, Sendable {
  package struct Deletion: Equatable, Sendable {
    package var zone: ZoneID
    package var reason: ZoneDeletionReason
    package init(_ zone: ZoneID, _ reason: ZoneDeletionReason) {
      self.zone = zone
      self.reason = reason
    }
  }

  package var modified: [ZoneID]
  package var deleted: [Deletion]
  /// Zones that the service named and could not speak of.
  package var failed: [ZoneID]
  package var token: String
  package var moreComing: Bool

  package init(
    modified: [ZoneID], deleted: [Deletion] = [], failed: [ZoneID] = [], token: String, moreComing: Bool = false
  ) {
    self.modified = modified
    self.deleted = deleted
    self.failed = failed
    self.token = token
    self.moreComing = moreComing
  }
}

/// What the machine needs to know of a page of a zone's feed; its records are the shell's.
package struct ZonePage: Equatable, Sendable {
  package var zone: ZoneID
  package var count: Int
  package var token: String
  package var moreComing: Bool
  /// Keys that values of the page need and the device does not have: the zone is then asked for again with each fetch.
  package var missingKeys: [KeyID]

  package init(zone: ZoneID, count: Int, token: String, moreComing: Bool = false, missingKeys: [KeyID] = []) {
    self.zone = zone
    self.count = count
    self.token = token
    self.moreComing = moreComing
    self.missingKeys = missingKeys
  }
}

package enum SyncEvent: Sendable {
  // From the app.
  case add(zones: [PendingZoneChange], records: [PendingRecordChange])
  case remove(zones: [PendingZoneChange], records: [PendingRecordChange])
  case setUntrackedChanges(Bool)
  case send(CallID, SendScope)
  case fetch(CallID, FetchScope)
  /// Stops what runs and what waits; answered when nothing runs any more.
  case cancel(CallID)
  /// Gives up one call, and its run if it has begun.
  case cancelCall(CallID)
  /// Reads every feed from the beginning again; pending changes stay.
  case forgetTokens
  // From outside.
  case start
  case wake
  case push
  case pushChannel(isUp: Bool)
  case accountMayHaveChanged
  // Answers to steps.
  case account(Result<UserName?, SyncFailure>)
  case told
  case fetchOptions(FetchScope, prioritized: [ZoneID])
  case batch(BatchPart?)
  case zonesSent(Result<[ZoneOutcome], SyncFailure>)
  case recordsSent(Result<[ItemOutcome], SyncFailure>)
  case databasePage(Result<DatabasePage, SyncFailure>)
  case zonePage(Result<ZonePage, SyncFailure>)
  case paused
}
