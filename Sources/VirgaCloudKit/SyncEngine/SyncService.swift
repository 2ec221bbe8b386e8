import Foundation
import VirgaModel
import VirgaSync
import VirgaWire

/// What the engine asks of its database.
struct SyncService: Sendable {
  let database: CKDatabase
  private let subscriptionID: CKSubscription.ID

  init(_ database: CKDatabase, subscriptionID: CKSubscription.ID? = nil) {
    self.database = database
    self.subscriptionID = subscriptionID ?? "virga-sync-engine"
  }

  /// The user's name in the container; `nil` if there is no account, or not any more.
  func currentUser() async -> Result<UserName?, SyncFailure> {
    do {
      guard case .user(let name) = try await database.perform(.usersCaller) else {
        return .failure(SyncFailure(.broken))
      }
      return .success(name)
    } catch CKError.notAuthenticated where database.service.accountStatus == .noAccount {
      return .success(nil)
    } catch {
      // An account that is not taken at present keeps what waits to be sent.
      return .failure(SyncFailure(error))
    }
  }

  // MARK: Feeds

  func databaseChanges(since token: String?) async -> Result<DatabasePage, SyncFailure> {
    do {
      let page = try await database.databasePage(since: token.map { CKServerChangeToken($0) })
      return .success(
        DatabasePage(
          modified: page.modifications.map(\.zoneID.model),
          deleted: page.deletions.map { DatabasePage.Deletion($0.zoneID.model, $0.reason.model) },
          failed: page.failures.map(\.model), token: page.changeToken.text, moreComing: page.moreComing))
    } catch {
      return .failure(SyncFailure(error))
    }
  }

  /// A page of a zone's feed. Its records are all there, or it fails.
  /// - Parameter missing: The keys that values up to the token need and had not come.
  /// - Throws: `changeTokenExpired` if one of them has come: the zone is then to be read from its beginning.
  func zoneChanges(
    in zone: ZoneID, since token: String?, missing: [KeyID] = []
  ) async throws -> CKDatabase.RecordZonePage {
    if token != nil, !missing.isEmpty, let seal = database.seal(of: zone) {
      try await seal.keyring.load(seal.spot, for: missing)
      if missing.contains(where: { seal.keyring.key($0, in: seal.spot) != nil }) {
        throw CKError(.changeTokenExpired, "Keys arrived for values that were fetched earlier.")
      }
    }
    var page = try await database.recordZonePage(
      inZoneWith: CKRecordZone.ID(zone), since: token.map { CKServerChangeToken($0) })
    for index in page.records.indices.reversed() {
      let (id, result) = page.records[index]
      guard case .failure = result else { continue }
      if let record = try await record(id, result) {
        page.records[index].result = .success(record)
      } else {
        page.records.remove(at: index)
      }
    }
    return page
  }

  /// The record of a page. If its asset failed to come for a reason that passes, such as the network or a full disk, the
  /// whole page fails and is fetched again, so that the token does not pass the record by. If the asset cannot be had at
  /// all, the record comes without its file, and does not stop its zone.
  private func record(_ id: CKRecord.ID, _ result: Result<CKRecord, any Error>) async throws -> CKRecord? {
    do {
      return try result.get()
    } catch {
      let failure = SyncFailure(error)
      if failure.isRetryable || failure.kind == .broken { throw error }
    }
    let call = Call.recordsLookup(
      RecordsLookupRequest(records: [.init(id.model.name)], zone: ZoneSelector(id.model.zone)))
    guard case .records(let reply) = try await database.perform(call, in: id.model.zone) else {
      throw CKError.unexpected("records/lookup")
    }
    switch reply.records.first {
    case .record(let envelope)?:
      let record = try database.record(from: envelope)
      try await database.fetchKeys(for: [record])
      return record
    // A record that is gone by now comes as a deletion with a later page.
    case .deleted?: return nil
    case .failure(let failure)? where failure.error.code == .notFound: return nil
    case .failure(let failure)?: throw CKError(failure.error, item: .record)
    case nil: throw CKError.unexpected("records/lookup")
    }
  }

  // MARK: Pushes

  /// Makes sure that the subscription exists; it is a silent one for all changes of the database.
  func subscribe() async -> Result<Void, SyncFailure> {
    var subscription = Subscription(id: SubscriptionID(subscriptionID), kind: .database)
    subscription.notificationInfo.shouldSendContentAvailable = true
    do {
      let call = Call.subscriptionsModify(
        SubscriptionsModifyRequest(operations: [.init(.create, subscription)]))
      guard case .subscriptions(let results) = try await database.perform(call) else {
        return .failure(SyncFailure(.broken))
      }
      // One that exists with this identifier was made by an earlier launch, or by the app itself.
      if case .failure(_, let error)? = results.first, error.code != .exists, error.code != .conflict {
        return .failure(SyncFailure(.final))
      }
      return .success(())
    } catch {
      return .failure(SyncFailure(error))
    }
  }

  /// Makes a queue for notifications; returns the address to poll.
  func createPushToken() async -> Result<String, SyncFailure> {
    do {
      let request = PushTokenRequest(
        apnsEnvironment: database.service.environment.rawValue, clientID: database.service.clientID)
      guard case .pushToken(let reply) = try await database.perform(.tokensCreate(request)) else {
        return .failure(SyncFailure(.broken))
      }
      return .success(reply.webcourierURL)
    } catch {
      return .failure(SyncFailure(error))
    }
  }

  /// Waits for a notification; `false` if the service answered without one, as it does now and then.
  func poll(_ url: String) async -> Result<Bool, SyncFailure> { await receive(url).map { !$0.isEmpty } }

  /// The same with the notification itself, which is empty if there was none. What is no notification comes from something
  /// that stands in the way, such as the sign-in page of a network.
  func receive(_ url: String) async -> Result<[UInt8], SyncFailure> {
    var request = TransportRequest(method: "GET", url: url)
    request.timeout = Self.pollTimeout
    do {
      let answer = try await database.service.send(request)
      guard answer.status == 200 else { return .failure(SyncFailure(.final)) }
      guard answer.body.isEmpty || Self.isPush(answer.body) else { return .failure(SyncFailure(.unreachable)) }
      return .success(answer.body)
    } catch CKError.serverResponseLost {
      // A poll that the network or a proxy cut off; nothing is lost with it that a fetch would not find.
      return .failure(SyncFailure(.unreachable))
    } catch {
      return .failure(SyncFailure(error))
    }
  }

  private static func isPush(_ body: [UInt8]) -> Bool {
    let object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any]
    return object?["ck"] is [String: Any] || object?["aps"] is [String: Any]
  }

  /// Longer than a service holds a poll, which is up to a minute.
  private static let pollTimeout: Duration = .seconds(90)
}

extension CKSyncEngine.Event.FetchedDatabaseChanges {
  init(_ page: DatabasePage) {
    modifications = page.modified.map { CKDatabase.DatabaseChange.Modification(zoneID: CKRecordZone.ID($0)) }
    deletions = page.deleted.map {
      CKDatabase.DatabaseChange.Deletion(zoneID: CKRecordZone.ID($0.zone), reason: .init($0.reason))
    }
  }
}

extension CKDatabase.DatabaseChange.Deletion.Reason {
  init(_ reason: ZoneDeletionReason) {
    switch reason {
    case .deleted: self = .deleted
    case .purged: self = .purged
    case .encryptedDataReset: self = .encryptedDataReset
    }
  }

  var model: ZoneDeletionReason {
    switch self {
    case .deleted: .deleted
    case .purged: .purged
    case .encryptedDataReset: .encryptedDataReset
    }
  }
}
