import VirgaModel
import VirgaWire

extension FaultPlan {
  /// Why a text is no plan: the line, the place in it by its keys, and what is wrong there.
  package struct Objection: Error, Hashable, CustomStringConvertible {
    package var line: Int
    package var place: String
    package var problem: String
    package var description: String { "line \(line): \(place.isEmpty ? "" : place + ": ")\(problem)" }
  }

  /// Reads a plan.
  package init(json: [UInt8]) throws(Objection) {
    var reader = PlanReader(json)
    self = try reader.plan()
  }
}

/// Reads a plan and remembers where it is, for objections.
private struct PlanReader {
  private var reader: JSONReader
  private var place: [String] = []

  init(_ json: [UInt8]) { reader = JSONReader(json) }

  mutating func plan() throws(FaultPlan.Objection) -> FaultPlan {
    var plan = FaultPlan()
    try object(known: ["seed", "faults"]) { (self, key) throws(FaultPlan.Objection) in
      switch key {
      case "seed": plan.seed = UInt64(try self.integer(0...Int.max))
      default: plan.rules = try self.rules()
      }
    }
    do throws(WireError) { try reader.finish() } catch { throw objection(error) }
    return plan
  }

  private mutating func rules() throws(FaultPlan.Objection) -> [FaultPlan.Rule] {
    var rules: [FaultPlan.Rule] = []
    do throws(WireError) { try reader.beginArray() } catch { throw objection(error) }
    let name = place.removeLast()
    while try nextElement() {
      place.append("\(name)[\(rules.count)]")
      guard rules.count < Limits.faultRulesMax else { throw objection("more than \(Limits.faultRulesMax) faults") }
      rules.append(try rule(number: rules.count + 1))
      place.removeLast()
    }
    place.append(name)
    return rules
  }

  // MARK: One rule

  private mutating func rule(number: Int) throws(FaultPlan.Objection) -> FaultPlan.Rule {
    var rule = FaultPlan.Rule("fault \(number)", effect: .none)
    var does = false
    try object(known: ["name", "when", "do", "matched", "met"]) { (self, key) throws(FaultPlan.Objection) in
      switch key {
      case "name": rule.name = try self.string()
      case "when": rule.condition = try self.condition()
      // A plan that was read from a server has them.
      case "matched", "met": _ = try self.integer(0...Int.max)
      default:
        (rule.effect, rule.latency) = try self.action()
        does = true
      }
    }
    guard does else { throw objection("\"do\" is missing: say what must happen") }
    switch rule.effect {
    case .dropNotification, .repeatNotification:
      if rule.condition.operation ?? FaultPlan.Operations.push != FaultPlan.Operations.push {
        throw objection("a fault of notifications works only with the operation push")
      }
      rule.condition.operation = FaultPlan.Operations.push
    case .none: break
    case .error(_, .request), .cutBeforeCommit: break
    default:
      if rule.condition.operation == FaultPlan.Operations.push || rule.condition.operation == "assets/put" {
        throw objection("\"do\" cannot happen to the operation \(rule.condition.operation ?? "")")
      }
    }
    return rule
  }

  private static let operations =
    Operation.allCases.map(\.rawValue).sorted() + [FaultPlan.Operations.assetPut, FaultPlan.Operations.push]

  private mutating func condition() throws(FaultPlan.Objection) -> FaultPlan.Condition {
    var condition = FaultPlan.Condition()
    var givesTimes = false
    let keys = [
      "operation", "container", "database", "user", "device", "client", "zone", "record", "call", "times",
      "probability",
    ]
    try object(known: keys) { (self, key) throws(FaultPlan.Objection) in
      switch key {
      case "operation": condition.operation = try self.word(of: Self.operations)
      case "container": condition.container = ContainerID(try self.string())
      case "database": condition.scope = DatabaseScope(pathName: try self.word(of: ["public", "private", "shared"]))
      case "user": condition.user = UserName(try self.string())
      case "device": condition.device = try self.string()
      case "client": condition.client = try self.string()
      case "zone": condition.zone = ZoneName(try self.string())
      case "record": condition.record = RecordName(try self.string())
      case "call":
        condition.call = try self.integer(1...Int.max)
        if !givesTimes { condition.times = 1 }
      case "times":
        condition.times = try self.integer(1...Int.max)
        givesTimes = true
      default: condition.probability = try self.number(0...1)
      }
    }
    return condition
  }

  // MARK: What happens

  private static let effects = [
    "error", "throttle", "zoneBusy", "quotaFull", "accountUnavailable", "cut", "expireTokens", "purgeZone",
    "resetEncryptedData", "notifications",
  ]

  private mutating func action() throws(FaultPlan.Objection) -> (FaultPlan.Effect, Duration) {
    var (effect, latency) = (FaultPlan.Effect?.none, Duration?.none)
    var details = Details()
    var name = ""
    try object(known: Self.effects + ["latency", "reason", "retryAfter", "reach", "zone"]) {
      (self, key) throws(FaultPlan.Objection) in
      switch key {
      case "latency":
        let most = Double(Limits.faultLatencyMax.components.seconds)
        latency = .milliseconds(Int64(try self.number(0...most) * 1_000))
      case "reason": details.reason = try self.string()
      case "retryAfter": details.retryAfter = try self.integer(0...86_400)
      case "reach":
        details.reach = FaultPlan.Reach(rawValue: try self.word(of: FaultPlan.Reach.allCases.map(\.rawValue)))
      case "zone": details.zone = ZoneName(try self.string())
      default:
        guard effect == nil else {
          throw self.objection("a fault can do only one thing, and this one already does \(name)")
        }
        (effect, name) = (try self.effect(key), key)
      }
    }
    guard effect != nil || latency != nil else {
      throw objection("this does nothing; give latency or one of \(Self.effects.joined(separator: ", "))")
    }
    do throws(Details.Misplaced) { return (try details.complete(effect ?? .none), latency ?? .zero) } catch {
      throw objection("\(error.key) has no effect \(name.isEmpty ? "with latency alone" : "with \(name)")")
    }
  }

  private mutating func effect(_ key: String) throws(FaultPlan.Objection) -> FaultPlan.Effect {
    switch key {
    case "error":
      let codes = ServerErrorCode.allCases.map(\.rawValue).sorted()
      let code = ServerErrorCode(rawValue: try word(of: codes)) ?? .internalError
      return .error(ServiceError(code, "a fault on purpose"), .request)
    case "throttle":
      let seconds = try integer(0...86_400)
      return .error(ServiceError(.throttled, "too many requests", retryAfterSeconds: seconds), .request)
    case "zoneBusy":
      try flag()
      return .error(ServiceError(.tryAgainLater, "the zone is busy"), .items)
    case "quotaFull":
      try flag()
      return .error(ServiceError(.quotaExceeded, "the user's quota is used up"), .items)
    case "accountUnavailable":
      try flag()
      return .error(ServiceError(.tryAgainLater, Reason.accountUnavailable), .request)
    case "cut":
      return try word(of: ["beforeCommit", "afterCommit"]) == "beforeCommit" ? .cutBeforeCommit : .cutAfterCommit
    case "expireTokens":
      return try word(of: ["zone", "database"]) == "zone" ? .expireZoneTokens(nil) : .expireDatabaseTokens
    case "purgeZone":
      try flag()
      return .removeZone(nil, .purged)
    case "resetEncryptedData":
      try flag()
      return .removeZone(nil, .encryptedDataReset)
    default: return try word(of: ["drop", "repeat"]) == "drop" ? .dropNotification : .repeatNotification
    }
  }

  // MARK: Values

  private mutating func object(
    known: [String], _ body: (inout PlanReader, String) throws(FaultPlan.Objection) -> Void
  ) throws(FaultPlan.Objection) {
    do throws(WireError) { try reader.beginObject() } catch { throw objection(error) }
    var seen: Set<String> = []
    while let key = try nextKey() {
      guard known.contains(key) else {
        throw objection("unknown key \"\(key)\"; the keys here are \(known.joined(separator: ", "))")
      }
      place.append(key)
      guard seen.insert(key).inserted else { throw objection("given twice") }
      try body(&self, key)
      place.removeLast()
    }
  }

  private mutating func nextKey() throws(FaultPlan.Objection) -> String? {
    do throws(WireError) { return try reader.nextKey() } catch { throw objection(error) }
  }

  private mutating func nextElement() throws(FaultPlan.Objection) -> Bool {
    do throws(WireError) { return try reader.nextElement() } catch { throw objection(error) }
  }

  private mutating func string() throws(FaultPlan.Objection) -> String {
    do throws(WireError) { return try reader.readString() } catch { throw objection(error) }
  }

  private mutating func word(of words: [String]) throws(FaultPlan.Objection) -> String {
    let word = try string()
    guard words.contains(word) else {
      throw objection("\"\(word)\" is not one of \(words.joined(separator: ", "))")
    }
    return word
  }

  private mutating func integer(_ range: ClosedRange<Int>) throws(FaultPlan.Objection) -> Int {
    let value: Int
    do throws(WireError) { value = try reader.readInt() } catch { throw objection(error) }
    guard range.contains(value) else {
      throw objection(
        range.upperBound == .max
          ? "\(value) is less than \(range.lowerBound)"
          : "\(value) is not from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  private mutating func number(_ range: ClosedRange<Double>) throws(FaultPlan.Objection) -> Double {
    let value: Double
    do throws(WireError) { value = try reader.readDouble() } catch { throw objection(error) }
    guard range.contains(value) else {
      throw objection("\(value) is not from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// Reads `true`, the only value of a key whose presence says all.
  private mutating func flag() throws(FaultPlan.Objection) {
    do throws(WireError) { if try reader.readBool() { return } } catch { throw objection(error) }
    throw objection("leave it out instead of writing false")
  }

  // MARK: Objections

  private func objection(_ problem: String, offset: Int? = nil) -> FaultPlan.Objection {
    let before = reader.bytes.prefix(min(offset ?? reader.offset, reader.bytes.count))
    return FaultPlan.Objection(
      line: before.count { $0 == UInt8(ascii: "\n") } + 1, place: place.joined(separator: "."), problem: problem)
  }

  private func objection(_ error: WireError) -> FaultPlan.Objection {
    objection("expected \(error.expected)", offset: error.offset)
  }
}

/// What may be said of an effect besides its name.
private struct Details {
  struct Misplaced: Error, CustomStringConvertible {
    var key: String

    var description: String { "\(key) has no effect here" }
  }

  var reason: String?
  var retryAfter: Int?
  var reach: FaultPlan.Reach?
  var zone: ZoneName?

  func complete(_ effect: FaultPlan.Effect) throws(Misplaced) -> FaultPlan.Effect {
    if case .error(var error, let usualReach) = effect {
      if zone != nil { throw Misplaced(key: "zone") }
      if let reason { error.reason = reason }
      if let retryAfter { error.retryAfterSeconds = retryAfter }
      return .error(error, reach ?? usualReach)
    }
    if reason != nil { throw Misplaced(key: "reason") }
    if retryAfter != nil { throw Misplaced(key: "retryAfter") }
    if reach != nil { throw Misplaced(key: "reach") }
    switch effect {
    case .expireZoneTokens: return .expireZoneTokens(zone)
    case .removeZone(_, let reason): return .removeZone(zone, reason)
    default:
      if zone != nil { throw Misplaced(key: "zone") }
      return effect
    }
  }
}
