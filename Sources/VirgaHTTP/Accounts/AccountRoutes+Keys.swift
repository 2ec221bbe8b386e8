import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

extension AccountRoutes {
  /// What devices keep for each other: the account's, or a zone's for its owner and those it is shared with.
  func keyItems(_ call: Incoming) async throws(ServiceError) -> KeyMessages.Items {
    let session = try await session(call)
    let message: KeyMessages.Request = try call.body()
    let place: KeyRegistry.Place
    var caller: UserName?
    if let zone = message.zone {
      guard let environment = Environment(rawValue: zone.environment) else {
        throw .badRequest("environment must be development or production")
      }
      if let objection = NameRule.container.objection(to: zone.container.rawValue) {
        throw .badRequest("container \(objection)")
      }
      try authenticator.checkServed(zone.container)
      let user = authenticator.user(of: session.account, in: zone.container)
      caller = user
      let owner = zone.owner.flatMap { $0 == .defaultOwner ? nil : $0 } ?? user
      let database = DatabaseKey(container: zone.container, environment: environment, owner: owner)
      place = .zone(zone.zone, database, reader: user)
    } else {
      place = .account(session.account)
    }
    let added = message.add.map { KeyRegistry.Item(name: $0.name, value: $0.value, added: call.now) }
    let items =
      added.isEmpty
      ? try await authenticator.read { try KeyRegistry().items(in: place, $0) }
      : try await authenticator.write { [quotas] transaction in
        try Accounts().checkIsIn(session.device, in: transaction)
        if case .account(let account) = place {
          try KeyRegistry().checkSuccessions(among: added, of: account, in: transaction)
        }
        var random = SystemRandom()
        return try KeyRegistry().add(
          added, to: place, in: transaction, quotas: quotas, account: session.account, random: &random)
      }
    return KeyMessages.Items(items: items.map { KeyMessages.Item($0.name, $0.value, added: $0.added) }, user: caller)
  }
}
