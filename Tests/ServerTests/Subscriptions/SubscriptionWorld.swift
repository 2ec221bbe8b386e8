import Foundation
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// Ways to subscribe and to read what was told.
extension Harness {
  /// A client of Alice's that changes nothing.
  static let laptop = Caller("_alice", device: "laptop")

  func subscribe(
    _ subscription: Subscription, _ kind: SubscriptionsModifyRequest.Operation.Kind = .create,
    as caller: Caller = .alice, in place: Where = .own
  ) throws -> SubscriptionResult {
    let request = SubscriptionsModifyRequest(operations: [.init(kind, subscription)])
    guard case .subscriptions(let results) = try call(.subscriptionsModify(request), as: caller, in: place) else {
      throw StoreError.other("no subscriptions")
    }
    return results[0]
  }

  func queue(as caller: Caller = Harness.laptop) throws -> String {
    let call = Call.tokensCreate(.init(apnsEnvironment: "development"))
    guard case .pushToken(let reply) = try self.call(call, as: caller) else { throw StoreError.other("no token") }
    return reply.apnsToken
  }

  /// Empties a queue.
  func take(_ queue: String) throws -> [Push] {
    let payloads = try write { transaction in
      let rows = try transaction.notifications(for: queue, limit: .max)
      try transaction.removeNotifications(rows.map(\.id), of: queue)
      return rows.map(\.payload)
    }
    return try payloads.map(Push.init)
  }

  /// What a queue told of records: `created r` and the like.
  func told(_ queue: String) throws -> [String] { try take(queue).map(\.event) }
}

/// A delivered push.
struct Push {
  let bytes: [UInt8]
  let aps: [String: Any]
  let ck: [String: Any]
  let query: [String: Any]

  init(_ payload: [UInt8]) throws {
    bytes = payload
    let object = try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
    aps = try #require(object["aps"] as? [String: Any])
    ck = try #require(object["ck"] as? [String: Any])
    query = ck["qry"] as? [String: Any] ?? [:]
  }

  var event: String {
    let words = ["created", "updated", "deleted"]
    let reason = (query["fo"] as? Int).flatMap { words.indices.contains($0 - 1) ? words[$0 - 1] : nil }
    return "\(reason ?? "?") \(query["rid"] as? String ?? "?")"
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension SubscriptionResult {
  var error: ServiceError? { if case .failure(_, let error) = self { error } else { nil } }
}

extension Subscription {
  static let every = ["create", "update", "delete"]

  /// A subscription to records of the type `Entry` that meet the filters.
  static func query(
    _ id: SubscriptionID = "q", _ filters: [QueryFilter] = [], type: RecordType = "Entry",
    zone: ZoneSelector? = nil, on events: [String] = every, info: NotificationInfo = NotificationInfo()
  ) -> Subscription {
    var subscription = Subscription(id: id, kind: .query(json: Query(type, filters: filters).json, zone: zone))
    subscription.firesOn = events
    subscription.notificationInfo = info
    return subscription
  }
}
