import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit
import VirgaHTTP
import VirgaWire

/// Asks a server for itself at the address that clients use, and tells the operator what is wrong on the way: a name that
/// leads elsewhere, a proxy that does not say for whom it asks, or hands on whatever clients say.
struct StartCheck: Sendable {
  let baseURL: String
  /// Where it listens itself: what comes from there came through no proxy.
  let ownURLs: Set<String>

  /// An address that nobody has. The proxy must replace it, or add to it, or else clients choose whose limits they use up.
  private static let claimedAddress = "192.0.2.123"
  /// A proxy may be started after the server, and a certificate be fetched.
  private static let pauses: [Duration] = [.seconds(0), .seconds(5), .seconds(30), .seconds(120)]

  /// - Returns: `nil` for a server without a public address.
  init?(_ options: ServeOptions, port: UInt16) {
    guard let baseURL = options.baseURL, options.isPublic else { return nil }
    self.baseURL = baseURL
    ownURLs = [options.url(port: port), ServeOptions.url(host: options.host, port: port)]
  }

  /// Tries until the address leads to this server, and says so once.
  func run(on front: Gateway, log: EventLog) async {
    let environment = ProcessInfo.processInfo.environment
    let certificates = try? VirgaHome(environment: environment).certificateFile(environment: environment)
    let transport = CurlTransport(certificateFile: certificates)
    var last: String?
    for (number, pause) in Self.pauses.enumerated() {
      do { try await Task.sleep(for: pause) } catch { return }
      let finding = await look(front, transport)
      if Task.isCancelled { return }
      switch finding {
      case .reached(let warning):
        if let warning { return log.write(event: warning) }
        if last != nil { log.write(event: "\(baseURL) leads to this server now") }
        return
      case .missed(let text):
        let isLast = number == Self.pauses.count - 1
        if text != last { log.write(event: "\(text)\(isLast ? "" : "; the server tries again")") }
        last = text
      }
    }
  }

  enum Finding: Hashable {
    case missed(String)
    /// It leads here; perhaps with something that the operator should know.
    case reached(warning: String?)
  }

  private func look(_ front: Gateway, _ transport: CurlTransport) async -> Finding {
    let nonce = Hex.encode(SystemRandom.bytes(16))
    front.accounts.expect(probe: nonce)
    defer { front.accounts.forget(probe: nonce) }
    var request = TransportRequest(method: "GET", url: "\(baseURL)/virga/1/identity?nonce=\(nonce)")
    request.headers = [(name: "X-Forwarded-For", value: Self.claimedAddress)]
    request.timeout = .seconds(15)
    let answer: TransportResponse
    do { answer = try await transport.send(request) } catch {
      return .missed(
        "\(baseURL), the address of this server for clients, cannot be reached from here: \(Self.text(error))")
    }
    guard let seen = front.accounts.seen(probe: nonce) else {
      let reason =
        ServiceError.isOne(answer.body)
        ? ": \(ServiceError(decoding: answer.body, status: answer.status).reason)" : ""
      return .missed(
        "\(baseURL), the address of this server for clients, leads elsewhere (HTTP status \(answer.status))\(reason)")
    }
    return .reached(warning: warning(seen))
  }

  /// - Parameter seen: How the request came in.
  func warning(_ seen: AccountRoutes.Probe) -> String? {
    if seen.countedAddress == Self.claimedAddress {
      // Without a proxy it is this machine that says so, and nobody else is believed.
      if ownURLs.contains(baseURL) { return nil }
      return
        "the proxy at \(baseURL) passes on the X-Forwarded-For that clients send, so a client can use up the limits of "
        + "others. Make the proxy set the field itself, as in docs/operating.md"
    }
    if seen.isPeerLoopback, !seen.isForwarded, !ownURLs.contains(baseURL) {
      return
        "the proxy at \(baseURL) does not pass on the client's address, so all clients share one limit. Make it set "
        + "X-Forwarded-For, as in docs/operating.md"
    }
    if !seen.isPeerLoopback, seen.isForwarded {
      return
        "the proxy at \(baseURL) is on another machine (\(seen.peer)), so the server ignores its X-Forwarded-For: all "
        + "clients share one limit. Run the proxy on this machine, or add a second one here"
    }
    return nil
  }

  private static func text(_ error: any Error) -> String {
    switch error {
    case TransportError.unreachable(let text), TransportError.failed(let text), TransportError.responseLost(let text):
      text
    case TransportError.insecure(let failure): failure.text
    default: "no answer"
    }
  }
}
