public import Foundation
import VirgaModel

/// A user as others see them.
public final class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// What a user is looked up by.
  public typealias LookupInfo = CKUserIdentityLookupInfo

  let model: UserIdentity

  init(_ model: UserIdentity) { self.model = model }

  /// nil for somebody who is only known by how they are looked up.
  public var userRecordID: CKRecord.ID? { model.userRecordName.map(CKRecord.ID.init(user:)) }
  /// What the user was looked up by.
  public var lookupInfo: LookupInfo? { model.lookupInfo.map(LookupInfo.init) }
  /// The name, where the user has stated one.
  public var nameComponents: PersonNameComponents? { StatedName(json: model.nameComponents)?.components }
  /// Always empty: there is no address book.
  public var contactIdentifiers: [String] { [] }
  /// Whether the service knows the user.
  public var hasiCloudAccount: Bool { model.userRecordName != nil }

  public static var supportsSecureCoding: Bool { true }

  public init?(coder: NSCoder) {
    guard let archived = coder.archived(ArchivedIdentity.self) else { return nil }
    model = archived.model
  }

  public func encode(with coder: NSCoder) { coder.archive(ArchivedIdentity(model)) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentity)?.model == model }
  public override var hash: Int { model.hashValue }
  public override var description: String {
    "<CKUserIdentity \(model.userRecordName?.rawValue ?? lookupInfo?.text ?? "unknown")>"
  }
}

/// What a user is looked up by. Accounts have no e-mail address and no telephone number, so the service finds users by
/// their record only.
public final class CKUserIdentityLookupInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
  let model: UserLookupInfo

  init(_ model: UserLookupInfo) { self.model = model }

  /// Looks for a user by e-mail address. It finds nobody here.
  public convenience init(emailAddress: String) { self.init(.emailAddress(emailAddress)) }
  /// Looks for a user by telephone number. It finds nobody here.
  public convenience init(phoneNumber: String) { self.init(.phoneNumber(phoneNumber)) }
  /// Looks for the user of that record.
  public convenience init(userRecordID: CKRecord.ID) {
    self.init(.userRecordName(UserName(userRecordID.recordName)))
  }

  /// The same for several e-mail addresses, in their order.
  public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentity.LookupInfo] {
    emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
  }

  /// The same for several telephone numbers, in their order.
  public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentity.LookupInfo] {
    phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
  }

  /// The same for several records of users, in their order.
  public class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] {
    recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
  }

  /// The e-mail address, if the user is looked up by one.
  public var emailAddress: String? { if case .emailAddress(let text) = model { text } else { nil } }
  /// The telephone number, if the user is looked up by one.
  public var phoneNumber: String? { if case .phoneNumber(let text) = model { text } else { nil } }
  /// The record, if the user is looked up by one.
  public var userRecordID: CKRecord.ID? {
    if case .userRecordName(let name) = model { CKRecord.ID(user: name) } else { nil }
  }

  var text: String {
    switch model {
    case .emailAddress(let text), .phoneNumber(let text): text
    case .userRecordName(let name): name.rawValue
    }
  }

  public static var supportsSecureCoding: Bool { true }

  public init?(coder: NSCoder) {
    guard let model = coder.archived(ArchivedIdentity.self)?.model.lookupInfo else { return nil }
    self.model = model
  }

  public func encode(with coder: NSCoder) { coder.archive(ArchivedIdentity(UserIdentity(lookupInfo: model))) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKUserIdentityLookupInfo)?.model == model }
  public override var hash: Int { model.hashValue }
  public override var description: String { "<CKUserIdentityLookupInfo \(text)>" }
}

/// How an identity is archived. Members may be added, none may change its meaning.
struct ArchivedIdentity: Codable {
  var user: String?
  var lookupUser: String?
  var emailAddress: String?
  var phoneNumber: String?
  var nameComponents: Data?

  init(_ model: UserIdentity) {
    user = model.userRecordName?.rawValue
    nameComponents = model.nameComponents.isEmpty ? nil : Data(model.nameComponents)
    switch model.lookupInfo {
    case .userRecordName(let name): lookupUser = name.rawValue
    case .emailAddress(let text): emailAddress = text
    case .phoneNumber(let text): phoneNumber = text
    case nil: break
    }
  }

  var model: UserIdentity {
    let lookup =
      lookupUser.map { UserLookupInfo.userRecordName(UserName($0)) } ?? emailAddress.map(UserLookupInfo.emailAddress)
      ?? phoneNumber.map(UserLookupInfo.phoneNumber)
    return UserIdentity(
      userRecordName: user.map { UserName($0) }, lookupInfo: lookup,
      nameComponents: nameComponents.map { [UInt8]($0) } ?? [])
  }
}

/// A name as the protocol writes it.
private struct StatedName: Decodable {
  var namePrefix: String?
  var givenName: String?
  var middleName: String?
  var familyName: String?
  var nameSuffix: String?
  var nickname: String?

  /// nil for no name.
  init?(json: [UInt8]) {
    guard !json.isEmpty, let name = try? JSONDecoder().decode(StatedName.self, from: Data(json)) else { return nil }
    self = name
  }

  var components: PersonNameComponents {
    var components = PersonNameComponents()
    components.namePrefix = namePrefix
    components.givenName = givenName
    components.middleName = middleName
    components.familyName = familyName
    components.nameSuffix = nameSuffix
    components.nickname = nickname
    return components
  }
}
