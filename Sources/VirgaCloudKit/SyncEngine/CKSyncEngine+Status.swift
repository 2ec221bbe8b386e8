public import Foundation
import VirgaModel
import VirgaSync

extension CKSyncEngine {
  /// How the sync is doing, for the eyes of a user: measured, not inferred. An addition of ours.
  public struct Status: Sendable {
    public enum Activity: Sendable, Equatable {
      case idle
      case sending
      case fetching
      /// There is no account; everything waits for one.
      case noAccount
    }

    /// A record whose last attempt failed.
    public struct FailedRecord: Sendable {
      public let recordID: CKRecord.ID
      public let error: CKError
    }

    public let activity: Activity
    public let pendingSaves: Int
    public let pendingDeletions: Int
    public let pendingDatabaseChanges: Int
    public let hasPendingUntrackedChanges: Bool
    /// When a fetch, and when a send, last came to its end without a failure since the engine was made.
    public let lastFetch: Date?
    public let lastSend: Date?
    /// What the last fetch and the last send failed with; a success clears it.
    public let fetchError: CKError?
    public let sendError: CKError?
    /// Records whose last attempt failed, oldest first, until they are saved.
    public let failedRecords: [FailedRecord]
    /// When the engine fetches and sends next on its own.
    public let nextFetch: Date?
    public let nextSend: Date?
    /// Records that the present fetch has brought, or the last one if none runs.
    public let recordsFetched: Int
    /// Records that were saved and deleted since the engine was made.
    public let recordsSent: Int
    /// Zones that changed on the server and are not read to their end.
    public let unfetchedZones: Int
    /// Whether pushes can reach the engine; if not, it fetches at shorter intervals.
    public let receivesPushes: Bool

    /// By how much this device's clock is ahead of the service's, measured at the last save; nil before one. More than
    /// half a minute is worth telling the user.
    public let clockSkew: Duration?

    /// Whether nothing waits and nothing is wrong, as far as is known here.
    public var isUpToDate: Bool {
      activity == .idle && pendingSaves + pendingDeletions + pendingDatabaseChanges == 0 && !hasPendingUntrackedChanges
        && fetchError == nil && sendError == nil && failedRecords.isEmpty && unfetchedZones == 0 && lastFetch != nil
    }
  }

  public var status: Status { Status(shell.status, clockSkew: shell.clockSkew) }
}

extension CKSyncEngine.Status {
  fileprivate init(_ status: SyncStatus, clockSkew: Duration?) {
    self.clockSkew = clockSkew
    activity =
      switch status.activity {
      case .idle: .idle
      case .sending: .sending
      case .fetching: .fetching
      case .noAccount: .noAccount
      }
    pendingSaves = status.pendingSaves
    pendingDeletions = status.pendingDeletions
    pendingDatabaseChanges = status.pendingZoneChanges
    hasPendingUntrackedChanges = status.hasUntrackedChanges
    lastFetch = status.lastFetch.map(Self.date)
    lastSend = status.lastSend.map(Self.date)
    fetchError = status.fetchFailure?.error
    sendError = status.sendFailure?.error
    failedRecords = status.failedRecords.map { FailedRecord(recordID: CKRecord.ID($0.record), error: $0.failure.error) }
    nextFetch = status.nextFetch.map(Self.date)
    nextSend = status.nextSend.map(Self.date)
    recordsFetched = status.recordsFetched
    recordsSent = status.recordsSent
    unfetchedZones = status.unfetchedZones
    receivesPushes = status.isPushChannelUp
  }

  private static func date(_ time: Timestamp) -> Date { Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000) }
}
