public import Foundation
import VirgaModel
import VirgaSync

extension CKSyncEngine {
  /// How the sync is doing, for the eyes of a user: measured, not inferred. An addition of ours.
  public struct Status: Sendable {
    /// What the engine does now.
    public enum Activity: Sendable, Equatable {
      /// Nothing runs.
      case idle
      /// A send runs.
      case sending
      /// A fetch runs.
      case fetching
      /// There is no account; everything waits for one.
      case noAccount
    }

    /// A record whose last attempt failed.
    public struct FailedRecord: Sendable {
      /// The record whose last attempt failed.
      public let recordID: CKRecord.ID
      /// After a relaunch, its code and text alone.
      public let error: CKError
    }

    /// Something about the app that needs no attention of its user.
    public enum Warning: Hashable, Sendable, CustomStringConvertible {
      /// The app saves records to a zone that has no feed, so that no engine ever fetches them: the default zone.
      case zoneIsNeverFetched(CKRecordZone.ID)

      public var description: String {
        switch self {
        case .zoneIsNeverFetched(let zoneID):
          "Records in the zone \(zoneID.zoneName) are sent, but no sync engine fetches them, because the zone has no"
            + " feed. Save them in a zone of your own, such as CKRecordZone(zoneName: \"Notes\")."
        }
      }
    }

    /// Something that the production schema lacks, so that records cannot be saved there.
    public struct SchemaGap: Hashable, Sendable {
      /// The record type that cannot be saved as it is.
      public let recordType: CKRecord.RecordType
      /// Nil if the whole type is missing.
      public let field: CKRecord.FieldKey?
      /// What the service advises, with the command that deploys the schema.
      public let advice: String
    }

    /// What the engine does now.
    public let activity: Activity
    /// Records that wait to be saved.
    public let pendingSaves: Int
    /// Records that wait to be deleted.
    public let pendingDeletions: Int
    /// Zones that wait to be saved or deleted.
    public let pendingDatabaseChanges: Int
    /// Whether the app said that it has changes which it does not list.
    public let hasPendingUntrackedChanges: Bool
    /// When a fetch, and when a send, last came to its end without a failure since the engine was made.
    public let lastFetch: Date?
    /// When a send last came to its end without a failure since the engine was made.
    public let lastSend: Date?
    /// What the last fetch and the last send failed with; a success clears it.
    public let fetchError: CKError?
    /// What the last send failed with; a success clears it.
    public let sendError: CKError?
    /// Records whose last attempt failed, oldest first. Each stays here, also through fetches and the next launch, until
    /// it is saved or deleted, its zone is gone, or the app takes the change back: `state.remove(pendingRecordZoneChanges:)`
    /// says that a conflict is settled without another save, as when the server's version was taken. Of those that the
    /// app does not add again, the latest 1,000 are known.
    public let failedRecords: [FailedRecord]
    /// When the engine fetches and sends next on its own.
    public let nextFetch: Date?
    /// When the engine sends next on its own.
    public let nextSend: Date?
    /// Records that the present fetch has brought, or the last one if none runs.
    public let recordsFetched: Int
    /// Records that were saved and deleted since the engine was made.
    public let recordsSent: Int
    /// Zones that changed on the server and are not read to their end.
    public let unfetchedZones: Int
    /// Zones that are read, and hold encrypted values whose keys this device does not have, or does not have yet. They are
    /// asked for again, less and less often, and at once by `fetchChanges()`.
    public let zonesWaitingForKeys: Int
    /// Whether pushes can reach the engine; if not, it fetches at shorter intervals.
    public let receivesPushes: Bool
    /// What is worth a developer's look, each once; it does not keep the status from being up to date.
    public let warnings: [Warning]

    /// By how much this device's clock is ahead of the service's, negative if it is behind; measured at the last save,
    /// and nil before one. More than half a minute is worth telling the user.
    public let clockSkew: Duration?

    /// What the schema must have before the failed records can be saved, each once; add their changes again after it was
    /// deployed.
    public var schemaGaps: [SchemaGap] {
      var gaps: [SchemaGap] = []
      for failed in failedRecords {
        if let gap = SchemaGap(failed.error), !gaps.contains(gap) { gaps.append(gap) }
      }
      return gaps
    }

    /// Whether nothing waits and nothing is wrong, as far as is known here. Keys that have not come are no work that
    /// the engine could do: see `zonesWaitingForKeys`.
    public var isUpToDate: Bool {
      activity == .idle && pendingSaves + pendingDeletions + pendingDatabaseChanges == 0 && !hasPendingUntrackedChanges
        && fetchError == nil && sendError == nil && failedRecords.isEmpty && unfetchedZones == 0 && lastFetch != nil
    }
  }

  /// How the sync is doing now. An addition of ours.
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
    zonesWaitingForKeys = status.keylessZones
    receivesPushes = status.isPushChannelUp
    warnings = status.feedlessZones.map { .zoneIsNeverFetched(CKRecordZone.ID($0)) }
  }

  private static func date(_ time: Timestamp) -> Date { Date(timeIntervalSince1970: Double(time.milliseconds) / 1_000) }
}

extension CKSyncEngine.Status.SchemaGap {
  /// Reads `Cannot create new type T in …; advice` and `Cannot create new field 'f' of type 'T' in …; advice`.
  init?(_ error: CKError) {
    guard error.code == .serverRejectedRequest else { return nil }
    let parts = error.localizedDescription.split(separator: "; ", maxSplits: 1)
    guard let fact = parts.first, parts.count == 2 else { return nil }
    advice = String(parts[1])
    if let match = fact.firstMatch(of: #/Cannot create new field '(.+)' of type '(.+)' in /#) {
      (field, recordType) = (String(match.output.1), String(match.output.2))
    } else if let match = fact.firstMatch(of: #/Cannot create new type (.+) in /#) {
      (field, recordType) = (nil, String(match.output.1))
    } else {
      return nil
    }
  }
}
