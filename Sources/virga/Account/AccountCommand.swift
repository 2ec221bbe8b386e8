import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit
import VirgaCommandLine
import VirgaModel

/// `virga account …`: the account of a device, from that device.
enum AccountCommand {
  private static let common = [
    CommandSpec.Option(
      name: "--endpoint", value: "URL",
      help: "The server. Default: $VIRGA_ENDPOINT, then config.json in the home, then \(VirgaHome.defaultEndpoint)."),
    CommandSpec.Option(name: "--home", value: "DIR", help: "The device's home. Default: $VIRGA_HOME, then ~/.virga."),
    CommandSpec.Option(
      name: "--name", value: "NAME", help: "The name that other devices see. Default: this machine's name."),
    CommandSpec.Option(name: "--json", value: nil, help: "Print JSON, one object a line."),
  ]

  private static let exitCodes = """
    Exit codes: 0 done · 1 refused: wrong code, unknown device, or the other device said no · 64 wrong arguments ·
    69 server not reached · 77 this device has no account here, or was removed · 78 the home's files cannot be used
    """

  private static func spec(
    _ name: String, _ summary: String, operands: [CommandSpec.Operand] = [], options: [CommandSpec.Option] = [],
    notes: String = ""
  ) -> CommandSpec {
    CommandSpec(
      name: "virga account \(name)", summary: summary, operands: operands, options: options + common,
      notes: notes.isEmpty ? exitCodes : "\(notes)\n\n\(exitCodes)")
  }

  private static let show = spec(
    "show",
    "Shows the account of this device. The first use makes a key and an account.")
  private static let devices = spec("devices", "Lists the devices of this account.")
  private static let remove = spec(
    "remove",
    "Removes a device from the account. Its next request fails. The other devices get a new key for encrypted values.",
    operands: ["DEVICE"], options: [.yes],
    notes: "DEVICE is an identifier that virga account devices prints, or the beginning of it if only one begins so.")
  private static let invite = spec(
    "invite", "Shows a code that lets another device join this account. Asks before it lets the device in.",
    options: [
      CommandSpec.Option(name: "--yes", value: nil, help: "Let the first device in without asking."),
      CommandSpec.Option(
        name: "--new-account", value: nil,
        help:
          "Print a code for somebody else, who can make an account with it\non a server where new accounts need a code."
      ),
    ])
  private static let join = spec(
    "join", "Joins the account of the device that shows CODE, or makes a new account with an enrolment code.",
    operands: ["CODE"],
    options: [
      CommandSpec.Option(
        name: "--replace", value: nil, help: "Leave this device's present account on the server. Its key is kept.")
    ])
  private static let new = spec(
    "new", "Makes a new account for this device, on a server where anybody may make one.",
    options: [
      CommandSpec.Option(
        name: "--replace", value: nil, help: "Leave this device's present account on the server. Its key is kept.")
    ])
  private static let approve = spec(
    "approve", "Signs in the web page that shows CODE. Shows first which page it is, and asks.",
    operands: ["CODE"],
    options: [.yes])
  private static let accept = spec(
    "accept", "Accepts a share by its address. The app finds it at its next sync.",
    operands: ["URL"])
  private static let token = spec(
    "token", "Prints an API token and a web-auth token of this account, for programs that use the web service.",
    options: [
      CommandSpec.Option(
        name: "--container", value: "ID", help: "The container that the tokens are for. Default: $VIRGA_CONTAINER.",
        variable: "VIRGA_CONTAINER"),
      OperatorCommand.environment,
    ])

  private static let resetKeys = spec(
    "reset-keys",
    "Starts again with a new key for encrypted values. Use it if all devices of the account have lost the key.\n"
      + "The server deletes all zones that hold encrypted values. Apps then send again what they have.",
    options: [.yes])

  static let commands = [
    command(show, show), command(invite, invite), command(join, join), command(new, new), command(devices, list),
    command(remove, remove), command(approve, approve),
    command(accept, address: { try ShareURL($0.operands[0]) }, accept), command(token, token),
    command(resetKeys, resetKeys),
  ]

  private static func command(
    _ spec: CommandSpec, address: @escaping @Sendable (Arguments) throws -> ShareURL? = { _ in nil },
    _ body: @escaping @Sendable (AccountClient, Arguments) async throws -> Void
  ) -> Command {
    Command(spec) { try await perform($0, address: address, body) }
  }

  private static func perform(
    _ arguments: Arguments, address: (Arguments) throws -> ShareURL?,
    _ body: (AccountClient, Arguments) async throws -> Void
  ) async throws {
    let environment = ProcessInfo.processInfo.environment
    let home = arguments.value("--home").map(VirgaHome.init(path:)) ?? VirgaHome(environment: environment)
    var endpoint = ""
    do {
      let address = try address(arguments)
      let given = arguments.value("--endpoint").map { ["VIRGA_ENDPOINT": $0] }
      endpoint = try Failure.endpoint(of: home, environment: given ?? environment)
      var source = AccountClient.EndpointSource.settings
      if let address, given == nil, !address.leads(to: endpoint) {
        endpoint = try home.endpoints().first(where: address.leads) ?? address.endpoint
        source = .address
      }
      let client = AccountClient(
        home: home, endpoint: endpoint, from: source,
        transport: CurlAccountTransport(
          endpoint: endpoint, certificateFile: try home.certificateFile(environment: environment)),
        deviceName: arguments.value("--name") ?? RemoteService.hostName,
        now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) })
      try await body(client, arguments)
    } catch {
      throw failure(error, endpoint: endpoint)
    }
  }

  /// What the program says of an error that a device met on its way to a server.
  static func failure(_ error: any Error, endpoint: String) -> any Error {
    switch error {
    case let error as SecureFileError: return Failure(.badConfiguration, error.description)
    case let error as AccountError:
      switch error {
      case .home: return Failure(.badConfiguration, error.description)
      case .hasAccount: return Failure(.failed, "\(error); to leave that account, add --replace")
      case .deviceRemoved, .deviceUnknown:
        return Failure(
          .noPermission,
          "\(error); to join again: virga account join CODE --replace; to make a new account: "
            + "virga account new --replace")
      case .enrolmentRefused:
        return Failure(
          .noPermission,
          "\(error); get a code on a device of the account (virga account invite), then: virga account join CODE")
      case .serverElsewhere(let known, let asked):
        return Failure(
          .failed,
          "\(error); to accept at your server: --endpoint \(known); only if the server has moved: --endpoint \(asked)")
      case .badAnswer: return Failure(.unavailable, error.description)
      default: return Failure(.failed, error.description)
      }
    case let error as TransportError:
      return Failure(.unavailable, "cannot reach \(endpoint): \(error); is the server running? (virga serve)")
    default: return error
    }
  }

  // MARK: Commands

  private static func show(_ client: AccountClient, _ arguments: Arguments) async throws {
    let description: AccountMessages.Description
    do { description = try await client.describe() } catch let error as TransportError {
      guard let known = try client.knownAccount() else { throw error }
      return try showOffline(known, because: error, arguments)
    }
    if arguments.has("--json") { return try Terminal.print(json: description) }
    Terminal.print("Account  \(description.account)\nServer   \(description.server)")
    // On all devices of the account the same, unless somebody stood between two of them.
    let keys = try await client.accountKeys(makingFirst: false)
    if let key = keys.keychain.current {
      Terminal.print("Key      \(key.fingerprint)")
    } else if keys.hasFirst {
      Terminal.print("Key      this device does not have the newest key for encrypted values of the account")
    }
    Terminal.print("Devices:")
    printDevices(description)
  }

  /// What a device knows of its account by itself.
  private struct KnownOffline: Encodable {
    var account: AccountID
    var device: DeviceID
    var server: String
    var endpoint: String
    var isServerReached = false
  }

  private static func showOffline(
    _ known: VirgaHome.KnownAccount, because error: TransportError, _ arguments: Arguments
  ) throws {
    Terminal.complain(
      "virga: cannot reach \(known.endpoint): \(error); this is what the device knows")
    if arguments.has("--json") {
      return try Terminal.print(
        json: KnownOffline(
          account: known.account, device: known.device, server: known.server, endpoint: known.endpoint))
    }
    Terminal.print("Account  \(known.account)\nDevice   \(known.device)\nServer   \(known.server)")
  }

  private static func list(_ client: AccountClient, _ arguments: Arguments) async throws {
    let description = try await client.describe()
    try printDevices(description, arguments)
  }

  private static func remove(_ client: AccountClient, _ arguments: Arguments) async throws {
    let devices = try await client.describe().devices
    let typed = arguments.operands[0]
    // A whole identifier is asked for as it is: a server that leaves the device out of its list must not keep it in, and a
    // removal whose answer was lost is repeated.
    let id =
      typed.count == 32 && typed.allSatisfy(\.isHexDigit)
      ? typed
      : try arguments.identifier(
        typed, among: devices.map(\.id.rawValue), of: "device", listing: "virga account devices")
    let (device, name) = (DeviceID(id), devices.first { $0.id.rawValue == id }?.name ?? id)
    let isOwn = try client.knownAccount()?.device == device
    try arguments.confirm(
      isOwn
        ? "This is the device that you are typing on. It will lose access to the account. Remove it?"
        : "Remove device '\(name)' from the account?",
      "no device was removed")
    let removal: (account: AccountMessages.Description, key: KeyReplacement)
    do { removal = try await client.remove(device) } catch AccountError.keyMissing {
      try arguments.confirm(
        "\(AccountError.keyMissing). Device \(device) could still open encrypted values. Remove it anyway?",
        "no device was removed")
      removal = try await client.remove(device, condition: .any)
    }
    if removal.key == .kept {
      Terminal.complain(
        "virga: the key for encrypted values was NOT replaced: \(device) can open new values, if it gets hold of them. "
          + "On a device that has the key (see virga account show), run: virga account remove \(device)")
    }
    if !arguments.has("--json") { Terminal.print("Removed. The devices that are left:") }
    try printDevices(removal.account, arguments)
  }

  private static func printDevices(_ description: AccountMessages.Description, _ arguments: Arguments) throws {
    if arguments.has("--json") {
      for device in description.devices { try Terminal.print(json: device) }
      return
    }
    printDevices(description)
  }

  private static func printDevices(_ description: AccountMessages.Description) {
    for device in description.devices {
      let mark = device.isThisDevice ? "*" : " "
      Terminal.print("\(mark) \(device.id)  \(device.fingerprint)  \(device.name)")
    }
  }

  private static func invite(_ client: AccountClient, _ arguments: Arguments) async throws {
    let isJSON = arguments.has("--json")
    if arguments.has("--new-account") {
      if arguments.has("--yes") { throw Failure.usage(invite.name, "use either --yes or --new-account") }
      let code = try await client.enrolmentCode()
      if isJSON { return try Terminal.print(json: code) }
      return Terminal.print("\(code.code)\nThis code makes one account: \(joining(code.code, at: client))")
    }
    let code = try await client.invite()
    if isJSON {
      try Terminal.print(json: code)
    } else {
      Terminal.print(
        "Code: \(code.code)\nOn the other device, within ten minutes: \(joining(code.code, at: client))\nWaiting …")
    }
    let candidate = try await client.candidate(for: code.code)
    if isJSON {
      try Terminal.print(json: candidate)
    } else {
      Terminal.print("A device asks to join: \(candidate.name)\nIts fingerprint:       \(candidate.fingerprint)")
    }
    let accepts =
      arguments.has("--yes") || Terminal.confirm("Does that device show the same fingerprint? Let it join?")
    let description = try await client.confirm(candidate, code: code.code, accepts: accepts)
    guard accepts else { throw Failure(.failed, "\(candidate.name) was not let in") }
    if isJSON { try Terminal.print(json: description) } else { Terminal.print("\(candidate.name) has joined.") }
  }

  /// What is typed on the other device, which has no settings of this one.
  private static func joining(_ code: String, at client: AccountClient) -> String {
    "virga account join \(code)"
      + (client.endpoint == VirgaHome.defaultEndpoint ? "" : " --endpoint \(client.endpoint)")
  }

  private static func join(_ client: AccountClient, _ arguments: Arguments) async throws {
    let isJSON = arguments.has("--json")
    let account = try await client.join(
      code: arguments.operands[0], replacing: arguments.has("--replace"),
      announce: { fingerprint in
        // The code may be one that asks nobody; then the line is merely of no use.
        let text =
          "This device's fingerprint: \(fingerprint)\nIf the other device asks, confirm the fingerprint there. "
          + "Waiting …"
        if isJSON { Terminal.complain(text) } else { Terminal.print(text) }
      })
    if isJSON {
      return try Terminal.print(json: AccountMessages.Enrolled(account: account.account, device: account.device))
    }
    Terminal.print("Joined account \(account.account) as device \(account.device).")
    let keys = try await client.accountKeys(makingFirst: false)
    if let key = keys.keychain.current {
      Terminal.print(
        "Key for encrypted values: \(key.fingerprint)\nThe other device shows the same with: virga account show")
    } else if keys.hasFirst {
      Terminal.complain(
        "virga: this device has not received the account's key for encrypted values. Try virga account show in a "
          + "minute. "
          + "If it shows no key, join again with another code: virga account join CODE --replace")
    }
  }

  private static func new(_ client: AccountClient, _ arguments: Arguments) async throws {
    let account = try await client.enrol(replacing: arguments.has("--replace"))
    if arguments.has("--json") {
      return try Terminal.print(json: AccountMessages.Enrolled(account: account.account, device: account.device))
    }
    Terminal.print("Made account \(account.account) with device \(account.device).")
  }

  private static func approve(_ client: AccountClient, _ arguments: Arguments) async throws {
    let code = arguments.operands[0]
    let asked = try await client.signIn(code: code)
    if arguments.has("--json") {
      try Terminal.print(json: asked)
    } else {
      let page = asked.origin ?? asked.callback ?? "none: you copy the token yourself"
      Terminal.print("Container  \(asked.container)\nPage       \(page)")
      if let name = asked.name { Terminal.print("Known as   \(name)") }
    }
    let accepts = arguments.has("--yes") || Terminal.confirm("Allow it to read and change your data in this container?")
    try await client.settleSignIn(code: code, accepts: accepts)
    guard accepts else { throw Failure(.failed, "the page was not signed in") }
    if !arguments.has("--json") { Terminal.print("The page is signed in.") }
  }

  private static func accept(_ client: AccountClient, _ arguments: Arguments) async throws {
    let url = try ShareURL(arguments.operands[0])
    guard case .shares(let results) = try await client.call(url.call, at: url.operation), let result = results.first
    else { throw Failure(.unavailable, "the answer does not come from a Virga server") }
    switch result {
    case .failure(_, let error): throw Failure(.failed, "the share was not accepted: \(error.reason)")
    case .metadata(let metadata):
      if let fragment = url.fragment, metadata.participantRole != .owner {
        let isKept = try await client.keepSecret(
          fragment: fragment, of: metadata.zone, in: metadata.container, url.path.environment)
        if !isKept {
          Terminal.complain(
            "virga: the part after # in the address is not a key of this share, so encrypted values in it stay closed; "
              + "ask for the whole address")
        }
      }
      let title = metadata.share.title ?? metadata.rootRecordName?.rawValue ?? metadata.zone.name.rawValue
      if arguments.has("--json") {
        return try Terminal.print(
          json: [
            "container": metadata.container.rawValue, "zone": metadata.zone.name.rawValue,
            "owner": metadata.zone.owner.rawValue, "title": title,
          ])
      }
      Terminal.print("Accepted '\(title)' in \(metadata.container).")
    }
  }

  private static func resetKeys(_ client: AccountClient, _ arguments: Arguments) async throws {
    try arguments.confirm("Delete all zones of this account that hold encrypted values?", "nothing was deleted")
    let zones = try await client.resetKeys()
    if arguments.has("--json") { return try Terminal.print(json: ["zones": zones]) }
    Terminal.print(
      "\(zones) \(zones == 1 ? "zone was" : "zones were") deleted. Other devices join again: virga account invite, "
        + "join CODE --replace."
    )
  }

  private static func token(_ client: AccountClient, _ arguments: Arguments) async throws {
    guard let container = arguments.value("--container") else {
      throw Failure.usage(token.name, "--container is missing")
    }
    let tokens = try await client.tokens(
      for: ContainerID(container), in: try arguments.choice("--environment") ?? .development)
    if arguments.has("--json") { return try Terminal.print(json: tokens) }
    Terminal.print("ckAPIToken      \(tokens.apiToken)\nckWebAuthToken  \(tokens.webAuthToken)")
  }
}
