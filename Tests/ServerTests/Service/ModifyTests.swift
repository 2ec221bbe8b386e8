import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct ServiceModifyTests {
  @Test func aCreatedRecordIsFoundWithItsFieldsStampsAndTag() throws {
    let harness = try Harness.withZone()
    let saved = try harness.modify(.create("n1", ["title": .string("Hi"), "pages": .int64(3)])).record!
    let found = try harness.record("n1")
    #expect(saved == found)
    #expect(saved.json == #"{"pages":{"value":3,"type":"INT64"},"title":{"value":"Hi","type":"STRING"}}"#)
    #expect(saved.created == RecordStamp(time: harness.now, user: "_alice", device: "phone"))
    #expect(saved.modified == saved.created)
    #expect(saved.tag == "1")
    #expect(saved.id == RecordID("n1", in: ZoneID("Diary", owner: "_alice")))
  }

  @Test func aRecordWithoutANameGetsAUUID() throws {
    let harness = try Harness.withZone()
    let name = try harness.modify(.create(nil)).name
    #expect(name.rawValue.utf8.count == 36)
    #expect(try harness.record(name) != nil)
  }

  /// The table of operation kinds: what each does to a record that is there and to one that is not.
  @Test(arguments: [
    (RecordOperation.Kind.create, true, "none", ServerErrorCode.conflict as ServerErrorCode?),
    (.create, false, "none", nil),
    (.update, true, "right", nil),
    (.update, true, "stale", .conflict),
    (.update, true, "none", .conflict),
    (.update, false, "none", .notFound),
    (.update, false, "stale", .notFound),
    (.forceUpdate, true, "none", nil),
    (.forceUpdate, true, "stale", nil),
    (.forceUpdate, false, "none", nil),
    (.replace, true, "right", nil),
    (.replace, true, "stale", .conflict),
    (.replace, true, "none", .conflict),
    (.replace, false, "none", .notFound),
    (.forceReplace, true, "none", nil),
    (.forceReplace, false, "none", nil),
    (.delete, true, "right", nil),
    (.delete, true, "stale", .conflict),
    (.delete, true, "none", .conflict),
    (.delete, false, "none", .notFound),
    (.delete, false, "stale", .notFound),
    (.forceDelete, true, "none", nil),
    (.forceDelete, true, "stale", nil),
    (.forceDelete, false, "none", nil),
  ])
  func eachKindHeedsExistenceAndTag(
    kind: RecordOperation.Kind, exists: Bool, tag: String, expected: ServerErrorCode?
  ) throws {
    let harness = try Harness.withZone()
    var tags: [String: ChangeTag] = ["stale": "1"]
    if exists {
      let first = try harness.modify(.create("r", ["a": .int64(1)])).record!
      tags["right"] = try harness.modify(.update("r", tag: first.tag, ["b": .int64(1)])).record!.tag
    }
    let change = RecordChange(name: "r", type: "Entry", tag: tags[tag], fields: [.init("c", Field(.int64(2)))])
    let result = try harness.modify(RecordOperation(kind, change))
    #expect(result.code == expected, "\(kind) of \(exists ? "a record" : "nothing") with \(tag) tag: \(result)")
    let after = try harness.record("r")
    switch (expected, kind) {
    case (nil, .delete), (nil, .forceDelete): #expect(after == nil && result.isDeleted)
    case (nil, .update), (nil, .forceUpdate): #expect(try after!.fields.names == (exists ? ["a", "b", "c"] : ["c"]))
    case (nil, _): #expect(try after!.fields.names == ["c"])
    default: #expect(try after?.fields.names == (exists ? ["a", "b"] : nil))
    }
  }

  @Test func updateMergesAndReplaceDropsAndNullClears() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("r", ["a": .int64(1), "b": .int64(1), "c": .int64(1)]))
    let cleared = RecordOperation(
      .forceUpdate, RecordChange(name: "r", fields: [.init("a", nil), .init("b", Field(.int64(2)))]))
    #expect(try harness.modify(cleared).record!.fields == ["b": .int64(2), "c": .int64(1)])
    let replaced = RecordOperation(.forceReplace, RecordChange(name: "r", fields: [.init("a", Field(.int64(3)))]))
    #expect(try harness.modify(replaced).record!.fields == ["a": .int64(3)])
  }

  @Test func aConflictCarriesTheServerRecordAndTheCommonAncestor() throws {
    // C36
    let harness = try Harness.withZone()
    let first = try harness.modify(.create("r", ["t": .string("base")])).record!
    let second = try harness.modify(.update("r", tag: first.tag, ["t": .string("theirs"), "x": .int64(1)])).record!
    let lost = try harness.modify(.update("r", tag: first.tag, ["t": .string("mine")]))
    #expect(lost.failure?.error == ServiceError(.conflict, Reason.staleTag))
    #expect(lost.failure?.serverRecord == second)
    #expect(lost.failure?.ancestorRecord == first)
    let again = try harness.modify(.update("r", tag: first.tag, ["t": .string("mine")]))
    #expect(again.code == .conflict)
    let resolved = try harness.modify(.update("r", tag: second.tag, ["t": .string("merged")])).record!
    #expect(try resolved.fields == ["t": .string("merged"), "x": .int64(1)])
    let plain = try harness.modify(.update("r", tag: first.tag), wishes: .init(extensions: false)).failure
    #expect(plain?.serverRecord == resolved && plain?.ancestorRecord == nil)
  }

  @Test func anEditOfADeletedRecordIsNotFoundAndNeverCreatesItAgain() throws {
    // C18
    let harness = try Harness.withZone()
    let first = try harness.modify(.create("r")).record!
    _ = try harness.modify(.delete("r", tag: first.tag))
    let late = try harness.modify(.update("r", tag: first.tag, ["t": .string("late")]))
    #expect(late.failure?.error == ServiceError(.notFound, Reason.tagButNoRecord))
    #expect(try harness.record("r") == nil)
  }

  @Test func aTagOfAnEarlierLifeOfTheRecordDoesNotFit() throws {
    let harness = try Harness.withZone()
    let first = try harness.modify(.create("r")).record!
    _ = try harness.modify(.forceDelete("r"))
    let second = try harness.modify(.create("r", ["a": .int64(2)])).record!
    #expect(second.tag != first.tag)
    #expect(second.created == second.modified)
    #expect(try harness.modify(.update("r", tag: first.tag)).code == .conflict)
  }

  @Test func aCreateThatIsSentAgainFindsItsOwnRecord() throws {
    let harness = try Harness.withZone()
    let first = try harness.modify(.create("r", ["t": .string("x")])).record!
    let again = try harness.modify(.create("r", ["t": .string("x")]))
    #expect(again.failure?.error == ServiceError(.conflict, Reason.recordExists))
    #expect(again.failure?.serverRecord == first)
  }

  @Test func anAtomicBatchWithACulpritWritesNothing() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("old"))
    let before = try harness.page()
    let results = try harness.modify([.create("new"), .update("old", tag: "zz"), .forceDelete("none")])
    #expect(results.map(\.code) == [.atomicError, .conflict, .atomicError])
    #expect(results.map(\.name) == ["new", "old", "none"])
    #expect(try harness.page() == before)
  }

  @Test(arguments: [ZoneSelector("Diary"), ZoneSelector()])
  func aBatchThatIsNotAtomicWritesWhatItCan(zone: ZoneSelector) throws {
    // The default zone is never atomic, whatever the request says.
    let harness = try Harness.withZone()
    let operations: [RecordOperation] = [.create("a"), .update("none", tag: nil), .create("b")]
    let results = try harness.modify(operations, zone: zone, atomic: zone.name == .default)
    #expect(results.map(\.code) == [nil, .notFound, nil])
    #expect(try harness.lookUp(["a", "b"], zone: zone).allSatisfy { $0.record != nil })
  }

  @Test func stampsAreTheServersTimeAndTheFirstStampStays() throws {
    // C37
    let harness = try Harness.withZone()
    let first = try harness.modify(.create("r")).record!
    harness.now = harness.now + .seconds(5)
    let later = Harness.Caller("_alice", device: "laptop")
    let second = try harness.modify(.update("r", tag: first.tag), as: later).record!
    #expect(second.created == first.created)
    #expect(second.modified == RecordStamp(time: harness.now, user: "_alice", device: "laptop"))
  }

  @Test func timesOfVersionsNeverGoBackThoughTheServersClockDoes() throws {
    let harness = try Harness.withZone()
    let start = harness.now
    let first = try harness.modify(.create("r")).record!
    harness.now = start + .seconds(-10)
    let second = try harness.modify(.update("r", tag: first.tag, ["t": .string("second")])).record!
    #expect(second.created == first.created && second.modified.time == start)
    harness.now = start + .seconds(20)
    _ = try harness.modify(.delete("r", tag: second.tag))
    harness.now = start
    let third = try harness.modify(.create("r")).record!
    #expect(third.modified.time == start + .seconds(20) && third.created == third.modified)
    harness.now = start + .seconds(21)
    #expect(try harness.modify(.update("r", tag: third.tag)).record!.modified.time == harness.now)
  }

  @Test func savingAChildLeavesItsParentsTagAlone() throws {
    // C42
    let harness = try Harness.withZone()
    let parent = try harness.modify(.create("parent", ["t": .string("a")])).record!
    let child = RecordOperation.create(
      "child", ["owner": .reference(Reference(recordName: "parent", action: .deleteSelf))]
    ).with { $0.record.parent = .set(Reference(recordName: "parent")) }
    #expect(try harness.modify(child).record?.parent?.recordName == "parent")
    #expect(try harness.modify(.update("parent", tag: parent.tag, ["t": .string("b")])).record != nil)
  }

  @Test func membersThatAreUnknownAreCarriedAndMerged() throws {
    let harness = try Harness.withZone()
    func operation(_ kind: RecordOperation.Kind, _ members: String) -> RecordOperation {
      RecordOperation(kind, RecordChange(name: "r", type: "Entry")).with {
        $0.record.unknownMembers = Array(members.utf8)
      }
    }
    func members(_ result: RecordResult) -> String { String(decoding: result.record!.unknownMembers, as: UTF8.self) }
    #expect(members(try harness.modify(operation(.create, #""mood":{"x":[1]}"#))) == #""mood":{"x":[1]}"#)
    #expect(
      members(try harness.modify(operation(.forceUpdate, #""zeal":1,"art":2"#)))
        == #""art":2,"mood":{"x":[1]},"zeal":1"#)
    #expect(members(try harness.modify(operation(.forceUpdate, ""))) == #""art":2,"mood":{"x":[1]},"zeal":1"#)
    #expect(members(try harness.modify(operation(.forceReplace, #""art":3"#))) == #""art":3"#)
  }

  @Test func aFaultOfOneOperationFailsThatOneAlone() throws {
    let harness = try Harness.withZone()
    let broken = RecordOperation.create("bad").with { $0.fault = .badRequest("Invalid value") }
    let results = try harness.modify([.create("good"), broken], atomic: false)
    #expect(results.map(\.code) == [nil, .badRequest])
  }

  @Test func theSameRecordTwiceSpoilsTheRequest() throws {
    let harness = try Harness.withZone()
    let request = RecordsModifyRequest(operations: [.create("a"), .forceDelete("a")], zone: Harness.diary)
    let error = try harness.failure(.recordsModify(request))
    #expect(error?.code == .badRequest)
    #expect(error?.reason.contains("'a'") == true)
    #expect(try harness.page().records.isEmpty)
  }

  @Test func theTypeOfARecordStays() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("r"))
    let other = RecordOperation(.forceUpdate, RecordChange(name: "r", type: "Note"))
    let error = try harness.modify(other).failure?.error
    #expect(error == .badRequest("record 'r' has the type 'Entry', not 'Note'"))
    #expect(try harness.modify(RecordOperation(.forceUpdate, RecordChange(name: "new"))).code == .badRequest)
  }

  @Test func namesAreUnicodeWithoutControlCharactersAndNoLongerThan255Units() throws {
    // C93, C125: both Unicode forms of a name are names of their own, and field text is kept byte for byte.
    let harness = try Harness.withZone()
    for name in [
      "", "_reserved", "cloudkit.zoneshare", "a\u{0}b", "a\n", "\u{7f}", "\u{80}", "\u{9f}",
      String(repeating: "x", count: 256), String(repeating: "\u{e9}", count: 256),
      String(repeating: "😀", count: 128),
    ] {
      #expect(try harness.modify(.create(RecordName(name))).code == .badRequest, "\(name.debugDescription)")
    }
    for name in [
      "a/b", "100%", "a+b", "a b", "a?b", "\"q\"", String(repeating: "x", count: 255), "Caf\u{e9}", "Cafe\u{301}",
      "\u{301}a", "\u{a0}",
      String(repeating: "\u{e9}", count: 250), String(repeating: "😀", count: 127),
    ] {
      #expect(try harness.modify(.create(RecordName(name))).code == nil, "\(name)")
      #expect(try harness.record(RecordName(name)).map { Array($0.id.name.rawValue.utf8) } == Array(name.utf8))
    }
    for text in ["Caf\u{e9}", "Cafe\u{301}"] {
      let saved = try harness.modify(.force("text", ["t": .string(text)])).record!
      guard case .string(let kept)? = try saved.value("t") else { return #expect(Bool(false)) }
      #expect(Array(kept.utf8) == Array(text.utf8))
    }
  }

  @Test func theZonesTokenComesWithTheAnswerIfAskedFor() throws {
    let harness = try Harness.withZone()
    let request = RecordsModifyRequest(operations: [.create("a")], zone: Harness.diary)
    guard case .records(let reply) = try harness.call(.recordsModify(request), wishes: .init(syncToken: true)) else {
      return #expect(Bool(false))
    }
    #expect(try harness.page(reply.syncToken).records.isEmpty)
    #expect(try harness.page(reply.syncToken).syncToken == reply.syncToken)
  }

  @Test func desiredKeysShapeTheAnswerOfEachOperation() throws {
    let harness = try Harness.withZone()
    let fields: Fields = ["a": .int64(1), "b": .int64(2)]
    var request = RecordsModifyRequest(
      operations: [.create("all", fields), .create("one", fields).with { $0.desiredKeys = ["b"] }], zone: Harness.diary)
    request.desiredKeys = []
    guard case .records(let reply) = try harness.call(.recordsModify(request)) else { return #expect(Bool(false)) }
    #expect(reply.records.map { $0.record?.json } == ["{}", #"{"b":{"value":2,"type":"INT64"}}"#])
    #expect(try harness.record("all")?.fields == fields)
  }
}
