import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

extension AccountRoutes {
  /// Gives a device of the caller's account another name.
  func rename(_ call: Incoming) async throws(ServiceError) -> AccountMessages.Description {
    let session = try await session(call)
    let message: AccountMessages.RenameRequest = try call.body()
    let name = try checkedName(message.name)
    try await authenticator.write { [accounts] transaction in
      // The one who renames may have been removed while this waited.
      try accounts.checkIsIn(session.device, in: transaction)
      try accounts.rename(message.device, of: session.account, to: name, in: transaction)
    }
    return try await describe(session)
  }
}
