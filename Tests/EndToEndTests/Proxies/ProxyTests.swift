import Foundation
import Glibc
import TestSupport
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel

@testable import VirgaCloudKit

/// Carries the requests of an account.
private struct CurlRequests: AccountTransport {
  let url: String
  private let transport = CurlTransport()

  init(url: String) { self.url = url }

  func send(
    method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws -> (status: Int, body: [UInt8]) {
    var request = TransportRequest(method: method, url: url + path)
    request.headers = headers
    request.body = .bytes(body)
    let answer = try await transport.send(request)
    return (answer.status, answer.body)
  }
}

/// A server behind real proxies: as the documents say, and as people set them up who read none.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ProxyTests {
  /// The base URL, and the environment in which the server reaches it: its own requests go to the proxy's port.
  private func server(_ proxyPort: UInt16, options: [String] = []) async throws -> ServerProcess {
    try await ServerProcess(
      options: ["--base-url", "http://sync.example:\(proxyPort)"] + options,
      environment: ["http_proxy": "http://127.0.0.1:\(proxyPort)"])
  }

  /// A request through a proxy, as a client under the public name sends it.
  private func ask(
    _ port: UInt16, _ method: String, _ target: String, _ body: String = "", headers: String = "",
    host: String? = nil
  ) throws -> RawConnection.Response {
    let length = method == "GET" ? "" : "Content-Length: \(body.utf8.count)\r\n"
    let head = "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "sync.example:\(port)")\r\n\(headers)\(length)\r\n"
    return try RawConnection(port: port).request(Array((head + body).utf8))
  }

  @Test(arguments: ProxyProcess.Kind.allCases)
  func theDocumentedProxySaysForWhomItAsks(kind: ProxyProcess.Kind) async throws {
    guard kind.isInstalled else { return }
    let port = try ProxyProcess.freePort()
    let server = try await server(port, options: ["--address-rate", "1:10"])
    let proxy = try await ProxyProcess(
      kind, .documented(isEncrypted: false), port: port, to: server.port, in: server.folder)
    #expect(server.greeting.contains("Clients use:  http://sync.example:\(port)"))
    #expect(server.greeting.contains("New accounts: only with a code"))
    #expect(try await ProgramRun.run(["users", "list", "--data", server.data]).code == 0)
    // Whatever a client claims to be, its requests are counted together.
    var statuses: [Int] = []
    for number in 0..<14 {
      let claim = "X-Forwarded-For: 10.9.8.\(number)\u{600}\r\n"
      statuses.append(try ask(proxy.port, "POST", "/virga/1/challenge", "{}", headers: claim).status)
    }
    #expect(statuses.prefix(6).allSatisfy { $0 == 200 } && statuses.suffix(3).contains(429), "\(statuses)")
    #expect(try ask(proxy.port, "GET", "/healthz").status == 200)
    for (method, target) in [
      ("GET", "/metrics"), ("GET", "/virga/1/operator/users"), ("GET", "/virga/1/faults"),
      ("POST", "/virga/1/schema/reset?container=iCloud.a"),
    ] { #expect(try [403, 429].contains(ask(proxy.port, method, target).status)) }
    // Under another name the proxy may serve something else, and the server serves nothing.
    if kind == .nginx {
      #expect(try ask(proxy.port, "POST", "/virga/1/challenge", "{}", host: "evil.example").status == 403)
    }
    let end = await server.terminate()
    #expect(!end.errors.contains("the proxy at"), "\(end.errors)")
  }

  /// With its certificate, as clients see it: TLS, a whole sync of a device, and an asset that is larger than the proxy's memory.
  @Test(arguments: ProxyProcess.Kind.allCases)
  func theDocumentedProxyCarriesTLS(kind: ProxyProcess.Kind) async throws {
    guard kind.isInstalled, try await Command.isInstalled("openssl", "curl") else { return }
    let port = try ProxyProcess.freePort()
    let server = try await ServerProcess(options: ["--base-url", "https://sync.example:\(port)"])
    let folder = server.folder.path
    let made = try await Command.run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem", "-subj", "/CN=sync.example", "-addext",
      "subjectAltName=DNS:sync.example")
    try #require(made.code == 0, "\(made.output)")
    let proxy = try await ProxyProcess(
      kind, .documented(isEncrypted: true), port: port, to: server.port, in: server.folder)
    func curl(_ words: String...) async throws -> (code: Int32, output: String) {
      try await Command.run(
        ["curl", "-s", "--cacert", folder + "/cert.pem", "--resolve", "sync.example:\(proxy.port):127.0.0.1"] + words)
    }
    let url = "https://sync.example:\(proxy.port)"
    #expect(try await curl(url + "/healthz").output == #"{"status":"ok"}"#)
    #expect(try await curl("-X", "POST", "-d", "{}", url + "/virga/1/challenge").output.contains("challenge"))
    // 8 MB get through to the server, which asks who it is.
    let large = folder + "/large"
    try Data(repeating: 0x20, count: 8 << 20).write(to: URL(fileURLWithPath: large))
    let call = url + "/database/1/iCloud.a/development/private/zones/list"
    let refused = try await curl("-X", "POST", "--data-binary", "@" + large, call)
    #expect(refused.output.contains("AUTHENTICATION_FAILED"), "\(refused)")
  }

  /// A proxy with nothing but `proxy_pass` sends a loopback address and a loopback name for everybody. The server was not told
  /// of it: what strangers get is what the server says when it starts, and nothing of the operator's.
  @Test func strangersBehindABareProxyAreNoOperators() async throws {
    guard ProxyProcess.Kind.nginx.isInstalled else { return }
    let server = try await ServerProcess()
    let proxy = try await ProxyProcess(
      .nginx, .bare, port: try ProxyProcess.freePort(), to: server.port, in: server.folder)
    let url = "http://127.0.0.1:\(proxy.port)"
    let home = server.folder.path + "/stranger"
    #expect(try await ProgramRun.run(["account", "show", "--endpoint", url, "--home", home]).code == 0)
    #expect(server.greeting.contains("strangers could make accounts and use up"), "\(server.greeting)")
    let session = try await AccountClient(
      home: VirgaHome(path: home), endpoint: url, transport: CurlRequests(url: url), deviceName: "stranger",
      now: { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }
    ).session().token
    for (method, target, body) in [
      ("GET", "/virga/1/operator/users", ""), ("POST", "/virga/1/schema/reset?container=iCloud.a", "{}"),
      ("POST", "/virga/1/operator/tokens/create", #"{"container":"iCloud.a","name":"x"}"#), ("GET", "/metrics", ""),
      ("PUT", "/virga/1/faults", #"{"faults":[]}"#), ("GET", "/virga/1/schema/export?container=iCloud.a", ""),
    ] {
      for headers in ["", "X-Virga-Session: \(session)\r\n"] {
        #expect(try ask(proxy.port, method, target, body, headers: headers).status == 403, "\(method) \(target)")
      }
    }
    // What says that it was forwarded is refused: the server is for its own machine.
    let forwarded = try ask(
      proxy.port, "POST", "/virga/1/challenge", "{}", headers: "X-Forwarded-For: 192.0.2.1\r\n")
    #expect(forwarded.status == 403 && forwarded.text.contains("--base-url"))
    #expect(
      try await ProgramRun.run(["schema", "export", "--container", "iCloud.a", "--endpoint", server.endpoint]).code == 0
    )
  }

  /// Told of its public name, the server lets no stranger in even behind a bare proxy, and finds out that it is one.
  @Test func theStartCheckFindsWhatAProxyLacks() async throws {
    guard ProxyProcess.Kind.nginx.isInstalled else { return }
    for (text, warning) in [
      (ProxyProcess.Text.bare, "passes on the X-Forwarded-For that clients send"),
      (.handingOn, "passes on the X-Forwarded-For that clients send"), (.documented(isEncrypted: false), nil),
    ] as [(ProxyProcess.Text, String?)] {
      let port = try ProxyProcess.freePort()
      let server = try await server(port)
      let proxy = try await ProxyProcess(.nginx, text, port: port, to: server.port, in: server.folder)
      let home = server.folder.path + "/stranger"
      let url = "http://127.0.0.1:\(proxy.port)"
      let refused = try await ProgramRun.run(["account", "show", "--endpoint", url, "--home", home])
      #expect(refused.code != 0 && refused.errors.contains("code"), "\(refused)")
      // The first try may have come before the proxy was there.
      let expected = warning ?? "leads to this server now"
      _ = Awaiting.until(within: 20) { server.run.errorsSoFar.contains(expected) }
      let errors = await server.terminate().errors
      #expect(errors.contains(expected) || warning == nil && !errors.contains("sync.example"), "\(errors)")
      #expect(warning != nil || !errors.contains("the proxy at"), "\(errors)")
    }
  }

  @Test func theStartCheckTellsOfAnAddressThatLeadsElsewhere() async throws {
    let other = try await ServerProcess()
    let server = try await ServerProcess(
      options: ["--base-url", "http://sync.example"], environment: ["http_proxy": other.endpoint])
    _ = Awaiting.until { server.run.errorsSoFar.contains("leads elsewhere") }
    let errors = await server.terminate().errors
    #expect(
      errors.contains("http://sync.example, the address of this server for clients, leads elsewhere"), "\(errors)")
  }
}
