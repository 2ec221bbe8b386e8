import FoundationEssentials
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

/// What an export holds besides records: without the keys nobody could read what devices encrypted.
extension Gateway {
  /// An account, its devices, and what they keep for each other.
  func accountCopy(_ head: HTTPRequestHead) async throws -> [UInt8] {
    let id = AccountID(QueryParameters(of: head)["account"] ?? "")
    return try await store.read { transaction in
      guard let account = try Accounts().all(in: transaction).first(where: { $0.id == id }) else {
        throw ServiceError(.notFound, "there is no account '\(id.rawValue.prefix(100))'")
      }
      let copy = OperatorMessages.AccountCopy(
        account: id, created: account.created,
        devices: try Accounts().devices(of: id, in: transaction).map {
          OperatorMessages.AccountCopy.Device(
            name: $0.name, publicKey: CanonicalBase64.encode(Array($0.publicKey)), enrolled: $0.enrolled)
        }, keys: try KeyRegistry().items(in: .account(id), transaction).map(KeyMessages.Item.init(stored:)))
      return Array(try JSONEncoder().encode(copy))
    }
  }

  /// Makes an account again that is not here any more, or was elsewhere, and adds what its devices kept.
  func restoreAccount(_ body: [UInt8]) async throws -> [UInt8] {
    guard let copy = try? JSONDecoder().decode(OperatorMessages.AccountCopy.self, from: Data(body)) else {
      throw ServiceError.badRequest("the body is not a copy of an account")
    }
    let devices = try copy.devices.map { device in
      guard let key = CanonicalBase64.decode(device.publicKey).flatMap({ try? VerifyingKey(der: $0) }),
        Device.objection(toName: device.name) == nil
      else { throw ServiceError.badRequest("a device of the copy has no name or no public key on the curve P-256") }
      return Device(
        id: DeviceID(of: key), account: copy.account, name: device.name, publicKey: key.der, enrolled: device.enrolled)
    }
    guard !copy.account.rawValue.isEmpty, copy.account.rawValue.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw ServiceError.badRequest("the copy names no account")
    }
    let now = configuration.now()
    let hasSameKeys = try await store.write { transaction in
      try Accounts().restore(copy.account, created: copy.created, devices, in: transaction)
      let first = try KeyRegistry().items(in: .account(copy.account), transaction).first {
        $0.name == KeyMessages.first
      }
      guard let theirs = copy.keys.first(where: { $0.name == KeyMessages.first }),
        first?.value ?? theirs.value == theirs.value
      else { return false }
      let items = copy.keys.map { KeyRegistry.Item($0, now: now) }
      var random = SystemRandom()
      _ = try KeyRegistry().add(items, to: .account(copy.account), in: transaction, random: &random)
      return true
    }
    return Array(try JSONEncoder().encode(OperatorMessages.Restored(hasSameKeys: hasSameKeys)))
  }

  /// What devices keep for each other in a zone of the user's own.
  func zoneKeys(_ head: HTTPRequestHead) async throws -> [UInt8] {
    let place = try keyPlace(head)
    return try await Self.encoded(store.read { try KeyRegistry().items(in: place, $0) })
  }

  /// Adds to it what an export holds.
  func addZoneKeys(_ head: HTTPRequestHead, body: [UInt8]) async throws -> [UInt8] {
    let place = try keyPlace(head)
    guard let message = try? JSONDecoder().decode(KeyMessages.Items.self, from: Data(body)) else {
      throw ServiceError.badRequest("the body must be {\"items\":[…]}")
    }
    let items = message.items.map { [now = configuration.now()] in KeyRegistry.Item($0, now: now) }
    return try await Self.encoded(
      store.write {
        var random = SystemRandom()
        return try KeyRegistry().add(items, to: place, in: $0, random: &random)
      })
  }

  private func keyPlace(_ head: HTTPRequestHead) throws -> KeyRegistry.Place {
    let (user, context) = try userContext(head)
    let database = DatabaseKey(
      container: context.endpoint.container, environment: context.endpoint.environment, owner: user)
    return .zone(ZoneName(QueryParameters(of: head)["zone"] ?? ""), database, reader: user)
  }

  private static func encoded(_ items: [KeyRegistry.Item]) throws -> [UInt8] {
    let items = items.map(KeyMessages.Item.init(stored:))
    return Array(try JSONEncoder().encode(KeyMessages.Items(items: items, user: nil)))
  }
}

extension KeyMessages.Item {
  fileprivate init(stored item: KeyRegistry.Item) { self.init(item.name, item.value, added: item.added) }
}

extension KeyRegistry.Item {
  /// - Parameter now: When the text came, if nothing is known of that.
  fileprivate init(_ item: KeyMessages.Item, now: Timestamp) {
    self.init(name: item.name, value: item.value, added: item.added ?? now)
  }
}
