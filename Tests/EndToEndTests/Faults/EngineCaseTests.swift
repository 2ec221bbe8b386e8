import CloudKit
import Foundation
import Testing

/// Public reports of sync engines, one by one, against a real server over sockets.
@Suite(.timeLimit(.minutes(2))) struct EngineCaseTests {
  /// A rule that meets every save and does nothing: its count is that of the requests.
  private static let counting = #"{"when": {"operation": "records/modify"}, "do": {"latency": 0}}"#

  private func contents(_ server: FaultyServer) async throws -> [String: String] {
    let reader = server.device()
    try await reader.engine.fetchChanges()
    return reader.texts
  }

  // C05
  @Test func aBatchWithTwoConflictsIsSavedInFewRounds() async throws {
    let server = try await FaultyServer()
    let (phone, laptop) = (server.device(), server.device())
    phone.write("old", to: "n1")
    await phone.sync()
    await laptop.sync()
    laptop.write("theirs", to: "n0")
    laptop.write("theirs", to: "n1")
    await laptop.sync()
    // The phone knows nothing of n0, and an old n1.
    try server.set(Self.counting)
    for number in 0..<91 { phone.write("mine", to: "n\(number)") }
    let error = await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
    #expect(error?.partialErrorsByItemID?.count == 2 && phone.pending.count == 2)
    try await phone.engine.sendChanges()
    #expect(try server.met().first.map { $0 <= 3 } == true)
    #expect(phone.codes.filter { $0 == .serverRecordChanged }.count == 2 && phone.pending.isEmpty)
    let contents = try await contents(server)
    #expect(contents.count == 91 && Set(contents.values) == ["mine"])
    try await phone.engine.sendChanges()
    await server.end()
  }

  // C06
  @Test func theInnocentOfAnAtomicBatchIsNotForgotten() async throws {
    let server = try await FaultyServer()
    let (phone, laptop) = (server.device(isAtomic: true), server.device())
    phone.write("parent", to: "parent")
    await phone.sync()
    await laptop.sync()
    laptop.write("edited there", to: "parent")
    await laptop.sync()
    phone.write("edited here", to: "parent")
    phone.write("child", to: "child")
    await phone.sync()
    #expect(phone.codes == [.serverRecordChanged, .batchRequestFailed] && phone.pending.isEmpty)
    #expect(try await contents(server) == ["parent": "edited here", "child": "child"])
    await server.end()
  }

  // C08
  @Test(arguments: [false, true]) func oneRecordThatIsAlwaysRefusedStopsNothing(isAtomic: Bool) async throws {
    let server = try await FaultyServer(
      #"{"when": {"operation": "records/modify", "record": "n7"}, "do": {"error": "BAD_REQUEST", "reach": "items"}}"#)
    let phone = server.device(isAtomic: isAtomic)
    let names = (0..<50).map { "n\($0)" }
    for name in names { phone.write(name, to: name) }
    await phone.sync()
    #expect(phone.saved.count == 49 && phone.pending.isEmpty)
    let failed = try #require(phone.engine.status.failedRecords.first)
    #expect(failed.recordID.recordName == "n7" && failed.error.code == .invalidArguments)
    phone.write("later", to: "n8")
    await phone.sync()
    #expect(try await contents(server)["n8"] == "later")
    await server.end()
  }

  // C13
  @Test func manyChangesGoInRequestsOfAtMost400() async throws {
    let server = try await FaultyServer()
    let phone = server.device()
    for number in 0..<50 { phone.write("old", to: "old\(number)") }
    await phone.sync()
    try server.set(Self.counting)
    for number in 0..<50 { phone.delete("old\(number)") }
    for number in 0..<1_360 { phone.write("new", to: "n\(number)") }
    try await phone.engine.sendChanges()
    // Four requests of 400 items cannot hold fewer than all, and more than 400 are refused.
    #expect(try server.met() == [4] && phone.pending.isEmpty)
    let contents = try await contents(server)
    #expect(contents.count == 1_360 && Set(contents.values) == ["new"])
    await server.end()
  }

  // C18
  @Test func anEditOfWhatWasDeletedElsewhereEndsTheSameEverywhere() async throws {
    let server = try await FaultyServer()
    let (phone, laptop) = (server.device(), server.device())
    phone.write("r", to: "r")
    await phone.sync()
    await laptop.sync()
    phone.delete("r")
    await phone.sync()
    laptop.write("edited", to: "r")
    await #expect(throws: CKError.self) { try await laptop.engine.sendChanges() }
    #expect(laptop.codes == [.unknownItem])
    await laptop.sync()
    await phone.sync()
    #expect(phone.texts == ["r": "edited"] && laptop.texts == phone.texts)
    #expect(try await contents(server) == ["r": "edited"])
    await server.end()
  }

  // C95
  @Test(arguments: ["ACCESS_DENIED", "QUOTA_EXCEEDED"]) func whatWaitingDoesNotMendIsNotTriedAgain(
    code: String
  ) async throws {
    let server = try await FaultyServer(
      #"{"when": {"operation": "records/modify"}, "do": {"error": "\#(code)", "reach": "items"}}"#)
    let phone = server.device(automatic: true)
    phone.write("one", to: "n1")
    await phone.wait { !phone.codes.isEmpty }
    #expect(phone.codes == [code == "ACCESS_DENIED" ? .permissionFailure : .quotaExceeded])
    #expect(phone.pending.isEmpty && phone.engine.status.nextSend == nil)
    #expect(try server.met() == [1] && phone.texts == ["n1": "one"])
    await phone.engine.cancelOperations()
    await server.end()
  }

  // C118: a first fetch that was cut off goes on where it stopped.
  @Test func aFirstFetchThatIsCutOffGoesOn() async throws {
    let server = try await FaultyServer()
    let phone = server.device()
    for number in 0..<5_000 { phone.write("\(number)", to: "n\(number)") }
    try await phone.engine.sendChanges()
    try server.set(#"{"when": {"operation": "changes/zone", "call": 2}, "do": {"cut": "beforeCommit"}}"#)
    let laptop = server.device()
    try? await laptop.engine.fetchChanges()
    let first = laptop.fetched.count
    #expect(first > 0 && first < 5_000 && !laptop.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    try await laptop.engine.fetchChanges()
    #expect(laptop.fetched.count == 5_000 && Set(laptop.fetched).count == 5_000)
    #expect(laptop.engine.status.isUpToDate)
    await server.end()
  }

  // A fetch that fails names its zone, and what waits to be sent stays.
  @Test func aZoneThatIsBusyIsReadLater() async throws {
    let server = try await FaultyServer()
    let (phone, laptop) = (server.device(), server.device())
    phone.write("one", to: "n1")
    await phone.sync()
    try server.set(#"{"when": {"operation": "changes/zone", "call": 1}, "do": {"zoneBusy": true}}"#)
    laptop.write("two", to: "n2")
    try? await laptop.engine.fetchChanges()
    #expect(laptop.texts == ["n2": "two"] && laptop.pending.count == 1)
    await laptop.sync()
    #expect(laptop.texts == ["n1": "one", "n2": "two"] && laptop.pending.isEmpty)
    await server.end()
  }

  // Events of one run: each end belongs to a beginning, zones go first, and a run that finds nothing says so briefly.
  @Test func eventsComeInTheirOrder() async throws {
    let server = try await FaultyServer()
    let phone = server.device()
    phone.write("one", to: "n1")
    try await phone.engine.sendChanges()
    #expect(
      phone.log == [
        "AccountChange", "WillSendChanges", "SentDatabaseChanges", "SentRecordZoneChanges", "DidSendChanges",
      ])
    let laptop = server.device()
    try await laptop.engine.fetchChanges()
    #expect(
      laptop.log == [
        "AccountChange", "WillFetchChanges", "FetchedDatabaseChanges", "WillFetchRecordZoneChanges",
        "FetchedRecordZoneChanges", "DidFetchRecordZoneChanges", "DidFetchChanges",
      ])
    let before = laptop.log.count
    try await laptop.engine.fetchChanges()
    #expect(Array(laptop.log.dropFirst(before)) == ["WillFetchChanges", "DidFetchChanges"])
    await server.end()
  }
}
