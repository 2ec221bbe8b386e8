import Foundation
import VirgaModel
import VirgaWire

/// The assets of one zone's part of a batch, sent before their records.
struct AssetUploads: Sendable {
  /// What goes into the fields, by record.
  private(set) var values: [CKRecord.ID: [FieldName: [AssetValue]]] = [:]
  /// The records whose assets could not be sent, and why.
  private(set) var faults: [CKRecord.ID: CKError] = [:]

  /// The records of which an earlier attempt had sent assets already.
  private(set) var reused: Set<CKRecord.ID> = []

  private struct Job: Sendable {
    var number: Int
    var id: CKRecord.ID
    var key: FinishedUploads.Key
    var source: FileSource
  }

  /// Tokens asked for at once: few, because their time begins to run when they are given.
  private static let tokensPerRequest = 20

  init(
    _ drafts: [RecordDraft], in zone: ZoneID, of database: CKDatabase, progress: RecordModification.Progress? = nil
  ) async throws {
    let store = database.assets
    let meter = progress.map { Self.meter(drafts, $0) }
    let jobs = Self.jobs(drafts, database.databaseScope)
    var done: [AssetValue?] = jobs.map { job in
      let asset = store.finishedUploads.asset(for: job.key, at: database.service.now())
      if asset != nil { meter?.note(job.source.size, ofAsset: job.number, of: job.id) }
      return asset
    }
    reused = Set(jobs.filter { done[$0.number] != nil }.map(\.id))
    for part in jobs.filter({ done[$0.number] == nil }).chunks(of: Self.tokensPerRequest) {
      let part = part.filter { faults[$0.id] == nil }
      guard !part.isEmpty else { continue }
      let urls: [String]
      do { urls = try await Self.addresses(for: part, in: zone, of: database) } catch let error as CKError
        where error.code == .permissionFailure || error.code == .quotaExceeded
      {
        // What has no assets may go on: a deletion makes space. Any other error is that of the whole zone.
        for job in part { faults[job.id] = error }
        continue
      }
      let outcomes = await inParallel(
        Array(zip(part, urls)), limit: AssetStore.parallelTransfers
      ) { job, url -> Result<AssetValue, CKError> in
        do {
          let renew = { @Sendable in try await Self.addresses(for: [job], in: zone, of: database)[0] }
          let asset = try await store.upload(job.source, to: url, renew: renew) { sent in
            meter?.note(sent, ofAsset: job.number, of: job.id)
          }
          meter?.note(job.source.size, ofAsset: job.number, of: job.id)
          store.finishedUploads.keep(asset, for: job.key, at: database.service.now())
          return .success(asset)
        } catch let error as CKError {
          return .failure(error)
        } catch { return .failure(CKError(wrapping: error)) }
      }
      for (job, outcome) in zip(part, outcomes) { done[job.number] = try take(outcome, of: job.id) }
    }
    // The assets of a field come in the order of the jobs, with those between them that need none.
    var sent = done[...]
    for draft in drafts where draft.fault == nil {
      for name in draft.sources.keys.sorted() {
        values[draft.id, default: [:]][name] = draft.sources[name]?.compactMap { source in
          switch source {
          case .file: sent.removeFirst()
          case .held(let asset): asset
          }
        }
      }
    }
  }

  /// Where the files are to be sent, one address for each.
  private static func addresses(for jobs: [Job], in zone: ZoneID, of database: CKDatabase) async throws -> [String] {
    let items = jobs.map { job in
      AssetsUploadRequest.Item(recordName: job.key.record.name, recordType: job.key.type, fieldName: job.key.field)
    }
    let call = Call.assetsUpload(AssetsUploadRequest(zone: ZoneSelector(zone), items: items))
    guard case .uploadTokens(let tokens) = try await database.perform(call, in: zone), tokens.count == jobs.count
    else { throw CKError.unexpected("assets/upload") }
    return tokens.map(\.url)
  }

  private static func jobs(_ drafts: [RecordDraft], _ scope: CKDatabase.Scope) -> [Job] {
    var jobs: [Job] = []
    for draft in drafts where draft.fault == nil {
      let record = draft.sent.record
      for name in draft.sources.keys.sorted() {
        for (place, source) in (draft.sources[name] ?? []).enumerated() {
          guard let source = source.file else { continue }
          let key = FinishedUploads.Key(
            scope: scope, record: record.id, type: record.type, field: name, place: place, file: source.version)
          jobs.append(Job(number: jobs.count, id: draft.id, key: key, source: source))
        }
      }
    }
    return jobs
  }

  private static func meter(
    _ drafts: [RecordDraft], _ progress: @escaping RecordModification.Progress
  ) -> TransferMeter {
    var totals: [CKRecord.ID: Int64] = [:]
    var records: [CKRecord.ID: CKRecord] = [:]
    for draft in drafts where !draft.sources.isEmpty {
      totals[draft.id] = draft.sources.values.joined().reduce(0) { $0 + ($1.file?.size ?? 0) }
      records[draft.id] = draft.object
    }
    return TransferMeter(totals) { [records] id, done in
      if let record = records[id] { progress(record, done) }
    }
  }

  private mutating func take(_ outcome: Result<AssetValue, CKError>, of id: CKRecord.ID) throws -> AssetValue? {
    switch outcome {
    case .success(let asset): return asset
    case .failure(let error):
      switch error.code {
      // These are not one record's.
      case .networkUnavailable, .networkFailure, .serverResponseLost, .operationCancelled, .serviceUnavailable,
        .requestRateLimited, .notAuthenticated, .accountTemporarilyUnavailable:
        // An upload whose answer was lost has done nothing that counts: only a receipt makes an asset.
        if error.code == .serverResponseLost { throw CKError(.networkFailure, userInfo: error.userInfo) }
        throw error
      default:
        faults[id] = error
        return nil
      }
    }
  }
}
