import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// The protocol's list of calls, line by line: each is there in each database, by the methods that clients use, for each
/// credential or with the error that the credential gets. What people may do to each other's data is the other access
/// table's, which has a column for each kind of participant.
@Suite(.timeLimit(.minutes(3))) struct CallTableTests {
  /// The credentials, in the order of the columns.
  enum Credential: CaseIterable { case none, apiToken, webToken, session, serverKey }

  struct Line: CustomTestStringConvertible {
    let operation: VirgaWire.Operation
    let methods: Set<String>
    /// One row of columns for each database: public, private, shared.
    let answers: [String]
    var testDescription: String { operation.rawValue }
  }

  private static let nobody = "401 421 200 200 403"
  private static let everybodyInPublic = "401 200 200 200 200"
  private static let signedInInPublic = "401 421 200 200 200"
  private static let noFeed = "401 400 400 400 400"

  /// HTTP status by credential: none, API token, web token, device's session, server-to-server key. A single item's error
  /// is a 200.
  static let lines: [Line] = [
    line(.recordsQuery, ["401 404 404 404 404", "401 421 404 404 403", "401 421 404 404 403"]),
    line(.recordsModify, [everybodyInPublic, nobody, "401 421 404 404 403"]),
    line(.recordsLookup, [everybodyInPublic, nobody, "401 421 404 404 403"]),
    line(.recordsChanges, [noFeed, "401 421 400 400 403", "401 421 404 404 403"]),
    line(.recordsResolve, [nobody, nobody, nobody]),
    line(.recordsAccept, [nobody, nobody, nobody]),
    line(.zonesList, by: ["GET", "POST"], [everybodyInPublic, nobody, nobody]),
    line(.zonesLookup, [everybodyInPublic, nobody, nobody]),
    line(.zonesModify, [noFeed, nobody, nobody]),
    line(.zonesChanges, [noFeed, nobody, nobody]),
    line(.changesDatabase, [noFeed, nobody, nobody]),
    line(.changesZone, [everybodyInPublic, nobody, nobody]),
    line(.subscriptionsList, by: ["GET", "POST"], [signedInInPublic, nobody, nobody]),
    line(.subscriptionsLookup, [signedInInPublic, nobody, nobody]),
    line(.subscriptionsModify, [signedInInPublic, nobody, nobody]),
    line(.usersCaller, by: ["GET", "POST"], [nobody, nobody, nobody]),
    line(.usersCurrent, by: ["GET", "POST"], [nobody, nobody, nobody]),
    line(.usersDiscover, by: ["GET", "POST"], [nobody, nobody, nobody]),
    line(.usersLookupEmail, [nobody, nobody, nobody]),
    line(.usersLookupID, [nobody, nobody, nobody]),
    line(.usersLookupPhone, [nobody, nobody, nobody]),
    line(.usersLookupContacts, [nobody, nobody, nobody]),
    line(.assetsUpload, [signedInInPublic, nobody, "401 421 404 404 403"]),
    line(.assetsRereference, [signedInInPublic, nobody, "401 421 404 404 403"]),
    line(.tokensCreate, [signedInInPublic, signedInInPublic, signedInInPublic]),
    line(.tokensRegister, [signedInInPublic, signedInInPublic, signedInInPublic]),
  ]

  private static func line(
    _ operation: VirgaWire.Operation, by methods: Set<String> = ["POST"], _ answers: [String]
  ) -> Line {
    Line(operation: operation, methods: methods, answers: answers)
  }

  private static func body(of operation: VirgaWire.Operation) -> String {
    switch operation {
    case .recordsQuery: #"{"query":{"recordType":"Nothing"}}"#
    case .recordsModify, .zonesModify, .subscriptionsModify: #"{"operations":[]}"#
    case .recordsLookup: #"{"records":[]}"#
    case .recordsChanges: #"{"zoneID":{"zoneName":"_defaultZone"}}"#
    case .recordsResolve, .recordsAccept: #"{"shortGUIDs":[]}"#
    case .zonesLookup, .changesZone: #"{"zones":[{"zoneName":"_defaultZone","zoneID":{"zoneName":"_defaultZone"}}]}"#
    case .subscriptionsLookup: #"{"subscriptions":[]}"#
    case .usersLookupEmail, .usersLookupID, .usersLookupPhone: #"{"users":[]}"#
    case .usersLookupContacts: #"{"contacts":[]}"#
    case .assetsUpload: #"{"tokens":[]}"#
    case .assetsRereference: #"{"assets":[]}"#
    case .tokensCreate: #"{"apnsEnvironment":"development","clientId":"c"}"#
    case .tokensRegister: #"{"apnsEnvironment":"development","apnsToken":"TOKEN","clientId":"c"}"#
    case .zonesList, .zonesChanges, .changesDatabase, .subscriptionsList, .usersCaller, .usersCurrent, .usersDiscover:
      "{}"
    }
  }

  /// A server on which each credential exists.
  private struct World {
    let front: GatewayWorld
    let apiToken: String
    let webToken: String
    let key: SigningKey
    let keyID: String

    init() async throws {
      front = try await GatewayWorld()
      apiToken = try await front.makeToken().text
      key = try SigningKey.generate()
      keyID = try await front.register(key).id
      webToken = "158__54__" + String(repeating: "A", count: 100)
      let now = front.clock.now
      let token = WebToken(
        account: "account-phone", device: "device-phone", container: front.container, expires: now + .seconds(600),
        apiToken: SHA256.hexDigest(of: apiToken))
      let digest = SHA256.hexDigest(of: webToken)
      try await front.store.write { try Accounts().putWebToken(digest: digest, token, in: $0, now: now) }
    }

    func ask(_ method: String, _ path: String, _ body: String, as credential: Credential) async throws
      -> GatewayWorld.Answer
    {
      let bytes = method == "GET" ? [] : Array(body.utf8)
      switch credential {
      case .none: return try await front.send(method, path, bytes, session: "")
      case .apiToken: return try await front.send(method, "\(path)?ckAPIToken=\(apiToken)", bytes, session: "")
      case .webToken:
        return try await front.send(
          method, "\(path)?ckAPIToken=\(apiToken)&ckWebAuthToken=\(webToken)", bytes, session: "")
      case .session: return try await front.send(method, path, bytes)
      case .serverKey:
        let signature = try SignedRequest.headers(
          keyID: keyID, key: key, target: path, body: bytes, now: front.clock.now)
        return try await front.send(
          method, path, bytes, headers: signature.map { ($0.name, $0.value) }, session: "")
      }
    }
  }

  @Test(arguments: lines) func eachCallAnswersEachCredentialInEachDatabase(line: Line) async throws {
    let world = try await World()
    for (scope, expected) in zip([DatabaseScope.public, .private, .shared], line.answers) {
      let path =
        "/database/1/\(world.front.container)/development/\(scope.pathName)/\(line.operation.rawValue)"
      for method in ["GET", "POST"] {
        var found: [String] = []
        for credential in Credential.allCases {
          var body = Self.body(of: line.operation)
          if line.operation == .tokensRegister {
            let made = try await world.ask(
              "POST", "/device/1/\(world.front.container)/development/tokens/create",
              Self.body(of: .tokensCreate), as: credential)
            let token = made.text.firstMatch(of: /"apnsToken":"([^"]+)"/).map { String($0.output.1) } ?? "none"
            body = body.replacing("TOKEN", with: token)
          }
          found.append(String(try await world.ask(method, path, body, as: credential).status))
        }
        let wanted = line.methods.contains(method) ? expected : "405 405 405 405 405"
        #expect(found.joined(separator: " ") == wanted, "\(method) \(scope.pathName)")
      }
    }
  }

  @Test func everyOperationIsInTheTable() {
    #expect(Set(Self.lines.map(\.operation)) == Set(VirgaWire.Operation.allCases))
    #expect(Self.lines.allSatisfy { $0.answers.count == 3 })
  }

  /// Every path that a description of the service names is answered here, by its method.
  @Test(
    arguments: Corpus.cases(own: [("own/description.yaml", 25)], recorded: [("brightdigit__MistKit/openapi.yaml", 17)]))
  func pathsOfAnotherClientsDescriptionAreKnown(description: String, paths: Int) async throws {
    let text = String(decoding: try Corpus.bytes(description), as: UTF8.self)
    let world = try await World()
    var path: String?
    var count = 0
    for line in text.split(separator: "\n") {
      if line.hasPrefix("  /") {
        path = String(line.dropFirst(2).dropLast())
          .replacing("{version}", with: "1").replacing("{container}", with: world.front.container.rawValue)
          .replacing("{environment}", with: "development").replacing("{database}", with: "public")
      } else if let path, let method = ["get", "post"].first(where: { line == "    \($0):" }) {
        let answer = try await world.ask(method.uppercased(), path, "{}", as: .session)
        #expect(
          answer.status != 404 && answer.status != 405 && answer.status < 500, "\(method) \(path): \(answer.text)")
        count += 1
      }
    }
    #expect(count == paths)
  }

  /// The module `device` has no database in its path, and takes no other operations.
  @Test func tokensLieUnderTheDeviceModuleToo() async throws {
    let world = try await World()
    let path = "/device/1/\(world.front.container)/development/"
    for (name, status) in [("tokens/create", 200), ("records/query", 404), ("zones/list", 404)] {
      let answer = try await world.ask("POST", path + name, Self.body(of: .tokensCreate), as: .session)
      #expect(answer.status == status, "\(name): \(answer.text)")
    }
    #expect(try await world.ask("GET", path + "tokens/create", "", as: .session).status == 405)
  }
}
