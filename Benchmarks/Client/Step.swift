import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit

/// One thing to measure, in a process of its own.
struct Step {
  enum Kind: String { case upload, firstSync, nothing, idle, asset, archive }

  private let kind: Kind
  private let count: Int
  private let folder: String
  private let transport = CountingTransport()
  private let database: CKDatabase

  /// - Parameter arguments: Kind, count, address of the server, folder.
  init?(_ arguments: ArraySlice<String>) {
    let words = Array(arguments)
    guard words.count == 4, let kind = Kind(rawValue: words[0]), let count = Int(words[1]) else { return nil }
    self.kind = kind
    self.count = count
    folder = words[3]
    // Idle engines have an account of their own: there is nothing for them to fetch.
    let home = VirgaHome(path: folder + (kind == .idle ? "/idle" : "/home"))
    let service = RemoteService(endpoint: words[2], environment: .development, home: home, transport: transport)
    database = CKContainer("iCloud.virga.bench", on: service).privateCloudDatabase
  }

  func perform() async throws -> StepResult {
    switch kind {
    case .upload: try await upload()
    case .firstSync: try await firstSync()
    case .nothing: try await nothing()
    case .idle: try await idle()
    case .asset: try await asset()
    case .archive: try await archive()
    }
  }

  /// What archiving the system fields of a fetched record costs.
  /// - Returns: `processorSeconds` with them, `baselineSeconds` of an archiver that is only made and finished, both of the
  ///   thread, and as `stateBytes` what they add to the archive.
  private func archive() async throws -> StepResult {
    let zone = CKRecordZone(zoneName: "Archived")
    _ = try await database.save(zone)
    let record = CKRecord(recordType: "Metric", recordID: CKRecord.ID(zoneID: zone.zoneID))
    record["value"] = 1.5
    _ = try await database.save(record)
    let fetched = try await database.record(for: record.recordID)
    func archived(_ fill: (NSKeyedArchiver) -> Void) -> (seconds: Double, bytes: Int) {
      let start = Meter.threadSeconds
      var bytes = 0
      for _ in 0..<count {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        fill(archiver)
        archiver.finishEncoding()
        bytes = archiver.encodedData.count
      }
      return (Meter.threadSeconds - start, bytes)
    }
    var result = StepResult(records: count)
    _ = archived { _ in }
    let empty = archived { _ in }
    let full = archived { fetched.encodeSystemFields(with: $0) }
    (result.baselineSeconds, result.processorSeconds) = (empty.seconds, full.seconds)
    result.stateBytes = full.bytes - empty.bytes
    return result
  }

  private var zone: CKRecordZone.ID { CKRecordZone.ID(zoneName: "Metrics\(count)") }

  private func engine(_ app: MetricsApp, automatic: Bool = false) -> CKSyncEngine {
    var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: app)
    configuration.automaticallySync = automatic
    return CKSyncEngine(configuration)
  }

  private func upload() async throws -> StepResult {
    let app = try MetricsApp(path: "\(folder)/upload\(count).sqlite", zone: zone)
    try app.fill(count)
    let engine = engine(app)
    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zone))])
    let requests = transport.count
    let meter = Meter()
    try app.forEachUnsent(1_000) { ids in engine.state.add(pendingRecordZoneChanges: ids.map { .saveRecord($0) }) }
    try await engine.sendChanges()
    var result = StepResult(records: count)
    try meter.read(into: &result)
    app.readCosts(into: &result)
    result.requests = transport.count - requests
    result.missing = try app.unsentCount()
    result.stateBytes = app.stateBytesMax
    result.stateBytesWritten = app.stateBytesWritten
    return result
  }

  private func firstSync() async throws -> StepResult {
    let app = try MetricsApp(path: "\(folder)/first\(count).sqlite", zone: zone)
    let engine = engine(app)
    let meter = Meter()
    try await engine.fetchChanges(.init(scope: .zoneIDs([zone])))
    var result = StepResult(records: count)
    try meter.read(into: &result)
    app.readCosts(into: &result)
    result.requests = transport.count
    result.missing = count - (try app.count())
    let pages = transport.feedRequests
    let alone = Meter()
    try await transport.download(pages)
    var baseline = StepResult()
    try alone.read(into: &baseline)
    result.baselineSeconds = baseline.seconds
    return result
  }

  private func nothing() async throws -> StepResult {
    let app = try MetricsApp(path: "\(folder)/first\(count).sqlite", zone: zone)
    var configuration = CKSyncEngine.Configuration(
      database: database, stateSerialization: try app.storedState(), delegate: app)
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration)
    try await sync(engine)
    let requests = transport.count
    var times: [Double] = []
    for _ in 0..<50 {
      let meter = Meter()
      try await sync(engine)
      var result = StepResult()
      try meter.read(into: &result)
      times.append(result.seconds)
    }
    return StepResult(seconds: times.sorted()[25], requests: (transport.count - requests) / 50)
  }

  private func sync(_ engine: CKSyncEngine) async throws {
    try await engine.fetchChanges()
    try await engine.sendChanges()
  }

  private func idle() async throws -> StepResult {
    var engines: [(CKSyncEngine, MetricsApp)] = []
    for number in 0..<8 {
      let app = try MetricsApp(path: "\(folder)/idle\(number).sqlite", zone: CKRecordZone.ID(zoneName: "Idle"))
      let engine = engine(app, automatic: true)
      try await engine.fetchChanges()
      engines.append((engine, app))
    }
    // Push channels are made, and first fetches end.
    try await ContinuousClock().sleep(for: .seconds(3))
    let requests = transport.count
    let meter = Meter()
    try await ContinuousClock().sleep(for: .seconds(count))
    var result = StepResult()
    try meter.read(into: &result)
    result.requests = transport.count - requests
    for (engine, _) in engines { await engine.cancelOperations() }
    return result
  }

  /// One file of that many megabytes, up and down.
  /// - Returns: `seconds` up, `baselineSeconds` down, and as peak the growth over what was held before.
  private func asset() async throws -> StepResult {
    let zone = CKRecordZone(zoneName: "Films")
    _ = try await database.save(zone)
    let file = URL(fileURLWithPath: folder + "/film")
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: UInt64(count) << 20)
    try handle.close()
    let record = CKRecord(recordType: "Film", recordID: CKRecord.ID(recordName: "film", zoneID: zone.zoneID))
    record["file"] = CKAsset(fileURL: file)
    let held = try Meter.residentBytes()
    var (up, down) = (StepResult(), StepResult())
    let sending = Meter()
    _ = try await database.save(record)
    try sending.read(into: &up)
    let fetching = Meter()
    let fetched = try await database.record(for: record.recordID)["file"] as? CKAsset
    try fetching.read(into: &down)
    guard let url = fetched?.fileURL, url != file,
      try url.resourceValues(forKeys: [.fileSizeKey]).fileSize == count << 20
    else { throw BenchError("the asset did not come back") }
    return StepResult(
      seconds: up.seconds, baselineSeconds: down.seconds, processorSeconds: up.processorSeconds + down.processorSeconds,
      peakBytes: down.peakBytes - held)
  }
}
