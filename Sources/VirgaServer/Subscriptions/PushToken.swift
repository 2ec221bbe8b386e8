import VirgaModel
import VirgaWire

/// A queue of notifications: whose it is, and which client waits at it.
///
/// As an entity's value it is text, a line for each part; an absent client or device is an empty line. The last line says
/// with which device the token ends, unless that is the client's own.
struct PushToken: Hashable {
  let token: String
  var apnsEnvironment: String
  var clientID: String?
  var device: String?
  var created: Timestamp
  /// The device with whose removal the token ends.
  var endsWith: String?

  /// Whether the token belongs to the client that makes this call: by its identifier if both sides have one, else by
  /// the device.
  func isOrigin(_ context: CallContext) -> Bool {
    if let clientID, let caller = context.clientID { return clientID == caller }
    guard let device, let caller = context.principal.device else { return false }
    return device == caller.rawValue
  }

  static func owner(_ user: UserName, container: ContainerID, environment: Environment) -> String {
    "\(container)/\(environment)/\(user)"
  }

  /// A user's tokens, by their text.
  static func all(
    of user: UserName, container: ContainerID, environment: Environment, in transaction: any ReadTransaction
  ) throws -> [PushToken] {
    let owner = owner(user, container: container, environment: environment)
    return try transaction.entities(.pushToken, owner: owner) { try $0.map(PushToken.init) }
  }

  func entity(owner: String) -> Entity {
    var parts = [apnsEnvironment, clientID ?? "", device ?? "", String(created.milliseconds)]
    if let endsWith, endsWith != device { parts.append(endsWith) }
    return Entity(.pushToken, key: token, owner: owner, value: Array(parts.joined(separator: "\n").utf8))
  }

  /// Removes the queue with what waits in it.
  func remove(in transaction: any WriteTransaction) throws {
    let waiting = try transaction.notifications(for: token, limit: .max)
    try transaction.removeNotifications(waiting.map(\.id), of: token)
    try transaction.removeEntity(.pushToken, key: token)
  }

  init(token: String, apnsEnvironment: String, context: CallContext, clientID: String?) {
    self.token = token
    self.apnsEnvironment = apnsEnvironment
    self.clientID = clientID ?? context.clientID
    device = context.principal.device?.rawValue
    endsWith = context.principal.endsWith?.rawValue
    created = context.now
  }

  init(_ entity: Entity) throws {
    let parts = String(decoding: entity.value, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    guard parts.count == 4 || parts.count == 5, let created = Int64(parts[3]) else {
      throw StoreError.damaged("a push token cannot be read")
    }
    token = entity.key
    apnsEnvironment = String(parts[0])
    clientID = parts[1].isEmpty ? nil : String(parts[1])
    device = parts[2].isEmpty ? nil : String(parts[2])
    endsWith = parts.count == 5 ? String(parts[4]) : device
    self.created = Timestamp(milliseconds: created)
  }
}
