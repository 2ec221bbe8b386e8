import Testing
import VirgaModel
import VirgaWire

@testable import VirgaServer

/// What goes with a record that is deleted: records that hold `DELETE_SELF` references to it, and shares.
struct ShareDeletionTests {
  private static let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")

  private func pointing(
    _ name: RecordName, at target: RecordName, _ action: Reference.Action = .deleteSelf
  ) -> RecordOperation {
    .force(name, ["to": .reference(Reference(recordName: target, action: action))])
  }

  private func expectUsage(_ harness: Harness, _ location: SourceLocation = #_sourceLocation) throws {
    let usage = try harness.write { try $0.usage(of: "Diary", in: Self.key) }
    #expect(usage.zone == usage.records && usage.database == usage.records, sourceLocation: location)
  }

  @Test(arguments: [true, false], [true, false])
  func aShareThatIsSavedGoesWithItsRoot(atomic: Bool, shareFirst: Bool) throws {
    let world = try ShareWorld([])
    let share = try world.shareWithBob()
    let tag = try world.harness.record("Share-1")?.tag
    #expect(tag != share.tag)
    let change = RecordOperation.update("Share-1", tag: tag, ["cloudkit.title": .string("New")])
    let batch = shareFirst ? [change, .forceDelete("root")] : [.forceDelete("root"), change]
    #expect(try world.harness.modify(batch, atomic: atomic).allSatisfy(\.isDeleted))
    #expect(try world.harness.page().records.compactMap { $0.record?.id.name } == ["diary"])
    #expect(try world.zones() == [])
    try expectUsage(world.harness)
  }

  @Test(arguments: [true, false])
  func whatIsSavedGoesWithWhatItRefersTo(atomic: Bool) throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([.create("p", .text("p")), pointing("c", at: "p"), .create("other", .text("o"))])
    let token = try harness.page().syncToken
    let batch = [.force("c", .text("changed")), pointing("new", at: "c"), .forceDelete("p")]
    let results = try harness.modify(batch, atomic: atomic)
    #expect(results.map(\.name) == ["c", "new", "p"] && results.allSatisfy(\.isDeleted))
    #expect(try harness.page(token).records.filter(\.isDeleted).map(\.name).sorted() == ["c", "p"])
    #expect(try harness.record("new") == nil)
    try expectUsage(harness)
  }

  @Test(arguments: [true, false], [true, false])
  func noShareBeginsOnARecordThatGoes(atomic: Bool, savesRoot: Bool) throws {
    let world = try ShareWorld()
    _ = try world.harness.modify([.create("t"), pointing("diary", at: "t")])
    var batch = [ShareWorld.shareOperation(of: "diary"), .forceDelete("t")]
    if savesRoot { batch.append(.force("diary", .text("x"))) }
    let results = try world.harness.modify(batch, atomic: atomic)
    #expect(results[0].failure?.error.reason == "\(Reason.noRecordToShare): 'diary'")
    #expect(results[1].code == (atomic ? .atomicError : nil))
    #expect(try world.harness.record("Share-1") == nil)
    #expect(try (world.harness.record("diary") != nil) == atomic)
    let sharing = try world.harness.write { try $0.zone("Diary", in: Self.key)?.sharing }
    #expect(sharing == ZoneSharing.none)
    try expectUsage(world.harness)
  }

  @Test func aParticipantTakesNothingAlongThatTheyMayNotDelete() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let child = RecordOperation.create("r").with { $0.record.parent = .set("root") }
    #expect(try world.modify(child).code == nil)
    #expect(try world.modify(pointing("root", at: "r")).code == nil)
    let refused = try world.modify(.forceDelete("r"))
    #expect(refused.failure?.error.reason == "\(Reason.writeNotPermitted): another record would be deleted with it")
    #expect(refused.code == .accessDenied)
    #expect(try world.harness.record("root")?.share != nil && world.zones().count == 1)
    // What they may delete goes along.
    #expect(try world.modify(pointing("b", at: "a")).code == nil)
    #expect(try world.modify(.forceDelete("a")).isDeleted)
    #expect(try world.harness.record("b") == nil)
  }

  @Test func whatIsNotSharedIsNeitherDeletedNorNamed() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    _ = try world.harness.modify([pointing("diary", at: "a", .validate), pointing("mine", at: "b")])
    let guarded = try world.modify(.forceDelete("a")).failure?.error
    #expect(guarded?.code == .validatingReferenceError)
    #expect(guarded?.reason == "record 'a' is referred to with the action VALIDATE by another record")
    #expect(try world.modify(.forceDelete("b")).code == .accessDenied)
    #expect(try world.harness.record("mine") != nil)
    // Their own records are named.
    let child = pointing("seen", at: "b", .validate).with { $0.record.parent = .set("root") }
    #expect(try world.modify(child).code == nil)
    _ = try world.harness.modify(.forceDelete("mine"))
    #expect(try world.modify(.forceDelete("b")).failure?.error.reason.contains("'seen'") == true)
  }
}
