import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct ServiceReferenceTests {
  private func pointing(_ name: RecordName, at target: RecordName, _ action: Reference.Action) -> RecordOperation {
    .force(name, ["to": .reference(Reference(recordName: target, action: action))])
  }

  private func child(_ name: RecordName, of parent: RecordName) -> RecordOperation {
    .force(name).with { $0.record.parent = .set(Reference(recordName: parent)) }
  }

  @Test(arguments: [
    (Reference.Action.none, nil), (.deleteSelf, ServerErrorCode.validatingReferenceError as ServerErrorCode?),
    (.validate, .validatingReferenceError),
  ])
  func aTargetMustExistUnlessNothingDependsOnIt(action: Reference.Action, expected: ServerErrorCode?) throws {
    let harness = try Harness.withZone()
    #expect(try harness.modify(pointing("a", at: "ghost", action)).code == expected)
    _ = try harness.modify([.create("gone"), .create("there")])
    _ = try harness.modify(.forceDelete("gone"))
    #expect(try harness.modify(pointing("b", at: "gone", action)).code == expected)
    #expect(try harness.modify(pointing("c", at: "there", action)).code == nil)
    #expect(try harness.modify(pointing("d", at: "d", action)).code == nil)
  }

  @Test(arguments: [true, false])
  func aTargetMayComeLaterInTheSameBatch(atomic: Bool) throws {
    let harness = try Harness.withZone()
    let batch = [pointing("a", at: "b", .validate), child("b", of: "c"), .create("c")]
    #expect(try harness.modify(batch, atomic: atomic).allSatisfy { $0.record != nil })
  }

  @Test func aTargetThatFailsTakesItsHoldersAlongButIsTheOnlyCulpritOfAnAtomicBatch() throws {
    let harness = try Harness.withZone()
    let batch = [pointing("a", at: "b", .validate), pointing("b", at: "c", .validate), .update("c", tag: "1")]
    #expect(
      try harness.modify(batch, atomic: false).map(\.code)
        == [.validatingReferenceError, .validatingReferenceError, .notFound])
    #expect(try harness.modify(batch).map(\.code) == [.atomicError, .atomicError, .notFound])
  }

  @Test func aParentMustExistAndBePlain() throws {
    let harness = try Harness.withZone()
    #expect(try harness.modify(child("a", of: "ghost")).code == .validatingReferenceError)
    #expect(try harness.modify(child("a", of: "a")).code == .badRequest)
    let wrong = RecordOperation.force("a").with {
      $0.record.parent = .set(Reference(recordName: "b", action: .deleteSelf))
    }
    #expect(try harness.modify(wrong).code == .badRequest)
    _ = try harness.modify([.create("p"), child("c", of: "p")])
    #expect(try harness.modify(.force("c", ["t": .int64(1)])).record?.parent == Reference(recordName: "p"))
    #expect(try harness.modify(.force("c").with { $0.record.parent = .cleared }).record?.parent == nil)
  }

  @Test func referencesStayInTheirZone() throws {
    let harness = try Harness.withZone()
    try harness.makeZone("Other")
    for action in [Reference.Action.none, .deleteSelf, .validate] {
      let far = Reference(recordName: "x", action: action, zone: ZoneID("Other", owner: .defaultOwner))
      let result = try harness.modify(.force("a", ["to": .reference(far)]))
      #expect(result.code == .badRequest)
      #expect(result.failure?.error.reason.contains("'Other'") == true)
    }
    // A zone that is the record's own is not kept with the reference.
    let near = Reference(recordName: "x", zone: ZoneID("Diary", owner: .defaultOwner))
    let saved = try harness.modify(.force("a", ["to": .reference(near)])).record
    #expect(try saved?.value("to") == .reference(Reference(recordName: "x")))
  }

  @Test func deletingARecordTakesItsHoldersAlongOverAnyNumberOfSteps() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([
      .create("root"), pointing("a", at: "root", .deleteSelf), pointing("b", at: "a", .deleteSelf),
      pointing("c", at: "b", .deleteSelf), pointing("free", at: "root", .none), pointing("root2", at: "c", .deleteSelf),
    ])
    let token = try harness.page().syncToken
    let answer = try harness.modify([.forceDelete("root")])
    #expect(answer.map(\.name) == ["root"])
    let news = try harness.page(token).records
    #expect(news.map(\.name) == ["root", "a", "b", "c", "root2"])
    #expect(news.allSatisfy { $0.isDeleted })
    #expect(try harness.record("free") != nil)
  }

  @Test func aCircleOfHoldersGoesAtOnce() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([pointing("a", at: "b", .deleteSelf), pointing("b", at: "a", .deleteSelf)])
    #expect(try harness.modify([.forceDelete("a")])[0].isDeleted)
    #expect(try harness.page().records.isEmpty)
  }

  @Test(arguments: [true, false])
  func aGuardedRecordIsNotDeletedUntilNobodyGuardsIt(byParent: Bool) throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([
      .create("t"), byParent ? child("holder", of: "t") : pointing("holder", at: "t", .validate),
    ])
    let refused = try harness.modify(.forceDelete("t"))
    #expect(refused.code == .validatingReferenceError)
    #expect(refused.failure?.error.reason.contains("'holder'") == true)
    #expect(try harness.record("t") != nil)
    // With its holder it goes, in either order.
    #expect(try harness.modify([.forceDelete("t"), .forceDelete("holder")]).allSatisfy { $0.isDeleted })
  }

  @Test func aGuardThatIsLetGoInTheSameBatchGuardsNoMore() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([.create("t"), .create("u"), pointing("h", at: "t", .validate)])
    let batch = [RecordOperation.forceDelete("t"), pointing("h", at: "u", .validate)]
    #expect(try harness.modify(batch).map(\.code) == [nil, nil])
    // A save that fails lets go of nothing.
    let back = [RecordOperation.forceDelete("u"), pointing("h", at: "u", .validate)]
    let refused = ServerErrorCode.validatingReferenceError
    #expect(try harness.modify(back, atomic: false).map(\.code) == [refused, refused])
  }

  @Test func aGuardOnARecordThatWouldGoAlongProtectsTheRoot() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([
      .create("root"), pointing("leaf", at: "root", .deleteSelf), pointing("guard", at: "leaf", .validate),
    ])
    #expect(try harness.modify(.forceDelete("root")).code == .validatingReferenceError)
    #expect(try harness.page().records.count == 3)
    #expect(
      try harness.modify([.forceDelete("root"), .forceDelete("guard"), .create("x")], atomic: true).map(\.code)
        == [nil, nil, nil])
  }

  @Test func aRefusedDeletionKeepsItsOwnGuardsUp() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify([
      .create("t"), pointing("h", at: "t", .validate), pointing("g", at: "h", .validate),
    ])
    let results = try harness.modify([.forceDelete("t"), .forceDelete("h")], atomic: false)
    #expect(results.map(\.code) == [.validatingReferenceError, .validatingReferenceError])
  }

  @Test(arguments: [749, 750, 751])
  func aTargetHasNoMoreThan750HoldersThatGoWithIt(count: Int) throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("t"))
    var failures: [RecordFailure] = []
    for start in stride(from: 0, to: count, by: 400) {
      let names = (start..<min(start + 400, count)).map { RecordName("r\($0)") }
      let results = try harness.modify(names.map { pointing($0, at: "t", .deleteSelf) }, atomic: false)
      failures += results.compactMap(\.failure)
    }
    #expect(failures.map(\.name) == (count > 750 ? ["r750"] : []))
    #expect(failures.allSatisfy { $0.error.reason.hasPrefix(Reason.limitExceeded) })
    // A holder that is saved again is not counted twice.
    #expect(try harness.modify(pointing("r0", at: "t", .deleteSelf)).code == nil)
  }

  /// C132
  @Test func theLimitOfATargetIsTheLimitOfItsHoldersAlone() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("t"))
    for start in [0, 400] {
      let names = (start..<min(start + 400, 750)).map { RecordName("r\($0)") }
      _ = try harness.modify(names.map { pointing($0, at: "t", .deleteSelf) }, atomic: false)
    }
    // One more fails for itself, and says of what and how many; the others of its batch are saved.
    let mixed = try harness.modify(
      [
        pointing("more", at: "t", .deleteSelf), .create("plain"), pointing("loose", at: "t", .none),
        RecordOperation.create("child").with { $0.record.parent = .set("t") },
        pointing("other", at: "plain", .deleteSelf),
      ], atomic: false)
    #expect(mixed.map(\.code) == [.badRequest, nil, nil, nil, nil])
    let reason = mixed[0].failure?.error.reason ?? ""
    #expect(
      reason.hasPrefix("limit exceeded") && reason.contains("'t'") && reason.hasSuffix("751 given, at most 750 allowed")
    )
    // A counted holder is changed, and one takes another's place in the same batch.
    #expect(try harness.modify(pointing("r7", at: "t", .deleteSelf)).code == nil)
    let swap = try harness.modify([.forceDelete("r0"), pointing("more", at: "t", .deleteSelf)])
    #expect(swap.map(\.code) == [nil, nil])
    #expect(try harness.modify(pointing("again", at: "t", .deleteSelf)).code == .badRequest)
    _ = try harness.modify(RecordOperation(.update, RecordChange(name: "r1", tag: try harness.record("r1")?.tag)))
    #expect(try harness.modify(.forceDelete("r1")).isDeleted)
    #expect(try harness.modify(pointing("again", at: "t", .deleteSelf)).code == nil)
  }

  /// Many records with many references to many targets: the targets are not looked through once for each record.
  @Test func manyReferencesToManyTargetsAreCheckedOnce() throws {
    let harness = try Harness.withZone()
    try harness.write { transaction in
      let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
      var zone = try transaction.zone("Diary", in: key)!
      let stamp = RecordStamp(time: Timestamp(milliseconds: 0), user: "_alice", device: "phone")
      for number in 0..<20_000 {
        zone.sequence += 1
        let record = StoredRecord(
          name: RecordName("t\(number)"), type: "Entry", sequence: zone.sequence, created: stamp, modified: stamp,
          fieldsJSON: Array("{}".utf8))
        try transaction.put(record, in: zone, replacing: nil, keepsVersion: true)
      }
      try transaction.put(&zone)
    }
    let operations = (0..<400).map { number in
      let targets = (0..<100).map { RecordName("t\((number * 50 + $0) % 20_000)") }
      return RecordOperation.create(
        RecordName("r\(number)"),
        ["of": .referenceList(targets.map { Reference(recordName: $0, action: .deleteSelf) })])
    }
    #expect(try harness.modify(operations).allSatisfy { $0.code == nil })
  }

  /// In a batch that is not atomic a failure goes from record to record, whatever their order.
  @Test func whatRefersToAFailedRecordFailsWithItOverManySteps() throws {
    let harness = try Harness.withZone()
    func link(_ number: Int) -> RecordOperation {
      .create(
        RecordName("r\(number)"),
        ["next": .reference(Reference(recordName: RecordName("r\(number + 1)"), action: .validate))])
    }
    for order in [Array(0..<300), Array((0..<300).reversed())] {
      let results = try harness.modify(order.map(link), atomic: false)
      #expect(results.allSatisfy { $0.code == .validatingReferenceError })
    }
    // What is there without it is found.
    #expect(try harness.modify(.create("r300")).code == nil)
    let results = try harness.modify([link(299), .update("r300", tag: "zz")], atomic: false)
    #expect(results.map(\.code) == [nil, .conflict])
  }
}
