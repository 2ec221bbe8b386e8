import CloudKit
import Foundation
import VirgaCommandLine
import VirgaSQLite

/// One sync from beginning to end.
struct DiarySyncRun {
  struct Report: Sendable {
    var sent: [String] = []
    var changes: [DiaryChange] = []
    var failure: SyncNotes.Failure?
    var hasNoAccount = false
  }

  /// Rounds of fetching and sending, as each may make work for the other.
  static let roundsMax = 8

  let store: DiaryStore
  let now: @Sendable () -> Moment

  /// - Throws: What this device's own disk refused; `status` tells of it too.
  /// - Parameter telling: Told each change that is received.
  /// - Parameter sending: Told of each change that the server has acknowledged.
  func run(
    telling: @escaping @Sendable (DiaryChange) -> Void = { _ in }, sending: @escaping @Sendable () -> Void = {}
  ) async throws -> Report {
    do {
      return try await attempt(telling, sending)
    } catch {
      let failure = failure(error)
      // Where the diary takes no note either, the first error still says most.
      _ = try? store.updateNotes { $0.lastError = failure }
      throw error
    }
  }

  private func attempt(
    _ telling: @escaping @Sendable (DiaryChange) -> Void, _ sending: @escaping @Sendable () -> Void
  ) async throws -> Report {
    var report = Report()
    if try await !hasAccount() {
      report.failure = try store.notes().lastError
      report.hasNoAccount = true
      return report
    }
    // Whoever had the diary taken off the server does not want it there again with the next sync.
    if try store.notes().purged != nil { return report }
    try store.retryRefused()
    let sync = try DiarySync(store: store, now: now, telling: telling, sending: sending)
    let engine = try sync.makeEngine(isAutomatic: false)
    do {
      try await exchange(sync, engine, &report)
      let isPurged = try store.notes().purged != nil
      if !isPurged, try await sync.downloadMissing(from: engine.database) {
        // A copy waited for the file of its original.
        try await exchange(sync, engine, &report)
      }
    } catch let error as CKError {
      report.failure = failure(error)
      if error.code == .notAuthenticated || error.code == .accountTemporarilyUnavailable {
        // The server has removed or forgotten this device, or refuses it an account; the engine does not know why.
        report.hasNoAccount = error.code == .notAuthenticated
        if try await !hasAccount() {
          report.hasNoAccount = true
          report.failure = try store.notes().lastError
        }
      }
    }
    let progress = sync.takeProgress()
    report.sent += progress.sent
    report.changes += progress.changes
    if let error = progress.storeFailure { throw error }
    if report.failure == nil { report.failure = progress.zoneFailure.map(failure) }
    if report.failure == nil && !report.hasNoAccount { try await meetDevices() }
    try store.sweep(at: now())
    let (outcome, hasNoAccount, time) = (report.failure, report.hasNoAccount, now())
    try store.updateNotes { notes in
      notes.hasNoAccount = hasNoAccount
      notes.lastError = outcome
      notes.nextTry = nil
      if outcome == nil && notes.purged == nil { notes.lastSuccess = time }
    }
    return report
  }

  /// What a server answers to a device whose account it does not take.
  private static let accountCodes = [CKError.Code.notAuthenticated, .accountTemporarilyUnavailable].map { "\($0)" }

  /// Whether there is an account that the server takes; why there is none goes into the notes.
  ///
  /// The device remembers a refusal without its reason, and the server may have thought better of it: it is asked.
  func hasAccount() async throws -> Bool {
    let container = CKContainer(identifier: DiarySync.containerIdentifier)
    let status = try await container.accountStatus()
    // One that is unavailable is none on a server that has forgotten the device: only its user can do something about it.
    guard status == .noAccount || status == .temporarilyUnavailable else { return true }
    do {
      _ = try await container.userRecordID()
      return true
    } catch let error as CKError {
      let failure = failure(error)
      try store.updateNotes { notes in
        notes.hasNoAccount = true
        // A server that is away takes nothing back.
        let isAnswer = Self.accountCodes.contains(failure.code)
        if isAnswer || !Self.accountCodes.contains(notes.lastError?.code ?? "") { notes.lastError = failure }
      }
      return false
    }
  }

  private func exchange(_ sync: DiarySync, _ engine: CKSyncEngine, _ report: inout Report) async throws {
    for _ in 0..<Self.roundsMax {
      try sync.refill(engine)
      // Others' changes first: what they touched is merged here before it is sent.
      try await engine.fetchChanges()
      try sync.refill(engine)
      do { try await engine.sendChanges() } catch let error as CKError where error.code == .partialFailure {
        // What was refused is in the outbox, with its reason; what was merged goes out with the next round.
      }
      let progress = sync.takeProgress()
      report.sent += progress.sent
      report.changes += progress.changes
      if let error = progress.storeFailure { throw error }
      if try store.notes().purged != nil { return }
      let fetchError = engine.status.fetchError
      // One zone's failure is none of the fetch, but the diary is that zone. That it is gone is told by the next fetch.
      if let fetchError, !fetchError.isGoneZone { throw fetchError }
      if try fetchError == nil && store.count(ofOutbox: .waiting) == 0 { return }
      if let error = engine.status.sendError, error.code != .partialFailure { throw error }
    }
  }

  private func failure(_ error: any Error) -> SyncNotes.Failure {
    let (code, message) =
      switch error {
      case let error as CKError: (SyncNotes.Failure.code(of: error), error.localizedDescription)
      case let error as FileError: ("file", "\(error.path): \(error.reason)")
      case let error as SQLiteError: ("diary", error.message)
      default: ("unexpected", plainText(of: error))
      }
    let time = now()
    let wait = (error as? CKError)?.retryAfterSeconds
    return SyncNotes.Failure(
      code: code, message: message, record: nil, at: time, retryAt: wait.map { time.after(seconds: $0) })
  }
}
