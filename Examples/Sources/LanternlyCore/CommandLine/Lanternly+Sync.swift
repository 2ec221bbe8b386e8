import CloudKit
import Foundation
import Synchronization
import VirgaCommandLine

/// Commands that talk to the server.
extension Lanternly {
  func sync() async throws -> ExitCode {
    guard let lock = try SyncLock(home.syncLock) else { throw CommandFailure(.busy, .syncBusy) }
    defer { withExtendedLifetime(lock) {} }
    findClient()
    if arguments.has("again"), try store.notes().purged != nil { try store.beginAgain(at: now) }
    // Not even a question: what the server asked for holds for another process too.
    let isHeld = try store.notes().heldUntil(now) != nil
    let report = isHeld ? nil : try await runOnce()
    let status = try store.status()
    if wantsJSON {
      let shape = ScriptOutput.StatusShape(
        status, home: home.path, device: try store.deviceName(), isSyncing: false, now: now)
      output.line(try ScriptOutput.text(shape))
    } else {
      tell(report ?? DiarySyncRun.Report(), status)
    }
    guard let report else { return .notSynced }
    if report.hasNoAccount { return .noAccount }
    return report.failure == nil && status.state == .synced ? .done : .notSynced
  }

  private func runOnce() async throws -> DiarySyncRun.Report {
    let waiting = Int64(try store.count(ofOutbox: .all))
    let meter = ProgressMeter(
      texts(.progressSync), unit: .things(texts(.progressChanges)), total: waiting > 0 ? waiting : nil,
      isWanted: !wantsJSON)
    defer { meter.finish() }
    return try await DiarySyncRun(store: store, now: surroundings.now).run(
      telling: { _ in meter.advance() }, sending: { meter.advance() })
  }

  /// The command with which the user looks at this device's account.
  var accountCommand: String {
    "virga account show" + (clientPath.map { " --home " + $0.asShellWord } ?? "")
  }

  private func noAccount(_ failure: SyncNotes.Failure?) -> String {
    let reason = failure.map { presentation.failure(code: $0.code, message: $0.message) }
    return texts(.syncNoAccount, reason ?? texts(.errorNoAccount), accountCommand)
  }

  /// The folder that was named for this device's key and account: by `VIRGA_HOME`, else with the diary's.
  private var clientPath: String? {
    if let path = surroundings.environment["VIRGA_HOME"], !path.isEmpty { return path }
    return isHomeNamed ? home.client : nil
  }

  /// Tells the client where this device's key and account are, before it is first used.
  func findClient() {
    if let clientPath { setenv("VIRGA_HOME", clientPath, 1) }
    // Other devices see the diary's name for this one.
    if let name = try? store.deviceName() { setenv("VIRGA_DEVICE_NAME", name, 1) }
  }

  /// Changes that one sync lists one by one.
  private static let changesShownMax = 20

  private func tell(_ report: DiarySyncRun.Report, _ status: DiaryStatus) {
    let lines = report.changes.map(line)
    for line in lines.prefix(Self.changesShownMax) { output.line(line) }
    if lines.count > Self.changesShownMax {
      output.line(texts(.moreChanges, String(lines.count - Self.changesShownMax)))
    }
    let received = report.changes.count
    if report.hasNoAccount {
      output.problem(noAccount(report.failure))
    } else if let failure = report.failure {
      if !report.sent.isEmpty { output.line(texts(.syncSent, String(report.sent.count))) }
      if received > 0 { output.line(texts(.syncReceived, String(received))) }
      output.problem(texts(.syncFailed, presentation.failure(code: failure.code, message: failure.message)))
    } else if status.state == .purged {
      output.problem(texts(.syncPurged))
    } else if status.state == .synced {
      output.line(texts(.syncDone, String(report.sent.count), String(received)))
    }
    if let until = status.notes.heldUntil(now) { output.problem(texts(.serverAsksToWait, presentation.clock(until))) }
    let waiting = status.pendingSaves + status.pendingDeletions - status.refused.filter(\.isTooLong).count
    if waiting > 0 && status.state != .purged { output.problem(texts(.syncWaiting, String(waiting))) }
    for line in refusals(status.refused, one: .syncRefused) { output.problem(line) }
    if status.missingFiles > 0 {
      output.problem(texts(.attachmentsMissing, presentation.attachments(status.missingFiles)))
    }
    let locked = status.locked - status.notEncrypted.count
    if locked > 0 { output.problem(texts(.statusLocked, presentation.entries(locked))) }
    if !status.notEncrypted.isEmpty {
      let names = status.notEncrypted.map(Presentation.short).joined(separator: " ")
      output.problem(texts(.statusNotEncrypted, presentation.entries(status.notEncrypted.count), names))
    }
    if status.conflicts > 0 { output.line(texts(.statusConflicts, String(status.conflicts))) }
  }

  func line(_ change: DiaryChange) -> String {
    func title(_ id: EntryID) -> String {
      // An entry that was deleted meanwhile has no title to show.
      (try? store.stored(id)).flatMap { $0 }.map { presentation.title($0.entry) } ?? ""
    }
    switch change {
    case .added(let id): return texts(.changeAdded, short(id), title(id))
    case .updated(let id): return texts(.changeUpdated, short(id), title(id))
    case .deleted(let id): return texts(.changeDeleted, short(id))
    case .merged(let id): return texts(.changeMerged, short(id), title(id))
    case .forked(let id, let copy):
      return texts(.changeForked, short(id), short(copy))
    case .deletionUndone(let id): return texts(.changeDeletionUndone, short(id))
    case .attachmentArrived(let id, _):
      let name = (try? store.attachment(id)).flatMap { $0 }?.attachment.fileName ?? ""
      return texts(.changeAttachmentArrived, Presentation.short(id.name), presentation.readable(name))
    case .attachmentRemoved(let id, _): return texts(.changeAttachmentRemoved, Presentation.short(id.name))
    }
  }

  // MARK: Watching

  func watch() async throws -> ExitCode {
    guard let lock = try SyncLock(home.syncLock) else { throw CommandFailure(.busy, .syncBusy) }
    defer { withExtendedLifetime(lock) {} }
    findClient()
    StopSignal.listen()
    try await waitAsAsked()
    let run = DiarySyncRun(store: store, now: surroundings.now)
    guard let hasAccount = try await StopSignal.orElse({ try await run.hasAccount() }) else { return watchEnds() }
    if !hasAccount {
      output.problem(noAccount(try store.notes().lastError))
      return .noAccount
    }
    if try store.notes().purged != nil { throw CommandFailure(.notSynced, .syncPurged) }
    let sync = try DiarySync(store: store, now: surroundings.now) { change in
      output.line(line(change))
    }
    let engine = try sync.makeEngine(isAutomatic: true)
    output.line(texts(.watchStarted))
    // Before the list is filled, so that what is written meanwhile is looked at.
    var watch = Watch(version: try store.dataVersion())
    try sync.refill(engine)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await sync.retryNowAndThen(engine) }
      defer { group.cancelAll() }
      while !StopSignal.hasCome {
        try await ContinuousClock().sleep(for: .milliseconds(250))
        try look(sync, engine, &watch)
        if try store.notes().purged != nil { throw CommandFailure(.notSynced, .syncPurged) }
      }
    }
    return watchEnds()
  }

  private func watchEnds() -> ExitCode {
    output.line(texts(.watchEnded))
    return .done
  }

  /// Waits as long as the server asked another process to.
  private func waitAsAsked() async throws {
    guard let until = try store.notes().heldUntil(now) else { return }
    output.line(texts(.serverAsksToWait, presentation.clock(until)))
    while try !StopSignal.hasCome && store.notes().heldUntil(now) != nil {
      try await ContinuousClock().sleep(for: .milliseconds(250))
    }
  }

  private struct Watch {
    var version: Int64
    var isOffline = false
    var noted = SyncNotes()
  }

  private func look(_ sync: DiarySync, _ engine: CKSyncEngine, _ watch: inout Watch) throws {
    let version = try store.dataVersion()
    if version != watch.version {
      // Another process wrote into the diary.
      watch.version = version
      try sync.refill(engine)
    }
    let progress = sync.takeProgress()
    if let error = progress.storeFailure { throw error }
    for name in progress.sent { output.line(texts(.changeSent, short(name))) }
    try note(engine.status, &watch)
  }

  /// Keeps what `status` prints up to date, and tells when the server goes and comes.
  private func note(_ status: CKSyncEngine.Status, _ watch: inout Watch) throws {
    let error = status.sendError ?? status.fetchError
    // Kept first: who reads the line may ask for the status at once.
    try keep(status, error, &watch)
    if let error, !watch.isOffline {
      watch.isOffline = true
      output.line(
        texts(
          .watchOffline,
          presentation.failure(code: SyncNotes.Failure.code(of: error), message: error.localizedDescription)))
    } else if error == nil && watch.isOffline {
      watch.isOffline = false
      output.line(texts(.watchOnline))
    }
  }

  private func keep(_ status: CKSyncEngine.Status, _ error: CKError?, _ watch: inout Watch) throws {
    var notes = watch.noted
    let success = [status.lastFetch, status.lastSend].compactMap(\.self).max().map(Moment.init(date:))
    notes.lastSuccess = success
    let next = [status.nextSend, error == nil ? nil : status.nextFetch].compactMap(\.self).min().map(Moment.init(date:))
    notes.lastError = error.map { error in
      let code = SyncNotes.Failure.code(of: error)
      return SyncNotes.Failure(
        code: code, message: error.localizedDescription, record: nil,
        at: watch.noted.lastError?.code == code ? watch.noted.lastError?.at ?? now : now,
        retryAt: error.retryAfterSeconds == nil ? nil : next)
    }
    notes.nextTry = next
    notes.hasNoAccount = status.activity == .noAccount
    guard notes != watch.noted else { return }
    watch.noted = notes
    let changed = notes
    try store.updateNotes { stored in
      stored.lastSuccess = changed.lastSuccess ?? stored.lastSuccess
      stored.lastError = changed.lastError
      stored.nextTry = changed.nextTry
      stored.hasNoAccount = changed.hasNoAccount
    }
  }
}

/// Whether the process was asked to end.
enum StopSignal {
  private static let flag = Atomic(false)

  static var hasCome: Bool { flag.load(ordering: .relaxed) }

  static func listen() {
    for number in [SIGINT, SIGTERM, SIGHUP] {
      let former = signal(number) { _ in StopSignal.flag.store(true, ordering: .relaxed) }
      // Under nohup the end of the terminal is nothing to stop for. The system's word for "ignored" is a number.
      if number == SIGHUP && unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
        signal(number, SIG_IGN)
      }
    }
  }

  /// What some work answers, or `nil` if the process is asked to end before; then the work is cancelled.
  static func orElse<Answer: Sendable>(_ work: @escaping @Sendable () async throws -> Answer) async throws -> Answer? {
    try await withThrowingTaskGroup(of: Answer?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        while !hasCome { try await ContinuousClock().sleep(for: .milliseconds(250)) }
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
  }
}
