import Foundation
import VirgaModel
import VirgaWire

/// The assets of one zone's part of a batch, sent before their records.
struct AssetUploads: Sendable {
  /// What goes into the fields, by record.
  private(set) var values: [CKRecord.ID: [FieldName: [AssetValue]]] = [:]
  /// The records whose assets could not be sent, and why.
  private(set) var faults: [CKRecord.ID: CKError] = [:]

  private struct Job: Sendable {
    var number: Int
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
        for source in draft.sources[name] ?? [] {
          jobs.append(Job(number: jobs.count, draft: index, name: name, source: source))
        }
      }
    }
    let meter = progress.map { Self.meter(drafts, $0) }
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
          let asset = try await store.upload(job.source, to: token.url) { sent in
            meter?.note(sent, ofAsset: job.number, of: id)
          }
          meter?.note(job.source.size, ofAsset: job.number, of: id)
          return .success(asset)
        } catch let error as CKError {
          return .failure(error)
        } catch { return .failure(CKError(.internalError, "\(error)")) }
      }
      for (job, outcome) in zip(part, outcomes) { try take(outcome, of: job, drafts[job.draft].id) }
    }
  }

  private static func meter(
    _ drafts: [RecordDraft], _ progress: @escaping RecordModification.Progress
  ) -> TransferMeter {
    var totals: [CKRecord.ID: Int64] = [:]
    var records: [CKRecord.ID: CKRecord] = [:]
    for draft in drafts where !draft.sources.isEmpty {
      totals[draft.id] = draft.sources.values.joined().reduce(0) { $0 + $1.size }
      records[draft.id] = draft.object
    }
    return TransferMeter(totals) { [records] id, done in
      if let record = records[id] { progress(record, done) }
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
