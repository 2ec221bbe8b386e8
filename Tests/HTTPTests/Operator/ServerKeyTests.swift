import Foundation
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

@Suite struct ServerKeyTests {
  private let saving = """
    {"operations":[{"operationType":"create","record":{"recordName":"n1","recordType":"Note",\
    "fields":{"text":{"value":"a"}}}}]}
    """

  @Test func keyIsTheCreatorOfWhatItWrites() async throws {
    let world = try await GatewayWorld()
    let key = try SigningKey.generate()
    let registered = try await world.register(key)
    #expect(registered.user.rawValue.wholeMatch(of: /_[0-9a-f]{32}/) != nil)
    let saved = try await world.signed(by: key, registered.id, .recordsModify, body: saving)
    #expect(saved.status == 200, "\(saved.text)")
    #expect(
      saved.text.contains(
        #""created":{"timestamp":\#(world.clock.now.milliseconds),"userRecordName":"\#(registered.user)""#))
    #expect(saved.headers["X-Apple-CloudKit-Web-Auth-Token"] == nil)
    let changing = saving.replacing("create", with: "forceUpdate")
    #expect(try await world.signed(by: key, registered.id, .recordsModify, body: changing).text.contains("fields"))
    let other = try SigningKey.generate()
    let otherID = try await world.register(other).id
    let refused = try await world.signed(by: other, otherID, .recordsModify, body: changing)
    #expect(refused.text.contains("ACCESS_DENIED"), "another key is another user")
  }

  @Test func keyBelongsToOneEnvironment() async throws {
    let world = try await GatewayWorld()
    let key = try SigningKey.generate()
    let (test, real) = (try await world.register(key), try await world.register(key, environment: .production))
    #expect(test.environment == .development && real.environment == .production)
    #expect(test.id != real.id && test.user != real.user)
    #expect(try await world.register(key, environment: .production) == real)
    func status(_ id: String, in environment: VirgaModel.Environment) async throws -> Int {
      let endpoint = Endpoint(
        container: world.container, environment: environment, scope: .public, operation: .zonesList)
      let signature = try SignedRequest.headers(
        keyID: id, key: key, target: endpoint.path, body: [], now: world.clock.now)
      return try await world.send(
        "POST", endpoint.path, headers: signature.map { ($0.name, $0.value) }, session: ""
      ).status
    }
    #expect(try await status(test.id, in: .development) == 200)
    #expect(try await status(real.id, in: .production) == 200)
    #expect(try await status(test.id, in: .production) == 401)
    #expect(try await status(real.id, in: .development) == 401)
  }

  @Test func getIsSignedWithoutAHash() async throws {
    let world = try await GatewayWorld()
    let key = try SigningKey.generate()
    let id = try await world.register(key).id
    let answer = try await world.signed(by: key, id, .zonesList, body: "", query: "?_t=1", method: "GET")
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try await world.signed(by: key, id.uppercased(), .zonesList).status == 200)
  }

  /// What a key reaches.
  @Test(arguments: [
    (VirgaWire.Operation.recordsLookup, DatabaseScope.public, 200), (.zonesList, .public, 200),
    (.subscriptionsList, .public, 200), (.zonesList, .private, 403), (.zonesList, .shared, 403),
    (.recordsModify, .private, 403), (.usersCaller, .public, 403), (.usersCurrent, .public, 403),
    (.usersCaller, .private, 403), (.tokensCreate, .private, 200),
  ])
  func keyReachesThePublicDatabaseOnly(
    operation: VirgaWire.Operation, scope: DatabaseScope, status: Int
  ) async throws {
    let world = try await GatewayWorld()
    let key = try SigningKey.generate()
    let id = try await world.register(key).id
    let body =
      switch operation {
      case .recordsLookup: #"{"records":[]}"#
      case .tokensCreate: #"{"apnsEnvironment":"development","clientId":"c"}"#
      default: "{}"
      }
    let answer = try await world.signed(by: key, id, operation, scope: scope, body: body)
    #expect(answer.status == status, "\(answer.text)")
    if status == 403 { #expect(answer.error.code == .accessDenied) }
  }

  @Test func everyFailureLooksTheSame() async throws {
    let world = try await GatewayWorld()
    let (key, other) = (try SigningKey.generate(), try SigningKey.generate())
    let id = try await world.register(key).id
    let elsewhere = try await world.register(key, container: "iCloud.other").id
    let target = world.path(.zonesList, scope: .public)
    func send(_ headers: [(name: String, value: String)], body: String = "{}") async throws -> GatewayWorld.Answer {
      try await world.send("POST", target, Array(body.utf8), headers: headers.map { ($0.name, $0.value) }, session: "")
    }
    func headers(
      _ id: String, _ key: SigningKey, target: String, at offset: Duration = .zero
    ) throws -> [(name: String, value: String)] {
      try SignedRequest.headers(
        keyID: id, key: key, target: target, body: Array("{}".utf8), now: world.clock.now + offset)
    }
    let good = try headers(id, key, target: target)
    #expect(try await send(good).status == 200)
    #expect(try await send(good).status == 200, "a request may be repeated in its time")
    var redated = good
    redated[1].value = good[1].value.replacing("Z", with: "+00:00")
    let failures: [([(name: String, value: String)], String)] = [
      (try headers((id.hasPrefix("0") ? "1" : "0") + id.dropFirst(), key, target: target), "{}"),
      (try headers(id, other, target: target), "{}"),
      (try headers(id, key, target: target + "x"), "{}"), (try headers(elsewhere, key, target: target), "{}"),
      (try headers(id, key, target: target, at: .seconds(601)), "{}"),
      (try headers(id, key, target: target, at: .seconds(-601)), "{}"), (good, "{} "), (good, ""), (redated, "{}"),
      (Array(good.prefix(1)), "{}"), (Array(good.suffix(1)), "{}"), ([good[0], good[2]], "{}"),
    ]
    for (index, (headers, body)) in failures.enumerated() {
      let answer = try await send(headers, body: body)
      #expect(answer.status == 401, "\(index): \(answer.text)")
      #expect(answer.error == ServiceError(.authenticationFailed, "the request's signature is not valid"), "\(index)")
    }
  }

  @Test func signatureComesAlone() async throws {
    let world = try await GatewayWorld()
    let key = try SigningKey.generate()
    let id = try await world.register(key).id
    let (_, token) = try await world.makeToken()
    for query in ["?ckAPIToken=\(token)", "?ckWebAuthToken=x", "?ckSession=x"] {
      let answer = try await world.signed(by: key, id, .zonesList, query: query)
      #expect(answer.status == 400 && answer.error.code == .badRequest)
    }
    let answer = try await world.signed(by: key, id, .zonesList, headers: [("X-Virga-Session", world.session)])
    #expect(answer.status == 400)
  }

  @Test func removedKeyEndsAtOnceAndItsUserComesBackWithIt() async throws {
    let world = try await GatewayWorld()
    let key = try SigningKey.generate()
    let registered = try await world.register(key)
    #expect(try await world.signed(by: key, registered.id, .zonesList).status == 200)
    _ = try await world.manage("POST", "keys/remove", OperatorMessages.Identified(id: registered.id))
    #expect(try await world.signed(by: key, registered.id, .zonesList).status == 401)
    #expect(
      try await world.manage("POST", "keys/remove", OperatorMessages.Identified(id: registered.id)).status == 404)
    #expect(try await world.register(key).user == registered.user)
  }
}
