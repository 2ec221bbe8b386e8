import VirgaModel

// Finding people, which Apple has retired: look up share participants instead. Accounts have no e-mail address and no
// telephone number, and there is no address book, so only the record of a user leads to somebody.

extension CKContainer {
  /// Always empty: there is no address book.
  public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] { [] }

  /// - Returns: nil, because accounts have no e-mail address.
  public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
    try await userIdentities(forEmailAddresses: [email])[email]
  }

  /// - Returns: nil, because accounts have no telephone number.
  public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
    try await userIdentities(forPhoneNumbers: [phoneNumber])[phoneNumber]
  }

  /// - Returns: The user of that record; nil if the container knows none.
  public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
    try await userIdentities(forUserRecordIDs: [userRecordID])[userRecordID]
  }

  /// Those of the people who are known; whoever is not is left out.
  public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] {
    try await userIdentities(for: emails) { .emailAddress($0) }
  }

  /// Always empty, because accounts have no telephone number.
  public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
    try await userIdentities(for: phoneNumbers) { .phoneNumber($0) }
  }

  /// The users of these records. Those that the container does not know are left out.
  public func userIdentities(
    forUserRecordIDs userRecordIDs: [CKRecord.ID]
  ) async throws -> [CKRecord.ID: CKUserIdentity] {
    try await userIdentities(for: userRecordIDs) { CKUserIdentityLookupInfo(userRecordID: $0).model }
  }

  private func userIdentities<Key: Hashable>(
    for keys: [Key], _ info: (Key) -> UserLookupInfo
  ) async throws -> [Key: CKUserIdentity] {
    let found = try await identities(for: keys.map(info))
    var identities: [Key: CKUserIdentity] = [:]
    for key in keys { identities[key] = found[info(key)].map { CKUserIdentity($0) } }
    return identities
  }

  // MARK: With completion handlers

  /// `allUserIdentitiesFromContacts()` with a completion handler.
  public func discoverAllIdentities(
    completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.allUserIdentitiesFromContacts() }
  }

  /// `userIdentity(forEmailAddress:)` with a completion handler.
  public func discoverUserIdentity(
    withEmailAddress email: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    tell(completionHandler) { try await self.userIdentity(forEmailAddress: email) }
  }

  /// `userIdentity(forPhoneNumber:)` with a completion handler.
  public func discoverUserIdentity(
    withPhoneNumber phoneNumber: String,
    completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    tell(completionHandler) { try await self.userIdentity(forPhoneNumber: phoneNumber) }
  }

  /// `userIdentity(forUserRecordID:)` with a completion handler.
  public func discoverUserIdentity(
    withUserRecordID userRecordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    tell(completionHandler) { try await self.userIdentity(forUserRecordID: userRecordID) }
  }

  /// `userIdentities(forEmailAddresses:)` with a completion handler.
  @preconcurrency
  public func discoverUserIdentities(
    forEmailAddresses emails: [String],
    completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.userIdentities(forEmailAddresses: emails) }
  }

  /// `userIdentities(forPhoneNumbers:)` with a completion handler.
  @preconcurrency
  public func discoverUserIdentities(
    forPhoneNumbers phoneNumbers: [String],
    completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.userIdentities(forPhoneNumbers: phoneNumbers) }
  }

  /// `userIdentities(forUserRecordIDs:)` with a completion handler.
  @preconcurrency
  public func discoverUserIdentities(
    forUserRecordIDs userRecordIDs: [CKRecord.ID],
    completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.userIdentities(forUserRecordIDs: userRecordIDs) }
  }

  private func tell(
    _ completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void,
    _ ask: @escaping @Sendable () async throws -> CKUserIdentity?
  ) {
    callBack(
      { (result: Result<CKUserIdentity?, any Error>) in
        switch result {
        case .success(let identity): completionHandler(identity, nil)
        case .failure(let error): completionHandler(nil, error)
        }
      }, ask)
  }
}
