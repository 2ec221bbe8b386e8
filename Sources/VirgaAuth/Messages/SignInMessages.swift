package import VirgaModel

/// Requests and answers of the sign-in on web pages, under `/virga/1/sign-in/`, as JSON.
package enum SignInMessages {
  /// `POST start`, by the page: what its address says.
  package struct Start: Codable, Hashable, Sendable {
    package var container: ContainerID
    /// The digest of the API token with which the sign-in began.
    package var token: String
    /// The page that opened it.
    package var origin: String?
  }

  /// The answer to `POST start`: the code is shown, the ticket kept.
  package struct Started: Codable, Hashable, Sendable {
    package var code: String
    package var ticket: String
    package var expires: Timestamp

    package init(code: String, ticket: String, expires: Timestamp) {
      self.code = code
      self.ticket = ticket
      self.expires = expires
    }
  }

  /// `POST wait`, by the page.
  package struct Ticket: Codable, Hashable, Sendable {
    package var ticket: String
  }

  package struct State: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable { case waiting, accepted, refused }
    package var state: Kind
    package init(state: Kind) { self.state = state }
  }

  /// `POST collect`, by the page once the sign-in is accepted.
  package struct Collect: Codable, Hashable, Sendable {
    package var ticket: String
    package var keepsSignedIn: Bool
  }

  /// The answer to `POST collect`: the web-auth token and what to do with it.
  package struct HandOver: Codable, Hashable, Sendable {
    package enum Way: String, Codable, Sendable {
      /// Post it to the page that opened this one, if that is of `origin`.
      case message
      /// Go to `url`.
      case redirect
      /// Show it: nobody is known to wait for it.
      case show
    }

    package var way: Way
    package var webAuthToken: String
    package var expires: Timestamp
    package var origin: String?
    package var url: String?

    package init(way: Way, webAuthToken: String, expires: Timestamp, origin: String? = nil, url: String? = nil) {
      self.way = way
      self.webAuthToken = webAuthToken
      self.expires = expires
      self.origin = origin
      self.url = url
    }
  }

  /// `POST look`, by a device of the account.
  package struct Look: Codable, Hashable, Sendable {
    package var code: String
    package init(code: String) { self.code = code }
  }

  /// The answer to `POST look`: who wants to be signed in.
  package struct Asked: Codable, Hashable, Sendable {
    package var container: ContainerID
    /// What the operator calls the API token.
    package var name: String?
    package var origin: String?
    package var callback: String?

    package init(container: ContainerID, name: String?, origin: String?, callback: String?) {
      self.container = container
      self.name = name
      self.origin = origin
      self.callback = callback
    }
  }

  /// `POST settle`, by a device of the account.
  package struct Settle: Codable, Hashable, Sendable {
    package var code: String
    package var accepts: Bool

    package init(code: String, accepts: Bool) {
      self.code = code
      self.accepts = accepts
    }
  }
}
