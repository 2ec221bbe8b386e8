import Foundation
import VirgaCloudKit
import VirgaCommandLine
import VirgaHTTP
import VirgaModel
import VirgaServer

/// What `virga serve` was asked for.
struct ServeOptions: Sendable {
  enum Data: Hashable, Sendable {
    case folder(String)
    case memory
  }

  var host = "127.0.0.1"
  var port: UInt16 = 8787
  var data = Data.folder("./virga-data")
  /// The containers that are served; all if empty.
  var containers: [ContainerID] = []
  var policy: EnrolmentPolicy = .open
  /// Where clients reach the server, without a slash at the end; `nil` for host and port.
  var baseURL: String?
  /// How each request is logged; `nil` logs none.
  var logFormat: EventLog.Format?
  /// A file of faults that happen on purpose.
  var faultsPath: String?
  /// How much a database may hold.
  var quotas = Quotas()
  /// How often one user and one address may ask; `nil` for as often as they like.
  var userRate: Rate?
  var addressRate: Rate?
  /// The most memory that bodies of requests under way may take.
  var bodyMemoryBytes = 256 << 20
  /// How long a sign-in on a web page lasts, and one that the user wants to keep.
  var signInAge = Limits.signInAge
  var keptSignInAge = Limits.webTokenAge

  /// So that one address can send the largest request.
  private static let bodyMemoryBytesMin = 4 * Limits.requestBytesMax

  static let spec = CommandSpec(
    name: "virga serve",
    summary:
      "Runs the server until it gets SIGINT, SIGTERM or SIGHUP. Then it finishes open requests and exits with 0.",
    options: [
      .init(name: "--host", value: "HOST", help: "Address to listen on. Default: 127.0.0.1, for this machine only."),
      .init(name: "--port", value: "N", help: "Port to listen on; 0 picks a free one. Default: 8787."),
      .init(
        name: "--data", value: "DIR",
        help: "Folder for the data, made if missing. Default: $VIRGA_DATA, then ./virga-data.",
        variable: "VIRGA_DATA"),
      .init(name: "--ephemeral", value: nil, help: "Keep all data in memory. All data is lost when the server stops."),
      .init(
        name: "--container", value: "ID", help: "Serve this container; may be repeated. Default: any.",
        isRepeatable: true),
      .init(
        name: "--enrolment", value: "POLICY",
        help: "Who may make a new account: open (anybody), invite (with a code), closed (nobody).\n"
          + "Default: open on a server for this machine only, else invite.",
        values: .words(EnrolmentPolicy.allCases.map(\.rawValue))),
      .init(
        name: "--base-url", value: "URL",
        help:
          "The address that clients use, such as that of a reverse proxy. The server answers only to this name and\n"
          + "to the names of this machine. Default: host and port."),
      .init(
        name: "--faults", value: "FILE",
        help: "Make things go wrong on purpose, only in the development environment; see docs/faults.md."),
      .init(
        name: "--user-quota", value: "BYTES",
        help: "Limit for the records and assets of a user's private database. Default: none."),
      .init(
        name: "--public-quota", value: "BYTES", help: "The same for a container's public database. Default: none."),
      .init(
        name: "--log", value: "FORMAT",
        help: "Write a line for each request to standard error: text (default) or json.",
        valueIfBare: "text", values: .words(EventLog.Format.allCases.map(\.rawValue))),
      .init(
        name: "--user-rate", value: "N[:BURST]",
        help:
          "Requests a second from one user, and at once. Beyond it, requests fail with a time to wait. 'off': no "
          + "limit.\n"
          + "Default: off on a server for this machine only, else 50:500."),
      .init(
        name: "--address-rate", value: "N[:BURST]",
        help: "The same for one address. Default: off on a server for this machine only, else 200:2000."),
      .init(
        name: "--body-memory", value: "BYTES",
        help:
          "Memory for large bodies and unread answers; a quarter of it for one address. Beyond it, requests get 503\n"
          + "with Retry-After. Default: 268435456, at least \(bodyMemoryBytesMin)."),
      .init(name: "--sign-in-minutes", value: "N", help: "How long a sign-in on a web page lasts. Default: 30."),
      .init(
        name: "--kept-sign-in-days", value: "N",
        help: "The same if the user ticks 'Keep me signed in'. Default: 14."),
    ],
    notes: """
      Run a reverse proxy for TLS and HTTP/2. It must set X-Forwarded-For: see docs/operating.md. Start the server with
      --base-url before you put a proxy in front of it. Without --base-url, on a loopback address, the server is for this
      machine only: it answers to localhost, 127.0.0.1 and [::1], and refuses forwarded requests.

      Schemas, faults, metrics and people's data need the operator's token. virga finds it by itself on this machine. You can
      also choose a token: put it into $VIRGA_OPERATOR_TOKEN before the server starts.

      Exit codes:
         0  stopped by a signal
        64  wrong arguments
        65  the database or the server's key is damaged
        68  the host is not an address of this machine
        69  the port is in use
        70  anything else
        73  the data folder cannot be made or written
        74  the disk is full
        75  another server uses the data folder
        76  the data were written by a newer version
        77  the port needs a privilege, or the server's key is open to other users
        78  the operator's token is too short, or the fault plan cannot be used
      """)

  init(_ arguments: Arguments) throws(Failure) {
    let name = Self.spec.name
    if let host = arguments.value("--host") {
      // As an IPv6 address stands in URLs.
      self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }
    if let text = arguments.value("--port") {
      guard let port = UInt16(text) else { throw .usage(name, "--port must be a number from 0 to 65535, not \(text)") }
      self.port = port
    }
    if arguments.has("--ephemeral") {
      if arguments.has("--data") { throw .usage(name, "use either --data or --ephemeral") }
      data = .memory
    } else if let folder = arguments.value("--data") {
      data = .folder(folder)
    }
    logFormat = try arguments.choice("--log")
    faultsPath = arguments.value("--faults")
    quotas = Quotas(
      userBytes: try Self.bytes("--user-quota", arguments), publicBytes: try Self.bytes("--public-quota", arguments))
    if let bytes = try Self.bytes("--body-memory", arguments) {
      guard bytes >= Int64(Self.bodyMemoryBytesMin) else {
        throw .usage(name, "--body-memory must be at least \(Self.bodyMemoryBytesMin) bytes")
      }
      bodyMemoryBytes = Int(bytes)
    }
    if let minutes = try Self.count("--sign-in-minutes", arguments) { signInAge = .seconds(minutes * 60) }
    if let days = try Self.count("--kept-sign-in-days", arguments) { keptSignInAge = .seconds(days * 86_400) }
    for text in arguments.values("--container") {
      if let objection = NameRule.container.objection(to: text) { throw .usage(name, "--container \(objection)") }
      containers.append(ContainerID(text))
    }
    if var url = arguments.value("--base-url") {
      guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
        throw .usage(name, "--base-url must begin with http:// or https://, but is \(url)")
      }
      guard let parts = URLComponents(string: url, encodingInvalidCharacters: false), parts.host?.isEmpty == false,
        parts.query == nil, parts.fragment == nil, parts.user == nil
      else {
        throw .usage(name, "--base-url must be the address of a server, such as https://sync.example, not \(url)")
      }
      while url.hasSuffix("/") { url.removeLast() }
      baseURL = url
    }
    userRate = try Self.rate(
      "--user-rate", arguments, default: isPublic ? Rate(perSecond: 50, burst: 500) : nil)
    addressRate = try Self.rate(
      "--address-rate", arguments, default: isPublic ? Rate(perSecond: 200, burst: 2_000) : nil)
    policy = try arguments.choice("--enrolment") ?? (isPublic ? .invite : .open)
  }

  private static func rate(_ option: String, _ arguments: Arguments, default usual: Rate?) throws(Failure) -> Rate? {
    guard let text = arguments.value(option) else { return usual }
    if text == "off" { return nil }
    guard let rate = Rate(text) else {
      throw .usage(
        spec.name, "\(option) must be N, N:BURST or off, with numbers from 1 to \(Limits.rateMax), not \(text)")
    }
    return rate
  }

  private static func count(_ option: String, _ arguments: Arguments) throws(Failure) -> Int? {
    guard let text = arguments.value(option) else { return nil }
    guard let count = Int(text), (1...1_000_000).contains(count) else {
      throw .usage(spec.name, "\(option) must be a number from 1 to 1000000, not \(text)")
    }
    return count
  }

  private static func bytes(_ option: String, _ arguments: Arguments) throws(Failure) -> Int64? {
    guard let text = arguments.value(option) else { return nil }
    guard let bytes = Int64(text), bytes > 0 else {
      throw .usage(spec.name, "\(option) must be a number of bytes, not \(text)")
    }
    return bytes
  }

  /// The names that the server answers to.
  var names: ServedNames { ServedNames(baseURL: baseURL, host: host, machineName: reachableHost) }

  /// Whether it is meant for more than this machine: then nobody is local, wherever they seem to ask from.
  var isPublic: Bool { names.isPublic }

  /// An address that stands for all addresses is none that a client could use: the machine's name is.
  var reachableHost: String { host == "0.0.0.0" || host == "::" ? RemoteService.hostName : host }

  func url(port: UInt16) -> String { Self.url(host: reachableHost, port: port) }

  static func url(host: String, port: UInt16) -> String {
    host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
  }
}
