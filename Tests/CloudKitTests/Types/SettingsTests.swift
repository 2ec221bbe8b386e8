import Foundation
import Testing
import VirgaAccounts
import VirgaAuth

@testable import VirgaCloudKit

struct SettingsTests {
  private func settings(_ variables: [String: String], in folder: TemporaryFolder) throws -> ServiceSettings {
    var variables = variables
    variables["VIRGA_HOME"] = folder.path
    return try ServiceSettings(environment: variables, program: folder.path + "/diary")
  }

  private func entitle(_ folder: TemporaryFolder, file: String = "diary.entitlements") throws {
    let list: [String: Any] = [
      "com.apple.developer.icloud-container-identifiers": ["iCloud.entitled"],
      "com.apple.developer.icloud-container-environment": "Production",
    ]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
    _ = try folder.file(file, Array(data))
  }

  @Test func withoutAnythingTheDefaultsHold() throws {
    let settings = try settings([:], in: try TemporaryFolder())
    #expect(settings.endpoint == "http://127.0.0.1:8787")
    #expect(settings.environment == .development)
    #expect(settings.defaultContainer == "iCloud.diary")
  }

  @Test func entitlementsBesideTheProgramComeBeforeTheHomesSettings() throws {
    let folder = try TemporaryFolder()
    try VirgaHome(path: folder.path).write(.init(endpoint: "http://home:1/", containers: ["iCloud.configured"]))
    #expect(try settings([:], in: folder).defaultContainer == "iCloud.configured")
    #expect(try settings([:], in: folder).endpoint == "http://home:1")
    try entitle(folder)
    #expect(try settings([:], in: folder).defaultContainer == "iCloud.entitled")
    #expect(try settings([:], in: folder).environment == .production)
  }

  @Test func variablesComeFirst() throws {
    let folder = try TemporaryFolder()
    try entitle(folder, file: "other.entitlements")
    #expect(try settings([:], in: folder).defaultContainer == "iCloud.entitled")
    let variables = [
      "VIRGA_CONTAINER": "iCloud.stated", "VIRGA_ENVIRONMENT": "development", "VIRGA_ENDPOINT": "https://x.example",
    ]
    let settings = try settings(variables, in: folder)
    #expect(settings.defaultContainer == "iCloud.stated")
    #expect(settings.environment == .development)
    #expect(settings.endpoint == "https://x.example")
  }

  @Test func damagedSettingsAreAnError() throws {
    let folder = try TemporaryFolder()
    _ = try folder.file("config.json", Array("{".utf8))
    #expect(throws: SecureFileError.self) { try settings([:], in: folder) }
  }
}
