import Foundation
import TestSupport
import VirgaAccounts
import VirgaAuth
import VirgaModel

/// A real `virga serve` of the same build, with an account of its own.
final class ServerUnderTest {
  static let container = "iCloud.virga.bench"
  let process = Process()
  let folder: URL
  let port: UInt16
  /// `?ckAPIToken=…&ckWebAuthToken=…`
  private(set) var credentials = ""
  /// The header of the device's session: one request of a native client holds more than one of a web client.
  private(set) var session = ""

  init() async throws {
    let base = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    folder = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
      .appendingPathComponent(".build/bench-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    process.executableURL = base.appendingPathComponent("virga")
    process.arguments = ["serve", "--port", "0", "--data", folder.appendingPathComponent("data").path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var text = ""
    var found: UInt16?
    while found == nil {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { throw BenchError("virga serve ended early: \(text)") }
      text += String(decoding: data, as: UTF8.self)
      if let range = text.range(of: #"http://127\.0\.0\.1:[0-9]+"#, options: .regularExpression) {
        found = text[range].split(separator: ":").last.flatMap { UInt16($0) }
      }
    }
    port = found ?? 0
    output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    credentials = try signIn(device: "home")
    let account = AccountClient(
      home: VirgaHome(path: folder.appendingPathComponent("home").path), endpoint: "http://127.0.0.1:\(port)",
      transport: RawAccountTransport(port: port), deviceName: "home",
      now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) })
    session = "X-Virga-Session: \(try await account.session().token)\r\n"
  }

  /// Enrols a device with an account of its own, and gives the query that signs its user in.
  func signIn(device: String) throws -> String {
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("virga")
    let account = Process()
    account.executableURL = program
    account.arguments = [
      "account", "token", "--container", Self.container, "--endpoint", "http://127.0.0.1:\(port)", "--home",
      folder.appendingPathComponent(device).path, "--json",
    ]
    let output = Pipe()
    account.standardOutput = output
    try account.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    account.waitUntilExit()
    let answer = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    guard let api = answer?["apiToken"] as? String, let web = answer?["webAuthToken"] as? String else {
      throw BenchError("no tokens: \(String(decoding: data, as: UTF8.self))")
    }
    let allowed = CharacterSet.alphanumerics
    let encoded = web.addingPercentEncoding(withAllowedCharacters: allowed) ?? web
    return "?ckAPIToken=\(api)&ckWebAuthToken=\(encoded)"
  }

  func target(_ operation: String, scope: String = "private") -> String {
    "/database/1/\(Self.container)/development/\(scope)/\(operation)\(credentials)"
  }

  /// Resident memory in bytes.
  var residentBytes: Int {
    let status = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return (Int(line.filter(\.isNumber)) ?? 0) * 1_024
  }

  /// User and system time so far, in seconds.
  var processorSeconds: Double {
    let stat = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)) ?? ""
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) / 100
  }

  var diskBytes: Int {
    let walker = FileManager.default.enumerator(
      at: folder.appendingPathComponent("data"), includingPropertiesForKeys: [.fileSizeKey])
    var sum = 0
    while let url = walker?.nextObject() as? URL {
      sum += (try? url.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0
    }
    return sum
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }
}

/// Carries the account's few requests, each over a connection of its own.
private struct RawAccountTransport: AccountTransport {
  let port: UInt16

  func send(
    method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws -> (status: Int, body: [UInt8]) {
    let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
    let answer = try RawConnection(port: port).request(requestBytes(method, path, body: body, headers: fields))
    return (answer.status, answer.body)
  }
}

struct BenchError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
