import Foundation
import Testing

@testable import LanternlyCore

/// What stands between a device and its server.
@Suite(.serialized, .enabled(if: Proxy.isPossible, "python3 and openssl are needed for a proxy"))
struct ProxyTests {
  @Test func aCertificateOfOnesOwnIsTrustedOnceItsFileIsNamed() throws {
    let fleet = try Fleet()
    let certificate = try Proxy.certificate(in: fleet.folder)
    let proxy = try Proxy(to: fleet.url, folder: fleet.folder, certificate: certificate)
    try fleet.lanternly("phone", "new", "--text", "one")
    fleet.overrides = ["VIRGA_ENDPOINT": proxy.url]
    for (language, words) in [
      ("C", "the server's certificate is not trusted"), ("es", "no se confía en el certificado"),
    ] {
      fleet.overrides["LC_ALL"] = language
      let result = try fleet.lanternly("phone", "sync")
      #expect(result.code == ExitCode.notSynced.rawValue || result.code == ExitCode.noAccount.rawValue)
      #expect(result.output.contains(words), "\(result.output)")
      #expect(result.output.contains("VIRGA_CA_FILE"))
    }
    fleet.overrides["LC_ALL"] = "C"
    #expect(try fleet.lanternly("phone", "status").output.contains("certificate is not trusted"))
    fleet.overrides["VIRGA_CA_FILE"] = fleet.folder.path + "/nothing.pem"
    #expect(try fleet.lanternly("phone", "sync").output.contains("the file of certificates cannot be used"))
    fleet.overrides["VIRGA_CA_FILE"] = certificate
    let result = try fleet.lanternly("phone", "sync")
    #expect(result.code == 0, "\(result.output)")
    #expect(try fleet.lanternly("phone", "devices").code == 0)
    fleet.overrides["VIRGA_CA_FILE"] = ""
    // `watch` says and keeps the same.
    let log = fleet.folder.path + "/watch.out"
    let watch = try fleet.start("lanternly", ["--home", fleet.home("phone"), "watch"], "phone", output: log)
    let deadline = ContinuousClock.now + .seconds(30)
    // Another program writes the note.
    while try fleet.store("phone").notes().lastError == nil, ContinuousClock.now < deadline { usleep(50_000) }
    #expect(try fleet.store("phone").notes().lastError?.code == SyncNotes.Failure.untrusted)
    kill(watch.processIdentifier, SIGTERM)
    #expect(watch.waited == 0)
    #expect(try String(contentsOfFile: log, encoding: .utf8).contains("the server's certificate is not trusted"))
    // The settings name it too.
    try fleet.folder.write(#"{"certificateFile": "\#(certificate)"}"#, to: "phone/virga/config.json")
    try fleet.lanternly("phone", "new", "--text", "two")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try fleet.virga("phone", "account", "devices").code == 0)
    // What speaks no TLS says so.
    fleet.overrides["VIRGA_ENDPOINT"] = fleet.url.replacingOccurrences(of: "http:", with: "https:")
    try fleet.lanternly("phone", "new", "--text", "three")
    #expect(try fleet.lanternly("phone", "sync").output.contains("no secure connection is possible"))
  }

  @Test func aProxysLimitSaysWhoseItIs() throws {
    let fleet = try Fleet()
    let proxy = try Proxy(to: fleet.url, folder: fleet.folder, bytesMax: 40_000)
    fleet.overrides = ["VIRGA_ENDPOINT": proxy.url]
    try fleet.lanternly("phone", "new", "--text", "small")
    try fleet.lanternly("phone", "new", "--text", String(repeating: "long words ", count: 6_000))
    let picture = try fleet.folder.write(String(repeating: "bytes", count: 20_000), to: "p.png")
    try fleet.lanternly("phone", "new", "--text", "with a picture", "--attach", picture)
    let result = try fleet.lanternly("phone", "sync")
    #expect(result.code == ExitCode.notSynced.rawValue)
    #expect(
      result.output.contains("the proxy in front of the server refuses requests of this size"), "\(result.output)")
    #expect(!result.output.contains("is too long to be sent"))
    let waiting = try fleet.store("phone").outbox().count
    #expect(waiting == 2, "\(result.output)")
    proxy.raiseLimit()
    let again = try fleet.lanternly("phone", "sync")
    #expect(again.code == 0, "\(again.output)")
  }
}

/// A small reverse proxy.
final class Proxy {
  let url: String
  private let process: Process
  private let limitFile: String

  static let isPossible: Bool = ["python3", "openssl"].allSatisfy { name in
    ["/usr/bin", "/usr/local/bin", "/bin"].contains { access("\($0)/\(name)", X_OK) == 0 }
  }

  private static let script = """
    import http.client, http.server, ssl, sys, urllib.parse
    upstream, certificate, limit_file = sys.argv[1:4]
    target = urllib.parse.urlsplit(upstream)
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'
        def log_message(self, *arguments): pass
        def relay(self):
            body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
            if len(body) > int(open(limit_file).read()):
                status, headers, answer = 413, [('Content-Type', 'text/html')], b'<html>413 Request Entity Too Large</html>'
            else:
                connection = http.client.HTTPConnection(target.hostname, target.port)
                headers = {k: v for k, v in self.headers.items() if k.lower() != 'connection'}
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
                status, answer = response.status, response.read()
                headers = [h for h in response.getheaders() if h[0].lower() not in ('content-length', 'connection')]
            self.send_response(status)
            for name, value in headers: self.send_header(name, value)
            self.send_header('Content-Length', str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
        do_GET = do_POST = do_PUT = relay
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_port, flush=True)
    server.serve_forever()
    """

  init(to upstream: String, folder: TemporaryFolder, certificate: String = "", bytesMax: Int = 1 << 30) throws {
    limitFile = try folder.write("\(bytesMax)", to: "limit-\(UUID().uuidString)")
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", Self.script, upstream, certificate, limitFile]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    url = "\(certificate.isEmpty ? "http" : "https")://127.0.0.1:\(port.filter(\.isNumber))"
  }

  deinit { process.terminate() }

  func raiseLimit() { try? "\(1 << 30)".write(toFile: limitFile, atomically: true, encoding: .utf8) }

  /// A certificate that nobody but itself vouches for, with its key.
  static func certificate(in folder: TemporaryFolder) throws -> String {
    let path = folder.path + "/own.pem"
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
      "subjectAltName=IP:127.0.0.1", "-keyout", path + ".key", "-out", path + ".crt",
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    guard process.waited == 0 else { throw Fleet.Failure(text: "openssl makes no certificate") }
    let parts = try [".key", ".crt"].map { try String(contentsOfFile: path + $0, encoding: .utf8) }
    try parts.joined().write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }
}
