import Synchronization
import VirgaModel
import VirgaWire

/// What the user of this device is called in one container. Apps see `CKCurrentUserDefaultName` instead, as on Apple's systems.
final class CurrentUser: Sendable {
  private struct Known: Sendable {
    var account: AccountID?
    var name: UserName
    /// Whether the service was asked, and has made the user's record.
    var hasRecord = false
  }

  private let service: RemoteService
  private let state = Mutex<Known?>(nil)

  init(service: RemoteService) { self.service = service }

  /// The name, if an answer has said it since the device came to its account.
  var name: UserName? { known?.name }

  /// The name, if the user's record is known to be there.
  var nameOfRecord: UserName? { known.flatMap { $0.hasRecord ? $0.name : nil } }

  private var known: Known? {
    let account = service.currentAccount
    return state.withLock { $0 }.flatMap { $0.account == account ? $0 : nil }
  }

  /// Takes what an answer says.
  func note(_ name: UserName, hasRecord: Bool = false) {
    guard name != .defaultOwner else { return }
    let account = service.currentAccount
    state.withLock { known in
      let isSame = known?.account == account && known?.name == name
      known = Known(account: account, name: name, hasRecord: hasRecord || isSame && known?.hasRecord == true)
    }
  }
}

extension CKDatabase {
  /// Who the user is; asks the service once, unless it has said so by itself.
  func currentUserName() async throws -> UserName {
    if let known = user.name { return known }
    return try await nameOfUserRecord()
  }

  /// The name of the user's own record, which the service makes when it is first asked for it.
  func nameOfUserRecord() async throws -> UserName {
    if let known = user.nameOfRecord { return known }
    guard case .user(let name) = try await perform(.usersCaller) else { throw CKError.unexpected("users/caller") }
    user.note(name, hasRecord: true)
    return name
  }

  /// Finds out who the user is, before records are read that do not say it: those of a database of others, on a service that
  /// names the user nowhere else. Where that fails, the user's records are shown under their full name.
  func learnUserName() async {
    guard databaseScope != .private, let tokens = service.tokens, tokens.isSignedIn, user.name == nil else { return }
    _ = try? await currentUserName()
  }

  /// The placeholder for the user's own name, in what an answer says of who made or changed a record.
  func withoutUserName(_ record: Record) -> Record {
    guard let name = user.name else { return record }
    var record = record
    if record.created?.user == name { record.created?.user = .defaultOwner }
    if record.modified?.user == name { record.modified?.user = .defaultOwner }
    return record
  }
}

extension Reference {
  /// Whether the reference leads to the user's own record, by the placeholder for their name.
  /// - Parameter home: The zone that a reference without a zone means.
  func namesUser(in home: ZoneName) -> Bool {
    recordName.rawValue == UserName.defaultOwner.rawValue && (zone?.name ?? home) == .default
  }
}

extension FieldValue {
  /// Whether a reference of the value leads to the user by the placeholder.
  func namesUser(in home: ZoneName) -> Bool {
    switch self {
    case .reference(let reference): reference.namesUser(in: home)
    case .referenceList(let list): list.contains { $0.namesUser(in: home) }
    default: false
    }
  }

  /// The value with the user's name in place of the placeholder, so that it leads to the same person for all who read it.
  func naming(_ user: UserName, in home: ZoneName) -> FieldValue {
    func named(_ reference: Reference) -> Reference {
      guard reference.namesUser(in: home) else { return reference }
      var reference = reference
      reference.recordName = RecordName(user.rawValue)
      return reference
    }
    return switch self {
    case .reference(let reference): .reference(named(reference))
    case .referenceList(let list): .referenceList(list.map(named))
    default: self
    }
  }
}

extension Query {
  /// The query with the user's name in place of the placeholder.
  func naming(user: () async throws -> UserName) async throws -> Query {
    guard filters.contains(where: { $0.value.namesUser(in: .default) }) else { return self }
    let name = try await user()
    var query = self
    for index in query.filters.indices {
      query.filters[index].value = query.filters[index].value.naming(name, in: .default)
    }
    return query
  }
}
