import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// Under which names a server answers, and for whom it takes whom.
@Suite struct ServedNamesTests {
  @Test(
    arguments: [
      ("localhost", true), ("LOCALHOST:8787", true), ("localhost.", true), ("127.0.0.1", true), ("127.9.8.7:1", true),
      ("[::1]", true), ("[::1]:8787", true), ("[0:0:0:0:0:0:0:1]:8787", true), ("sync.example", true),
      ("SYNC.example:443", true), ("sync.example.", true), (nil, true), ("evil.example", false),
      ("127.0.0.1.evil.example", false), ("localhost.evil.example", false), ("localhost.evil", false),
      ("127.0.0.256", false), ("127.1", false), ("0.0.0.0", false), ("192.0.2.2", false), ("[::]", false),
      ("[::2]:80", false), ("localhost:80@evil.example", false), ("localhost:x", false), ("[::1", false),
      (":80", false),
      ("", false), (".", false), ("sync.example.evil", false), ("xsync.example", false), ("127.0.0.1\u{600}", false),
    ] as [(String?, Bool)])
  func namesAreComparedWhole(host: String?, isServed: Bool) {
    #expect(ServedNames(baseURL: "https://Sync.Example/path").serves(host: host) == isServed)
  }

  @Test(
    arguments: [
      (nil, "127.0.0.1", false), (nil, "localhost", false), (nil, "::1", false),
      ("http://localhost:9000", "127.0.0.1", false), ("http://[::1]:9/x", "::1", false),
      ("https://sync.example", "127.0.0.1", true), (nil, "192.0.2.7", true), (nil, "2001:db8::1", true),
      ("http://127.0.0.1", "0.0.0.0", true), (nil, "0.0.0.0", true), (nil, "::", true), (nil, "fe80::1%eth0", true),
      ("http://localhost", "fe80::1%eth0", true), ("sync.example", "127.0.0.1", true), (nil, "a b", true),
      (nil, "::ffff:127.0.0.1", false), (nil, "127.0.0.2", false),
    ] as [(String?, String, Bool)])
  func whatIsReachedFromElsewhereIsPublic(baseURL: String?, host: String, isPublic: Bool) {
    #expect(ServedNames(baseURL: baseURL, host: host).isPublic == isPublic)
  }

  /// What a machine without a name of its own is called makes nobody local.
  @Test(arguments: ["0.0.0.0", "::"], ["localhost", "127.0.0.1", ""])
  func aServerOnAllAddressesIsPublicWhateverTheMachineIsCalled(host: String, machine: String) {
    let names = ServedNames(host: host, machineName: machine)
    #expect(names.isPublic && names.names.isEmpty)
    let named = ServedNames(host: host, machineName: "Shelf.example")
    #expect(named.isPublic && named.names == ["shelf.example"])
  }

  @Test func anAddressThatItListensOnIsAName() {
    #expect(ServedNames(host: "fe80::1%eth0").serves(host: "[FE80::1]:80"))
    #expect(ServedNames(host: "192.0.2.7").serves(host: "192.0.2.7:80"))
    #expect(ServedNames(host: "2001:db8::1").serves(host: "[2001:DB8:0::1]:80"))
    #expect(!ServedNames(host: "192.0.2.7").serves(host: "192.0.2.8"))
  }

  // MARK: Requests

  private func world(public isPublic: Bool) async throws -> GatewayWorld {
    try await GatewayWorld { $0.baseURL = isPublic ? "https://sync.example" : nil }
  }

  /// A page under a name of its own that leads here asks as if it were the server's own page.
  @Test(arguments: [
    ("POST", "/virga/1/challenge"), ("POST", "/virga/1/enrol"), ("GET", "/virga/1/account"), ("GET", "/metrics"),
    ("GET", "/healthz"), ("POST", "/database/1/iCloud.a/development/public/records/query"), ("GET", "/push/1/x"),
    ("GET", "/virga/1/sign-in"), ("GET", "/nothing"),
    ("OPTIONS", "/database/1/iCloud.a/development/public/records/query"),
    ("GET", "/assets/1/download/x"), ("GET", "/share/iCloud.a/development/x"),
  ])
  func aForeignNameIsRefusedEverywhere(method: String, path: String) async throws {
    for isPublic in [false, true] where !(isPublic && path == "/healthz") {
      let world = try await world(public: isPublic)
      for host in ["evil.example:8787", "127.0.0.1.evil.example", "a"] {
        let answer = try await world.send(
          method, path, headers: [("Host", host), ("Origin", "http://\(host)")], session: world.session)
        #expect(answer.status == 403)
        #expect(answer.error.code == .accessDenied && answer.error.reason.contains("--base-url"), "\(answer.text)")
        #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
      }
      #expect(try await world.store.read { try Accounts().all(in: $0) }.isEmpty)
    }
  }

  @Test func aMonitorAsksAPublicServerByItsAddress() async throws {
    #expect(try await world(public: true).send("GET", "/healthz", headers: [("Host", "192.0.2.2")]).status == 200)
    #expect(try await world(public: false).send("GET", "/healthz", headers: [("Host", "192.0.2.2")]).status == 403)
  }

  /// What says that it comes from elsewhere is nothing for a server that is for its own machine.
  @Test(
    arguments: [
      ("X-Forwarded-For", "192.0.2.1", false), ("x-forwarded-for", "127.0.0.1, 192.0.2.1", false),
      ("X-Forwarded-For", "192.0.2.1, 127.0.0.1", false), ("X-Forwarded-For", "unknown", false),
      ("X-Real-IP", "192.0.2.1", false), ("Forwarded", "for=192.0.2.1", false), ("Via", "1.1 proxy", false),
      ("X-Forwarded-For", "127.0.0.1", true), ("X-Forwarded-For", "::1", true), ("X-Real-IP", "127.0.0.1", true),
      ("X-Other", "192.0.2.1", true),
    ])
  func whatWasForwardedFromElsewhereIsRefused(name: String, value: String, isServed: Bool) async throws {
    let headers = [("Host", "127.0.0.1:8787"), (name, value)]
    let own = try await world(public: false).send("POST", "/virga/1/challenge", headers: headers)
    #expect(own.status == (isServed ? 200 : 403), "\(own.text)")
    #expect(isServed || own.error.reason.contains("--base-url"))
    #expect(try await world(public: true).send("POST", "/virga/1/challenge", headers: headers).status == 200)
  }

  // MARK: For whom a proxy asks

  @Test(
    arguments: [
      (nil, "127.0.0.1"), ("192.0.2.1", "192.0.2.1"), (" 192.0.2.1\t", "192.0.2.1"),
      ("1.1.1.1, 192.0.2.1", "192.0.2.1"),
      ("192.0.2.1:4711", "192.0.2.1"), ("[2001:db8:1:2:3::4]:4711", "20.1.d.b8.0.1.0.2/64"),
      ("2001:db8:1:2::9", "20.1.d.b8.0.1.0.2/64"), ("2001:DB8:1:2:0::9", "20.1.d.b8.0.1.0.2/64"),
      ("::ffff:192.0.2.1", "192.0.2.1"), ("10.9.8.7\u{600}, 192.0.2.1", "192.0.2.1"),
      ("10.9.8.7,\u{301}192.0.2.1", "127.0.0.1"), ("10.9.8.7\u{600}", "127.0.0.1"), ("192.0.2.1,", "127.0.0.1"),
      ("unknown", "127.0.0.1"), ("", "127.0.0.1"), ("192.0.2.1 x", "127.0.0.1"), ("192.0.2", "127.0.0.1"),
      ("192.0.2.1:", "127.0.0.1"), ("192.0.2.1:x", "127.0.0.1"), ("[192.0.2.1]", "127.0.0.1"),
      ("fe80::1%eth0", "127.0.0.1"), ("１９２.0.2.1", "127.0.0.1"), ("192.0.2.1\u{0}", "127.0.0.1"),
      ("0192.0.2.1", "127.0.0.1"), ("3221225985", "127.0.0.1"),
    ] as [(String?, String)])
  func theLastAddressOfAProxyCountsAndNothingElse(field: String?, counted: String) {
    let headers = HTTPHeaders(field.map { [("X-Forwarded-For", $0)] } ?? [])
    let head = HTTPRequestHead(method: "GET", target: "/", headers: headers)
    #expect(HTTPRequest(head: head, clientAddress: "127.0.0.1").callerAddress == counted)
    #expect(HTTPRequest(head: head, clientAddress: "198.51.100.1").callerAddress == "198.51.100.1")
  }

  /// However a client spells what it puts before the proxy's own word, it stays one caller.
  @Test func nobodyChoosesWhoseRequestsTheyCountAmong() async throws {
    let world = try await GatewayWorld {
      $0.baseURL = "https://sync.example"
      $0.addressRate = Rate(perSecond: 1, burst: 10)
    }
    var statuses: [Int] = []
    for number in 0..<12 {
      let head = HTTPRequestHead(
        method: "POST", target: "/virga/1/challenge",
        headers: HTTPHeaders([("X-Forwarded-For", "10.9.8.\(number)\u{600}, 198.51.100.9")]))
      statuses.append(await world.front.exchange(HTTPRequest(head: head)).status)
    }
    #expect(statuses == Array(repeating: 200, count: 10) + [429, 429])
  }
}
