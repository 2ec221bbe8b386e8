import Foundation
import Synchronization
package import VirgaAccounts
import VirgaAuth

/// The tokens with which CloudKit Web Services know an app and its user: those of Apple's service, or of any that
/// speaks as it does.
///
/// Every answer may bring the next token of the user, which is kept in the home, so that the next launch goes on with
/// it. Once another token is configured, after a new sign-in, what was kept of the former one no longer counts.
package final class WebTokens: Sendable {
  private struct State {
    var webAuthToken: String?
    var isRefused = false
    /// Requests so far, and which of them brought the token.
    var requests = 0
    var origin = 0
  }

  /// What one request carries.
  struct Credentials: Sendable {
    var webAuthToken: String?
    fileprivate var number: Int
  }

  /// What the home keeps, by the digest of the API token.
  private struct Kept: Codable, Equatable {
    /// The digest of the token that was configured; all later ones came from it.
    var configured: String
    var current: String
  }

  private let apiToken: String
  private let configured: String
  private let file: SecureFile
  private let state: Mutex<State>
  /// What is in the file as far as this process knows; taken while it is written.
  private let written: Mutex<String?>

  /// - Parameter webAuthToken: Of a user who has signed in; nil for nobody, who may read what the public database
  ///   grants to the world.
  package init(apiToken: String, webAuthToken: String?, home: VirgaHome) {
    self.apiToken = apiToken
    configured = Self.digest(of: webAuthToken ?? "")
    file = SecureFile(path: home.path + "/web-tokens.json")
    let kept = Self.kept(in: file)[Self.digest(of: apiToken)]
    let current = kept?.configured == configured ? kept?.current : webAuthToken
    state = Mutex(State(webAuthToken: current))
    written = Mutex(current)
  }

  /// The token of the user who is signed in.
  package var webAuthToken: String? { state.withLock { $0.webAuthToken } }

  /// Whether a user is signed in, as far as is known.
  var isSignedIn: Bool { state.withLock { $0.webAuthToken != nil && !$0.isRefused } }

  /// Whether these tokens are for pages with that API token.
  func belong(to apiToken: String) -> Bool { apiToken == self.apiToken }

  /// What the next request carries.
  func next() -> Credentials {
    state.withLock { state in
      state.requests += 1
      return Credentials(webAuthToken: state.webAuthToken, number: state.requests)
    }
  }

  /// The parameters of a request.
  func query(_ credentials: Credentials) -> String {
    let query = "ckAPIToken=\(apiToken.percentEncodedPathSegment)"
    // `+`, `/` and `=` stand in these tokens, and mean something else in a query.
    return credentials.webAuthToken.map { "\(query)&ckWebAuthToken=\($0.percentEncodedPathSegment)" } ?? query
  }

  /// Takes what an answer says: the next token, or that the one sent is none. The answer to an earlier request than the
  /// one that brought the present token changes nothing: its token may have ended with the next.
  /// - Returns: Whether it is news that the user is signed in, or is not.
  func take(_ answer: TransportResponse, to sent: Credentials) -> Bool {
    let next = answer[header: "X-Apple-CloudKit-Web-Auth-Token"] ?? answer[header: "X-Apple-CloudKit-Session"]
    let isRefusal = answer.refusesAccount
    let isNews = state.withLock { state in
      guard let token = sent.webAuthToken, isRefusal || answer.isSuccess else { return false }
      if let next, !next.isEmpty, sent.number > state.origin {
        (state.webAuthToken, state.origin) = (next, sent.number)
      }
      // A refused token that is not the present one any more says nothing.
      guard !isRefusal || state.webAuthToken == token else { return false }
      defer { state.isRefused = isRefusal }
      return state.isRefused != isRefusal
    }
    keep()
    return isNews
  }

  /// Writes the token unless it is written. Where that cannot be done, the next launch uses the configured one.
  private func keep() {
    written.withLock { written in
      guard let current = webAuthToken, current != written else { return }
      written = current
      var all = Self.kept(in: file)
      all[Self.digest(of: apiToken)] = Kept(configured: configured, current: current)
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      guard let bytes = try? encoder.encode(all) else { return }
      try? FileManager.default.createDirectory(
        atPath: (file.path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      try? file.write(Array(bytes))
    }
  }

  private static func kept(in file: SecureFile) -> [String: Kept] {
    guard let bytes = try? file.read() else { return [:] }
    return (try? JSONDecoder().decode([String: Kept].self, from: Data(bytes))) ?? [:]
  }

  private static func digest(of text: String) -> String { Hex.encode(SHA256.digest(of: Array(text.utf8))) }
}
