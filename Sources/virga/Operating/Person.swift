import Foundation
import VirgaAuth
import VirgaModel
import VirgaServer
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
    let census: Census
    let isUser: Bool
    do {
      (census, isUser) = try StoppedStore.read(folder) { transaction in
        (try Census(of: transaction), try name.hasPrefix("_") && transaction.knows(user: UserName(name)))
      }
    } catch {
      throw Storage.unreadable(folder, error)
    }
    func users(of account: String) -> [(container: String, user: String)] {
      census.containers.map { ($0.rawValue, secrets.userName(of: AccountID(account), in: $0).rawValue) }
    }
    let account = census.accounts.keys.map(\.rawValue).sorted().first { account in
      account == name || users(of: account).contains { $0.user == name }
    }
    if let account {
      self.account = account
      self.users = users(of: account)
      devices = Set((census.accounts[AccountID(account)] ?? []).map(\.rawValue))
    } else if isUser {
      // A user whose account is gone.
      self.account = nil
      self.users = census.containers.map { ($0.rawValue, name) }
      devices = []
    } else {
      throw Failure(.failed, "there is no account and no user \(name) in \(folder)")
    }
  }
}
