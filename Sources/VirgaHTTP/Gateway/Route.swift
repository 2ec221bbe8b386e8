import VirgaAuth
import VirgaModel
import VirgaWire

/// What a request's path and method name.
enum Route: Hashable, Sendable {
  case call(Endpoint)
  case upload(ticket: String)
  case download(checksum: String)
  case push(token: String)
  /// The address of a share, opened in a browser.
  case share(SharePath)
  case account
  case schema(SchemaCall)
  /// A call for whoever runs the server, by what follows `/virga/1/`.
  case management(String)
  /// A call on tokens, keys and users for whoever runs the server.
  case credentials
  case health
  /// Whether the server can save.
  case ready
  case metrics
  /// A question by a browser whether it may send another request, and by anybody which ones there are.
  case preflight(allowed: String)
  /// The path is known, the method is not allowed there.
  case wrongMethod(allowed: String)
  case notFound(String)
  /// The path cannot be decoded.
  case malformed(String)

  init(_ head: HTTPRequestHead) {
    guard head.method != "OPTIONS" else {
      self = .preflight(allowed: Self.methods(at: head))
      return
    }
    let path = head.path
    if path.hasPrefix(AccountRoutes.prefix) {
      self = Self.own(path, head)
      return
    }
    var segments: [String] = []
    segments.reserveCapacity(8)
    for segment in path.dropFirst().parts(between: UInt8(ascii: "/")) {
      guard let text = segment.percentDecoded else {
        self = .malformed("the path has a broken escape or is not UTF-8")
        return
      }
      segments.append(text)
    }
    self = Self.route(segments, head).restricted(to: head.method)
  }

  /// What may be sent to a path: the other methods than OPTIONS that do not fail for themselves.
  private static func methods(at head: HTTPRequestHead) -> String {
    var asked = head
    // A method that no path knows.
    asked.method = "-"
    switch Route(asked) {
    case .wrongMethod(let allowed): return allowed
    case .account, .management, .credentials: return "GET, POST"
    default: return "GET, HEAD, POST, PUT"
    }
  }

  /// Whether a target begins as those of the protocol's calls do.
  static func isBelowCalls(_ target: String) -> Bool { target.hasPrefix("/database/") || target.hasPrefix("/device/") }

  /// What is ours and not the protocol's, below `/virga/1/`.
  private static func own(_ path: Substring, _ head: HTTPRequestHead) -> Route {
    if path.hasPrefix(SchemaCall.prefix) {
      guard let call = SchemaCall(rawValue: String(path.dropFirst(SchemaCall.prefix.count))) else {
        return .notFound("unknown call on schemas")
      }
      return head.method == call.method ? .schema(call) : .wrongMethod(allowed: call.method)
    }
    if path.hasPrefix(OperatorRoutes.prefix) { return .credentials }
    let name = path.dropFirst(AccountRoutes.prefix.count)
    return Gateway.isManagement(name) ? .management(String(name)) : .account
  }

  private static func route(_ segments: [String], _ head: HTTPRequestHead) -> Route {
    switch segments.first {
    case "database" where segments.count == 7 || segments.count == 8: database(segments)
    case "device" where segments.count == 6: device(segments)
    case "assets" where segments == ["assets", "1", "upload"]: .upload(ticket: QueryParameters(of: head)["t"] ?? "")
    case "assets" where segments.count == 4 && segments[1...2] == ["1", "download"]: .download(checksum: segments[3])
    case "push" where segments.count == 3 && segments[1] == "1": .push(token: segments[2])
    case "share" where segments.count == 4: share(segments)
    case "healthz" where segments.count == 1: .health
    case "readyz" where segments.count == 1: .ready
    case "metrics" where segments.count == 1: .metrics
    default: .notFound("there is nothing at this path")
    }
  }

  /// `database/1/{container}/{environment}/{database}/{operation}`, with two or three segments of operation.
  private static func database(_ segments: [String]) -> Route {
    guard segments[1] == "1" else { return .notFound("the only supported version is 1") }
    guard let scope = DatabaseScope(pathName: segments[4]) else {
      return .notFound("there is no database \(quoted(segments[4]))")
    }
    return call(segments[2], segments[3], scope, segments[5...])
  }

  /// `device/1/{container}/{environment}/tokens/{create or register}`.
  private static func device(_ segments: [String]) -> Route {
    guard segments[1] == "1" else { return .notFound("the only supported version is 1") }
    let route = call(segments[2], segments[3], .private, segments[4...5])
    guard case .call(let endpoint) = route, !endpoint.operation.isDeviceOperation else { return route }
    return .notFound("\(endpoint.operation.rawValue) is not an operation of the device module")
  }

  private static func call(
    _ container: String, _ environment: String, _ scope: DatabaseScope, _ operation: ArraySlice<String>
  ) -> Route {
    let (first, last) = (operation.first ?? "", operation.last ?? "")
    let name = operation.count == 2 ? "\(first)/\(last)" : operation.joined(separator: "/")
    guard let known = Operation(rawValue: name) else { return .notFound("there is no operation \(quoted(name))") }
    guard let environment = Environment(rawValue: environment) else {
      return .notFound("there is no environment \(quoted(environment))")
    }
    if let objection = NameRule.container.objection(to: container) {
      return .notFound("the container's name \(objection)")
    }
    return .call(
      Endpoint(container: ContainerID(container), environment: environment, scope: scope, operation: known))
  }

  /// `share/{container}/{environment}/{shortGUID}`.
  private static func share(_ segments: [String]) -> Route {
    guard let environment = Environment(rawValue: segments[2]),
      NameRule.container.objection(to: segments[1]) == nil, (1...64).contains(segments[3].utf8.count)
    else { return .notFound("there is no share at this path") }
    return .share(
      SharePath(container: ContainerID(segments[1]), environment: environment, shortGUID: segments[3]))
  }

  private static func quoted(_ text: String) -> String { "'\(text.prefix(100))'" }

  /// HEAD goes where GET goes, and is answered like it without the body; but a poll would lose its notification so.
  private var methods: [String] {
    switch self {
    case .call(let endpoint): endpoint.operation.allowsGet ? ["GET", "HEAD", "POST"] : ["POST"]
    case .upload: ["POST", "PUT"]
    case .download, .share, .health, .ready, .metrics: ["GET", "HEAD"]
    case .push: ["GET"]
    default: []
    }
  }

  private func restricted(to method: String) -> Route {
    // Nearly all requests are calls.
    if method == "POST", case .call = self { return self }
    let methods = methods
    return methods.isEmpty || methods.contains(method) ? self : .wrongMethod(allowed: methods.joined(separator: ", "))
  }
}
