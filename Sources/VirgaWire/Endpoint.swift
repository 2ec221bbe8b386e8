public import VirgaModel

/// The operations of the service, by the end of their path.
public enum Operation: String, Hashable, Sendable, CaseIterable {
  case recordsQuery = "records/query"
  case recordsModify = "records/modify"
  case recordsLookup = "records/lookup"
  case recordsChanges = "records/changes"
  case recordsResolve = "records/resolve"
  case recordsAccept = "records/accept"
  case zonesList = "zones/list"
  case zonesLookup = "zones/lookup"
  case zonesModify = "zones/modify"
  case zonesChanges = "zones/changes"
  case changesDatabase = "changes/database"
  case changesZone = "changes/zone"
  case subscriptionsList = "subscriptions/list"
  case subscriptionsLookup = "subscriptions/lookup"
  case subscriptionsModify = "subscriptions/modify"
  case usersCaller = "users/caller"
  case usersCurrent = "users/current"
  case usersDiscover = "users/discover"
  case usersLookupEmail = "users/lookup/email"
  case usersLookupID = "users/lookup/id"
  case usersLookupPhone = "users/lookup/phone"
  case usersLookupContacts = "users/lookup/contacts"
  case assetsUpload = "assets/upload"
  case assetsRereference = "assets/rereference"
  case tokensCreate = "tokens/create"
  case tokensRegister = "tokens/register"

  /// Whether GET is accepted; POST always is.
  public var allowsGet: Bool {
    switch self {
    case .zonesList, .subscriptionsList, .usersCaller, .usersCurrent, .usersDiscover: true
    default: false
    }
  }

  /// Whether the operation leaves the data as they are, so that it may run beside others.
  public var isReadOnly: Bool {
    switch self {
    case .recordsQuery, .recordsLookup, .recordsChanges, .zonesList, .zonesLookup, .zonesChanges, .changesDatabase,
      .changesZone, .subscriptionsList, .subscriptionsLookup, .assetsUpload, .recordsResolve,
      .usersDiscover, .usersLookupEmail, .usersLookupID, .usersLookupPhone, .usersLookupContacts:
      true
    // A caller's user record is made when they first ask who they are.
    case .recordsModify, .recordsAccept, .zonesModify, .subscriptionsModify, .assetsRereference, .tokensCreate,
      .tokensRegister, .usersCaller, .usersCurrent:
      false
    }
  }

  /// Whether the operation is about people: it needs one who is signed in, whatever the database.
  public var needsUser: Bool {
    rawValue.hasPrefix("users/") || rawValue == "records/resolve" || rawValue == "records/accept"
  }

  /// Whether the operation belongs to the `device` module, which has no database in its path.
  public var isDeviceOperation: Bool { self == .tokensCreate || self == .tokensRegister }
}

/// What a path names: `/database/1/{container}/{environment}/{database}/{operation}`, or
/// `/device/1/{container}/{environment}/{operation}` for tokens.
public struct Endpoint: Hashable, Sendable {
  public var container: ContainerID
  public var environment: Environment
  /// The database of the path; `private` for operations of the device module.
  public var scope: DatabaseScope
  public var operation: Operation

  public init(container: ContainerID, environment: Environment, scope: DatabaseScope, operation: Operation) {
    self.container = container
    self.environment = environment
    self.scope = scope
    self.operation = operation
  }

  /// The path to send, with the container percent-encoded where it must be.
  public var path: String {
    let head = "/1/\(container.rawValue.percentEncodedPathSegment)/\(environment.rawValue)/"
    return operation.isDeviceOperation
      ? "/device\(head)\(operation.rawValue)" : "/database\(head)\(scope.pathName)/\(operation.rawValue)"
  }
}

extension String {
  /// The text as one segment of a path: all but unreserved characters percent-encoded.
  public var percentEncodedPathSegment: String {
    let hex = Array("0123456789ABCDEF".utf8)
    var out: [UInt8] = []
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        out.append(byte)
      default: out += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
      }
    }
    return String(decoding: out, as: UTF8.self)
  }
}
