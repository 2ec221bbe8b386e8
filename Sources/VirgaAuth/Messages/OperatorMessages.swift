package import VirgaModel

/// Requests and answers under `/virga/1/operator/`, as JSON. Moments are milliseconds since 1970.
package enum OperatorMessages {
  /// One of the answer to `GET tokens`.
  package struct Token: Codable, Hashable, Sendable {
    package var id: String
    package var container: ContainerID
    /// The environment that it reaches; missing for both.
    package var environment: Environment?
    package var name: String?
    package var created: Timestamp?
    /// The origins that may use it; missing for any.
    package var origins: [String]?
    /// Where the sign-in page hands its token over; missing if it posts it to the page that opened it.
    package var callback: String?
    /// The token itself; only in the answer to its creation.
    package var token: String?

    package init(id: String, container: ContainerID) {
      self.id = id
      self.container = container
    }
  }

  /// One of the answer to `GET containers`.
  package struct Container: Codable, Hashable, Sendable {
    package struct Part: Codable, Hashable, Sendable {
      package var environment: VirgaModel.Environment
      /// How many private databases there are.
      package var users: Int
      package var hasPublicData: Bool

      package init(environment: VirgaModel.Environment, users: Int, hasPublicData: Bool) {
        self.environment = environment
        self.users = users
        self.hasPublicData = hasPublicData
      }
    }

    package var container: ContainerID
    /// Those in which something is kept.
    package var environments: [Part]

    package init(container: ContainerID, environments: [Part]) {
      self.container = container
      self.environments = environments
    }
  }

  /// `POST tokens/create`.
  package struct TokenRequest: Codable, Hashable, Sendable {
    package var container: ContainerID
    /// Missing for development.
    package var environment: Environment?
    package var name: String?
    package var origins: [String]?
    package var callback: String?

    package init(
      container: ContainerID, environment: Environment? = nil, name: String? = nil, origins: [String]? = nil,
      callback: String? = nil
    ) {
      self.container = container
      self.environment = environment
      self.name = name
      self.origins = origins
      self.callback = callback
    }
  }

  /// `POST tokens/revoke` and `POST keys/remove`.
  package struct Identified: Codable, Hashable, Sendable {
    package var id: String
    package init(id: String) { self.id = id }
  }

  /// One of the answer to `GET keys`.
  package struct Key: Codable, Hashable, Sendable {
    package var id: String
    package var container: ContainerID
    /// The environment that it reaches; missing for both.
    package var environment: Environment?
    package var name: String
    package var created: Timestamp
    /// The user that the key is in its container.
    package var user: UserName

    package init(
      id: String, container: ContainerID, environment: Environment?, name: String, created: Timestamp, user: UserName
    ) {
      self.id = id
      self.container = container
      self.environment = environment
      self.name = name
      self.created = created
      self.user = user
    }
  }

  /// `POST keys/add`.
  package struct KeyRequest: Codable, Hashable, Sendable {
    package var container: ContainerID
    /// Missing for development.
    package var environment: Environment?
    package var name: String
    /// A public key in PEM form.
    package var publicKey: String

    package init(container: ContainerID, environment: Environment? = nil, name: String, publicKey: String) {
      self.container = container
      self.environment = environment
      self.name = name
      self.publicKey = publicKey
    }
  }

  /// One of the answer to `GET users`.
  package struct Account: Codable, Hashable, Sendable {
    package struct Device: Codable, Hashable, Sendable {
      package var id: DeviceID
      package var name: String
      package var enrolled: Timestamp

      package init(id: DeviceID, name: String, enrolled: Timestamp) {
        self.id = id
        self.name = name
        self.enrolled = enrolled
      }
    }

    /// Who the account is in a container.
    package struct User: Codable, Hashable, Sendable {
      package var container: ContainerID
      package var user: UserName

      package init(container: ContainerID, user: UserName) {
        self.container = container
        self.user = user
      }
    }

    /// Missing for users that have data and no account here, such as one that was imported or whose account is gone.
    package var account: AccountID?
    package var created: Timestamp?
    package var devices: [Device]
    package var users: [User]

    package init(account: AccountID?, created: Timestamp?, devices: [Device], users: [User]) {
      self.account = account
      self.created = created
      self.devices = devices
      self.users = users
    }
  }

  /// The body of `PUT roles` and the answer to it and to `GET roles`: the roles of a container's own that a user has.
  package struct Roles: Codable, Hashable, Sendable {
    package var roles: [String]
    package init(roles: [String]) { self.roles = roles }
  }

  /// The answer to `GET account-copy` and the body of its `POST`: what an account consists of besides its data. The keys are
  /// sealed to its devices.
  package struct AccountCopy: Codable, Hashable, Sendable {
    package struct Device: Codable, Hashable, Sendable {
      package var name: String
      /// Base64 of DER; the device's id follows from it.
      package var publicKey: String
      package var enrolled: Timestamp

      package init(name: String, publicKey: String, enrolled: Timestamp) {
        self.name = name
        self.publicKey = publicKey
        self.enrolled = enrolled
      }
    }

    package var account: AccountID
    package var created: Timestamp
    package var devices: [Device]
    package var keys: [KeyMessages.Item]

    package init(account: AccountID, created: Timestamp, devices: [Device], keys: [KeyMessages.Item]) {
      self.account = account
      self.created = created
      self.devices = devices
      self.keys = keys
    }
  }

  /// The answer to `POST account-copy`.
  package struct Restored: Codable, Hashable, Sendable {
    /// Whether the account's keys are those of the copy: it has not begun anew since.
    package var hasSameKeys: Bool
    package init(hasSameKeys: Bool) { self.hasSameKeys = hasSameKeys }
  }

  /// The answer to a call that has nothing to say.
  package struct Done: Codable, Hashable, Sendable {
    package init() {}
  }
}
