import CloudKit
import Foundation
import Testing

/// What a sync engine does about the faults of a real server: nothing is lost, nothing comes twice, and the app is told.
@Suite(.timeLimit(.minutes(2))) struct EngineFaultTests {
  /// What the server holds, as a device sees it that knows nothing yet.
  private func contents(_ server: FaultyServer) async throws -> [String: String] {
    let reader = server.device()
    try await reader.engine.fetchChanges()
    return reader.texts
  }

  // C01, C95
  @Test(arguments: [
    (#"{"throttle": 1}"#, true), (#"{"error": "TRY_AGAIN_LATER", "retryAfter": 1}"#, true),
    (#"{"zoneBusy": true}"#, false), (#"{"cut": "beforeCommit"}"#, false), (#"{"cut": "afterCommit"}"#, false),
  ])
  func whatPassesIsTriedAgain(action: String, asksToWait: Bool) async throws {
    let server = try await FaultyServer(
      #"{"when": {"operation": "records/modify", "call": 1}, "do": \#(action)}"#)
    let phone = server.device(automatic: true)
    let start = ContinuousClock.now
    phone.write("one", to: "n1")
    await phone.wait { !phone.saved.isEmpty && phone.pending.isEmpty }
    if asksToWait { #expect(ContinuousClock.now - start >= .seconds(1)) }
    #expect(try server.met() == [1])
    // A save whose answer was lost may meet itself, unless a fetch has brought it before; nothing else conflicts.
    #expect(phone.saved == ["n1"])
    if !action.contains("afterCommit") { #expect(!phone.codes.contains(.serverRecordChanged)) }
    #expect(try await contents(server) == ["n1": "one"])
    #expect(phone.engine.status.sendError == nil && phone.engine.status.failedRecords.isEmpty)
    await phone.engine.cancelOperations()
    await server.end()
  }

  /// Whatever form the limit has, batches shrink until they fit.
  @Test(arguments: [
    #"{"error": "BAD_REQUEST", "reason": "limit exceeded: too much"}"#,
    #"{"error": "BAD_REQUEST", "reason": "limit exceeded: too much", "reach": "items"}"#,
  ])
  func batchesShrinkUntilTheyFit(action: String) async throws {
    let server = try await FaultyServer(
      #"{"when": {"operation": "records/modify", "times": 3}, "do": \#(action)}"#)
    let phone = server.device()
    let names = (0..<40).map { "n\($0)" }
    for name in names { phone.write(name, to: name) }
    await phone.sync()
    #expect(try server.met() == [3])
    #expect(phone.saved.sorted() == names.sorted() && phone.pending.isEmpty)
    #expect(try await contents(server).count == 40)
    await server.end()
  }

  // C09
  @Test(arguments: ["zone", "database"]) func anExpiredTokenLosesNothing(kind: String) async throws {
    let server = try await FaultyServer()
    let (phone, laptop) = (server.device(), server.device())
    for name in ["a", "b", "c"] { phone.write(name, to: name) }
    await phone.sync()
    await laptop.sync()
    #expect(laptop.texts.count == 3)
    phone.delete("a")
    await phone.sync()
    laptop.write("edited", to: "b")
    let operation = kind == "zone" ? "changes/zone" : "changes/database"
    try server.set(#"{"when": {"operation": "\#(operation)", "call": 1}, "do": {"expireTokens": "\#(kind)"}}"#)
    await laptop.sync()
    #expect(try server.met() == [1])
    #expect(laptop.texts == ["b": "edited", "c": "c"] && laptop.pending.isEmpty)
    #expect(try await contents(server) == ["b": "edited", "c": "c"])
    await server.end()
  }

  // C11
  @Test func aZoneThatItsUserPurgedIsUploadedAgain() async throws {
    let server = try await FaultyServer()
    let phone = server.device()
    for name in ["a", "b"] { phone.write(name, to: name) }
    await phone.sync()
    try server.set(
      #"{"when": {"operation": "records/modify", "call": 1}, "do": {"purgeZone": true, "zone": "Notes"}}"#)
    phone.write("later", to: "c")
    await phone.sync()
    #expect(try server.met() == [1])
    #expect(phone.codes.filter { $0 == .userDeletedZone }.count == 1 && phone.pending.isEmpty)
    #expect(try await contents(server) == ["a": "a", "b": "b", "c": "later"])
    await server.end()
  }

  // C11
  @Test func aZoneThatItsUserPurgedIsErasedHereIfTheAppSaysSo() async throws {
    let server = try await FaultyServer()
    let phone = server.device()
    phone.leaveGoneZonesAlone()
    phone.write("a", to: "a")
    await phone.sync()
    try server.set(
      #"{"when": {"operation": "changes/database", "call": 1}, "do": {"purgeZone": true, "zone": "Notes"}}"#)
    await phone.sync()
    #expect(phone.deletions.map(\.reason) == [.purged] && phone.texts.isEmpty)
    #expect(try await phone.database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
    // The next edit makes the zone anew.
    phone.write("new", to: "b")
    await phone.sync()
    #expect(try await contents(server) == ["b": "new"])
    await server.end()
  }

  @Test func afterAResetOfEncryptedDataAllIsUploadedAgain() async throws {
    let server = try await FaultyServer()
    let (phone, laptop) = (server.device(), server.device())
    for name in ["a", "b"] { phone.write(name, to: name) }
    await phone.sync()
    await laptop.sync()
    try server.set(
      #"{"when": {"operation": "records/modify", "call": 1}, "do": {"resetEncryptedData": true, "zone": "Notes"}}"#)
    phone.write("edited", to: "a")
    await phone.sync()
    #expect(phone.wasReset && phone.pending.isEmpty)
    #expect(try await contents(server) == ["a": "edited", "b": "b"])
    // The other device hears of it before it loses anything.
    await laptop.sync()
    #expect(laptop.texts == ["a": "edited", "b": "b"])
    await server.end()
  }

  // C16
  @Test func aFullQuotaDropsNothing() async throws {
    let server = try await FaultyServer(
      #"{"when": {"operation": "records/modify", "record": "n1"}, "do": {"quotaFull": true}}"#)
    let phone = server.device()
    phone.write("one", to: "n1")
    phone.write("two", to: "n2")
    await phone.sync()
    #expect(phone.codes.contains(.quotaExceeded) && phone.texts.count == 2 && phone.saved == ["n2"])
    // The change is the app's to add again; the status says which it is.
    #expect(phone.engine.status.failedRecords.map(\.recordID.recordName) == ["n1"])
    try server.set()
    phone.write("one", to: "n1")
    await phone.sync()
    #expect(try await contents(server) == ["n1": "one", "n2": "two"])
    #expect(phone.engine.status.failedRecords.isEmpty)
    await server.end()
  }

  @Test func anUnavailableAccountIsWaitedFor() async throws {
    let server = try await FaultyServer()
    let phone = server.device()
    phone.write("zero", to: "n0")
    await phone.sync()
    try server.set(#"{"when": {"operation": "records/modify", "times": 1}, "do": {"accountUnavailable": true}}"#)
    phone.write("one", to: "n1")
    do { try await phone.engine.sendChanges() } catch let error as CKError {
      #expect(error.code == .accountTemporarilyUnavailable)
    }
    #expect(phone.pending.count == 1)
    await phone.sync()
    #expect(try server.met() == [1] && phone.pending.isEmpty)
    #expect(try await contents(server) == ["n0": "zero", "n1": "one"])
    await server.end()
  }

  // C31
  @Test(arguments: ["drop", "repeat"]) func notificationsAreOnlyHints(kind: String) async throws {
    let server = try await FaultyServer(#"{"do": {"notifications": "\#(kind)"}}"#)
    let reader = server.device(automatic: true)
    try await reader.engine.fetchChanges()
    await reader.wait { reader.engine.status.receivesPushes }
    let writer = server.device()
    writer.write("one", to: "n1")
    await writer.sync()
    if kind == "drop" { try await reader.engine.fetchChanges() } else { await reader.wait { !reader.fetched.isEmpty } }
    try await reader.engine.fetchChanges()
    #expect(reader.texts == ["n1": "one"] && reader.fetched == ["n1"])
    await reader.engine.cancelOperations()
    await server.end()
  }

  // C47: the status says what is missing, and the command that it names mends it.
  @Test func aGapInTheSchemaIsNamedWithItsCure() async throws {
    let server = try await FaultyServer()
    let inDevelopment = server.device()
    inDevelopment.write("draft", to: "n")
    await inDevelopment.sync()
    let device = server.device(in: .production)
    device.write("one", to: "n1")
    device.write("two", to: "n2")
    await device.sync()
    let status = device.engine.status
    let gap = try #require(status.schemaGaps.first)
    #expect(status.schemaGaps.count == 1 && gap.recordType == "Note" && gap.field == nil && !status.isUpToDate)
    let command = try #require(gap.advice.firstRange(of: "virga "))
    let words = gap.advice[command.upperBound...].split(separator: " ").map(String.init)
    let place = ["--yes", "--endpoint", server.process.endpoint, "--home", "\(server.process.folder.path)/alice"]
    let run = try await ProgramRun.run(
      words + place, environment: ["VIRGA_OPERATOR_TOKEN": FaultyServer.operatorToken])
    #expect(run.code == 0, "\(run.errors)")
    device.write("one", to: "n1")
    device.write("two", to: "n2")
    await device.sync()
    #expect(device.saved.sorted() == ["n1", "n2"] && device.engine.status.schemaGaps.isEmpty)
    #expect(device.engine.status.isUpToDate)
    await server.end()
  }

  /// Faults of every passing kind by chance, on two devices that write and delete.
  @Test(arguments: 1...3) func devicesConvergeThroughAllOfThem(seed: Int) async throws {
    let server = try await FaultyServer()
    let (phone, laptop) = (server.device(), server.device())
    phone.write("start", to: "s")
    await phone.sync()
    try server.set(
      #"{"when": {"operation": "records/modify", "probability": 0.2}, "do": {"cut": "afterCommit"}}"#,
      #"{"when": {"operation": "records/modify", "probability": 0.2}, "do": {"cut": "beforeCommit"}}"#,
      #"{"when": {"operation": "records/modify", "probability": 0.2}, "do": {"zoneBusy": true}}"#,
      #"{"when": {"operation": "changes/zone", "probability": 0.2}, "do": {"expireTokens": "zone"}}"#,
      #"{"when": {"operation": "changes/database", "probability": 0.2}, "do": {"cut": "beforeCommit"}}"#)
    for step in 0..<6 {
      for number in 0..<3 {
        phone.write("p\(seed)-\(step)", to: "p\(number)")
        laptop.write("l\(seed)-\(step)", to: "l\(number)")
      }
      if step == 3 { phone.delete("s") }
      await phone.sync()
      await laptop.sync()
    }
    try server.set()
    for _ in 0..<2 {
      await phone.sync()
      await laptop.sync()
    }
    let names = ["l0", "l1", "l2", "p0", "p1", "p2"]
    let expected = Dictionary(uniqueKeysWithValues: names.map { ($0, "\($0.prefix(1))\(seed)-5") })
    #expect(try await contents(server) == expected)
    #expect(phone.texts == expected && laptop.texts == expected)
    #expect(phone.pending.isEmpty && laptop.pending.isEmpty)
    await server.end()
  }
}
