import Foundation
import Synchronization
import VirgaModel
import VirgaWire

/// The assets of one zone's part of a batch, sent before their records.
struct AssetUploads: Sendable {
  /// What goes into the fields, by record.
  private(set) var values: [CKRecord.ID: [FieldName: [AssetValue]]] = [:]
  /// The records whose assets could not be sent, and why.
  private(set) var faults: [CKRecord.ID: CKError] = [:]

  private struct Job: Sendable {
    var draft: Int
    var name: FieldName
    var source: FileSource
  }

  /// Tokens asked for at once: few, because their time begins to run when they are given.
  private static let tokensPerRequest = 20

  init(
    _ drafts: [RecordDraft], in zone: ZoneID, of database: CKDatabase, progress: RecordModification.Progress? = nil
  ) async throws {
    var jobs: [Job] = []
    for (index, draft) in drafts.enumerated() where draft.fault == nil {
      for name in draft.sources.keys.sorted() {
        for source in draft.sources[name] ?? [] { jobs.append(Job(draft: index, name: name, source: source)) }
      }
    }
    let meter = progress.map { UploadMeter(drafts, $0) }
    for part in jobs.chunks(of: Self.tokensPerRequest) {
      let part = part.filter { faults[drafts[$0.draft].id] == nil }
      guard !part.isEmpty else { continue }
      let items = part.map { job in
        let record = drafts[job.draft].sent.record
        return AssetsUploadRequest.Item(recordName: record.id.name, recordType: record.type, fieldName: job.name)
      }
      let call = Call.assetsUpload(AssetsUploadRequest(zone: ZoneSelector(zone), items: items))
      guard case .uploadTokens(let tokens) = try await database.perform(call, in: zone), tokens.count == part.count
      else { throw CKError.unexpected("assets/upload") }
      let store = database.assets
      let outcomes = await inParallel(
        Array(zip(part, tokens)), limit: AssetStore.parallelTransfers
      ) { job, token -> Result<AssetValue, CKError> in
        do {
          let id = drafts[job.draft].id
          let asset = try await store.upload(job.source, to: token.url) { sent in meter?.sent(sent, of: job.source, id)
          }
          meter?.sent(job.source.size, of: job.source, id)
          return .success(asset)
        } catch let error as CKError {
          return .failure(error)
        } catch { return .failure(CKError(.internalError, "\(error)")) }
      }
      for (job, outcome) in zip(part, outcomes) { try take(outcome, of: job, drafts[job.draft].id) }
    }
  }

  private mutating func take(_ outcome: Result<AssetValue, CKError>, of job: Job, _ id: CKRecord.ID) throws {
    switch outcome {
    // A list's assets come in their order, because the jobs do.
    case .success(let value): values[id, default: [:]][job.name, default: []].append(value)
    case .failure(let error):
      switch error.code {
      // These are not one record's.
      case .networkUnavailable, .networkFailure, .serverResponseLost, .operationCancelled, .serviceUnavailable,
        .requestRateLimited, .notAuthenticated:
        // An upload whose answer was lost has done nothing that counts: only a receipt makes an asset.
        if error.code == .serverResponseLost { throw CKError(.networkFailure, userInfo: error.userInfo) }
        throw error
      default: faults[id] = error
      }
    }
  }
}

/// Tells how far the assets of records are sent, whenever a hundredth more is.
private final class UploadMeter: Sendable {
  private struct Gauge: Sendable {
    let record: CKRecord
    let total: Int64
    var sent: [ObjectIdentifier: Int64] = [:]
    var told = 0
  }

  private let gauges: Mutex<[CKRecord.ID: Gauge]>
  private let progress: RecordModification.Progress

  init(_ drafts: [RecordDraft], _ progress: @escaping RecordModification.Progress) {
    self.progress = progress
    var gauges: [CKRecord.ID: Gauge] = [:]
    for draft in drafts {
      let total = draft.sources.values.joined().reduce(0) { $0 + $1.size }
      if total > 0 { gauges[draft.id] = Gauge(record: draft.object, total: total) }
    }
    self.gauges = Mutex(gauges)
  }

  func sent(_ bytes: Int64, of source: FileSource, _ id: CKRecord.ID) {
    let news = gauges.withLock { gauges -> (CKRecord, Double)? in
      guard var gauge = gauges[id] else { return nil }
      gauge.sent[ObjectIdentifier(source)] = bytes
      let hundredths = Int(gauge.sent.values.reduce(0, +) * 100 / gauge.total)
      let isNews = hundredths > gauge.told && hundredths < 100
      if isNews { gauge.told = hundredths }
      gauges[id] = gauge
      return isNews ? (gauge.record, Double(hundredths) / 100) : nil
    }
    if let (record, done) = news { progress(record, done) }
  }
}
