import Foundation
import Synchronization

@testable import LanternlyCore

/// Devices and a server, each command a process of its own, as users run them.
final class Fleet: Sendable {
  struct Result: Sendable {
    var code: Int32
    var output: String
    /// The most memory that the process held at once.
    var peakBytes: Int
  }

  struct Failure: Error { var text: String }

  let folder = TemporaryFolder()
  private let server = Mutex<(process: Process?, url: String)>((nil, ""))
  private let environmentInUse = Mutex("development")
  private let variables = Mutex<[String: String]>([:])

  init() throws { try startServer() }

  deinit { stopServer(SIGKILL) }

  var url: String { server.withLock { $0.url } }

  /// On the port that it had before, if it ran before.
  func startServer(_ options: String...) throws {
    let port = url.split(separator: ":").last.map(String.init) ?? "0"
    let log = folder.path + "/server.out"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    let process = try BuiltProgram.start(
      "virga", ["serve", "--port", port, "--data", folder.path + "/server"] + options, output: log)
    let url = try Awaiting.first {
      let text = Awaiting.read(log)
      let line = text.split(separator: "\n").first { $0.contains(" serves ") }
      guard line != nil || process.isRunning else { throw Failure(text: "the server ended: \(text)") }
      return line?.split(separator: " ").last
    }
    guard let url else {
      process.terminate()
      throw Failure(text: "the server does not start")
    }
    server.withLock { $0 = (process, String(url)) }
  }

  func stopServer(_ signal: Int32) {
    let process = server.withLock { server in
      let process = server.process
      server.process = nil
      return process
    }
    guard let process else { return }
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
  }

  var serverData: String { folder.path + "/server" }

  /// Copies the server's data as they are now.
  func backUp() throws -> String {
    let backup = folder.path + "/backup"
    let result = try virga("operator", "backup", backup, "--data", serverData)
    guard result.code == 0 else { throw Failure(text: result.output) }
    return backup
  }

  /// The server loses what came after a backup.
  func restore(_ backup: String) throws {
    stopServer(SIGTERM)
    try FileManager.default.removeItem(atPath: serverData)
    let result = try virga("operator", "restore", backup, "--data", serverData)
    guard result.code == 0 else { throw Failure(text: result.output) }
    try startServer()
  }

  /// The server loses the zone, with all that is in it.
  func deleteZone(of device: String) throws {
    let user = try store(device).notes().user ?? ""
    let result = try virga(
      "operator", "zones", "delete", DiaryRecord.zoneName, "--yes", "--data", serverData, "--container",
      DiarySync.containerIdentifier, "--user", user)
    guard result.code == 0 else { throw Failure(text: result.output) }
  }

  func home(_ device: String) -> String { folder.path + "/" + device }

  func environment(_ device: String) -> [String: String] {
    let usual = [
      "VIRGA_ENDPOINT": url, "VIRGA_HOME": home(device) + "/virga", "LC_ALL": "C", "VIRGA_ENVIRONMENT": environmentName,
    ]
    return usual.merging(overrides) { _, override in override }
  }

  /// Variables of all programs in place of the usual ones.
  var overrides: [String: String] {
    get { variables.withLock { $0 } }
    set { variables.withLock { $0 = newValue } }
  }

  /// The server's environment that all devices use.
  var environmentName: String {
    get { environmentInUse.withLock { $0 } }
    set { environmentInUse.withLock { $0 = newValue } }
  }

  @discardableResult
  func lanternly(_ device: String, _ words: String...) throws -> Result {
    try run("lanternly", ["--home", home(device)] + words, device)
  }

  @discardableResult
  func virga(_ device: String, _ words: String...) throws -> Result { try run("virga", words, device) }
  @discardableResult
  func virga(_ device: String, _ words: [String]) throws -> Result { try run("virga", words, device) }

  func start(_ program: String, _ words: [String], _ device: String, output: String) throws -> Process {
    try BuiltProgram.start(program, words, environment: environment(device), output: output)
  }

  func run(_ program: String, _ words: [String], _ device: String) throws -> Result {
    try FileManager.default.createDirectory(atPath: home(device), withIntermediateDirectories: true)
    let log = folder.path + "/\(UUID().uuidString).out"
    let process = try start(program, words, device, output: log)
    var peak = 0
    while process.isRunning {
      peak = max(peak, Self.peakBytes(of: process.processIdentifier))
      // Its memory is only known while it runs, so it is looked at often.
      usleep(2_000)
    }
    process.waitUntilExit()
    let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
    return Result(code: process.terminationStatus, output: text, peakBytes: peak)
  }

  static func peakBytes(of process: Int32) -> Int {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
    else { return 0 }
    return (Int(line.filter(\.isNumber)) ?? 0) * 1024
  }

  /// Lets a device into the account of another one.
  func join(_ device: String, to host: String, _ options: String...) throws {
    let log = folder.path + "/\(UUID().uuidString).out"
    let invitation = try start("virga", ["account", "invite", "--yes"], host, output: log)
    defer { if invitation.isRunning { invitation.terminate() } }
    guard let code = Awaiting.line("Code: ", in: log) else { throw Failure(text: "no code is shown") }
    let result = try run("virga", ["account", "join", code, "--name", device] + options, device)
    guard result.code == 0 else { throw Failure(text: result.output) }
    invitation.waitUntilExit()
  }

  func store(_ device: String) throws -> DiaryStore { try DiaryStore(home: DiaryHome(path: home(device))) }

  /// What a device shows: entries, and the attachments of each whose file is here and what it should be.
  func shown(_ device: String) throws -> [String: [String]] {
    let store = try store(device)
    var shown: [String: [String]] = [:]
    for stored in try store.entries() {
      let files = try store.attachments(of: stored.id).map { attachment in
        let path = store.home.files.path(sha256: attachment.attachment.sha256)
        let bytes = FileManager.default.contents(atPath: path).map { Digest.sha256(of: Array($0)) }
        return "\(attachment.attachment.fileName) \(bytes == attachment.attachment.sha256)"
      }
      shown[stored.id.name] = [stored.entry.text] + stored.entry.tagNames + files
    }
    return shown
  }
}

extension Digest {
  static func sha256(of bytes: [UInt8]) -> String {
    var digest = Digest(.sha256)
    bytes.withUnsafeBytes { digest.update($0) }
    return digest.hex()
  }
}
