import VirgaModel
import VirgaWire

extension FaultPlan {
  /// The plan as JSON, with the counts of its rules. It can be read as a plan again, which leaves the counts out.
  func encoded() -> [UInt8] {
    var writer = JSONWriter(capacity: 1_024)
    writer.beginObject()
    writer.member("seed", Int64(truncatingIfNeeded: seed))
    writer.key("faults")
    writer.array(rules) { writer, rule in
      writer.beginObject()
      writer.member("name", rule.name)
      writer.key("when")
      rule.condition.write(into: &writer)
      writer.key("do")
      rule.writeAction(into: &writer)
      writer.member("matched", Int64(rule.matched))
      writer.member("met", Int64(rule.met))
      writer.endObject()
    }
    writer.endObject()
    return writer.bytes
  }
}

extension FaultPlan.Condition {
  fileprivate func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("operation", ifPresent: operation)
    writer.member("container", ifPresent: container?.rawValue)
    writer.member("database", ifPresent: scope?.pathName)
    writer.member("user", ifPresent: user?.rawValue)
    writer.member("device", ifPresent: device)
    writer.member("client", ifPresent: client)
    writer.member("zone", ifPresent: zone?.rawValue)
    writer.member("record", ifPresent: record?.rawValue)
    if call != 1 { writer.member("call", Int64(call)) }
    // A call that is given stands for one request, unless the number is given too.
    if let times = times ?? (call == 1 ? nil : .max) { writer.member("times", Int64(times)) }
    if probability != 1 {
      writer.key("probability")
      writer.double(probability)
    }
    writer.endObject()
  }
}

extension FaultPlan.Rule {
  fileprivate func writeAction(into writer: inout JSONWriter) {
    writer.beginObject()
    switch effect {
    case .none: break
    case .error(let error, let reach):
      writer.member("error", error.code.rawValue)
      writer.member("reason", error.reason)
      if let seconds = error.retryAfterSeconds { writer.member("retryAfter", Int64(seconds)) }
      writer.member("reach", reach.rawValue)
    case .cutBeforeCommit: writer.member("cut", "beforeCommit")
    case .cutAfterCommit: writer.member("cut", "afterCommit")
    case .expireZoneTokens(let zone):
      writer.member("expireTokens", "zone")
      writer.member("zone", ifPresent: zone?.rawValue)
    case .expireDatabaseTokens: writer.member("expireTokens", "database")
    case .removeZone(let zone, let reason):
      writer.member(reason == .purged ? "purgeZone" : "resetEncryptedData", true)
      writer.member("zone", ifPresent: zone?.rawValue)
    case .dropNotification: writer.member("notifications", "drop")
    case .repeatNotification: writer.member("notifications", "repeat")
    }
    if effect == .none || latency != .zero {
      writer.key("latency")
      writer.double(Double(latency.wholeMilliseconds) / 1_000)
    }
    writer.endObject()
  }
}
