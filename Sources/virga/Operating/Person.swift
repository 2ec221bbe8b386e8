import Foundation
import VirgaAuth
import VirgaModel
import VirgaServerSQLite

/// Somebody in a store, by all the names that the store knows them under.
struct Person {
  let account: String?
  /// By container.
  let users: [(container: String, user: String)]
  let devices: Set<String>

  /// Finds who a name stands for: an account, or a user's record name in one container, which leads to the account.
  init(_ name: String, in folder: String) throws {
    try OperatorAccess.checkFolder(folder)
    let secrets = try Storage.existingSecrets(of: folder)
    let census: StoreErasure.Census
    let isUser: Bool
    do {
      census = try StoreErasure.census(folder: folder)
      isUser = try name.hasPrefix("_") && StoreErasure.knows(user: name, folder: folder)
    } catch {
      throw Storage.unreadable(folder, error)
    }
    func users(of account: String) -> [(container: String, user: String)] {
      census.containers.map { ($0, secrets.userName(of: AccountID(account), in: ContainerID($0)).rawValue) }
    }
    let account = census.accounts.keys.sorted().first { account in
      account == name || users(of: account).contains { $0.user == name }
    }
    if let account {
      self.account = account
      self.users = users(of: account)
      devices = census.accounts[account] ?? []
    } else if isUser {
      // A user whose account is gone.
      self.account = nil
      self.users = census.containers.map { ($0, name) }
      devices = []
    } else {
      throw Failure(.failed, "there is no account and no user \(name) in \(folder)")
    }
  }
}
