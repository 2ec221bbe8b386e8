import Foundation
import Glibc
import TestSupport

/// A real proxy before a server, on a port of the loopback interface.
final class ProxyProcess {
  enum Kind: String, Sendable, CaseIterable {
    case nginx, caddy

    var path: String? {
      ["/usr/sbin/", "/usr/bin/", "/usr/local/bin/"].map { $0 + rawValue }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether it is on this machine; says so if not.
    var isInstalled: Bool {
      if path != nil { return true }
      print("skipped: \(rawValue) is not installed (apt-get install \(rawValue))")
      return false
    }
  }

  /// What the operator's handbook says, with the names of this test in the place of those of an operator.
  enum Text: Sendable {
    /// The block of docs/operating.md; over plain HTTP without the certificate.
    case documented(isEncrypted: Bool)
    /// Nothing but where the server is.
    case bare
    /// As many handbooks say: what the client sent, and the address behind it.
    case handingOn
  }

  let folder: TemporaryFolder
  let port: UInt16
  private let process = Process()

  /// - Parameter certificate: In the folder: `cert.pem` and `key.pem`.
  init(_ kind: Kind, _ text: Text, port: UInt16, to server: UInt16, in folder: TemporaryFolder) async throws {
    self.folder = folder
    self.port = port
    guard let path = kind.path else { throw ProgramRun.Unexpected(description: "\(kind) is not installed") }
    let file = folder.path + "/\(kind)-\(port).conf"
    try Self.configuration(kind, text, port, server, folder.path).write(toFile: file, atomically: true, encoding: .utf8)
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments =
      kind == .nginx
      ? ["-p", folder.path, "-c", file, "-e", folder.path + "/error.log"]
      : ["run", "--adapter", "caddyfile", "--config", file]
    process.environment = ["HOME": folder.path, "XDG_DATA_HOME": folder.path, "XDG_CONFIG_HOME": folder.path]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let process = process
    _ = Awaiting.until { !process.isRunning || (try? RawConnection(port: port)) != nil }
    guard (try? RawConnection(port: port)) != nil else {
      let log = (try? String(contentsOfFile: folder.path + "/error.log", encoding: .utf8)) ?? ""
      throw ProgramRun.Unexpected(description: "\(kind) does not start: \(log)")
    }
  }

  deinit {
    if process.isRunning {
      process.terminate()
      process.waitUntilExit()
    }
  }

  private static func configuration(
    _ kind: Kind, _ text: Text, _ port: UInt16, _ server: UInt16, _ folder: String
  ) throws -> String {
    let site: String
    switch text {
    case .documented(let isEncrypted):
      let block = try Repository.block("\(kind)", in: "docs/operating.md") ?? ""
      site = isEncrypted ? block : withoutCertificate(block, kind)
    case .bare: site = bare(kind, adding: "")
    case .handingOn: site = bare(kind, adding: "proxy_set_header X-Forwarded-For $http_x_forwarded_for;")
    }
    let placed = site.replacing("127.0.0.1:8787", with: "127.0.0.1:\(server)")
      .replacing("listen 443 ssl;", with: "listen 127.0.0.1:\(port) ssl;")
      .replacing("listen 80;", with: "listen 127.0.0.1:\(port);")
      .replacing("/etc/ssl/certs/sync.example.pem", with: folder + "/cert.pem")
      .replacing("/etc/ssl/private/sync.example.key", with: folder + "/key.pem")
    guard kind == .nginx else {
      let scheme = if case .documented(isEncrypted: true) = text { "https" } else { "http" }
      let tls = scheme == "https" ? "\ttls \(folder)/cert.pem \(folder)/key.pem\n" : ""
      let address = placed.replacing("sync.example {\n", with: "\(scheme)://sync.example:\(port) {\n\(tls)")
      return "{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n\(address)"
    }
    return """
      daemon off; worker_processes 1; pid \(folder)/nginx-\(port).pid;
      events {}
      http {
        access_log off;
        client_body_temp_path \(folder)/body; proxy_temp_path \(folder)/proxy; fastcgi_temp_path \(folder)/f;
        uwsgi_temp_path \(folder)/u; scgi_temp_path \(folder)/s;
        \(placed)
      }
      """
  }

  private static func withoutCertificate(_ block: String, _ kind: Kind) -> String {
    guard kind == .nginx else { return block }
    return block.split(separator: "\n").filter { !$0.contains("ssl_certificate") }.joined(separator: "\n")
      .replacing("listen 443 ssl;", with: "listen 80;")
  }

  private static func bare(_ kind: Kind, adding line: String) -> String {
    switch kind {
    case .nginx: "server { listen 80; location / { proxy_pass http://127.0.0.1:8787; \(line) } }"
    case .caddy: "sync.example {\n\treverse_proxy 127.0.0.1:8787\n}\n"
    }
  }

  /// A port that is free now.
  static func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw ProgramRun.Unexpected(description: "no free port") }
    return UInt16(bigEndian: address.sin_port)
  }
}
