import Foundation
import VirgaModel
import VirgaPredicates
import VirgaWire

extension CKDatabase {
  /// All subscriptions that the user has in this database, on whatever device they were made. Those that this version
  /// cannot read are left out.
  public func allSubscriptions() async throws -> [CKSubscription] {
    guard case .subscriptions(let results) = try await perform(.subscriptionsList) else {
      throw CKError.unexpected("subscriptions/list")
    }
    return results.compactMap { result in
      if case .subscription(let subscription) = result { subscription.object(in: self) } else { nil }
    }
  }

  /// The subscription of that identifier.
  /// - Throws: `unknownItem` if there is no such subscription.
  public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
    try await subscriptions(for: [subscriptionID]).only(subscriptionID)
  }

  /// Subscriptions by their identifiers, with a result for each.
  /// - Throws: Only if nothing could be asked.
  public func subscriptions(
    for ids: [CKSubscription.ID]
  ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
    var found: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
    let results = try await inParts(ids, of: service.itemsPerRequestMax) { part in
      let call = Call.subscriptionsLookup(SubscriptionsLookupRequest(ids: part.map { SubscriptionID($0) }))
      guard case .subscriptions(let results) = try await perform(call), results.count == part.count else {
        throw CKError.unexpected("subscriptions/lookup")
      }
      return results
    }
    for (id, result) in zip(ids, results) { found[id] = result.flatMap(subscription(of:)) }
    return found
  }

  /// Saves a subscription. Saving the same one again succeeds.
  @discardableResult
  public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
    try await modifySubscriptions(saving: [subscription], deleting: []).saveResults.only(subscription.subscriptionID)
  }

  /// Deletes a subscription: no pushes come for it any more. One that does not exist counts as deleted.
  @discardableResult
  public func deleteSubscription(withID subscriptionID: CKSubscription.ID) async throws -> CKSubscription.ID {
    try await modifySubscriptions(saving: [], deleting: [subscriptionID]).deleteResults.only(subscriptionID)
    return subscriptionID
  }

  /// Saves and deletes subscriptions, at most 400 in all, with a result for each. They succeed and fail one by one.
  /// - Throws: Only if nothing was tried, such as `limitExceeded` for the whole.
  public func modifySubscriptions(
    saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
  ) async throws -> (
    saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
    deleteResults: [CKSubscription.ID: Result<Void, any Error>]
  ) {
    let count = subscriptionsToSave.count + subscriptionIDsToDelete.count
    try CKError.checkBatch(count)
    guard count > 0 else { return ([:], [:]) }
    var saves: [SubscriptionsModifyRequest.Operation] = []
    for subscription in subscriptionsToSave { saves.append(.init(.create, try await model(of: subscription))) }
    let deletions = subscriptionIDsToDelete.map { id in
      SubscriptionsModifyRequest.Operation(.delete, Subscription(id: SubscriptionID(id), kind: .database))
    }
    let results = try await inParts(saves + deletions, of: service.itemsPerRequestMax) { part in
      let call = Call.subscriptionsModify(SubscriptionsModifyRequest(operations: Array(part)))
      guard case .subscriptions(let answers) = try await perform(call), answers.count == part.count else {
        throw CKError.unexpected("subscriptions/modify")
      }
      return answers
    }
    var saved: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
    var deleted: [CKSubscription.ID: Result<Void, any Error>] = [:]
    for (subscription, result) in zip(subscriptionsToSave, results) {
      saved[subscription.subscriptionID] = result.flatMap(success(of:)).map { subscription }
    }
    for (id, result) in zip(subscriptionIDsToDelete, results.dropFirst(subscriptionsToSave.count)) {
      deleted[id] = result.flatMap(success(of:))
    }
    return (saved, deleted)
  }

  /// The subscription as this service knows it. Apple's web service has no record type for zones and databases: it tells
  /// of all of them.
  private func model(of subscription: CKSubscription) async throws -> Subscription {
    var model = try await subscription.model(user: currentUserName)
    if service.tokens != nil { model.recordType = nil }
    return model
  }

  private func success(of result: SubscriptionResult) -> Result<Void, any Error> {
    if case .failure(_, let error) = result { .failure(CKError(error, item: .subscription)) } else { .success(()) }
  }

  private func subscription(of result: SubscriptionResult) -> Result<CKSubscription, any Error> {
    switch result {
    case .subscription(let subscription):
      if let object = subscription.object(in: self) { return .success(object) }
      return .failure(CKError(.incompatibleVersion, "This version cannot read the subscription."))
    case .deleted: return .failure(CKError(.unknownItem, "The subscription was deleted."))
    case .failure(_, let error): return .failure(CKError(error, item: .subscription))
    }
  }

  // MARK: With completion handlers

  /// `allSubscriptions()` with a completion handler.
  public func fetchAllSubscriptions(
    completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.allSubscriptions() }
  }

  /// `subscription(for:)` with a completion handler.
  @preconcurrency
  public func fetch(
    withSubscriptionID subscriptionID: CKSubscription.ID,
    completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.subscription(for: subscriptionID) }
  }

  /// `subscriptions(for:)` with a completion handler.
  @preconcurrency
  public func fetch(
    withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
    completionHandler:
      @escaping @Sendable (
        Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>
      ) -> Void
  ) {
    callBack(completionHandler) { try await self.subscriptions(for: subscriptionIDs) }
  }

  /// `save(_:)` with a completion handler.
  public func save(
    _ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.save(subscription) }
  }

  /// `deleteSubscription(withID:)` with a completion handler.
  @preconcurrency
  public func delete(
    withSubscriptionID subscriptionID: CKSubscription.ID,
    completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.deleteSubscription(withID: subscriptionID) }
  }

  /// `modifySubscriptions(saving:deleting:)` with a completion handler.
  @preconcurrency
  public func modifySubscriptions(
    saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID],
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
            deleteResults: [CKSubscription.ID: Result<Void, any Error>]
          ), any Error
        >
      ) -> Void
  ) {
    callBack(completionHandler) {
      try await self.modifySubscriptions(saving: subscriptionsToSave, deleting: subscriptionIDsToDelete)
    }
  }
}

extension CKSubscription {
  /// The subscription as the protocol has it.
  func model(user: () async throws -> UserName) async throws -> Subscription {
    var model: Subscription
    switch self {
    case let zone as CKRecordZoneSubscription:
      model = Subscription(id: SubscriptionID(subscriptionID), kind: .zone(ZoneSelector(zone.zoneID.model)))
      model.recordType = zone.recordType.map { RecordType($0) }
    case let database as CKDatabaseSubscription:
      model = Subscription(id: SubscriptionID(subscriptionID), kind: .database)
      model.recordType = database.recordType.map { RecordType($0) }
    case let query as CKQuerySubscription: model = try await query.queryModel(user)
    default: throw CKError(.invalidArguments, "Use one of the three subclasses of CKSubscription.")
    }
    if let notificationInfo { model.notificationInfo = notificationInfo.model }
    return model
  }
}

extension CKQuerySubscription {
  fileprivate func queryModel(_ user: () async throws -> UserName) async throws -> Subscription {
    guard
      let query = try await CKQuery(recordType: recordType ?? "", predicate: predicate).model()?.naming(user: user)
    else {
      throw CKError(.invalidArguments, "The predicate is false for every record, so the subscription would never fire.")
    }
    let kind = Subscription.Kind.query(json: query.json, zone: zoneID.map { ZoneSelector($0.model) })
    var model = Subscription(id: SubscriptionID(subscriptionID), kind: kind)
    model.firesOn = Self.events.filter { querySubscriptionOptions.contains($0.option) }.map(\.name)
    model.firesOnce = querySubscriptionOptions.contains(.firesOnce)
    return model
  }

  fileprivate static let events: [(option: Options, name: String)] = [
    (.firesOnRecordCreation, "create"), (.firesOnRecordUpdate, "update"), (.firesOnRecordDeletion, "delete"),
  ]

  /// The subscription as the service keeps it; nil if this version cannot read its query.
  fileprivate convenience init?(_ model: Subscription, _ json: [UInt8], zoneID: CKRecordZone.ID?) {
    let query: Query
    do {
      query = try Query(json: json)
    } catch {
      return nil
    }
    var options: Options = model.firesOnce ? .firesOnce : []
    for event in Self.events where model.firesOn.contains(event.name) { options.insert(event.option) }
    self.init(
      recordType: query.recordType.rawValue, predicate: .meeting(query.filters), subscriptionID: model.id.rawValue,
      options: options)
    self.zoneID = zoneID
  }
}

extension Subscription {
  /// The object that apps see; nil for a kind that has none here.
  fileprivate func object(in database: CKDatabase) -> CKSubscription? {
    let object: CKSubscription
    switch kind {
    case .database:
      let all = CKDatabaseSubscription(subscriptionID: id.rawValue)
      all.recordType = recordType?.rawValue
      object = all
    case .zone(let zone):
      let zoneID = database.local(ZoneID(zone.name, owner: zone.owner ?? .defaultOwner))
      let one = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneID), subscriptionID: id.rawValue)
      one.recordType = recordType?.rawValue
      object = one
    case .query(let json, let zone):
      let zoneID = zone.map { CKRecordZone.ID(database.local(ZoneID($0.name, owner: $0.owner ?? .defaultOwner))) }
      guard let query = CKQuerySubscription(self, json, zoneID: zoneID) else { return nil }
      object = query
    }
    object.notificationInfo = CKSubscription.NotificationInfo(notificationInfo)
    return object
  }
}
