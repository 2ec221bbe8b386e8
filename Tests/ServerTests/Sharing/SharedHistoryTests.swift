import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// What participants learn of the past of a zone that is shared with them.
struct SharedHistoryTests {
  /// Alice writes into `a`, shares its hierarchy with Bob, and writes again; a minute passes between any two steps.
  /// - Parameter correction: By how much the server's clock is set before she shares.
  private func makeWorld(
    correction: Duration = .zero
  ) throws -> (ShareWorld, before: ChangeTag, shared: ChangeTag) {
    let world = try ShareWorld()
    func write(_ text: String) throws -> ChangeTag {
      world.harness.now = world.harness.now + .seconds(60)
      return try #require(world.harness.modify(.force("a", .text(text))).record).tag
    }
    let before = try write("secret")
    let shared = try write("clean")
    world.harness.now = world.harness.now + correction
    world.harness.now = world.harness.now + .seconds(60)
    try world.shareWithBob()
    _ = try write("newest")
    return (world, before, shared)
  }

  /// The server's clock may have been ahead or behind while Alice wrote.
  @Test(arguments: [.zero, .seconds(-3_600), .seconds(3_600)] as [Duration])
  func aConflictShowsAParticipantNoVersionOfBeforeTheShare(correction: Duration) throws {
    let (world, before, shared) = try makeWorld(correction: correction)
    let known = try world.modify(.update("a", tag: shared, .text("Bob's"))).failure
    #expect(known?.error.code == .conflict)
    #expect(try known?.ancestorRecord?.value("text") == .string("clean"))
    let guessed = try world.modify(.update("a", tag: before, .text("Bob's"))).failure
    #expect(guessed?.error.code == .conflict)
    #expect(guessed?.serverRecord != nil && guessed?.ancestorRecord == nil)
    let owner = try world.harness.modify(.update("a", tag: before, .text("Alice's"))).failure
    #expect(try owner?.ancestorRecord?.value("text") == .string("secret"))
  }

  private func history(_ name: RecordName, as caller: Harness.Caller, _ world: ShareWorld) throws -> [FieldValue?] {
    let scope: DatabaseScope = caller.principal.user == "_alice" ? .private : .shared
    let context = CallContext(
      endpoint: Endpoint(
        container: "iCloud.test", environment: .development, scope: scope, operation: .recordsLookup),
      principal: caller.principal, now: world.harness.now, random: SplitMix64(seed: 3), urls: TestURLs())
    let reply = try world.harness.write { transaction in
      try Service().history(of: name, in: ShareWorld.zone, transaction: transaction, context: context)
    }
    guard case .records(let records) = reply else { return [] }
    return try records.records.map { try $0.record?.value("text") }
  }

  @Test(arguments: [.zero, .seconds(-3_600), .seconds(3_600)] as [Duration])
  func theHistoryOfASharedRecordBeginsWithTheShare(correction: Duration) throws {
    let (world, _, _) = try makeWorld(correction: correction)
    #expect(try history("a", as: .bob, world) == [.string("newest"), .string("clean")])
    #expect(
      try history("a", as: .alice, world)
        == [.string("newest"), .string("clean"), .string("secret"), .string("of a")])
    #expect(throws: ServiceError(.notFound, Reason.recordNotFound)) { try history("diary", as: .bob, world) }
    #expect(throws: ServiceError(.zoneNotFound, Reason.zoneNotFound)) {
      try history("a", as: ShareWorld.carol, world)
    }
  }

  /// A second share of the same root begins when it does, not with the first.
  @Test func theHistoryOfARecordThatIsSharedAgainBeginsAnew() throws {
    let (world, _, _) = try makeWorld(correction: .seconds(-3_600))
    #expect(try world.harness.modify(.forceDelete("Share-1")).isDeleted)
    _ = try world.harness.modify(.force("a", .text("alone")))
    _ = try world.harness.modify(.force("a", .text("again")))
    try world.shareWithBob()
    #expect(try history("a", as: .bob, world) == [.string("again")])
  }

  /// A share of before the zone's number was kept begins at its time.
  @Test func aShareWithoutANumberBeginsAtItsTime() throws {
    let (world, _, _) = try makeWorld()
    try world.harness.write { transaction in
      let owner = "iCloud.test/development/_alice/Diary"
      for entity in try transaction.entities(.shareAddress, owner: owner) {
        var old = entity
        old.value = Array(entity.value[..<(entity.value.lastIndex(of: UInt8(ascii: "\n")) ?? 0)])
        try transaction.put(old)
      }
    }
    #expect(try history("a", as: .bob, world) == [.string("newest"), .string("clean")])
  }

  /// What a record held while it lay outside of the share stays outside.
  @Test func aRecordThatJoinsTheShareLeavesItsPastBehind() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    world.harness.now = world.harness.now + .seconds(60)
    _ = try world.harness.modify(.force("diary", .text("my thoughts")))
    let tag = try #require(try world.harness.record("diary")).tag
    world.harness.now = world.harness.now + .seconds(60)
    _ = try world.harness.modify(.force("diary", .text("for Bob")).with { $0.record.parent = .set("root") })
    #expect(try history("diary", as: .bob, world) == [.string("for Bob")])
    let guessed = try world.modify(.update("diary", tag: tag, .text("Bob's"))).failure
    #expect(guessed?.error.code == .conflict && guessed?.ancestorRecord == nil)
  }

  /// Notes to participants are as many as the records that they are about, however often those come and go.
  @Test func notesThatLaterOnesRepeatAreDropped() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    _ = try world.harness.modify([
      .create("folder", .text("f")), .create("leaf", .text("l")).with { $0.record.parent = .set("folder") },
    ])
    let start = try #require(try world.page().syncToken as String?)
    for _ in 0..<10 {
      _ = try world.harness.modify(.force("folder").with { $0.record.parent = .set("root") })
      _ = try world.harness.modify(.force("folder").with { $0.record.parent = .cleared })
    }
    _ = try world.harness.modify(.force("folder").with { $0.record.parent = .set("root") })
    func notes() throws -> Int {
      try world.harness.write { transaction in
        try transaction.entities(.visibilityChange, owner: "iCloud.test/development/_bob/_alice/Diary").count
      }
    }
    let told = Set(ShareWorld.told(try world.page(start)))
    let before = try notes()
    let now = world.harness.now
    try world.harness.write { try Service().compact(in: $0, now: now) }
    let after = try notes()
    #expect(before > 10 && after <= 2, "\(before) notes became \(after)")
    #expect(Set(ShareWorld.told(try world.page(start))) == told)
    #expect(told.isSuperset(of: ["folder", "leaf"]))
  }
}
