package import VirgaModel

/// What an API token stands for: a container in one of its environments, and which web pages may use it. Its text is never stored, only the digest
/// that it is kept under.
package struct APIToken: Hashable, Sendable, Codable {
  package var container: ContainerID
  /// The environment that it reaches; `nil` for both, as tokens did that were made before they belonged to one.
  package var environment: Environment?
  /// What the operator calls it.
  package var name: String?
  package var created: Timestamp?
  /// The origins of the pages that may use it; `nil` for any. Programs, which send no origin, may in any case.
  package var origins: [String]?
  /// Where the sign-in page hands its token over: an https address or one of the app's own scheme; `nil` posts it to
  /// the page that opened it.
  package var callback: String?
  /// For the token that a container's own devices are given: how many before it were revoked.
  package var generation: Int?
  package var revoked: Timestamp?

  package init(container: ContainerID, environment: Environment?) {
    self.container = container
    self.environment = environment
  }

  /// Whether it is one of a container in an environment.
  package func belongs(to container: ContainerID, in environment: Environment) -> Bool {
    self.container == container && (self.environment ?? environment) == environment
  }

  /// Whether a page of that origin may use the token.
  package func allows(origin: String?) -> Bool {
    guard let origins, let origin else { return true }
    return origins.contains(origin)
  }

  /// An origin as browsers send it; `nil` for what is none: `https://app.example`, `http://localhost:3000`.
  package static func origin(_ text: String) -> String? {
    let lowered = text.lowercased()
    for scheme in ["https://", "http://"] where lowered.hasPrefix(scheme) {
      let host = lowered.dropFirst(scheme.count)
      return isHost(host) ? lowered : nil
    }
    return nil
  }

  /// Why a token may not be handed over at that address; `nil` if it may.
  package static func objection(toCallback address: String, of container: ContainerID) -> String? {
    guard address.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), address.utf8.count <= Limits.callbackLengthMax,
      !address.contains("#")
    else { return "is too long, has a fragment, or a character that must be escaped" }
    if address.hasPrefix("\(appScheme(of: container))://") { return nil }
    let parts = address.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[1].isEmpty else { return "is not an address" }
    let host = parts[2].prefix { $0 != "?" }.lowercased()
    let name = host.prefix { $0 != ":" }
    switch parts[0] {
    case "https:" where isHost(host[...]): return nil
    case "http:" where isHost(host[...]) && (name == "localhost" || name == "127.0.0.1"): return nil
    default: return "must begin with https:// (http:// on this machine only) or \(appScheme(of: container))://"
    }
  }

  /// The scheme by which a native app of the container is called back.
  package static func appScheme(of container: ContainerID) -> String {
    "cloudkit-\(container.rawValue.lowercased())"
  }

  private static func isHost(_ text: Substring) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
          UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
          true
        default: false
        }
      }
  }
}
