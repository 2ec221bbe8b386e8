import Foundation
import VirgaModel
import VirgaWire

// Accounts have no e-mail address and no telephone number. Looking somebody up by one of these gives `unknownItem`, as
// it does on Apple's service for somebody who has no account; share an open address with them instead.

extension CKContainer {
  /// Looks somebody up to share with them.
  /// - Throws: `unknownItem`, because accounts have no e-mail address.
  public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
    try await shareParticipants(forEmailAddresses: [emailAddress]).only(emailAddress)
  }

  /// Looks somebody up to share with them.
  /// - Throws: `unknownItem`, because accounts have no telephone number.
  public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
    try await shareParticipants(forPhoneNumbers: [phoneNumber]).only(phoneNumber)
  }

  /// Looks somebody up to share with them.
  /// - Throws: `unknownItem` if the container knows no such user.
  public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
    try await shareParticipants(forUserRecordIDs: [userRecordID]).only(userRecordID)
  }

  /// Looks people up, with a result for each: `unknownItem`, because accounts have no e-mail address.
  public func shareParticipants(
    forEmailAddresses emails: [String]
  ) async throws -> [String: Result<CKShare.Participant, any Error>] {
    try await shareParticipants(for: emails) { CKUserIdentity.LookupInfo(emailAddress: $0) }
  }

  /// Looks people up, with a result for each: `unknownItem`, because accounts have no telephone number.
  public func shareParticipants(
    forPhoneNumbers phoneNumbers: [String]
  ) async throws -> [String: Result<CKShare.Participant, any Error>] {
    try await shareParticipants(for: phoneNumbers) { CKUserIdentity.LookupInfo(phoneNumber: $0) }
  }

  /// Looks people up by the records of their users, with a result for each: `unknownItem` for those whom the container
  /// does not know.
  public func shareParticipants(
    forUserRecordIDs userRecordIDs: [CKRecord.ID]
  ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
    try await shareParticipants(for: userRecordIDs) { CKUserIdentity.LookupInfo(userRecordID: $0) }
  }

  private func shareParticipants<Key: Hashable>(
    for keys: [Key], _ info: (Key) -> CKUserIdentity.LookupInfo
  ) async throws -> [Key: Result<CKShare.Participant, any Error>] {
    let found = try await shareParticipants(for: keys.map(info))
    var participants: [Key: Result<CKShare.Participant, any Error>] = [:]
    for key in keys { participants[key] = found[info(key)] }
    return participants
  }

  /// People to add to a share, with the permission to read.
  /// - Returns: For each who is not found, `unknownItem`.
  public func shareParticipants(
    for lookupInfos: [CKUserIdentity.LookupInfo]
  ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
    let identities = try await identities(for: lookupInfos.map(\.model))
    var participants: [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] = [:]
    for info in lookupInfos {
      if let identity = identities[info.model] {
        participants[info] = .success(
          CKShareParticipant(ShareParticipant(identity: identity, permission: .readOnly)))
      } else {
        participants[info] = .failure(CKError(.unknownItem, "No user was found for \(info.text)."))
      }
    }
    return participants
  }

  /// The users whom the service knows.
  func identities(for lookupInfos: [UserLookupInfo]) async throws -> [UserLookupInfo: UserIdentity] {
    var found: [UserLookupInfo: UserIdentity] = [:]
    for part in lookupInfos.chunks(of: service.itemsPerRequestMax) {
      let call = Call.usersLookup(UsersLookupRequest(.discover, lookupInfos: Array(part)))
      guard case .users(let users) = try await publicCloudDatabase.perform(call) else {
        throw CKError.unexpected("users/discover")
      }
      for user in users {
        if let info = user.lookupInfo { found[info] = user }
        if let name = user.userRecordName { found[.userRecordName(name)] = user }
      }
    }
    return found
  }

  // MARK: With completion handlers

  /// `shareParticipant(forEmailAddress:)` with a completion handler.
  public func fetchShareParticipant(
    withEmailAddress emailAddress: String,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.shareParticipant(forEmailAddress: emailAddress) }
  }

  /// `shareParticipant(forPhoneNumber:)` with a completion handler.
  public func fetchShareParticipant(
    withPhoneNumber phoneNumber: String,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.shareParticipant(forPhoneNumber: phoneNumber) }
  }

  /// `shareParticipant(forUserRecordID:)` with a completion handler.
  public func fetchShareParticipant(
    withUserRecordID userRecordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    callBack(completionHandler) { try await self.shareParticipant(forUserRecordID: userRecordID) }
  }

  /// `shareParticipants(forEmailAddresses:)` with a completion handler.
  @preconcurrency
  public func fetchShareParticipants(
    forEmailAddresses emails: [String],
    completionHandler:
      @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.shareParticipants(forEmailAddresses: emails) }
  }

  /// `shareParticipants(forPhoneNumbers:)` with a completion handler.
  @preconcurrency
  public func fetchShareParticipants(
    forPhoneNumbers phoneNumbers: [String],
    completionHandler:
      @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.shareParticipants(forPhoneNumbers: phoneNumbers) }
  }

  /// `shareParticipants(forUserRecordIDs:)` with a completion handler.
  @preconcurrency
  public func fetchShareParticipants(
    forUserRecordIDs userRecordIDs: [CKRecord.ID],
    completionHandler:
      @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    callBack(completionHandler) { try await self.shareParticipants(forUserRecordIDs: userRecordIDs) }
  }
}
