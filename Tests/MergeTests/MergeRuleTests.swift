import Testing
import VirgaMerge
import VirgaModel

@Suite struct MergeRuleTests {
  @Test func whatOneSideChangedIsTakenAndUnknownFieldsStay() throws {
    let merger = try policy {}
    let outcome = merge(
      merger, ["a": 1, "b": 1, "c": 1, "gone": 1],
      server: ["a": 2, "b": 1, "c": 1, "future": .unknown(tag: "X", json: [1])],
      mine: ["a": 1, "b": 2, "gone": 1, "new": "x"])
    #expect(outcome.record.fields == ["a": 2, "b": 2, "new": "x", "future": .unknown(tag: "X", json: [1])])
    #expect(outcome.record.tag == "2" && outcome.isSaveNeeded)
    #expect(outcome.decisions.isEmpty && outcome.forks.isEmpty && outcome.question == nil)
  }

  @Test func whatBothChangedAlikeIsNoConflict() throws {
    let outcome = merge(try policy(default: .ask) {}, ["a": 1], server: ["a": 2], mine: ["a": 2])
    #expect(!outcome.isSaveNeeded && outcome.question == nil && outcome.decisions.isEmpty)
  }

  @Test(arguments: [
    (MergeRule.preferServer, FieldValue(2), MergeDecision.Taken.server), (.preferMine, 3, .mine), (.largest, 3, .mine),
    (.smallest, 2, .server),
  ])
  func theDefaultDecidesAboutTheRest(rule: MergeRule, expected: FieldValue, taken: MergeDecision.Taken) throws {
    let outcome = merge(try policy(default: rule) {}, ["a": 1], server: ["a": 2], mine: ["a": 3])
    #expect(outcome.record.fields["a"]?.value == expected)
    let decision = try #require(outcome.decisions.first)
    #expect(decision.taken == taken && decision.fields == ["a"])
    let lost: FieldValue = taken == .mine ? 2 : 3
    #expect(decision.discarded.map(\.value?.fieldValue) == [lost] && decision.discarded[0].kept?.fieldValue == expected)
    #expect(outcome.isSaveNeeded == (taken == .mine))
  }

  @Test func fieldsThatBelongTogetherMoveTogether() throws {
    let merger = try policy { Field("value", "recordedAt", "source").newest(by: "recordedAt") }
    let ancestor: Fields = ["value": 70, "recordedAt": moment(10), "source": "phone"]
    // The later measurement wins as a whole, with its source, whoever arrives first.
    let outcome = merge(
      merger, ancestor, server: ["value": 71, "recordedAt": moment(30), "source": "phone"],
      mine: ["value": 72, "recordedAt": moment(20), "source": "watch"])
    #expect(outcome.record.fields == ["value": 71, "recordedAt": moment(30), "source": "phone"])
    #expect(outcome.decisions[0].discarded.map(\.field) == ["value", "recordedAt", "source"])
    // One side alone changed the group: its values count for all of it.
    let alone = merge(
      merger, ancestor, server: ancestor, mine: ["value": 72, "recordedAt": moment(5), "source": "watch"])
    #expect(alone.record.fields["source"]?.value == "watch" && alone.decisions.isEmpty)
  }

  @Test func aClockThatRunsFastDoesNotWinForEver() throws {
    let merger = try policy { Field("title").newest(by: "editedAt") }
    let fast: Fields = ["title": "fast", "editedAt": moment(9_000_000)]
    // The fast clock arrives first: the server took it at 1,000,000, and a later edit wins.
    let later = merge(
      merger, ["title": "old", "editedAt": moment(5)], server: fast,
      mine: ["title": "later", "editedAt": moment(1_000_001)],
      serverTime: 1_000_010)
    #expect(later.record.fields == ["title": "later", "editedAt": moment(1_000_001)])
    // It arrives last: it counts, and is stored, as the server's time.
    let last = merge(
      merger, ["title": "old", "editedAt": moment(5)], server: ["title": "x", "editedAt": moment(7)], mine: fast,
      serverTime: 2_000_000)
    #expect(last.record.fields == ["title": "fast", "editedAt": moment(2_000_000)])
    // A save without a conflict is capped before it is sent; what the server has already is not.
    let sent = record(fast)
    let capped = merger.capped(sent, at: Timestamp(milliseconds: 2_000_000), fields: ["title", "editedAt"])
    #expect(capped.fields == ["title": "fast", "editedAt": moment(2_000_000)])
    #expect(merger.capped(sent, at: Timestamp(milliseconds: 2_000_000), fields: ["title"]) == sent)
  }

  @Test func equalDatesFallAlikeOnBothSides() throws {
    let merger = try policy { Field("title").newest(by: "editedAt") }
    let (left, right): (Fields, Fields) = (
      ["title": "a", "editedAt": moment(7)], ["title": "b", "editedAt": moment(7)]
    )
    let ancestor: Fields = ["title": "", "editedAt": moment(1)]
    #expect(merge(merger, ancestor, server: left, mine: right).record.fields == right)
    #expect(merge(merger, ancestor, server: right, mine: left).record.fields == right)
  }

  @Test func aSetKeepsAdditionsOfBothAndRemovalsOfEither() throws {
    let merger = try policy { Field("tags").set() }
    let outcome = merge(
      merger, ["tags": .stringList(["a", "b", "c"])], server: ["tags": .stringList(["b", "c", "x"])],
      mine: ["tags": .stringList(["y", "a", "b", "x"])])
    #expect(outcome.record.fields["tags"]?.value == .stringList(["b", "x", "y"]))
    let emptied = merge(merger, ["tags": .stringList(["a"])], server: [:], mine: ["tags": .emptyList])
    #expect(!emptied.isSaveNeeded || emptied.record.fields["tags"]?.value == .emptyList)
    // What is no list goes to the default rule.
    let unfit = merge(merger, ["tags": "a"], server: ["tags": "b"], mine: ["tags": "c"])
    #expect(unfit.record.fields["tags"]?.value == "b" && unfit.decisions[0].rule == "preferServer")
  }

  @Test func anOrderedListKeepsPlaces() throws {
    let merger = try policy { Field("items").orderedList() }
    func items(_ server: [String], _ mine: [String]) -> FieldValue? {
      merge(
        merger, ["items": .stringList(["a", "b", "c"])], server: ["items": .stringList(server)],
        mine: ["items": .stringList(mine)]
      ).record.fields["items"]?.value
    }
    #expect(items(["a", "x", "b", "c"], ["a", "b", "y"]) == .stringList(["a", "x", "b", "y"]))
    #expect(items(["a", "b", "c", "z"], ["a", "b", "c", "y"]) == .stringList(["a", "b", "c", "y", "z"]))
    #expect(items(["a", "b", "c", "n"], ["a", "n", "b", "c"]) == .stringList(["a", "n", "b", "c"]))
    #expect(items([], ["a", "b", "c", "d"]) == .stringList(["d"]))
  }

  @Test func textsAreJoinedOrFallToTheOtherRule() throws {
    let merger = try policy { Field("text").text(orElse: .fork) }
    let joined = merge(merger, ["text": "one\ntwo"], server: ["text": "ONE\ntwo"], mine: ["text": "one\ntwo\nthree"])
    #expect(joined.record.fields["text"]?.value == "ONE\ntwo\nthree" && joined.forks.isEmpty)
    let forked = merge(merger, ["text": "one"], server: ["text": "uno"], mine: ["text": "eins"])
    #expect(forked.record.fields["text"]?.value == "uno" && !forked.isSaveNeeded)
    #expect(forked.forks.map { $0.fields["text"]?.value } == ["eins"])
  }

  @Test func aForkHasOneNameWhereverItIsMade() throws {
    let merger = try policy { Field("text").fork() }
    let first = merge(merger, ["text": "a"], server: ["text": "b"], mine: ["text": "c"])
    let again = merge(merger, ["text": "a"], server: ["text": "b"], mine: ["text": "c"])
    let other = merge(merger, ["text": "a"], server: ["text": "b"], mine: ["text": "d"])
    #expect(first.forks == again.forks && first.forks[0].id != other.forks[0].id)
    #expect(first.forks[0].tag == nil && first.forks[0].id.name.rawValue.hasPrefix("n~"))
    var long = record(["text": "b"], tag: "2", name: RecordName(String(repeating: "x", count: 255)))
    var mine = long
    mine.fields["text"] = VirgaModel.Field("c")
    long.tag = "3"
    let name = merger.merge(RecordVersions(ancestor: nil, server: long, mine: mine)).forks[0].id.name.rawValue
    #expect(name.count == 255)
    // Names are measured in UTF-16 units.
    long.id.name = RecordName(String(repeating: "😀", count: 120))
    mine.id.name = long.id.name
    let emoji = merger.merge(RecordVersions(ancestor: nil, server: long, mine: mine)).forks[0].id.name.rawValue
    #expect(emoji.utf16.count == 255 && emoji.hasPrefix(String(repeating: "😀", count: 111) + "~"))
  }

  @Test func aQuestionKeepsBothValuesAndTheServersShows() throws {
    let merger = try policy { Field("price").ask() }
    let outcome = merge(
      merger, ["price": 1, "name": "x"], server: ["price": 2, "name": "x"], mine: ["price": 3, "name": "y"])
    #expect(outcome.record.fields == ["price": 2, "name": "y"] && outcome.isSaveNeeded)
    let question = try #require(outcome.question)
    #expect(question.choices.map { [$0.ancestor, $0.server, $0.mine].map { $0?.fieldValue } } == [[1, 2, 3]])
    #expect(question.id == merge(merger, ["price": 1], server: ["price": 2], mine: ["price": 3]).question?.id)
  }

  @Test func twoAnswersConvergeOnTheFirst() throws {
    let merger = try policy { Field("price").ask() }
    var server = OneRecordServer(["price": 2])
    let (asked, later) = (server.record, server.record)
    var (first, second) = (asked, later)
    first.fields["price"] = VirgaModel.Field(10)
    second.fields["price"] = VirgaModel.Field(20)
    guard case .saved = server.save(first), case .conflict(let now, let ancestor) = server.save(second) else {
      Issue.record("the second answer met no conflict")
      return
    }
    let outcome = merger.merge(RecordVersions(ancestor: ancestor, server: now, mine: second), answered: ["price"])
    #expect(outcome.record.fields["price"]?.value == 10 && outcome.question == nil && !outcome.isSaveNeeded)
    #expect(outcome.decisions[0].discarded.map(\.value?.fieldValue) == [20])
  }

  @Test func aClosureDecidesByField() throws {
    let merger = try policy {
      Field("level").custom("first letter of both") { values in
        guard case .string(let a)? = values.server, case .string(let b)? = values.mine else { return nil }
        return .string(String([a, b].sorted().joined().prefix(3)))
      }
    }
    let outcome = merge(merger, ["level": "-"], server: ["level": "b"], mine: ["level": "a"])
    #expect(outcome.record.fields["level"]?.value == "ab" && outcome.decisions[0].rule == "first letter of both")
  }

  @Test func theWholeRecordCanBeOneGroup() throws {
    let merger = try policy { WholeRecord().newest(by: "at") }
    let outcome = merge(
      merger, ["a": 1, "b": 1, "at": moment(1)], server: ["a": 2, "b": 1, "at": moment(9)],
      mine: ["a": 1, "b": 2, "at": moment(5)])
    #expect(outcome.record.fields == ["a": 2, "b": 1, "at": moment(9)])
    // What only my side changed is discarded by the rule, and the decision has it.
    #expect(outcome.decisions[0].discarded.contains { $0.field == "b" && $0.value?.fieldValue == 2 })
  }

  @Test func equalBytesCountAndEqualLettersDoNot() throws {
    let (composed, decomposed) = (FieldValue("caf\u{e9}"), FieldValue("cafe\u{301}"))
    let outcome = merge(try policy {}, ["a": composed], server: ["a": composed], mine: ["a": decomposed])
    #expect(outcome.isSaveNeeded)
    if case .string(let text)? = outcome.record.fields["a"]?.value { #expect(text.utf8.count == 6) }
  }

  @Test func filesAreComparedByTheirContent() throws {
    let stored = AssetValue(fileChecksum: "x", size: 3, downloadURL: "http://127.0.0.1/1")
    let sent = AssetValue(fileChecksum: "x", size: 3, receipt: "r")
    let outcome = merge(
      try policy(default: .ask) {}, ["f": .asset(stored)], server: ["f": .asset(stored)], mine: ["f": .asset(sent)])
    #expect(!outcome.isSaveNeeded && outcome.question == nil)
  }

  @Test func encryptedFieldsStayEncrypted() throws {
    func secret(_ text: FieldValue) -> Fields {
      Fields([.init(name: "s", field: VirgaModel.Field(text, isEncrypted: true))])
    }
    let merger = try policy { Field("s").text(orElse: .preferServer) }
    let outcome = merge(merger, secret("one\ntwo"), server: secret("1\ntwo"), mine: secret("one\n2"))
    #expect(outcome.record.fields["s"] == VirgaModel.Field("1\n2", isEncrypted: true))
  }

  @Test func theParentIsMergedToo() throws {
    let merger = try policy {}
    var (ancestor, server, mine) = (record([:], tag: "1"), record(["a": 1], tag: "2"), record([:], tag: "1"))
    mine.parent = Reference(recordName: "p")
    #expect(merger.merge(RecordVersions(ancestor: ancestor, server: server, mine: mine)).record.parent == mine.parent)
    server.parent = Reference(recordName: "q")
    let outcome = merger.merge(RecordVersions(ancestor: ancestor, server: server, mine: mine))
    #expect(outcome.record.parent == server.parent && outcome.decisions.count == 1)
    ancestor.parent = Reference(recordName: "p")
    #expect(merger.merge(RecordVersions(ancestor: ancestor, server: server, mine: mine)).decisions.isEmpty)
  }
}

@Suite struct InvariantTests {
  private static let done = Invariant("done and postponed") { !($0["done"] == true && $0["postponedTo"] != nil) }
  private let ancestor: Fields = ["done": false]
  private let server: Fields = ["done": true]
  private let mine: Fields = ["done": false, "postponedTo": 8]

  @Test func theServersSideCanCountInstead() throws {
    let outcome = merge(try policy { Self.done.resolve(.preferServer) }, ancestor, server: server, mine: mine)
    #expect(outcome.record.fields == server && !outcome.isSaveNeeded)
    let decision = try #require(outcome.decisions.first)
    #expect(
      decision.rule == "done and postponed"
        && decision.discarded.contains { $0.field == "postponedTo" && $0.side == .mine })
  }

  @Test func orMySideOrAForkOrAQuestion() throws {
    #expect(
      merge(try policy { Self.done.resolve(.preferMine) }, ancestor, server: server, mine: mine).record.fields == mine)
    let fork = merge(try policy { Self.done.resolve(.fork) }, ancestor, server: server, mine: mine)
    #expect(fork.record.fields == server && fork.forks[0].fields == mine)
    let ask = merge(try policy { Self.done.resolve(.ask) }, ancestor, server: server, mine: mine)
    #expect(ask.record.fields == server && ask.question?.choices.map(\.field) == ["done", "postponedTo"])
  }

  @Test func orTheMergedRecordIsMended() throws {
    let merger = try policy { Self.done.repair("a done task is not postponed") { $0["postponedTo"] = nil } }
    let outcome = merge(merger, ancestor, server: server, mine: mine)
    #expect(outcome.record.fields == ["done": true])
    #expect(outcome.decisions[0].discarded.map(\.value?.fieldValue) == [8])
  }

  @Test func whatOneDeviceSavedByItselfIsNotJudged() throws {
    let both: Fields = ["done": true, "postponedTo": 8]
    let outcome = merge(try policy { Self.done.resolve(.preferServer) }, ancestor, server: ancestor, mine: both)
    #expect(outcome.record.fields == both)
  }
}

@Suite struct MergePolicyTests {
  @Test func contradictionsAreRefused() {
    #expect(throws: MergePolicyError.fieldTwice("a")) {
      try MergePolicy(default: .ask) {
        Field("a").preferMine()
        Field("a", "b").preferServer()
      }
    }
    #expect(throws: MergePolicyError.fieldWithoutName) { try MergePolicy(default: .ask) { Field().ask() } }
    #expect(throws: MergePolicyError.fieldBesideWholeRecord("a")) {
      try MergePolicy(default: .ask) {
        Field("a").ask()
        WholeRecord().preferServer()
      }
    }
    #expect(throws: MergePolicyError.wholeRecordTwice) {
      try MergePolicy(default: .ask) {
        WholeRecord().ask()
        WholeRecord().preferServer()
      }
    }
    #expect(throws: MergePolicyError.ruleForMarks("w")) {
      try MergePolicy(default: .ask, marks: "w") { Field("w").set() }
    }
    for rule in [MergeRule.counter, .set, .orderedList, .text(orElse: .set)] {
      #expect(throws: MergePolicyError.self) { try MergePolicy(default: rule, marks: "w") }
    }
  }

  @Test func aCounterWithoutMarksPointsToRows() throws {
    #expect(throws: MergePolicyError.counterWithoutMarks("visits")) {
      try MergePolicy(default: .ask) { Field("visits").counter() }
    }
    #expect("\(MergePolicyError.counterWithoutMarks("visits"))".contains("CounterRows"))
  }

  @Test func typesHavePoliciesOfTheirOwn() throws {
    let policies = MergePolicies(
      ["Note": try MergePolicy(default: .preferMine)], default: try MergePolicy(default: .preferServer))
    let merger = RecordMerger(policies: policies, device: "d")
    #expect(merge(merger, ["a": 1], server: ["a": 2], mine: ["a": 3]).record.fields["a"]?.value == 3)
    var (server, mine) = (record(["a": 2]), record(["a": 3]))
    (server.type, mine.type) = ("Other", "Other")
    #expect(merger.merge(RecordVersions(ancestor: nil, server: server, mine: mine)).record.fields["a"]?.value == 2)
  }
}
