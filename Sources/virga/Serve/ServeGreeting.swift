import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaModel
import VirgaServer

/// What a server says when it starts: where it is, what it takes for granted, and what to try next.
struct ServeGreeting {
  let options: ServeOptions
  let storage: Storage
  let url: String
  /// The code that makes the first account, where one is needed.
  let firstCode: String?
  /// Whether the operator's commands find the server by themselves.
  let isListed: Bool

  var text: String {
    var lines = [
      "Virga \(Program.version) serves \(url)",
      "  Data:         \(storage.description)",
      "  New accounts: \(accounts)",
    ]
    if let base = options.baseURL { lines.append("  Clients use:  \(base)") }
    if !options.containers.isEmpty {
      lines.append("  Containers:   \(options.containers.map(\.rawValue).joined(separator: ", "))")
    }
    lines.append("  Answers to:   \(options.names.description)")
    lines.append("  Operator:     \(operators)")
    lines += assumptions.enumerated().map { ($0.offset == 0 ? "  Assumes:      " : "                ") + $0.element }
    return (lines + ["Try next:"] + suggestions.map { "  \($0)" }).joined(separator: "\n")
  }

  private var accounts: String {
    switch options.policy {
    case .open: "open to everybody who can reach the address"
    case .invite: "only with a code"
    case .closed: "none"
    }
  }

  /// Who may do what only the operator may.
  private var operators: String {
    switch (isListed, options.data) {
    case (true, _): "this user, on this machine (virga finds the token by itself)"
    case (false, .folder(let folder)): "virga … --data \(folder)"
    case (false, .memory): "with the token in $\(OperatorClient.tokenVariable)"
    }
  }

  /// What the server cannot find out by itself, and what follows where it does not hold.
  private var assumptions: [String] {
    guard options.isPublic else {
      let open = options.policy == .open ? "make accounts and " : ""
      return [
        "only this machine reaches the port. Before you put a proxy in front, start with --base-url",
        "(docs/operating.md). Otherwise strangers could \(open)use up your limits.",
      ]
    }
    let rates =
      options.addressRate == nil ? "wrong codes of an address are" : "an address's requests and wrong codes are"
    return [
      "a proxy on this machine sets X-Forwarded-For to the client's address, and drops what the client sent.",
      "If it does not, \(rates) counted for all clients together,",
      "or for any address that a client makes up. Every caller needs credentials, also on this machine.",
    ]
  }

  private var suggestions: [String] {
    let endpoint = url == VirgaHome.defaultEndpoint ? "" : " --endpoint \(options.baseURL ?? url)"
    let container = options.containers.first?.rawValue ?? "iCloud.com.example.App"
    var lines: [String] = []
    if let firstCode {
      lines.append("virga account join \(firstCode)\(endpoint)    (makes the first account)")
    }
    switch (options.policy, options.data) {
    case (.closed, .folder(let folder)):
      lines.append("virga users list --data \(folder)    (who has an account)")
    case (.closed, .memory):
      lines.append("curl \(url)/healthz    (nobody has an account, and nobody can make one)")
    default:
      if firstCode == nil { lines.append("virga account show\(endpoint)") }
      lines.append("virga account token --container \(container)\(endpoint)")
    }
    return lines
  }
}
