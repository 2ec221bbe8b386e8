package import VirgaModel

/// Requests and answers of `POST /virga/1/keys`: what devices keep on the server for each other, which is ciphertext to it.
package enum KeyMessages {
  /// Where the name of an account's first key lies.
  package static let first = "first"

  /// A zone whose keys are asked for. Without an owner it is the caller's own.
  package struct Zone: Codable, Hashable, Sendable {
    package var container: ContainerID
    package var environment: String
    package var owner: UserName?
    package var zone: ZoneName

    package init(container: ContainerID, environment: String, owner: UserName?, zone: ZoneName) {
      self.container = container
      self.environment = environment
      self.owner = owner
      self.zone = zone
    }
  }

  /// A text under a name. Neither is ever changed once it is there.
  package struct Item: Codable, Hashable, Sendable {
    package var name: String
    package var value: String
    /// When it came; the server says so.
    package var added: Timestamp?

    package init(_ name: String, _ value: String, added: Timestamp? = nil) {
      self.name = name
      self.value = value
      self.added = added
    }
  }

  /// Adds texts, unless their names are taken, and asks for all that is there.
  package struct Request: Codable, Hashable, Sendable {
    /// Without one it is the account.
    package var zone: Zone?
    package var add: [Item]

    package init(zone: Zone?, add: [Item]) {
      self.zone = zone
      self.add = add
    }
  }

  /// The answer to `POST /virga/1/keys/reset`: how many zones went. The request is one that adds to the account's list.
  package struct Reset: Codable, Hashable, Sendable {
    package var zones: Int
    package init(zones: Int) { self.zones = zones }
  }

  package struct Items: Codable, Hashable, Sendable {
    /// By name.
    package var items: [Item]
    /// Who the caller is to the zone's container.
    package var user: UserName?

    package init(items: [Item], user: UserName?) {
      self.items = items
      self.user = user
    }
  }
}
