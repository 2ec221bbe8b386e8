import Foundation
import Glibc
import Testing

@Suite(.timeLimit(.minutes(2))) struct PersistenceTests {
  private static let zone = #"{"zoneName":"Diary"}"#

  private func makeZone(_ service: WebService) throws {
    let answer = try service.call(
      "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":\#(Self.zone)}}]}"#)
    #expect(answer.status == 200)
  }

  private func save(_ name: String, text: String, _ service: WebService) throws -> (status: Int, json: [String: Any]) {
    try service.call(
      "records/modify",
      #"{"zoneID":\#(Self.zone),"operations":[{"operationType":"create","record":{"recordName":"\#(name)","#
        + #""recordType":"Entry","fields":{"text":{"value":"\#(text)"}}}}]}"#)
  }

  /// The names and tags of all records after a token, and the token to go on from.
  private func changes(after token: String?, _ service: WebService) throws -> (tags: [String: String], token: String) {
    let position = token.map { #","syncToken":"\#($0)""# } ?? ""
    let answer = try service.call("changes/zone", #"{"zones":[{"zoneID":\#(Self.zone)\#(position)}]}"#)
    let zone = try #require((answer.json["zones"] as? [[String: Any]])?.first, "\(answer)")
    var tags: [String: String] = [:]
    for record in zone["records"] as? [[String: Any]] ?? [] {
      let name = try #require(record["recordName"] as? String)
      tags[name] = record["recordChangeTag"] as? String
    }
    return (tags, try #require(zone["syncToken"] as? String))
  }

  /// C116
  @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
  func recordsTagsAndTokensOutliveTheServer(signal: Int32) async throws {
    let server = try await ServerProcess()
    let service = try await WebService(server, home: "phone")
    try makeZone(service)
    for number in 0..<10 { #expect(try save("entry-\(number)", text: "rain", service).status == 200) }
    let before = try changes(after: nil, service)
    #expect(before.tags.count == 10)
    await server.terminate(signal)
    try await server.restart()
    let again = try WebService(service, at: server)
    #expect(try changes(after: nil, again).tags == before.tags)
    let rest = try changes(after: before.token, again)
    #expect(rest.tags.isEmpty, "whoever had everything fetches nothing")
    #expect(try save("entry-10", text: "sun", again).status == 200)
    #expect(Array(try changes(after: before.token, again).tags.keys) == ["entry-10"])
  }

  @Test func removedDevicesTokensAreRefusedFromTheNextRequestOn() async throws {
    let server = try await ServerProcess()
    let inviting = try ProgramRun(server.account("invite", "--yes", home: "phone"))
    let code = try await inviting.printed { text in
      text.firstMatch(of: /Code: ([^\n]+)\n/).map { String($0.output.1) }
    }
    let joined = try await ProgramRun.run(server.account("join", code, "--json", home: "laptop"))
    _ = await inviting.end()
    let device = try #require(
      try (JSONSerialization.jsonObject(with: Data(joined.output.utf8)) as? [String: Any])?["device"] as? String)
    let (phone, laptop) = (
      try await WebService(server, home: "phone"), try await WebService(server, home: "laptop")
    )
    #expect(try laptop.call("zones/list").status == 200)
    #expect(try await ProgramRun.run(server.account("remove", device, "--yes", home: "phone")).code == 0)
    let refused = try laptop.call("zones/list")
    #expect(refused.status == 421)
    #expect(refused.json["serverErrorCode"] as? String == "AUTHENTICATION_REQUIRED")
    #expect(try phone.call("zones/list").status == 200)
  }

  private static let canMount: Bool = {
    guard let folder = try? TemporaryFolder(), mount("tmpfs", folder.path, "tmpfs", 0, "size=1m") == 0 else {
      return false
    }
    return umount(folder.path) == 0
  }()

  @Test(.enabled(if: canMount, "mounting a small disk needs root"))
  func fullDiskRefusesAndLosesNothing() async throws {
    let disk = try TemporaryFolder()
    try #require(mount("tmpfs", disk.path, "tmpfs", 0, "size=3m") == 0)
    defer { umount2(disk.path, Int32(MNT_DETACH)) }
    let server = try await ServerProcess(data: disk.path + "/data")
    defer { server.run.signal(SIGKILL) }
    let service = try await WebService(server, home: "phone")
    try makeZone(service)
    let text = String(repeating: "rain ", count: 10_000)
    var saved: Set<String> = []
    var refusal: (status: Int, json: [String: Any])?
    for number in 0..<200 where refusal == nil {
      let answer = try save("entry-\(number)", text: text, service)
      if answer.status == 200 { saved.insert("entry-\(number)") } else { refusal = answer }
    }
    #expect(refusal?.status == 503)
    #expect(refusal?.json["serverErrorCode"] as? String == "TRY_AGAIN_LATER")
    #expect(refusal?.json["reason"] as? String == "the server's disk is full")
    #expect(Set(try changes(after: nil, service).tags.keys) == saved)
    await server.kill()
    #expect(mount("tmpfs", disk.path, "tmpfs", UInt(MS_REMOUNT), "size=16m") == 0)
    try await server.restart()
    let again = try WebService(service, at: server)
    #expect(Set(try changes(after: nil, again).tags.keys) == saved)
    #expect(try save("one-more", text: text, again).status == 200)
  }
}
