import VirgaAuth

/// A call below `/virga/1/`, which is ours and not the protocol's. All of them stand in one table, by which requests find
/// their handlers and which docs/endpoints.md prints.
struct OwnCall: Hashable, Sendable {
  /// Whose requests are answered.
  enum Caller: String, Hashable, Sendable {
    case anybody
    case device = "a device with a session"
    case `operator` = "the operator"
  }

  let method: String
  /// What follows `/virga/1/`.
  let name: String
  let caller: Caller
  let purpose: String

  private init(_ method: String, _ name: String, _ caller: Caller, _ purpose: String) {
    self.method = method
    self.name = name
    self.caller = caller
    self.purpose = purpose
  }

  static let all: [OwnCall] = accounts + pairing + signIn + keys + schemas + credentials + management

  private static let accounts = [
    OwnCall("GET", "identity", .anybody, "proves that the server has the key of its data folder"),
    OwnCall("POST", "challenge", .anybody, "draws a challenge, which a device's key signs"),
    OwnCall("POST", "enrol", .anybody, "enrols a device's key, with an account of its own"),
    OwnCall("POST", "session", .anybody, "opens the session of a device that signed a challenge"),
    OwnCall("GET", "account", .device, "lists the account's devices"),
    OwnCall("POST", "account/rename", .device, "renames a device"),
    OwnCall("POST", "account/remove", .device, "removes a device"),
    OwnCall("POST", "account/remove/check", .device, "says what the removal of a device would end"),
    OwnCall("POST", "account/token", .device, "makes an API token and a web-auth token"),
    OwnCall("POST", "account/invite", .device, "makes a code by which somebody else can enrol"),
  ]

  private static let pairing = [
    OwnCall("POST", "pairing/invite", .device, "makes the code by which a device joins the account"),
    OwnCall("POST", "pairing/await", .device, "waits for a device that shows the code"),
    OwnCall("POST", "pairing/confirm", .device, "accepts or refuses that device"),
    OwnCall("POST", "pairing/join", .anybody, "asks to join an account by a code"),
    OwnCall("POST", "pairing/result", .anybody, "waits until a device of the account has decided"),
  ]

  private static let signIn = [
    OwnCall("GET", "sign-in", .anybody, "is the page on which the user of a web app signs in"),
    OwnCall("POST", "sign-in/start", .anybody, "begins a sign-in and answers its code"),
    OwnCall("POST", "sign-in/wait", .anybody, "waits until a device has decided on a sign-in"),
    OwnCall("POST", "sign-in/collect", .anybody, "answers the web-auth token of an accepted sign-in"),
    OwnCall("POST", "sign-in/look", .device, "says which page asks for a sign-in"),
    OwnCall("POST", "sign-in/settle", .device, "accepts or refuses a sign-in"),
  ]

  private static let keys = [
    OwnCall("POST", "keys", .device, "reads and writes the account's sealed keys"),
    OwnCall("POST", "keys/reset", .device, "gives up encrypted data whose account key is lost"),
  ]

  private static let schemas = [
    OwnCall("GET", "schema/export", .operator, "answers the text of a schema"),
    OwnCall("POST", "schema/import", .operator, "makes a text the schema of development"),
    OwnCall("POST", "schema/validate", .operator, "judges a text as an import would"),
    OwnCall("GET", "schema/diff", .operator, "compares development with production"),
    OwnCall("POST", "schema/deploy", .operator, "takes development's schema to production"),
    OwnCall("POST", "schema/reset", .operator, "makes development's schema that of production"),
  ]

  private static let credentials = [
    OwnCall("GET", "operator/containers", .operator, "lists the containers"),
    OwnCall("GET", "operator/users", .operator, "lists the users of a container"),
    OwnCall("GET", "operator/tokens", .operator, "lists API tokens"),
    OwnCall("POST", "operator/tokens/create", .operator, "makes an API token"),
    OwnCall("POST", "operator/tokens/revoke", .operator, "revokes an API token"),
    OwnCall("GET", "operator/keys", .operator, "lists server-to-server keys"),
    OwnCall("POST", "operator/keys/add", .operator, "adds a server-to-server key"),
    OwnCall("POST", "operator/keys/remove", .operator, "removes a server-to-server key"),
  ]

  private static let management = [
    OwnCall("GET", "faults", .operator, "answers the plan of faults"),
    OwnCall("PUT", "faults", .operator, "sets the plan of faults"),
    OwnCall("DELETE", "faults", .operator, "clears the plan of faults"),
    OwnCall("POST", "operate", .operator, "performs a call of the protocol as a user"),
    OwnCall("GET", "history", .operator, "lists the versions of a record"),
    OwnCall("GET", "zone-records", .operator, "answers a page of a zone's records"),
    OwnCall("GET", "zone-keys", .operator, "answers the sealed keys of a zone"),
    OwnCall("POST", "zone-keys", .operator, "adds sealed keys to a zone"),
    OwnCall("GET", "roles", .operator, "answers a user's roles in the public database"),
    OwnCall("PUT", "roles", .operator, "sets a user's roles in the public database"),
    OwnCall("POST", "leave-shares", .operator, "ends a user's part in the shares of others"),
    OwnCall("GET", "account-copy", .operator, "answers a copy of an account"),
    OwnCall("POST", "account-copy", .operator, "restores an account from a copy"),
  ]

  /// The methods of a name that is a call of the operator's and has no prefix of its own, such as `faults`.
  static let managementMethods: [String: [String]] = Dictionary(grouping: management, by: \.name)
    .mapValues { $0.map(\.method) }

  /// The table as docs/endpoints.md prints it.
  static var document: String {
    let rows = all.map {
      "| `\($0.method)` | `\(AccountRoutes.prefix)\($0.name)` | \($0.caller.rawValue) | \($0.purpose) |"
    }
    return (["| method | path | who may call | what it does |", "|---|---|---|---|"] + rows).joined(separator: "\n")
  }
}
