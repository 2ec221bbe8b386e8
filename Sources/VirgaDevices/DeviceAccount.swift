public import Foundation
package import VirgaAccounts
import VirgaAuth
import VirgaCloudKit
import VirgaModel

/// The account of this device on its server, for apps that let their users bring other devices into it.
///
/// CloudKit has no such calls, as Apple's devices are in an account by the system. Here an account is a set of devices: another one
/// joins with a code that this one shows. Which server and which home that is, is found as `CKContainer` finds it.
public struct DeviceAccount: Sendable {
  /// A device of the account.
  public struct Device: Hashable, Sendable {
    /// 32 hex digits.
    public var id: String
    /// What people call it. No two devices of an account have the same name.
    public var name: String
    /// The beginning of its key's digest, for people to compare.
    public var fingerprint: String
    /// When the device came into the account, by the server's clock.
    public var enrolled: Date
    /// Whether it is the device that asks.
    public var isThisDevice: Bool
  }

  /// What the server knows of the account.
  public struct Description: Hashable, Sendable {
    /// The account's identifier on the server.
    public var account: String
    /// In the order in which they came.
    public var devices: [Device]
    /// The server's clock when it answered; `nil` from servers that do not tell it.
    public var serverTime: Date?

    /// The device that asks, among the others; nil if it was removed meanwhile.
    public var thisDevice: Device? { devices.first(where: \.isThisDevice) }
  }

  /// A device that uses a code of this one's.
  public struct Candidate: Hashable, Sendable {
    /// What the other device calls itself.
    public var name: String
    /// The other device shows the same, unless somebody stands between the two.
    public var fingerprint: String
    fileprivate var message: AccountMessages.Awaited.Candidate
    fileprivate var code: String
  }

  private let home: VirgaHome
  private let client: AccountClient

  /// The server's address.
  public let server: String

  /// `nil` for a service that knows no devices, such as Apple's.
  /// - Parameter server: The server's address, if not that of the settings.
  /// - Parameter deviceName: What other devices of the account see, if not what the settings say.
  /// - Throws: `DeviceAccountError` if the settings cannot be read.
  public init?(server: String? = nil, deviceName: String? = nil) throws {
    var variables = ProcessInfo.processInfo.environment
    if let server { variables["VIRGA_ENDPOINT"] = server }
    if let deviceName { variables["VIRGA_DEVICE_NAME"] = deviceName }
    let settings: ServiceSettings
    do {
      settings = try ServiceSettings(environment: variables, program: CommandLine.arguments.first ?? "program")
    } catch {
      throw DeviceAccountError(.settings, error.description)
    }
    guard settings.tokens == nil else { return nil }
    home = settings.home
    self.server = settings.endpoint
    client = AccountClient(
      home: settings.home, endpoint: settings.endpoint,
      transport: Requests(
        endpoint: settings.endpoint, transport: CurlTransport(certificateFile: settings.certificateFile)),
      deviceName: settings.deviceName, now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) })
  }

  /// - Parameter client: The way to the server: a simulator's, or a test's.
  package init(home: VirgaHome, client: AccountClient) {
    self.home = home
    self.client = client
    server = client.endpoint
  }

  /// Whether the server is the one that is meant where nobody names another.
  public var isDefaultServer: Bool { server == VirgaHome.defaultEndpoint }

  /// The account that this device has on the server, as far as it knows without asking.
  public var knownAccount: String? { (try? client.knownAccount())?.account.rawValue }

  /// Asks the server for the account and its devices. The first use makes the account, where the server lets anybody.
  public func describe() async throws -> Description { try await explaining { try await client.describe() } }

  /// Gives this device another name. If another device has it, the name gets a number.
  public func rename(to name: String) async throws -> Description {
    try await explaining {
      guard let device = try client.knownAccount()?.device else { throw AccountError.deviceUnknown }
      return try await client.rename(device, to: name)
    }
  }

  // MARK: Bringing devices in

  /// Makes a code with which another device can join, for ten minutes.
  public func invite() async throws -> String {
    do { return try await client.invite().code } catch { throw DeviceAccountError(error) }
  }

  /// Waits for a device that uses the code.
  public func candidate(for code: String) async throws -> Candidate {
    do {
      let message = try await client.candidate(for: code)
      return Candidate(name: message.name, fingerprint: message.fingerprint, message: message, code: code)
    } catch {
      throw DeviceAccountError(error)
    }
  }

  /// Lets the device in, or not.
  public func settle(_ candidate: Candidate, accepts: Bool) async throws -> Description {
    try await explaining { try await client.confirm(candidate.message, code: candidate.code, accepts: accepts) }
  }

  /// Joins the account of the device that shows a code, and waits until that lets this one in.
  /// - Parameter replacing: Whether an account that this device has on the server is left for it.
  /// - Parameter announce: Told this device's fingerprint, which the other one shows too.
  public func join(
    code: String, replacing: Bool = false, announce: @Sendable (_ fingerprint: String) -> Void
  ) async throws -> Description {
    try await explaining {
      _ = try await client.join(code: code, replacing: replacing, announce: announce)
      return try await client.describe()
    }
  }

  /// Keeps the server's address in the home's settings, for when nobody names another.
  public func rememberServer() throws {
    do {
      var config = try home.config()
      config.endpoint = server
      try home.write(config)
    } catch {
      throw DeviceAccountError(.settings, error.description)
    }
  }

  private func explaining(_ body: () async throws -> AccountMessages.Description) async throws -> Description {
    do { return Description(try await body()) } catch { throw DeviceAccountError(error) }
  }
}

extension DeviceAccount.Description {
  fileprivate init(_ message: AccountMessages.Description) {
    account = message.account.rawValue
    serverTime = message.now.map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1_000) }
    devices = message.devices.map { device in
      DeviceAccount.Device(
        id: device.id.rawValue, name: device.name, fingerprint: device.fingerprint,
        enrolled: Date(timeIntervalSince1970: Double(device.enrolled.milliseconds) / 1_000),
        isThisDevice: device.isThisDevice)
    }
  }
}

/// Carries the account's requests.
private struct Requests: AccountTransport {
  let endpoint: String
  let transport: CurlTransport

  func send(
    method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws -> (status: Int, body: [UInt8]) {
    var request = TransportRequest(method: method, url: endpoint + path)
    request.headers = headers
    request.body = .bytes(body)
    let answer = try await transport.send(request)
    return (answer.status, answer.body)
  }
}
