import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaWire

/// One batch of saves and deletions: how the records stood when it was made, and how it is carried out.
struct RecordModification: Sendable {
  typealias Policy = CKModifyRecordsOperation.RecordSavePolicy
  /// Told how far the assets of a record are sent: more than 0, less than 1.
  typealias Progress = @Sendable (_ record: CKRecord, _ done: Double) -> Void

  /// What became of each item.
  struct Results: Sendable {
    private var saves: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    private var deletions: [CKRecord.ID: Result<Void, any Error>] = [:]

    var isEmpty: Bool { saves.isEmpty && deletions.isEmpty }

    mutating func set(_ item: Item, _ result: Result<Void, any Error>) {
      switch item {
      case .save(let draft): saves[draft.id] = result.map { draft.object }
      case .delete(let id): deletions[id] = result
      }
    }

    /// As apps get them.
    var tuple:
      (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
        deleteResults: [CKRecord.ID: Result<Void, any Error>]
      )
    { (saves, deletions) }
  }

  /// Bytes of a request without its assets (CloudKit's `limitExceeded`).
  static let requestBytesMax = 2 << 20

  /// Files of assets held open from the beginning; a process may often open no more than 1,024.
  private static let openFilesMax = 200

  private let drafts: [RecordDraft]
  private let deletions: [CKRecord.ID]
  private let isAtomic: Bool

  /// Takes the records as they are now and opens the files of their assets.
  /// - Throws: `limitExceeded` or `invalidArguments` for the whole batch.
  init(saving records: [CKRecord], deleting deletions: [CKRecord.ID], savePolicy: Policy, isAtomic: Bool) throws {
    try CKError.checkBatch(records.count + deletions.count)
    guard Set(records.map(\.recordID)).count == records.count else {
      throw CKError(.invalidArguments, "A record cannot be saved twice in one batch.")
    }
    var openFiles = 0
    drafts = records.map { record in
      let draft = RecordDraft(record, policy: savePolicy)
      for file in draft.sources.values.joined().compactMap(\.file) {
        openFiles += 1
        if openFiles > Self.openFilesMax { file.release() }
      }
      return draft
    }
    let bytes = drafts.reduce(0) { $0 + $1.sizeBytes }
    guard bytes <= Self.requestBytesMax || records.count == 1 else {
      throw CKError(
        .limitExceeded, "\(bytes) bytes in one request without assets; at most \(Self.requestBytesMax) are allowed.")
    }
    self.deletions = deletions
    self.isAtomic = isAtomic
  }

  func perform(in database: CKDatabase, progress: Progress? = nil) async throws -> Results {
    var results = Results()
    let items = drafts.map(Item.save) + deletions.map(Item.delete)
    let zones = items.byZone(\.id.model.zone)
    for (zone, items) in zones {
      do {
        for (item, result) in try await perform(items, in: zone, of: database, progress) {
          results.set(item, result)
        }
      } catch let error as CKError where error.isAboutZone || !results.isEmpty {
        // One zone's refusal, or some are saved already: each of the others says why it is not.
        for item in items { results.set(item, .failure(error)) }
      }
    }
    return results
  }

  /// One zone's part of the batch: one request after its assets.
  private func perform(
    _ items: [Item], in zone: ZoneID, of database: CKDatabase, _ progress: Progress?
  ) async throws -> [(Item, Result<Void, any Error>)] {
    var outcomes = [Result<Void, any Error>?](repeating: nil, count: items.count)
    let uploads = try await AssetUploads(items.compactMap(\.draft), in: zone, of: database, progress: progress)
    for (index, item) in items.enumerated() {
      guard let error = item.draft?.fault ?? uploads.faults[item.id] else { continue }
      outcomes[index] = .failure(error)
    }
    if isAtomic, outcomes.contains(where: { $0 != nil }) { return Self.failing(items, outcomes) }
    let noted = try await noteShares(items, in: zone, of: database, outcomes)
    let results: [(Item, Result<Void, any Error>)]
    do { results = try await send(items, in: zone, of: database, uploads, outcomes, progress) } catch {
      if let noted { await takeBack(noted, items.map { ($0, .failure(error)) }, in: zone, of: database) }
      throw error
    }
    if let noted {
      await takeBack(noted, results, in: zone, of: database)
      await renewSecrets(noted, results, in: zone, of: database)
    }
    return results
  }

  /// Tells the owner's other devices who takes part in the shares that the batch saves or ends, before it does.
  /// - Returns: What they were told before.
  private func noteShares(
    _ items: [Item], in zone: ZoneID, of database: CKDatabase, _ outcomes: [Result<Void, any Error>?]
  ) async throws -> ZoneRoster? {
    guard database.databaseScope == .private, zone.name != .default, let seal = database.seal(of: zone) else {
      return nil
    }
    var plan = SharePlan()
    for (item, outcome) in zip(items, outcomes) where outcome == nil {
      switch item {
      case .save(let draft): if let share = draft.sharePlan { plan.saves.append(share) }
      case .delete(let id): plan.deletions.insert(id.model.name)
      }
    }
    return try await seal.keyring.note(plan, in: seal.spot)
  }

  /// What was refused has not changed who takes part. Where it is not known whether the service has done it, the next save of
  /// the share finds out.
  private func takeBack(
    _ before: ZoneRoster, _ results: [(Item, Result<Void, any Error>)], in zone: ZoneID, of database: CKDatabase
  ) async {
    let refused = results.compactMap { item, result -> RecordName? in
      guard case .failure(let error) = result, !error.mayHaveBeenDone, item.draft?.isShare ?? true else { return nil }
      return item.id.model.name
    }
    guard !refused.isEmpty, let seal = database.seal(of: zone) else { return }
    // If it cannot be said now, it is by the next save of the share.
    try? await seal.keyring.takeBack(Set(refused), to: before, in: seal.spot)
  }

  /// A share that began in place of one that the owner's devices had put down gets another key.
  private func renewSecrets(
    _ before: ZoneRoster, _ results: [(Item, Result<Void, any Error>)], in zone: ZoneID, of database: CKDatabase
  ) async {
    guard let seal = database.seal(of: zone) else { return }
    for (item, result) in results {
      guard case .success = result, let plan = item.draft?.sharePlan, plan.isNew, before.shares[plan.name] != nil
      else { continue }
      // The share is there. Until this is said, its address has the key of before.
      guard (try? await seal.keyring.renew(plan, in: seal.spot)) != nil else { continue }
      (item.draft?.object as? CKShare)?.completeURL(with: seal.keyring.secret(of: seal.spot))
    }
  }

  /// What cannot even be sent fails its zone's whole batch.
  private static func failing(
    _ items: [Item], _ outcomes: [Result<Void, any Error>?]
  ) -> [(Item, Result<Void, any Error>)] {
    zip(items, outcomes).map { ($0, $1 ?? .failure(innocent)) }
  }

  private func send(
    _ items: [Item], in zone: ZoneID, of database: CKDatabase, _ uploads: AssetUploads,
    _ faults: [Result<Void, any Error>?], _ progress: Progress?
  ) async throws -> [(Item, Result<Void, any Error>)] {
    var outcomes = faults
    let key = await writingKey(for: items, in: zone, of: database, &outcomes)
    if isAtomic, outcomes.contains(where: { $0 != nil }) {
      return Self.failing(items, outcomes)
    }
    let sent = items.indices.filter { outcomes[$0] == nil }
    // The protocol has atomic zones among the custom ones only.
    let isAtomic = isAtomic && zone.name != .default && database.databaseScope != .public
    let limit = database.service.itemsPerRequestMax
    guard !isAtomic || sent.count <= limit else {
      throw CKError(.limitExceeded, "\(sent.count) items in one atomic request; at most \(limit) are allowed.")
    }
    for part in sent.chunks(of: limit) {
      do {
        let results = try await send(part.map { items[$0] }, in: zone, of: database, uploads, key, isAtomic: isAtomic)
        for (index, result) in zip(part, results) { outcomes[index] = result }
        let again = Self.withRefusedUploads(part.map { ($0, items[$0]) }, results, uploads, isAtomic: isAtomic)
        guard !again.isEmpty else { continue }
        let retried = await sendAnew(again.map(\.item), in: zone, of: database, key, isAtomic: isAtomic, progress)
        for (item, result) in zip(again, retried) { outcomes[item.index] = result }
      } catch let error as CKError where part.startIndex > 0 {
        for index in part { outcomes[index] = .failure(error) }
      }
    }
    return zip(items, outcomes).map { ($0, $1 ?? .failure(CKError.unexpected("records/modify"))) }
  }

  /// The items to send again because the service did not take uploads that an earlier attempt had made.
  private static func withRefusedUploads(
    _ items: [(index: Int, item: Item)], _ results: [Result<Void, any Error>], _ uploads: AssetUploads, isAtomic: Bool
  ) -> [(index: Int, item: Item)] {
    let refused = zip(items, results).filter { item, result in
      guard case .failure(let error) = result else { return false }
      return (error as? CKError)?.code == .invalidArguments && uploads.reused.contains(item.item.id)
    }
    if refused.isEmpty { return [] }
    return isAtomic ? items : refused.map(\.0)
  }

  /// What an earlier attempt sent does not count any more: all files are sent anew, once. If that fails, it fails these
  /// items alone.
  private func sendAnew(
    _ items: [Item], in zone: ZoneID, of database: CKDatabase, _ key: ZoneKey?, isAtomic: Bool, _ progress: Progress?
  ) async -> [Result<Void, any Error>] {
    for item in items { database.assets.finishedUploads.forget(item.id.model, in: database.databaseScope) }
    do {
      let uploads = try await AssetUploads(items.compactMap(\.draft), in: zone, of: database, progress: progress)
      let faults = uploads.faults
      if isAtomic, !faults.isEmpty { return items.map { .failure(faults[$0.id] ?? Self.innocent) } }
      let whole = items.filter { faults[$0.id] == nil }
      var results = try await send(whole, in: zone, of: database, uploads, key, isAtomic: isAtomic)[...]
      return items.map { item in faults[item.id].map { .failure($0) } ?? results.removeFirst() }
    } catch {
      return items.map { _ in .failure(error) }
    }
  }

  private static let innocent = CKError(.batchRequestFailed, "Another record of the atomic batch cannot be sent.")

  private func send(
    _ items: [Item], in zone: ZoneID, of database: CKDatabase, _ uploads: AssetUploads, _ key: ZoneKey?,
    isAtomic: Bool
  ) async throws -> [Result<Void, any Error>] {
    let namesUser = items.contains { $0.draft?.namesUser ?? false }
    let user = namesUser ? try await database.currentUserName() : nil
    let operations = items.map { item in
      switch item {
      case .save(let draft): draft.operation(assets: uploads.values[draft.id] ?? [:], key: key, user: user)
      case .delete(let id): RecordOperation(.forceDelete, RecordChange(name: id.model.name))
      }
    }
    var request = RecordsModifyRequest(operations: operations, zone: ZoneSelector(zone), atomic: isAtomic)
    // With a tag that fits, the service's record is the one sent, and its fields need not travel back.
    if items.allSatisfy({ !($0.draft?.overwrites ?? false) }) { request.desiredKeys = [] }
    guard case .records(let reply) = try await database.perform(.recordsModify(request), in: zone),
      reply.records.count == items.count
    else { throw CKError.unexpected("records/modify") }
    await database.learnUserName()
    var results: [Result<Void, any Error>] = []
    for (item, result) in zip(items, reply.records) {
      results.append(
        Result { try settle(item, result, in: database, assets: uploads.values[item.id] ?? [:]) })
    }
    let conflicting = results.flatMap(\.conflictingRecords)
    // What cannot be fetched now is missing in a record, and is fetched with the next one that lacks it.
    _ = try? await database.fetchKeys(for: items.compactMap(\.draft?.object) + conflicting)
    await database.placeCachedFiles(in: conflicting)
    return await withServerRecords(results, of: items, in: database)
  }

  /// The key that encrypts the values of these items. Items that need one and cannot have it fail.
  private func writingKey(
    for items: [Item], in zone: ZoneID, of database: CKDatabase, _ outcomes: inout [Result<Void, any Error>?]
  ) async -> ZoneKey? {
    let secret = items.indices.filter { outcomes[$0] == nil && items[$0].draft?.sendsEncryptedValues ?? false }
    if database.databaseScope == .public {
      let refusal = CKError(.invalidArguments, "Encrypted fields are not supported in the public database.")
      for index in secret { outcomes[index] = .failure(refusal) }
      return nil
    }
    // Those whom a share lets in read what is encrypted from now on, so there has to be a key for them.
    let isShared = items.contains { $0.draft?.isShare ?? false }
    guard let seal = database.seal(of: zone), !secret.isEmpty || isShared else { return nil }
    do { return try await seal.keyring.writingKey(in: seal.spot) } catch {
      for index in secret { outcomes[index] = .failure(error) }
      return nil
    }
  }

  private func settle(
    _ item: Item, _ result: RecordResult, in database: CKDatabase, assets: [FieldName: [AssetValue]]
  ) throws {
    switch (item, result) {
    case (.save(let draft), .record(let envelope)):
      let url = database.shareURL(envelope.shortGUID)
      let saved = try database.model(from: envelope)
      draft.settle(saved, assets: assets, shareURL: url, seal: database.seal(of: saved.id.zone))
      if !assets.isEmpty { database.assets.finishedUploads.forget(draft.id.model, in: database.databaseScope) }
    case (.delete, .deleted): break
    // It went with another record that the request deletes.
    case (.save, .deleted): throw CKError(.unknownItem, "The record was deleted together with another record.")
    // Nothing to delete is what a deletion wants.
    case (.delete, .failure(let failure)) where failure.error.code == .notFound: break
    case (.save(let draft), .failure(let failure)):
      throw CKError(failure, of: draft, in: database)
    case (.delete, .failure(let failure)): throw CKError(failure.error, item: .record)
    default: throw CKError.unexpected("records/modify")
    }
  }

  /// Looks up what conflicts are with, where the service did not say it: other services than ours do not.
  private func withServerRecords(
    _ results: [Result<Void, any Error>], of items: [Item], in database: CKDatabase
  ) async -> [Result<Void, any Error>] {
    func isIncomplete(_ result: Result<Void, any Error>) -> Bool {
      guard case .failure(let error) = result, let error = error as? CKError else { return false }
      return error.code == .serverRecordChanged && error.serverRecord == nil
    }
    let ids = zip(items, results).filter { isIncomplete($1) }.map { $0.0.id }
    // Without the lookup the app still learns of the conflict.
    guard !ids.isEmpty, let found = try? await database.records(for: ids) else { return results }
    return zip(items, results).map { item, result in
      guard isIncomplete(result), case .failure(let failure) = result, let error = failure as? CKError,
        let record = try? found[item.id]?.get()
      else { return result }
      var userInfo = error.userInfo
      userInfo[CKRecordChangedErrorServerRecordKey] = record
      return .failure(CKError(.serverRecordChanged, userInfo: userInfo))
    }
  }

  /// One thing to do.
  enum Item: Sendable {
    case save(RecordDraft)
    case delete(CKRecord.ID)

    var id: CKRecord.ID {
      switch self {
      case .save(let draft): draft.id
      case .delete(let id): id
      }
    }

    var draft: RecordDraft? {
      if case .save(let draft) = self { draft } else { nil }
    }
  }
}

extension Error {
  /// Whether the service may have done what failed.
  fileprivate var mayHaveBeenDone: Bool {
    switch (self as? CKError)?.code {
    case .serverResponseLost, .operationCancelled, .networkFailure, .internalError, nil: true
    default: false
    }
  }
}

extension Result<Void, any Error> {
  /// The records of a conflict that came from the service.
  fileprivate var conflictingRecords: [CKRecord] {
    guard case .failure(let error) = self, let error = error as? CKError else { return [] }
    return [error.serverRecord, error.ancestorRecord].compactMap { $0 }
  }
}

extension CKError {
  /// Why a record was not saved; a conflict brings the three records to merge.
  fileprivate init(_ failure: RecordFailure, of draft: RecordDraft, in database: CKDatabase) {
    let error = CKError(failure.error, item: .record)
    guard error.code == .serverRecordChanged else {
      self = error
      return
    }
    var userInfo = error.userInfo
    userInfo[CKRecordChangedErrorClientRecordKey] = CKRecord(draft.sent)
    if let time = database.serviceTime { userInfo[Self.serviceTimeKey] = NSNumber(value: time.milliseconds) }
    if let record = failure.serverRecord.flatMap({ try? database.record(from: $0) }) {
      userInfo[CKRecordChangedErrorServerRecordKey] = record
    }
    if let record = failure.ancestorRecord.flatMap({ try? database.record(from: $0) }) {
      userInfo[CKRecordChangedErrorAncestorRecordKey] = record
    }
    self.init(.serverRecordChanged, userInfo: userInfo)
  }
}
