import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

extension Gateway {
  static let keyResetPath = AccountRoutes.prefix + "keys/reset"

  /// Lets an account begin anew whose devices have lost its key: what nobody can open any more goes, with the zones that
  /// it is in, and every device is told why. What the caller adds is in the list before anybody else can add to it.
  func resetKeys(_ request: HTTPRequest) async -> HTTPResponse {
    do {
      let session = try await authenticator.session(of: request)
      try rates.admit(session.account, now: configuration.now())
      let message: KeyMessages.Request = try request.message()
      let start = context(
        for: Endpoint(container: "any", environment: .development, scope: .private, operation: .zonesModify),
        Principal(user: nil, account: session.account, device: nil), request.head,
        QueryParameters(of: request.head))
      let (zones, wakes) = try await store.write { [service, authenticator] transaction in
        try Accounts().checkIsIn(session.device, in: transaction)
        var context = start
        // The user did it elsewhere, so every device is told.
        context.clientID = nil
        var zones = 0
        for row in try transaction.databases() {
          guard let owner = row.key.owner, owner == authenticator.user(of: session.account, in: row.key.container)
          else {
            continue
          }
          context.endpoint.container = row.key.container
          context.endpoint.environment = row.key.environment
          context.principal.user = owner
          for zone in try KeyRegistry().removeZones(of: row.key, in: transaction) where zone != .default {
            let isGone = try service.remove(zone, reason: .encryptedDataReset, in: transaction, context: &context)
            if isGone { zones += 1 }
          }
        }
        try KeyRegistry().removeAll(of: .account(session.account), in: transaction)
        try KeyRegistry().forgetCount(of: session.account, in: transaction)
        let added = message.add.map { KeyRegistry.Item(name: $0.name, value: $0.value, added: start.now) }
        var random = SystemRandom()
        _ = try KeyRegistry().add(added, to: .account(session.account), in: transaction, random: &random)
        return (zones, context.wakes)
      }
      removals.ring()
      wake(wakes)
      return try .message(KeyMessages.Reset(zones: zones))
    } catch {
      return .failure(ServiceError(accountsError: error))
    }
  }
}
