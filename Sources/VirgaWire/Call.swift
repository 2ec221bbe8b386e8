public import VirgaModel

/// A decoded request of the service.
public enum Call: Hashable, Sendable {
  case recordsQuery(RecordsQueryRequest)
  case recordsModify(RecordsModifyRequest)
  case recordsLookup(RecordsLookupRequest)
  case recordsChanges(ZoneChangesRequest)
  case recordsResolve(ShortGUIDsRequest)
  case recordsAccept(ShortGUIDsRequest)
  case zonesList
  case zonesLookup(ZonesLookupRequest)
  case zonesModify(ZonesModifyRequest)
  case zonesChanges(DatabaseChangesRequest)
  case changesDatabase(DatabaseChangesRequest)
  case changesZone([ZoneChangesRequest])
  case subscriptionsList
  case subscriptionsLookup(SubscriptionsLookupRequest)
  case subscriptionsModify(SubscriptionsModifyRequest)
  case usersCaller
  case usersCurrent
  case usersLookup(UsersLookupRequest)
  case assetsUpload(AssetsUploadRequest)
  case assetsRereference(AssetsRereferenceRequest)
  case tokensCreate(PushTokenRequest)
  case tokensRegister(PushTokenRequest)

  public var operation: Operation {
    switch self {
    case .recordsQuery: .recordsQuery
    case .recordsModify: .recordsModify
    case .recordsLookup: .recordsLookup
    case .recordsChanges: .recordsChanges
    case .recordsResolve: .recordsResolve
    case .recordsAccept: .recordsAccept
    case .zonesList: .zonesList
    case .zonesLookup: .zonesLookup
    case .zonesModify: .zonesModify
    case .zonesChanges: .zonesChanges
    case .changesDatabase: .changesDatabase
    case .changesZone: .changesZone
    case .subscriptionsList: .subscriptionsList
    case .subscriptionsLookup: .subscriptionsLookup
    case .subscriptionsModify: .subscriptionsModify
    case .usersCaller: .usersCaller
    case .usersCurrent: .usersCurrent
    case .usersLookup(let request): request.operation
    case .assetsUpload: .assetsUpload
    case .assetsRereference: .assetsRereference
    case .tokensCreate: .tokensCreate
    case .tokensRegister: .tokensRegister
    }
  }
}

/// The answer to a call that did not fail as a whole.
public enum Reply: Hashable, Sendable {
  /// `records/query`, `records/modify` and `records/lookup`.
  case records(RecordsReply)
  /// `records/changes`.
  case recordChanges(ZoneChangesPage)
  /// `changes/zone`, one for each zone asked for, in their order.
  case zoneChanges([ZoneChangesResult])
  /// `zones/list`, `zones/lookup` and `zones/modify`.
  case zones([ZoneResult])
  /// `changes/database`.
  case databaseChanges(DatabaseChangesReply)
  /// `zones/changes`, which names its token `metaSyncToken`.
  case zonesChanges(DatabaseChangesReply)
  case subscriptions([SubscriptionResult])
  /// `users/caller` and `users/current`.
  case user(UserName)
  /// `users/discover` and `users/lookup/…`: those who were found.
  case users([UserIdentity])
  /// `records/resolve` and `records/accept`, one for each asked for, in their order.
  case shares([ShareResult])
  case uploadTokens([AssetUploadToken])
  /// `assets/rereference`: one for each asked for, in their order, each with a receipt.
  case assets([AssetValue])
  case pushToken(PushTokenReply)
  /// `tokens/register`: `{}`.
  case empty
}
