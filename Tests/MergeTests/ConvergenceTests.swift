import TestSupport
import Testing
import VirgaMerge
import VirgaModel

/// Devices that edit one record offline and save it in any order, with answers that get lost.
@Suite struct MergeConvergenceTests {
  private struct Device {
    let merger: RecordMerger
    var base: Record
    var mine: Record
    var sent: [Record] = []
    var isDirty = false

    init(_ name: String, _ policy: MergePolicy, _ record: Record) {
      merger = RecordMerger(policies: MergePolicies(default: policy), device: name)
      (base, mine) = (record, record)
    }

    mutating func edit(_ change: (inout Fields) -> Void) {
      change(&mine.fields)
      isDirty = true
    }

    /// One attempt, at most `attempts` times until it is saved. An answer that is lost leaves the device as it was, but for what it sent.
    mutating func save(
      to server: inout OneRecordServer, isAnswerLost: Bool = false, between: (inout OneRecordServer) -> Void = { _ in }
    ) -> Bool {
      for _ in 0..<8 {
        guard isDirty else { return true }
        let sending = merger.marked(mine, write: merger.nextWrite(of: mine))
        let answer = server.save(sending)
        guard !isAnswerLost else {
          mine = sending
          sent.append(sending)
          return false
        }
        switch answer {
        case .saved(let saved):
          (base, mine, sent, isDirty) = (saved, saved, [], false)
          return true
        case .conflict(let now, let ancestor):
          let outcome = merger.merge(RecordVersions(ancestor: ancestor ?? base, server: now, mine: sending, sent: sent))
          (base, mine, sent, isDirty) = (now, outcome.record, [], outcome.isSaveNeeded)
          between(&server)
        }
      }
      return false
    }
  }

  @Test(arguments: 0..<300 as Range<UInt64>)
  func countersNeverCountTwiceNorLose(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let policy = try MergePolicy(default: .preferServer, marks: "writes") { Field("visits").counter() }
    var server = OneRecordServer(["visits": 0])
    var devices = ["phone", "watch", "tablet"].map { Device($0, policy, server.record) }
    var expected: Int64 = 0
    for _ in 0..<40 {
      let index = Int.random(in: 0..<3, using: &random)
      if Bool.random(using: &random) {
        let amount = Int64.random(in: 1...3, using: &random)
        expected += amount
        devices[index].edit { fields in
          guard case .int64(let count)? = fields["visits"]?.value else { return }
          fields["visits"] = VirgaModel.Field(.int64(count + amount))
        }
      } else {
        _ = devices[index].save(to: &server, isAnswerLost: Int.random(in: 0..<3, using: &random) == 0)
      }
    }
    for index in devices.indices {
      let isSaved = devices[index].save(to: &server)
      #expect(isSaved)
    }
    #expect(server.record.fields["visits"]?.value == .int64(expected), "seed \(seed)")
  }

  @Test func equalAdditionsOfTwoDevicesBothCount() throws {
    let policy = try MergePolicy(default: .preferServer, marks: "writes") { Field("visits").counter() }
    var server = OneRecordServer(["visits": 5])
    var (phone, watch) = (Device("phone", policy, server.record), Device("watch", policy, server.record))
    phone.edit { $0["visits"] = VirgaModel.Field(6) }
    watch.edit { $0["visits"] = VirgaModel.Field(6) }
    let saved = [phone.save(to: &server), watch.save(to: &server)]
    #expect(saved == [true, true])
    #expect(server.record.fields["visits"]?.value == 7)
  }

  /// Rules that name no side: whoever arrives first, the record ends the same.
  @Test(arguments: 0..<300 as Range<UInt64>)
  func everyOrderOfArrivalEndsTheSame(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let policy = try MergePolicy(default: .largest, marks: "writes") {
      Field("value", "source").newest(by: "at")
      Field("high").largest()
      Field("low").smallest()
      Field("visits").counter()
      Field("tags").set()
    }
    let start: Fields = [
      "value": 0, "source": "-", "at": moment(0), "high": 5, "low": 5, "visits": 0, "tags": .stringList(["a", "b"]),
      "x0": 0,
      "x1": 0, "x2": 0,
    ]
    let first = OneRecordServer(start)
    let edited = (0..<3).map { index in
      var device = Device("d\(index)", policy, first.record)
      device.edit { fields in
        if Bool.random(using: &random) {
          fields["value"] = VirgaModel.Field(.int64(.random(in: 1...3, using: &random)))
          fields["source"] = VirgaModel.Field(.string("d\(index)"))
          fields["at"] = VirgaModel.Field(moment(.random(in: 1...3, using: &random)))
        }
        fields["high"] = VirgaModel.Field(.int64(.random(in: 0...9, using: &random)))
        fields["low"] = VirgaModel.Field(.int64(.random(in: 0...9, using: &random)))
        fields["visits"] = VirgaModel.Field(.int64(.random(in: 0...4, using: &random)))
        let tags = ["a", "b", "c", "d", "e"].filter { _ in Bool.random(using: &random) }
        fields["tags"] = VirgaModel.Field(tags.isEmpty ? .emptyList : .stringList(tags))
        fields[FieldName("x\(index)")] = VirgaModel.Field(1)
      }
      return device
    }
    var results: Set<Fields> = []
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      var (server, devices) = (first, edited)
      for index in order {
        let isSaved = devices[index].save(to: &server)
        #expect(isSaved)
      }
      // A device whose save said nothing new leaves no mark.
      server.record.fields["writes"] = nil
      results.insert(server.record.fields)
    }
    #expect(results.count == 1, "seed \(seed): \(results)")
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func mergingIsDeterministicAndIdempotent(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let rules: [MergeRule] = [
      .preferServer, .preferMine, .largest, .smallest, .set, .orderedList, .text(orElse: .fork), .fork, .ask,
      .newest(by: "f0"),
    ]
    func value() -> FieldValue? {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: nil
      case 1: .int64(.random(in: 0...2, using: &random))
      case 2: .stringList(["a", "b", "c"].filter { _ in Bool.random(using: &random) })
      case 3: .string(["one two", "one TWO", "ONE two\nx"].randomElement(using: &random)!)
      default: moment(.random(in: 0...3, using: &random))
      }
    }
    func fields() -> Fields {
      Fields(
        (0..<5).compactMap { index in value().map { .init(name: FieldName("f\(index)"), field: VirgaModel.Field($0)) } }
      )
    }
    let chosen = (0..<4).map { _ in rules.randomElement(using: &random)! }
    let defaults: [MergeRule] = [.preferServer, .preferMine, .largest, .fork, .ask, .text(orElse: .smallest)]
    let merger = try policy(default: defaults.randomElement(using: &random)!) {
      for (index, rule) in chosen.enumerated() { Field("f\(index)").merged(by: rule) }
    }
    let (ancestor, server, mine) = (fields(), fields(), fields())
    let outcome = merge(merger, ancestor, server: server, mine: mine)
    let again = merge(merger, ancestor, server: server, mine: mine)
    #expect(outcome.record == again.record && outcome.decisions == again.decisions && outcome.forks == again.forks)
    // The merged record over the same server version is what it is.
    let second = merger.merge(
      RecordVersions(
        ancestor: record(server, tag: "2"), server: record(server, tag: "2", time: 1_000_000), mine: outcome.record))
    #expect(second.record.fields == outcome.record.fields, "seed \(seed)")
    #expect(second.decisions.isEmpty)
  }

  @Test func aThirdDeviceThatSavesBetweenMergeAndRetryIsMergedToo() throws {
    let policy = try MergePolicy(default: .preferServer, marks: "writes") { Field("visits").counter() }
    var server = OneRecordServer(["visits": 0])
    var devices = ["a", "b", "c"].map { Device($0, policy, server.record) }
    for index in devices.indices { devices[index].edit { $0["visits"] = VirgaModel.Field(1) } }
    let isFirstSaved = devices[0].save(to: &server)
    #expect(isFirstSaved)
    var (second, third) = (devices[1], devices[2])
    let isSaved = second.save(to: &server) { _ = third.save(to: &$0) }
    #expect(isSaved)
    #expect(server.record.fields["visits"]?.value == 3)
  }

  @Test func aSlowDeviceMergesTenThousandConflicts() throws {
    let policy = try MergePolicy(default: .preferServer, marks: "writes") { Field("visits").counter() }
    var journal = ConflictJournal(limit: 100)
    let merger = RecordMerger(policies: MergePolicies(default: policy), device: "slow")
    for index in 0..<10_000 {
      var server = OneRecordServer(["visits": 0])
      var (mine, theirs) = (server.record, server.record)
      theirs.fields["visits"] = VirgaModel.Field(.int64(Int64(index)))
      _ = server.save(theirs)
      mine.fields["visits"] = VirgaModel.Field(1)
      let outcome = merger.merge(RecordVersions(ancestor: mine.with("visits", 0), server: server.record, mine: mine))
      #expect(outcome.record.fields["visits"]?.value == .int64(Int64(index) + 1))
      journal.note(outcome, at: Timestamp(milliseconds: Int64(index)))
    }
    #expect(journal.entries.count == 100)
  }

  @Test func aLostWriteOfWhichNothingIsKnownIsNotGuessed() throws {
    let policy = try MergePolicy(default: .ask, marks: "writes") { Field("visits").counter() }
    let merger = RecordMerger(policies: MergePolicies(default: policy), device: "phone")
    var server = OneRecordServer(["visits": 0])
    let start = server.record
    // Write 1 arrives and its answer is lost; the device was restored from a copy of before and writes 2.
    _ = server.save(merger.marked(start.with("visits", 3), write: 1))
    let mine = merger.marked(start.with("visits", 4), write: 2)
    let outcome = merger.merge(RecordVersions(ancestor: start, server: server.record, mine: mine))
    #expect(outcome.record.fields["visits"]?.value == 3 && outcome.question != nil)
  }
}

extension Record {
  fileprivate func with(_ name: FieldName, _ value: FieldValue) -> Record {
    var record = self
    record.fields[name] = VirgaModel.Field(value)
    return record
  }
}
