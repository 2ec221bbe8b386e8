import Testing
import VirgaModel
import VirgaWire

@testable import VirgaServer

/// What ends with a share: its address, and what lay in it when a record was replaced.
struct SharedAgainTests {
  private func addressCount(_ world: ShareWorld) throws -> Int {
    try world.harness.write {
      try $0.entities(.shareAddress, owner: "iCloud.test/development/_alice/Diary").count
    }
  }

  /// A link that was handed out ends with its share, also where the same record or zone is shared again by the same name.
  @Test(arguments: ["root", nil] as [RecordName?])
  func aShareThatIsMadeAgainHasAnotherAddress(root: RecordName?) throws {
    let world = try ShareWorld()
    let name: RecordName = root == nil ? .zoneShare : "Share-1"
    var shares = [try world.share(of: root, name: name, open: .readOnly)]
    for _ in 1...3 {
      #expect(try world.harness.modify(.forceDelete(name)).isDeleted)
      shares.append(try world.share(of: root, name: name, open: .readOnly))
      for old in shares.dropLast() {
        #expect(try world.resolve(old) == nil)
        #expect(try world.accept(old)?.code == .notFound)
        #expect(try world.resolve(old, as: .alice) == nil)
      }
      #expect(try world.harness.record(root ?? name)?.shortGUID == shares.last?.shortGUID)
    }
    #expect(Set(shares.map(\.shortGUID)).count == 4)
    #expect(try world.accept(try #require(shares.last)) == nil)
    // The addresses of before are not kept for ever.
    #expect(try addressCount(world) == 1)
  }

  @Test(arguments: [true, false])
  func aShareThatIsReplacedInOneRequestHasAnotherAddress(atomic: Bool) throws {
    let world = try ShareWorld()
    let first = try world.share(of: "root", open: .readOnly)
    let results = try world.harness.modify(
      [.forceDelete("Share-1"), ShareWorld.shareOperation(of: "root", name: "Share-2", open: .readOnly)], atomic: atomic
    )
    let second = try #require(results[1].record, "\(results)")
    #expect(second.shortGUID != first.shortGUID)
    #expect(try world.accept(first)?.code == .notFound)
    #expect(try world.accept(second) == nil)
    #expect(try addressCount(world) == 1)
  }

  /// Web clients ask for a record's short GUID before they share it.
  @Test func aShortGUIDThatNoShareHadIsThatOfTheFirstShare() throws {
    let world = try ShareWorld([])
    let made = try world.harness.modify(.create("web").with { $0.record.createShortGUID = true })
    let shortGUID = try #require(made.record?.shortGUID)
    #expect(try world.share(of: "web", open: .readOnly).shortGUID == shortGUID)
  }

  // MARK: Replacements

  private static let replacements: [RecordOperation] = [
    RecordOperation(.forceReplace, RecordChange(name: "a", type: "Entry", fields: [])),
    RecordOperation(.replace, RecordChange(name: "a", fields: [])),
    RecordOperation.force("a").with { $0.record.parent = .cleared },
    RecordOperation.update("a", tag: nil).with { $0.record.parent = .cleared },
    RecordOperation(.forceReplace, RecordChange(name: "a")).with { $0.record.parent = .cleared },
  ]

  /// A record whose parent is gone is shared no more, nor is what lies below it.
  @Test(arguments: replacements)
  func aRecordThatLosesItsParentIsSharedNoMore(_ operation: RecordOperation) throws {
    let world = try ShareWorld()
    _ = try world.harness.modify(.create("below", .text("x")).with { $0.record.parent = .set("a") })
    try world.shareWithBob()
    let token = try world.page().syncToken
    let change = FieldChange("text", Field(.string("AFTER")))
    let result = try world.harness.modify(
      operation.with {
        $0.record.fields = [change]
        if $0.kind.comparesTag { $0.record.tag = try? world.harness.record("a")?.tag }
      })
    #expect(result.record?.parent == nil && result.code == nil)
    #expect(try world.harness.record("a")?.parent == nil)
    #expect(ShareWorld.told(try world.page(token)).sorted() == ["-a", "-below"])
    for name in ["a", "below"] as [RecordName] { #expect(try world.lookUp(name).code == .notFound) }
    let conflict = try world.modify(.update("a", tag: "1", .text("w")))
    #expect(conflict.code == .notFound && conflict.failure?.serverRecord == nil)
    #expect(conflict.failure?.ancestorRecord == nil)
    let usage = try world.harness.write {
      try $0.usage(of: "Diary", in: DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice"))
    }
    #expect(usage.zone == usage.records)
  }

  /// What a replacement says stays, and an update that says nothing leaves the parent alone.
  @Test func aParentThatIsSaidOrNotTouchedStays() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let kept = RecordOperation(.forceReplace, RecordChange(name: "a")).with { $0.record.parent = .set("root") }
    for operation in [kept, .force("a", .text("x"))] {
      #expect(try world.harness.modify(operation).record?.parent?.recordName == "root")
    }
    #expect(try world.lookUp("a").record != nil)
  }

  /// Participants take nothing out of a share that is not theirs.
  @Test func aParticipantsReplacementWithoutTheParentIsRefused() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let blind = RecordOperation(
      .forceReplace, RecordChange(name: "a", fields: [FieldChange("text", Field(.string("x")))]))
    #expect(try world.modify(blind).code == .accessDenied)
    #expect(try world.harness.record("a")?.value("text") == .string("of a"))
    #expect(try world.modify(blind.with { $0.record.parent = .set("root") }).code == nil)
  }

  // MARK: Leaving and deleting

  /// C142
  @Test(arguments: [SharePermission.readOnly, .readWrite])
  func aReaderWhoDeletesTheRootIsRefusedAndTheOwnersDataStay(_ permission: SharePermission) throws {
    let world = try ShareWorld()
    try world.shareWithBob(permission)
    #expect(try world.modify(.forceDelete("root")).code == .accessDenied)
    if permission == .readOnly { #expect(try world.modify(.forceDelete("a")).code == .accessDenied) }
    for name in ["root", "a", "b", "Share-1"] as [RecordName] { #expect(try world.harness.record(name) != nil) }
    #expect(try world.modify(.forceDelete("Share-1")).isDeleted)
    #expect(try world.zones() == [])
    for name in ["root", "a", "b", "Share-1"] as [RecordName] { #expect(try world.harness.record(name) != nil) }
  }
}
