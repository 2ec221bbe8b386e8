import VirgaModel

extension Service {
  /// What a backup brings back of those who were taken out after it: their kinds of entities.
  package static let removable: [Entity.Kind] = [.device, .apiToken, .webToken, .serverKey, .invitation, .pushToken]

  /// Takes out of a restored store whoever was taken out of the former one: devices, tokens, keys and codes that had been
  /// used. Whoever came to the former one stays out, too, and participants of shares are as their records say.
  /// - Parameter former: The former store's entities of the kinds `removable`.
  /// - Parameter restored: Those of this store.
  /// - Returns: How many of each kind went.
  package func repeatRemovals(
    from former: [Entity], among restored: [Entity], in transaction: any WriteTransaction
  ) throws -> [Entity.Kind: Int] {
    var counts: [Entity.Kind: Int] = [:]
    var known: [Entity.Kind: [String: Entity]] = [:]
    for entity in former { known[entity.kind, default: [:]][entity.key] = entity }
    for entity in restored {
      if let now = known[entity.kind]?[entity.key] {
        guard now.value != entity.value, try now.isMarkedAsRemoved, try !entity.isMarkedAsRemoved else { continue }
        try transaction.put(now)
      } else if entity.kind == .device {
        // Of an account that was erased, which is more than this takes out.
        continue
      } else {
        if entity.kind == .pushToken {
          let waiting = try transaction.notifications(for: entity.key, limit: .max)
          try transaction.removeNotifications(waiting.map(\.id), of: entity.key)
        }
        try transaction.removeEntity(entity.kind, key: entity.key)
      }
      counts[entity.kind, default: 0] += 1
    }
    return counts
  }
}

extension Entity {
  /// Whether it is kept only so that what it was never comes back.
  fileprivate var isMarkedAsRemoved: Bool {
    get throws {
      switch kind {
      case .device: try (decoded() as Device).removed != nil
      // One without a value counts an account's containers.
      case .apiToken: try !value.isEmpty && (decoded() as APIToken).revoked != nil
      default: false
      }
    }
  }
}
