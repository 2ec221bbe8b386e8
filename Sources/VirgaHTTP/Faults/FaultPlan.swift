package import VirgaModel
package import VirgaWire

/// What goes wrong on purpose, and when: rules that are matched with each request, in their order.
///
/// A value without clock and dice: the same plan meets the same requests with the same faults. `docs/faults.md` has its
/// form as JSON.
package struct FaultPlan: Hashable, Sendable {
  /// What a rule looks at in a request.
  package struct Facts: Hashable, Sendable {
    /// An operation of the service, `assets/put` for the bytes of an asset, or `push` for a long poll.
    package var operation: String
    package var container: ContainerID
    package var scope: DatabaseScope
    package var user: UserName?
    package var device: String?
    package var client: String?
    package var zones: Set<ZoneName> = []
    package var records: Set<RecordName> = []

    package init(operation: String, container: ContainerID, scope: DatabaseScope) {
      self.operation = operation
      self.container = container
      self.scope = scope
    }
  }

  /// Which requests a rule is for: those that fit all that is given.
  package struct Condition: Hashable, Sendable {
    package var operation: String?
    package var container: ContainerID?
    package var scope: DatabaseScope?
    package var user: UserName?
    package var device: String?
    package var client: String?
    package var zone: ZoneName?
    package var record: RecordName?
    /// The first of the matching requests that is met, counted from 1.
    package var call = 1
    /// How many requests are met at most; `nil` for all.
    package var times: Int?
    package var probability = 1.0

    package init() {}
  }

  /// What an error stands for: the whole answer, or each item of it that the rule's zone and record fit.
  package enum Reach: String, Hashable, Sendable, CaseIterable { case request, items }

  package enum Effect: Hashable, Sendable {
    /// Nothing but the rule's latency.
    case none
    case error(ServiceError, Reach)
    /// The connection breaks before anything is done, or once all is done and durable.
    case cutBeforeCommit, cutAfterCommit
    /// Change tokens of the zone, or of the request's zones, or of the database expire.
    case expireZoneTokens(ZoneName?), expireDatabaseTokens
    /// The zone, or each zone that the request names, goes as its user makes it go.
    case removeZone(ZoneName?, ZoneDeletionReason)
    case dropNotification, repeatNotification
  }

  package struct Rule: Hashable, Sendable {
    package var name: String
    package var condition = Condition()
    package var effect: Effect
    /// How long a request, or a notification, is held back.
    package var latency: Duration = .zero
    /// Requests that fitted so far, and those that were met.
    package private(set) var matched = 0
    package private(set) var met = 0

    package init(_ name: String, effect: Effect) {
      self.name = name
      self.effect = effect
    }

    fileprivate var isForNotifications: Bool {
      switch effect {
      case .dropNotification, .repeatNotification: true
      default: condition.operation == Operations.push
      }
    }

    /// Counts a request; answers whether the rule meets it.
    fileprivate mutating func meets(_ facts: Facts, seed: UInt64, index: Int) -> Bool {
      guard isForNotifications == (facts.operation == Operations.push), condition.fits(facts) else { return false }
      matched += 1
      guard matched >= condition.call, met < condition.times ?? .max else { return false }
      if condition.probability < 1 {
        let draw = Self.draw(seed: seed, rule: UInt64(index), number: UInt64(matched))
        guard draw < condition.probability else { return false }
      }
      met += 1
      return true
    }

    /// A number in 0..<1 that depends on nothing else, so that one rule's luck does not depend on other rules' requests.
    /// SplitMix64's mixing (Steele, Lea, Flood 2014).
    private static func draw(seed: UInt64, rule: UInt64, number: UInt64) -> Double {
      var value = seed &+ rule &* 0xd1b5_4a32_d192_ed03 &+ number &* 0x9e37_79b9_7f4a_7c15
      value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
      value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
      return Double((value ^ value >> 31) >> 11) / Double(1 << 53)
    }
  }

  /// The names of operations that are none of the protocol's.
  package enum Operations {
    package static let push = "push"
    package static let assetPut = "assets/put"
  }

  package var seed: UInt64 = 0
  package var rules: [Rule] = []

  package init(seed: UInt64 = 0, rules: [Rule] = []) {
    self.seed = seed
    self.rules = rules
  }

  /// What meets a request: the rules that do, in the plan's order. Counts it.
  package mutating func meet(_ facts: Facts) -> [Rule] {
    var met: [Rule] = []
    for index in rules.indices where rules[index].meets(facts, seed: seed, index: index) { met.append(rules[index]) }
    return met
  }
}

extension FaultPlan.Condition {
  fileprivate func fits(_ facts: FaultPlan.Facts) -> Bool {
    func fits<Value: Equatable>(_ wanted: Value?, _ given: Value?) -> Bool { wanted == nil || wanted == given }
    return fits(operation, facts.operation) && fits(container, facts.container) && fits(scope, facts.scope)
      && fits(user, facts.user) && fits(device, facts.device) && fits(client, facts.client)
      && zone.map(facts.zones.contains) ?? true && record.map(facts.records.contains) ?? true
  }

  /// Whether an item of a request is meant: what is not given fits all.
  func fits(zone: ZoneName, record: RecordName? = nil) -> Bool {
    (self.zone ?? zone) == zone && (self.record == nil || self.record == record)
  }
}
