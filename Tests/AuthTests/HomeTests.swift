import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel

@Suite struct HomeTests {
  let home: VirgaHome
  init() throws { home = try temporaryHome() }

  private func mode(_ path: String) throws -> Int {
    let value = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
    return try #require(value).intValue
  }

  private func setMode(_ mode: Int, _ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: mode)], ofItemAtPath: path)
  }

  @Test(arguments: [
    (["VIRGA_HOME": "/x", "HOME": "/home/a"], "/x"), (["HOME": "/home/a"], "/home/a/.virga"),
    (["VIRGA_HOME": "", "HOME": "/home/a"], "/home/a/.virga"),
  ])
  func homeComesFromTheEnvironment(environment: [String: String], path: String) {
    #expect(VirgaHome(environment: environment).path == path)
  }

  @Test(arguments: [[:], ["HOME": ""]]) func withoutAVariableThePasswordDatabaseKnows(environment: [String: String])
    throws
  {
    let folder = try #require(getpwuid(getuid())?.pointee.pw_dir)
    #expect(VirgaHome(environment: environment).path == String(cString: folder) + "/.virga")
  }

  @Test func certificatesComeFromTheEnvironmentOrTheSettings() throws {
    let home = VirgaHome(path: FileManager.default.temporaryDirectory.path + "/virga-home-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(atPath: home.path) }
    #expect(try home.certificateFile(environment: [:]) == nil)
    var config = VirgaHome.Config()
    config.certificateFile = "/etc/own.pem"
    try home.write(config)
    #expect(try home.certificateFile(environment: [:]) == "/etc/own.pem")
    #expect(try home.certificateFile(environment: ["VIRGA_CA_FILE": "/x.pem"]) == "/x.pem")
  }

  @Test func endpointComesFromEnvironmentThenSettingsThenDefault() throws {
    #expect(try home.endpoint(environment: [:]) == "http://127.0.0.1:8787")
    try home.write(VirgaHome.Config(endpoint: "https://a.example/", containers: ["iCloud.a"]))
    #expect(try home.endpoint(environment: [:]) == "https://a.example")
    #expect(try home.endpoint(environment: ["VIRGA_ENDPOINT": "http://b:1//"]) == "http://b:1")
    #expect(try home.config().containers == ["iCloud.a"])
  }

  @Test func filesAreForTheirOwnerOnly() throws {
    _ = try home.deviceKey()
    try home.write(VirgaHome.Config())
    try home.remember(
      VirgaHome.KnownAccount(server: "s", endpoint: "e", account: "a", device: "d", key: "device.key"))
    #expect(try mode(home.path) == 0o700)
    for file in ["device.key", "account.json", "config.json"] { #expect(try mode("\(home.path)/\(file)") == 0o600) }
    let left = try FileManager.default.contentsOfDirectory(atPath: home.path).sorted()
    #expect(left == ["account.json", "config.json", "device.key", "lock"], "no drafts stay behind")
  }

  @Test func keyStaysTheSame() throws {
    #expect(try home.deviceKey().publicKey.der == home.deviceKey().publicKey.der)
  }

  @Test func concurrentFirstUsesGetOneKey() async throws {
    let home = home
    let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
      for _ in 0..<16 { group.addTask { try home.deviceKey().publicKey.der } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(keys.count == 1)
  }

  @Test func openKeyIsRefusedWithTheCure() throws {
    _ = try home.deviceKey()
    let path = home.path + "/device.key"
    try setMode(0o644, path)
    let error = #expect(throws: SecureFileError.tooOpen(path: path, mode: 0o644)) { try home.deviceKey() }
    #expect(error?.description == "\(path) is open to other users (mode 644); close it with: chmod go-rwx '\(path)'")
  }

  @Test func folderThatOthersMayWriteIsRefused() throws {
    try FileManager.default.createDirectory(atPath: home.path, withIntermediateDirectories: false)
    try setMode(0o775, home.path)
    #expect(throws: SecureFileError.tooOpen(path: home.path, mode: 0o775)) { try home.deviceKey() }
  }

  @Test func settingsWrittenByPeopleMayBeReadable() throws {
    try home.write(VirgaHome.Config(endpoint: "http://a"))
    try setMode(0o644, home.path + "/config.json")
    #expect(try home.config().endpoint == "http://a")
  }

  @Test(arguments: ["", "garbage", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
  func damagedKeyIsReportedAndKept(content: String) throws {
    _ = try home.deviceKey()
    let file = SecureFile(path: home.path + "/device.key")
    try file.write(Array(content.utf8))
    #expect(throws: SecureFileError.damaged(path: file.path, reason: "is not a private key on P-256")) {
      try home.deviceKey()
    }
    #expect(try file.read() == Array(content.utf8))
  }

  @Test(arguments: ["account.json", "config.json"])
  func damagedJSONIsReported(name: String) throws {
    _ = try home.deviceKey()
    let file = SecureFile(path: "\(home.path)/\(name)")
    try file.write(Array("{\"accounts\":".utf8))
    #expect(throws: SecureFileError.damaged(path: file.path, reason: "does not hold the expected JSON")) {
      _ = try home.config()
      _ = try home.account(onServer: "s")
    }
  }

  @Test func folderInTheWayIsUnreadable() throws {
    try FileManager.default.createDirectory(atPath: home.path + "/device.key", withIntermediateDirectories: true)
    #expect(throws: SecureFileError.unreadable(path: home.path + "/device.key", reason: "not a file")) {
      try home.deviceKey()
    }
  }

  @Test func fileInPlaceOfTheFolderIsReported() throws {
    try Data().write(to: URL(fileURLWithPath: home.path))
    #expect(throws: SecureFileError.self) { try home.deviceKey() }
  }

  @Test func foldersAboveTheHomeAreMadeForItsOwnerAlone() throws {
    _ = try VirgaHome(path: home.path + "/a/b/").deviceKey()
    for folder in ["", "/a", "/a/b"] {
      let mode = try FileManager.default.attributesOfItem(atPath: home.path + folder)[.posixPermissions] as? Int
      #expect(mode == 0o700)
    }
  }

  @Test func hugeFileIsNotRead() throws {
    _ = try home.deviceKey()
    let file = SecureFile(path: home.path + "/device.key")
    try file.write([UInt8](repeating: 0, count: 1 << 20 | 1))
    #expect(throws: SecureFileError.damaged(path: file.path, reason: "is far too large")) { try file.read() }
  }

  @Test func eachServerHasItsAccountAndLeftOnesAreKept() throws {
    func account(_ server: String, _ name: AccountID, key: String = "device.key") -> VirgaHome.KnownAccount {
      VirgaHome.KnownAccount(server: server, endpoint: "http://\(server)", account: name, device: "d", key: key)
    }
    try home.remember(account("one", "a"))
    try home.remember(account("two", "b"))
    try home.remember(account("one", "c", key: "device-2.key"))
    #expect(try home.account(onServer: "one")?.account == "c")
    #expect(try home.account(atEndpoint: "http://two")?.account == "b")
    #expect(try home.account(onServer: "three") == nil)
    let text = try String(contentsOfFile: home.path + "/account.json", encoding: .utf8)
    #expect(text.contains("\"previous\""))
    #expect(text.contains("\"account\" : \"a\""))
  }

  @Test(.enabled(if: geteuid() == 0, "mounting a small disk needs root"))
  func fullDiskIsToldAndLeavesTheFileAsItWas() throws {
    _ = try home.deviceKey()
    let disk = home.path + "/disk"
    #expect(mkdir(disk, 0o700) == 0)
    guard mount("tmpfs", disk, "tmpfs", 0, "size=64k") == 0 else { return }
    defer { umount2(disk, Int32(MNT_DETACH)) }
    let file = SecureFile(path: disk + "/settings")
    try file.write([1, 2, 3])
    #expect(throws: SecureFileError.full(path: file.path)) { try file.write([UInt8](repeating: 1, count: 200_000)) }
    #expect(try file.read() == [1, 2, 3])
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk) == ["settings"])
  }
}

/// The home of a device that is not there yet.
func temporaryHome() throws -> VirgaHome {
  VirgaHome(path: FileManager.default.temporaryDirectory.path + "/virga-home-\(UUID().uuidString)")
}
