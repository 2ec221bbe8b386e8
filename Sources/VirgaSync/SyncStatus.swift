package import VirgaModel

/// What an app can show its user, measured rather than inferred: nothing is "done" while something waits.
package struct SyncStatus: Sendable {
  package enum Activity: Equatable, Sendable {
    case idle
    case sending
    case fetching
    /// There is no account; everything waits for one.
    case noAccount
  }

  package struct Failure: Sendable {
    package var failure: SyncFailure
    package var record: RecordID
  }

  package var activity: Activity
  package var pendingSaves: Int
  package var pendingDeletions: Int
  package var pendingZoneChanges: Int
  package var hasUntrackedChanges: Bool
  /// When a fetch, and when a send, last came to its end without a failure.
  package var lastFetch: Timestamp?
  package var lastSend: Timestamp?
  /// What the last fetch and the last send failed with; a success clears it.
  package var fetchFailure: SyncFailure?
  package var sendFailure: SyncFailure?
  /// Records whose last attempt failed, oldest first, until they are saved or deleted, or the app takes them back.
  package var failedRecords: [Failure]
  /// When the engine tries next on its own.
  package var nextSend: Timestamp?
  package var nextFetch: Timestamp?
  /// Records that the present fetch has brought, or the last one if none runs.
  package var recordsFetched: Int
  /// Records that were sent since the engine was made.
  package var recordsSent: Int
  /// Zones that changed and are not read to their end.
  package var unfetchedZones: Int
  /// Zones that hold values whose keys have not come.
  package var keylessZones: Int
  package var isPushChannelUp: Bool
  /// Zones that the app saves to and that no engine can fetch.
  package var feedlessZones: [ZoneID]
}

extension SyncMachine {
  package var status: SyncStatus {
    var saves = 0
    for entry in state.records.entries where entry.kind == .save { saves += 1 }
    return SyncStatus(
      activity: activity, pendingSaves: saves, pendingDeletions: state.records.count - saves,
      pendingZoneChanges: state.zones.count, hasUntrackedChanges: state.hasUntrackedChanges,
      lastFetch: schedule.fetch.lastSuccess, lastSend: schedule.send.lastSuccess,
      fetchFailure: schedule.fetch.lastFailure, sendFailure: schedule.send.lastFailure,
      failedRecords: state.failedAttempts.filter { !$0.value.isDropped }
        .map { SyncStatus.Failure(failure: $0.value.failure, record: $0.key) },
      nextSend: isAutomatic && hasChangesToSend ? schedule.send.start : nil, nextFetch: schedule.fetch.start,
      recordsFetched: progress.recordsFetched, recordsSent: progress.recordsSent,
      unfetchedZones: state.unfetchedZones.count, keylessZones: state.keylessZones.count,
      isPushChannelUp: isPushChannelUp, feedlessZones: feedlessZones)
  }

  private var activity: SyncStatus.Activity {
    switch run?.work {
    case .send where account != .none: .sending
    case .fetch where account != .none: .fetching
    default: account == .none ? .noAccount : .idle
    }
  }
}
