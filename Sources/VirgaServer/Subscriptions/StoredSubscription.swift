import FoundationEssentials
import VirgaModel
import VirgaWire

/// A subscription as it is stored. What a save needs to fire it comes first, ready made; the rest is read when a client
/// asks for it.
///
/// As an entity's value it is three lines: what it watches and whether it fires once, the `aps` part of its
/// notifications, and its details as JSON.
struct StoredSubscription: Hashable {
  enum Watched: Hashable {
    case database
    case zone(ZoneName)
  }

  let id: SubscriptionID
  let watched: Watched
  let firesOnce: Bool
  /// JSON.
  let aps: [UInt8]
  private let details: [UInt8]

  private struct Details: Codable {
    var firesOn: [String]
    var info: NotificationInfo
  }

  /// - Parameter watched: What the subscription's kind names, resolved.
  init(_ subscription: Subscription, watching watched: Watched) throws {
    id = subscription.id
    self.watched = watched
    firesOnce = subscription.firesOnce
    aps = subscription.notificationInfo.apsJSON
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    details = Array(
      try encoder.encode(Details(firesOn: subscription.firesOn, info: subscription.notificationInfo)))
  }

  init(_ entity: Entity) throws {
    let lines = entity.value.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
    let words = String(decoding: lines.first ?? [], as: UTF8.self).split(
      separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count == 3, words.count >= 2, let slash = entity.key.lastIndex(ofSeparators: 4) else {
      throw StoreError.damaged("subscription \(entity.key) cannot be read")
    }
    id = SubscriptionID(String(entity.key[slash...].dropFirst()))
    firesOnce = words[0] == "once"
    watched = words.count == 3 ? .zone(ZoneName(String(words[2]))) : .database
    aps = Array(lines[1])
    details = Array(lines[2])
  }

  func entity(owner: String) -> Entity {
    let head =
      switch watched {
      case .database: "database"
      case .zone(let name): "zone \(name)"
      }
    let value = Array("\(firesOnce ? "once" : "always") \(head)\n".utf8) + aps + [UInt8(ascii: "\n")] + details
    return Entity(.subscription, key: "\(owner)/\(id)", owner: owner, value: value)
  }

  func subscription(owner: UserName) throws -> Subscription {
    let kind: Subscription.Kind =
      switch watched {
      case .database: .database
      case .zone(let name): .zone(ZoneSelector(name, owner: owner))
      }
    var subscription = Subscription(id: id, kind: kind)
    let details = try JSONDecoder().decode(Details.self, from: Data(self.details))
    subscription.firesOn = details.firesOn
    subscription.firesOnce = firesOnce
    subscription.notificationInfo = details.info
    return subscription
  }

  func watches(_ zone: ZoneID) -> Bool {
    switch watched {
    case .database: true
    case .zone(let name): name == zone.name
    }
  }

  /// Under what the subscriptions of a user in one database are listed; the identifier follows after a slash.
  static func owner(_ user: UserName, container: ContainerID, environment: Environment, scope: DatabaseScope) -> String
  {
    "\(container)/\(environment)/\(scope.pathName)/\(user)"
  }
}

extension String {
  /// Where the `count`th slash stands.
  fileprivate func lastIndex(ofSeparators count: Int) -> String.Index? {
    var left = count
    return utf8.firstIndex {
      if $0 == UInt8(ascii: "/") { left -= 1 }
      return left == 0
    }
  }
}
