public import Foundation
import VirgaModel

// The protocol has no requests for access, so nobody ever asks: the lists are empty, and a request fails.

extension CKShare {
  /// Somebody who asks to be let in.
  public typealias AccessRequester = CKShareAccessRequester
  /// Somebody who may not ask.
  public typealias BlockedIdentity = CKShareBlockedIdentity

  /// Always empty.
  public var requesters: [AccessRequester] { [] }
  /// Always empty.
  public var blockedIdentities: [BlockedIdentity] { [] }

  /// Does nothing: nobody can ask.
  public func denyRequesters(_ requesters: [AccessRequester]) {}
  /// Does nothing: nobody can ask.
  public func blockRequesters(_ requesters: [AccessRequester]) {}
  /// Does nothing: nobody is blocked.
  public func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {}
}

/// Somebody who asks to be let into a share.
public final class CKShareAccessRequester: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// Who asks.
  public let userIdentity: CKUserIdentity
  /// What to look them up by, to make them a participant.
  public var participantLookupInfo: CKUserIdentity.LookupInfo {
    userIdentity.lookupInfo
      ?? CKUserIdentity.LookupInfo(.userRecordName(userIdentity.model.userRecordName ?? .defaultOwner))
  }

  public static var supportsSecureCoding: Bool { true }
  public init?(coder: NSCoder) {
    guard let archived = coder.archived(ArchivedIdentity.self) else { return nil }
    userIdentity = CKUserIdentity(archived.model)
  }
  public func encode(with coder: NSCoder) { coder.archive(ArchivedIdentity(userIdentity.model)) }
  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? CKShareAccessRequester)?.userIdentity == userIdentity
  }
  public override var hash: Int { userIdentity.hash }

  /// What there is of the address book here: the name that the person goes by.
  public var contact: CNContact { CNContact(userIdentity) }
}

/// Somebody who may not ask to be let into a share.
public final class CKShareBlockedIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// Who may not ask.
  public let userIdentity: CKUserIdentity

  public static var supportsSecureCoding: Bool { true }
  public init?(coder: NSCoder) {
    guard let archived = coder.archived(ArchivedIdentity.self) else { return nil }
    userIdentity = CKUserIdentity(archived.model)
  }
  public func encode(with coder: NSCoder) { coder.archive(ArchivedIdentity(userIdentity.model)) }
  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? CKShareBlockedIdentity)?.userIdentity == userIdentity
  }
  public override var hash: Int { userIdentity.hash }

  /// What there is of the address book here: the name that the person goes by.
  public var contact: CNContact { CNContact(userIdentity) }
}

extension CKContainer {
  /// Asks owners of shares to be let in. The protocol has no such request, so every address fails.
  public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
    let refusal = CKError(.serverRejectedRequest, "The service does not support requests for access to shares.")
    return Dictionary(urls.map { ($0, .failure(refusal)) }) { first, _ in first }
  }
}

/// Linux has no address book. This class stands where Apple's API has a contact, with what is known of the person.
public final class CNContact: NSObject, Sendable {
  /// The first name; empty if it is not known.
  public let givenName: String
  /// The middle name; empty if it is not known.
  public let middleName: String
  /// The family name; empty if it is not known.
  public let familyName: String
  /// The name that friends use; empty if it is not known.
  public let nickname: String

  init(_ identity: CKUserIdentity) {
    let name = identity.nameComponents
    givenName = name?.givenName ?? ""
    middleName = name?.middleName ?? ""
    familyName = name?.familyName ?? ""
    nickname = name?.nickname ?? ""
  }
}
