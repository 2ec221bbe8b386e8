import Foundation
package import VirgaAccounts
package import VirgaAuth
package import VirgaModel

/// Where a program's containers are, found without any network.
///
/// | what | from, in this order |
/// |---|---|
/// | home | `VIRGA_HOME`, `~/.virga` |
/// | address | `VIRGA_ENDPOINT`, `config.json` in the home, `http://127.0.0.1:8787` |
/// | tokens | `VIRGA_API_TOKEN` and `VIRGA_WEB_AUTH_TOKEN`, `config.json`; with them nothing of ours is sent |
/// | trusted certificates | `VIRGA_CA_FILE`, `certificateFile` of `config.json`, the system's |
/// | the device's name, which others of the account see | `VIRGA_DEVICE_NAME`, this machine's |
/// | environment | `VIRGA_ENVIRONMENT`, the entitlements, development |
/// | default container | `VIRGA_CONTAINER`, the first of the entitlements, the first of `config.json`, `iCloud.` and the program's name |
///
/// The entitlements are a property list beside the program: `<program>.entitlements`, or the only file there whose name
/// ends so. They come before `config.json`, which speaks for all programs of a device.
package struct ServiceSettings: Sendable {
  package var home: VirgaHome
  package var endpoint: String
  package var environment: VirgaModel.Environment
  package var defaultContainer: ContainerID
  package var deviceName: String
  package var certificateFile: String?
  /// For Apple's service, or another that knows no devices of ours.
  package var tokens: WebTokens?

  /// The file of the running program. What it was called by need not say where it lies.
  static var runningProgram: String {
    let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return file ?? CommandLine.arguments.first ?? "program"
  }

  /// The server that the settings name, reached through the network.
  /// - Parameter deviceName: What other devices of the account see; what the settings say if left out.
  func makeService(deviceName: String? = nil) -> RemoteService {
    RemoteService(
      endpoint: endpoint, environment: environment, home: home,
      transport: CurlTransport(certificateFile: certificateFile), tokens: tokens,
      deviceName: deviceName ?? self.deviceName)
  }

  /// - Parameter program: The path of the program's file.
  package init(environment variables: [String: String], program: String) throws(SecureFileError) {
    func variable(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
    home = VirgaHome(environment: variables)
    endpoint = try home.endpoint(environment: variables)
    certificateFile = try home.certificateFile(environment: variables)
    deviceName = variable("VIRGA_DEVICE_NAME") ?? RemoteService.hostName
    let entitlements = Entitlements(besideProgram: program)
    let environment = variable("VIRGA_ENVIRONMENT") ?? entitlements.environment
    self.environment = environment.flatMap { VirgaModel.Environment(rawValue: $0.lowercased()) } ?? .development
    let config = try home.config()
    if let apiToken = variable("VIRGA_API_TOKEN") ?? config.apiToken {
      let webAuthToken = variable("VIRGA_WEB_AUTH_TOKEN") ?? config.webAuthToken
      tokens = WebTokens(apiToken: apiToken, webAuthToken: webAuthToken, home: home)
    }
    let stated = variable("VIRGA_CONTAINER") ?? entitlements.containers.first
    if let stated {
      defaultContainer = ContainerID(stated)
    } else if let configured = config.containers?.first {
      defaultContainer = configured
    } else {
      defaultContainer = ContainerID("iCloud." + URL(fileURLWithPath: program).lastPathComponent)
    }
  }
}

/// What an `.entitlements` file says about CloudKit.
struct Entitlements {
  var containers: [String] = []
  var environment: String?

  init(besideProgram program: String) {
    let program = URL(fileURLWithPath: program)
    let folder = program.deletingLastPathComponent()
    let own = program.deletingPathExtension().lastPathComponent + ".entitlements"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let found = names.filter { $0.hasSuffix(".entitlements") }
    guard let name = found.contains(own) ? own : found.count == 1 ? found.first : nil,
      let data = FileManager.default.contents(atPath: folder.appendingPathComponent(name).path),
      let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
    else { return }
    containers = list["com.apple.developer.icloud-container-identifiers"] as? [String] ?? []
    environment = list["com.apple.developer.icloud-container-environment"] as? String
  }
}
