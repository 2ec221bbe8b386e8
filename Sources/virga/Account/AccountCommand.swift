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
    CommandSpec.Option(name: "--name", value: "NAME", help: "What other devices see. Default: this machine's name."),
    CommandSpec.Option(name: "--json", value: nil, help: "Print JSON, one object a line."),
  ]

  private static let exitCodes = """
    Exit codes: 0 done · 1 refused: wrong code, no such device, the other device said no · 64 wrong arguments ·
    69 server not reached · 77 no account for this device here, or it was removed · 78 the home's files cannot be used
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
    "Shows this device's account, without the server what is known here. The first use makes key and account.")
  private static let devices = spec("devices", "Lists the devices of this device's account.")
  private static let remove = spec(
    "remove",
    "Removes a device, which is refused from its next request on. The others get another key of encrypted values.",
    operands: ["DEVICE"], options: [.yes],
    notes: "DEVICE is the identifier that virga account devices prints, or its beginning if no other begins so.")
  private static let invite = spec(
    "invite", "Shows a code with which another device can join this account, and asks before it lets one in.",
    options: [
      CommandSpec.Option(name: "--yes", value: nil, help: "Let the first device in without asking."),
      CommandSpec.Option(
        name: "--new-account", value: nil,
        help: "Instead print a code with which somebody else makes an account of their own\non a server that invites."),
    ])
  private static let join = spec(
    "join", "Joins the account that shows CODE, or makes an account with an enrolment code.", operands: ["CODE"],
    options: [
      CommandSpec.Option(
        name: "--replace", value: nil, help: "Leave the account that this device has on the server. Its key is kept.")
    ])
  private static let new = spec(
    "new", "Makes an account of its own for this device, on a server that lets anybody make one.",
    options: [
      CommandSpec.Option(
        name: "--replace", value: nil, help: "Leave the account that this device has on the server. Its key is kept.")
    ])
  private static let approve = spec(
    "approve", "Signs in the web page that shows CODE, once it has said which one it is and you have said yes.",
    operands: ["CODE"],
    options: [.yes])
  private static let accept = spec(
    "accept", "Accepts what somebody shares at an address; the app finds it the next time it syncs.",
    operands: ["URL"])
  private static let token = spec(
    "token", "Prints an API token and a web-auth token of this account, for programs that speak the web service.",
    options: [
      CommandSpec.Option(
        name: "--container", value: "ID", help: "The container that they are for. Default: $VIRGA_CONTAINER.",
        variable: "VIRGA_CONTAINER"),
      OperatorCommand.environment,
    ])

  private static let resetKeys = spec(
    "reset-keys",
    "Begins anew with another key of encrypted values. Zones that hold encrypted values are deleted on the server,\n"
      + "and apps send again what they have of them. For an account whose devices have all lost its key.",
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
        deviceName: arguments.value("--name") ?? VirgaCloudKit.Service.hostName,
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
      case .hasAccount: return Failure(.failed, "\(error); --replace leaves that account for the other one")
      case .deviceRemoved, .deviceUnknown:
        return Failure(
          .noPermission,
          "\(error); to join again: virga account join CODE --replace; to go on with an account of its own: "
            + "virga account new --replace")
      case .enrolmentRefused:
        return Failure(
          .noPermission,
          "\(error); virga account invite on a device that is in shows a code, then: virga account join CODE")
      case .serverElsewhere(let known, let asked):
        return Failure(
          .failed, "\(error); to accept at your server: --endpoint \(known); only if it has moved: --endpoint \(asked)")
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
      Terminal.print("Key      this device does not have the account's key of encrypted values, or not its newest")
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
      "virga: cannot reach \(known.endpoint): \(error); this is what the device knows by itself")
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
        ? "This is the device that you are typing on. It will see nothing of the account any more. Remove it?"
        : "Remove device '\(name)' from the account?",
      "no device was removed")
    let removal: (account: AccountMessages.Description, key: KeyReplacement)
    do { removal = try await client.remove(device) } catch AccountError.keyMissing {
      try arguments.confirm(
        "\(AccountError.keyMissing). \(device) could still open what others encrypt. Remove it all the same?",
        "no device was removed")
      removal = try await client.remove(device, condition: .any)
    }
    if removal.key == .kept {
      Terminal.complain(
        "virga: the key of encrypted values was NOT replaced: \(device) can open what is encrypted from now on, if it "
          + "comes by it. On a device that has the key (virga account show): virga account remove \(device)")
    }
    if !arguments.has("--json") { Terminal.print("Removed. What is left:") }
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
      if arguments.has("--yes") { throw Failure.usage(invite.name, "--yes and --new-account exclude each other") }
      let code = try await client.enrolmentCode()
      if isJSON { return try Terminal.print(json: code) }
      return Terminal.print("\(code.code)\nWhoever has it makes one account: \(joining(code.code, at: client))")
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
      Terminal.print("A device wants in: \(candidate.name)\nIts fingerprint:   \(candidate.fingerprint)")
    }
    let accepts =
      arguments.has("--yes") || Terminal.confirm("Does it show the same fingerprint, and may it join?")
    let description = try await client.confirm(candidate, code: code.code, accepts: accepts)
    guard accepts else { throw Failure(.failed, "\(candidate.name) was not let in") }
    if isJSON { try Terminal.print(json: description) } else { Terminal.print("\(candidate.name) is in.") }
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
        let text = "This device's fingerprint: \(fingerprint)\nConfirm it on the other device, if that asks. Waiting …"
        if isJSON { Terminal.complain(text) } else { Terminal.print(text) }
      })
    if isJSON {
      return try Terminal.print(json: AccountMessages.Enrolled(account: account.account, device: account.device))
    }
    Terminal.print("Joined account \(account.account) as device \(account.device).")
    let keys = try await client.accountKeys(makingFirst: false)
    if let key = keys.keychain.current {
      Terminal.print("Key of encrypted values: \(key.fingerprint)\nThe other device shows the same: virga account show")
    } else if keys.hasFirst {
      Terminal.complain(
        "virga: the account's key of encrypted values has not come with this device. If virga account show does not show it "
          + "in a minute either, join once more with another code: virga account join CODE --replace")
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
      let page = asked.origin ?? asked.callback ?? "no page: the token is shown to be copied"
      Terminal.print("Container  \(asked.container)\nPage       \(page)")
      if let name = asked.name { Terminal.print("Known as   \(name)") }
    }
    let accepts = arguments.has("--yes") || Terminal.confirm("May it read and change your data in this container?")
    try await client.settleSignIn(code: code, accepts: accepts)
    guard accepts else { throw Failure(.failed, "the page was not signed in") }
    if !arguments.has("--json") { Terminal.print("It is signed in.") }
  }

  private static func accept(_ client: AccountClient, _ arguments: Arguments) async throws {
    let url = try ShareURL(arguments.operands[0])
    guard case .shares(let results) = try await client.call(url.call, at: url.operation), let result = results.first
    else { throw Failure(.unavailable, "what answers there is not a Virga server") }
    switch result {
    case .failure(_, let error): throw Failure(.failed, "the share was not accepted: \(error.reason)")
    case .metadata(let metadata):
      if let fragment = url.fragment, metadata.participantRole != .owner {
        let isKept = try await client.keepSecret(
          fragment: fragment, of: metadata.zone, in: metadata.container, url.path.environment)
        if !isKept {
          Terminal.complain(
            "virga: what follows # in the address is no key of this share; encrypted values that it may have stay closed: "
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
      "\(zones) \(zones == 1 ? "zone was" : "zones were") deleted. Other devices join again: virga account invite, join CODE --replace."
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
