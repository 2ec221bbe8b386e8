package import VirgaModel

/// Requests and answers under `/virga/1/`, as JSON. Bytes are Base64, moments milliseconds since 1970.
package enum AccountMessages {
  /// `POST challenge`: no fields in the request.
  package struct Challenge: Codable, Hashable, Sendable {
    package var challenge: String
    package var server: String
    package var expires: Timestamp

    package init(challenge: String, server: String, expires: Timestamp) {
      self.challenge = challenge
      self.server = server
      self.expires = expires
    }
  }

  /// The answer to `GET identity`, whose query has a `nonce` of the caller's.
  package struct Identity: Codable, Hashable, Sendable {
    package var server: String
    /// The server's signature of the nonce, which only its key makes.
    package var proof: String

    package init(server: String, proof: String) {
      self.server = server
      self.proof = proof
    }
  }

  /// `POST enrol`.
  package struct EnrolRequest: Codable, Hashable, Sendable {
    package var publicKey: String
    package var name: String
    package var challenge: String
    package var signature: String
    package var code: String?

    package init(publicKey: String, name: String, challenge: String, signature: String, code: String?) {
      self.publicKey = publicKey
      self.name = name
      self.challenge = challenge
      self.signature = signature
      self.code = code
    }
  }

  /// The answer to `POST enrol`.
  package struct Enrolled: Codable, Hashable, Sendable {
    package var account: AccountID
    package var device: DeviceID

    package init(account: AccountID, device: DeviceID) {
      self.account = account
      self.device = device
    }
  }

  /// `POST session`.
  package struct SessionRequest: Codable, Hashable, Sendable {
    package var device: DeviceID
    package var challenge: String
    package var signature: String

    package init(device: DeviceID, challenge: String, signature: String) {
      self.device = device
      self.challenge = challenge
      self.signature = signature
    }
  }

  /// The answer to `POST session`; the token goes into `X-Virga-Session`.
  package struct Session: Codable, Hashable, Sendable {
    package var token: String
    package var account: AccountID
    package var device: DeviceID
    package var expires: Timestamp

    package init(token: String, account: AccountID, device: DeviceID, expires: Timestamp) {
      self.token = token
      self.account = account
      self.device = device
      self.expires = expires
    }
  }

  /// The answer to `GET account`, `POST account/remove`, `POST account/remove/check` and `POST account/rename`.
  package struct Description: Codable, Hashable, Sendable {
    package struct Device: Codable, Hashable, Sendable {
      package var id: DeviceID
      package var name: String
      package var fingerprint: String
      package var enrolled: Timestamp
      package var isThisDevice: Bool

      package init(id: DeviceID, name: String, fingerprint: String, enrolled: Timestamp, isThisDevice: Bool) {
        self.id = id
        self.name = name
        self.fingerprint = fingerprint
        self.enrolled = enrolled
        self.isThisDevice = isThisDevice
      }
    }

    package var account: AccountID
    package var server: String
    package var devices: [Device]
    /// The server's clock, from servers that tell it.
    package var now: Timestamp?

    package init(account: AccountID, server: String, devices: [Device]) {
      self.account = account
      self.server = server
      self.devices = devices
    }
  }

  /// `POST account/remove`, and `POST account/remove/check`, which asks whether that would be done.
  package struct RemoveRequest: Codable, Hashable, Sendable {
    package var device: DeviceID
    package init(device: DeviceID) { self.device = device }
  }

  /// `POST account/rename`. A name that another device has gets a number behind it, which the answer shows.
  package struct RenameRequest: Codable, Hashable, Sendable {
    package var device: DeviceID
    package var name: String

    package init(device: DeviceID, name: String) {
      self.device = device
      self.name = name
    }
  }

  /// `POST account/token`.
  package struct TokenRequest: Codable, Hashable, Sendable {
    package var container: ContainerID
    /// Which of the container's environments they are for; missing for development.
    package var environment: Environment?
    /// The API token of the page that is to use the web-auth token; missing for the one that the answer gives.
    package var apiToken: String?

    package init(container: ContainerID, environment: Environment? = nil, apiToken: String? = nil) {
      self.container = container
      self.environment = environment
      self.apiToken = apiToken
    }
  }

  /// The answer to `POST account/token`: what goes into `ckAPIToken` and `ckWebAuthToken`.
  package struct Tokens: Codable, Hashable, Sendable {
    package var container: ContainerID
    package var apiToken: String
    package var webAuthToken: String
    package var expires: Timestamp

    package init(container: ContainerID, apiToken: String, webAuthToken: String, expires: Timestamp) {
      self.container = container
      self.apiToken = apiToken
      self.webAuthToken = webAuthToken
      self.expires = expires
    }
  }

  /// The answer to `POST pairing/invite` and `POST account/invite`.
  package struct Code: Codable, Hashable, Sendable {
    package var code: String
    package var expires: Timestamp

    package init(code: String, expires: Timestamp) {
      self.code = code
      self.expires = expires
    }
  }

  /// `POST pairing/await`: waits for a device that uses the code.
  package struct AwaitRequest: Codable, Hashable, Sendable {
    package var code: String
    package init(code: String) { self.code = code }
  }

  /// The answer to `POST pairing/await`; without a candidate nobody came while the request was parked.
  package struct Awaited: Codable, Hashable, Sendable {
    package struct Candidate: Codable, Hashable, Sendable {
      package var device: DeviceID
      package var name: String
      package var fingerprint: String
      /// The device's key, from which it and its fingerprint follow.
      package var publicKey: String?
      /// Where something is sealed to the device, and its signature for that.
      package var box: String?
      package var boxSignature: String?

      package init(device: DeviceID, name: String, fingerprint: String, publicKey: String? = nil) {
        self.device = device
        self.name = name
        self.fingerprint = fingerprint
        self.publicKey = publicKey
      }
    }

    package var candidate: Candidate?
    package init(candidate: Candidate?) { self.candidate = candidate }
  }

  /// `POST pairing/confirm`; names the device, so that what was looked at is what is let in.
  package struct ConfirmRequest: Codable, Hashable, Sendable {
    package var code: String
    package var device: DeviceID
    package var accepts: Bool

    package init(code: String, device: DeviceID, accepts: Bool) {
      self.code = code
      self.device = device
      self.accepts = accepts
    }
  }

  /// `POST pairing/join`.
  package struct JoinRequest: Codable, Hashable, Sendable {
    package var code: String
    package var publicKey: String
    package var name: String
    package var challenge: String
    package var signature: String
    /// Where the account's key is to be sealed to, and the key's signature for that.
    package var box: String?
    package var boxSignature: String?

    package init(code: String, publicKey: String, name: String, challenge: String, signature: String) {
      self.code = code
      self.publicKey = publicKey
      self.name = name
      self.challenge = challenge
      self.signature = signature
    }
  }

  /// The answer to `POST pairing/join`, and the request of `POST pairing/result`.
  package struct Ticket: Codable, Hashable, Sendable {
    package var ticket: String
    package init(ticket: String) { self.ticket = ticket }
  }

  /// The answer to `POST pairing/result`; both are missing while the other device has not decided.
  package struct Outcome: Codable, Hashable, Sendable {
    package var enrolled: Enrolled?
    package var isRefused: Bool

    package init(enrolled: Enrolled?, isRefused: Bool) {
      self.enrolled = enrolled
      self.isRefused = isRefused
    }
  }

  /// An error, in the protocol's form.
  package struct Failure: Codable, Hashable, Sendable {
    package var uuid: String
    package var serverErrorCode: String
    package var reason: String
    package var retryAfter: Int?

    package init(uuid: String, serverErrorCode: String, reason: String, retryAfter: Int?) {
      self.uuid = uuid
      self.serverErrorCode = serverErrorCode
      self.reason = reason
      self.retryAfter = retryAfter
    }
  }
}
