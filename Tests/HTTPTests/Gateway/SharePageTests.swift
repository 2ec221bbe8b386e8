import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// What a browser sees at the address of a share.
@Suite struct SharePageTests {
  /// Shares a record and gives the share's path.
  private func share(_ world: GatewayWorld, publicPermission: String) async throws -> String {
    try await world.makeZone("Trips")
    let answer = try await world.call(
      .recordsModify,
      #"""
      {"zoneID":{"zoneName":"Trips"},"operations":[
       {"operationType":"create","record":{"recordName":"trip","recordType":"Trip","createShortGUID":true}},
       {"operationType":"create","record":{"recordType":"cloudkit.share","forRecord":{"recordName":"trip"},
        "publicPermission":"\#(publicPermission)","fields":{"cloudkit.title":{"value":"<b>Rome & more</b>"}}}}]}
      """#)
    guard case .records(let reply) = try Reply(decoding: answer.body, for: .recordsModify),
      case .record(let share) = reply.records[1], let shortGUID = share.shortGUID
    else {
      Issue.record("\(answer.text)")
      return ""
    }
    return SharePath(container: world.container, environment: .development, shortGUID: shortGUID).path
  }

  @Test func anOpenShareSaysWhatItIsAndHowItIsAccepted() async throws {
    let world = try await GatewayWorld()
    let path = try await share(world, publicPermission: "READ_ONLY")
    let answer = try await world.send("GET", path)
    #expect(answer.status == 200)
    #expect(answer.text.contains("<h1>&lt;b&gt;Rome &amp; more&lt;/b&gt;</h1>"))
    #expect(answer.text.contains("virga account accept http://server.example\(path)"))
    #expect(answer.text.contains(world.container.rawValue))
    // The key behind it never came here.
    #expect(answer.text.contains("The part after # opens"))
    #expect(answer.headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
    #expect(answer.headers["Referrer-Policy"] == "no-referrer")
    #expect(!answer.text.contains("<script"))
    let spanish = try await world.send("GET", path, headers: [("Accept-Language", "es-MX,es;q=0.9")])
    #expect(spanish.headers["Content-Language"] == "es" && spanish.text.contains("lang=\"es\""))
    #expect(try await world.send("POST", path).status == 405)
  }

  @Test func whoWasNotInvitedIsNotToldTheTitle() async throws {
    let world = try await GatewayWorld()
    let path = try await share(world, publicPermission: "NONE")
    let answer = try await world.send("GET", path)
    #expect(answer.status == 200 && !answer.text.contains("Rome"))
    #expect(answer.text.contains("people invited by the owner"))
  }

  @Test func aShareThatIsOverOrNeverWasIsNotFound() async throws {
    let world = try await GatewayWorld()
    let path = try await share(world, publicPermission: "READ_ONLY")
    _ = try await world.call(
      .recordsModify,
      #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"forceDelete","record":{"recordName":"trip"}}]}"#)
    for gone in [path, "/share/\(world.container)/development/never"] {
      let answer = try await world.send("GET", gone)
      #expect(answer.status == 404 && answer.text.contains("Nothing is shared here"))
    }
    for path in ["/share/x/development", "/share/\(world.container)/testing/abc", "/share/a%2Fb/development/abc"] {
      #expect(try await world.send("GET", path).status == 404)
    }
  }

  @Test func aFailingDiskIsToldAsSomethingThatMayPass() async throws {
    let world = try await GatewayWorld()
    let error = world.front.serviceError(StoreError.diskFailed("the disk failed"), uuid: "u", during: "records/modify")
    #expect(error.code == .tryAgainLater && error.retryAfterSeconds == 60 && error.reason.contains("nothing was saved"))
    #expect(world.logged.value.withLock { $0 }.last == "records/modify: the disk failed; request u")
  }
}
