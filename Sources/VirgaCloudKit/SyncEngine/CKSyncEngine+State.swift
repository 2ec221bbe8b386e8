import VirgaModel
package import VirgaSync

extension CKSyncEngine {
  /// A zone to save or delete.
  public enum PendingDatabaseChange: Hashable, Sendable, CustomStringConvertible {
    /// Makes a zone. Saving one that exists changes nothing.
    case saveZone(CKRecordZone)
    /// Deletes a zone with all its records.
    case deleteZone(CKRecordZone.ID)

    public static func == (lhs: PendingDatabaseChange, rhs: PendingDatabaseChange) -> Bool {
      lhs.machineChange == rhs.machineChange
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(machineChange) }

    public var description: String {
      switch self {
      case .saveZone(let zone): "save zone \(zone.zoneID.zoneName)"
      case .deleteZone(let zoneID): "delete zone \(zoneID.zoneName)"
      }
    }

    var machineChange: PendingZoneChange {
      switch self {
      case .saveZone(let zone): PendingZoneChange(.save, zone.zoneID.model)
      case .deleteZone(let zoneID): PendingZoneChange(.delete, zoneID.model)
      }
    }

    init(_ change: PendingZoneChange) {
      let zoneID = CKRecordZone.ID(change.zone)
      self = change.kind == .save ? .saveZone(CKRecordZone(zoneID: zoneID)) : .deleteZone(zoneID)
    }
  }

  /// A record to save or delete.
  public enum PendingRecordZoneChange: Hashable, Sendable, CustomStringConvertible {
    /// Saves a record, which the delegate provides when its batch is made.
    case saveRecord(CKRecord.ID)
    /// Deletes a record.
    case deleteRecord(CKRecord.ID)

    public var description: String {
      switch self {
      case .saveRecord(let recordID): "save \(recordID.recordName) in \(recordID.zoneID.zoneName)"
      case .deleteRecord(let recordID): "delete \(recordID.recordName) in \(recordID.zoneID.zoneName)"
      }
    }

    var recordID: CKRecord.ID {
      switch self {
      case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
      }
    }

    var machineChange: PendingRecordChange {
      switch self {
      case .saveRecord(let recordID): PendingRecordChange(.save, recordID.model)
      case .deleteRecord(let recordID): PendingRecordChange(.delete, recordID.model)
      }
    }

    init(_ change: PendingRecordChange) {
      let recordID = CKRecord.ID(change.record)
      self = change.kind == .save ? .saveRecord(recordID) : .deleteRecord(recordID)
    }
  }

  /// What waits to be sent, and what is known to wait on the server.
  ///
  /// There is at most one pending change for each record and zone. Adding the same again keeps its place; adding the
  /// opposite replaces it. What is added while a request carries the record stays pending after that request.
  ///
  /// The list is kept in the engine's state, and that is stored by the app when a `stateUpdate` comes, about a tenth
  /// of a second after an addition, and a second if 100,000 changes wait. An app that must lose nothing when it is killed
  /// in between keeps a mark with its data, in the same transaction, and adds what is marked again at launch.
  ///
  /// While a long list is sent, a `stateUpdate` comes each time that a fifth of it was sent: what apps write then grows as
  /// the list, and not as its square. An app that is killed in between sends so many records again.
  public final class State: Sendable {
    private let shell: SyncShell

    init(_ shell: SyncShell) { self.shell = shell }

    /// The zones to save and delete, in the order in which they were added. They are sent before records.
    public var pendingDatabaseChanges: [PendingDatabaseChange] {
      shell.machineState.zoneChanges.map { PendingDatabaseChange($0) }
    }

    /// The records to save and delete, in the order in which they were added.
    ///
    /// While the delegate is asked for a batch of a `sendChanges()`, what failed in that call is not in the list, so that
    /// batches do not fill up with what the call does not send again.
    public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
      let state = shell.machineState
      let leftOut = HandlerCall.recordsLeftOut(of: self)
      var changes: [PendingRecordZoneChange] = []
      // Asked for with each batch, and long: no list in between.
      changes.reserveCapacity(state.records.count)
      state.forEachRecordChange { change in
        if leftOut.isEmpty || !leftOut.contains(change.record) { changes.append(PendingRecordZoneChange(change)) }
      }
      return changes
    }

    /// Whether the app has changes that it does not list here. Setting it schedules a send; the engine clears it when
    /// the delegate has no more batches to give.
    public var hasPendingUntrackedChanges: Bool {
      get { shell.machineState.hasUntrackedChanges }
      set { shell.submit(.setUntrackedChanges(newValue)) }
    }

    /// Zones that changed on the server and are not yet fetched.
    public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] {
      shell.machineState.unfetchedZones.map { CKRecordZone.ID($0) }
    }

    /// Adds zones to save and delete, and schedules a send. One that is pending already keeps its place.
    public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
      shell.submit(.add(zones: pendingDatabaseChanges.map(\.machineChange), records: []))
    }

    /// Takes changes of zones back that are not sent yet.
    public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
      shell.submit(.remove(zones: pendingDatabaseChanges.map(\.machineChange), records: []))
    }

    /// Adds records to save and delete, and schedules a send. One that is pending already keeps its place.
    public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
      inPortions(pendingRecordZoneChanges) { .add(zones: [], records: $0) }
    }

    /// Takes changes back, and with them what is known of their records' failures: see `Status.failedRecords`.
    public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
      inPortions(pendingRecordZoneChanges) { .remove(zones: [], records: $0) }
    }

    /// A list of very many changes is not copied as a whole.
    private func inPortions(_ changes: [PendingRecordZoneChange], _ event: ([PendingRecordChange]) -> SyncEvent) {
      for start in stride(from: 0, to: changes.count, by: Self.portion) {
        shell.submit(event(changes[start..<min(start + Self.portion, changes.count)].map(\.machineChange)))
      }
    }

    private static let portion = 1_000
  }
}

extension CKSyncEngine.State {
  /// The state in a form to store. Opaque; a later release reads what an earlier one wrote, and the other way round a
  /// release ignores what it does not know.
  public struct Serialization: Codable, Sendable {
    package let state: SyncState

    package init(_ state: SyncState) { self.state = state }

    public init(from decoder: any Decoder) throws { state = try SyncState(from: decoder) }
    public func encode(to encoder: any Encoder) throws { try state.encode(to: encoder) }
  }
}
