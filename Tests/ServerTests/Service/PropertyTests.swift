import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// Random batches against a model that fits on a page: a dictionary of records, with no overlay, plan or sequence log.
@Suite struct ServicePropertyTests {
  private struct Model {
    struct Row: Equatable {
      var fields: Fields
      var tag: ChangeTag
    }
    var rows: [RecordName: Row] = [:]

    /// What the table of kinds says, reference rules left out.
    func code(of operation: RecordOperation) -> ServerErrorCode? {
      let row = rows[operation.record.name!]
      switch operation.kind {
      case .create: return row == nil ? nil : .conflict
      case .update, .replace, .delete:
        guard let row else { return .notFound }
        return row.tag == operation.record.tag ? nil : .conflict
      case .forceUpdate, .forceReplace, .forceDelete: return nil
      }
    }

    mutating func apply(_ operation: RecordOperation, answer: RecordResult) {
      let name = operation.record.name!
      guard !operation.kind.isDelete, let saved = answer.record else {
        rows[name] = nil
        return
      }
      var fields = operation.kind.replaces ? Fields() : rows[name]?.fields ?? Fields()
      for change in operation.record.fields { fields[change.name] = change.field }
      rows[name] = Row(fields: fields, tag: saved.tag)
    }
  }

  /// A reader that only ever sees its feed.
  private struct Reader {
    var token: String?
    var records: [RecordName: RecordEnvelope] = [:]

    mutating func read(_ harness: Harness, limit: Int?) throws {
      while true {
        let page = try harness.page(token, limit: limit)
        for result in page.records {
          records[result.name] = result.record
        }
        #expect(page.syncToken != token || page.records.isEmpty && !page.moreComing)
        token = page.syncToken
        if !page.moreComing { return }
      }
    }
  }

  @Test(arguments: 1...60) func randomBatchesAgreeWithTheModelAndEveryReaderConverges(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let harness = try Harness.withZone()
    var model = Model()
    var readers = [Reader(), Reader(), Reader()]
    var oldTags: [ChangeTag] = ["zz"]
    for step in 0..<60 {
      let names = (0..<6).map { RecordName("r\($0)") }.shuffled(using: &random)
      let operations = names.prefix(Int.random(in: 1...4, using: &random)).map { name in
        randomOperation(name, model.rows[name]?.tag, oldTags, &random)
      }
      let atomic = Bool.random(using: &random)
      let results = try harness.modify(operations, atomic: atomic)
      let expected = operations.map(model.code)
      let isRefused = atomic && expected.contains { $0 != nil }
      let codes = isRefused ? expected.map { $0 ?? .atomicError } : expected
      #expect(results.map(\.code) == codes, "seed \(seed), step \(step): \(operations)")
      for (operation, result) in zip(operations, results) where result.code == nil {
        model.apply(operation, answer: result)
        if let tag = result.record?.tag {
          #expect(!oldTags.contains(tag), "seed \(seed), step \(step): a tag was given twice")
          oldTags.append(tag)
        }
      }
      try check(harness, model, "seed \(seed), step \(step)")
      let reader = Int.random(in: 0..<3, using: &random)
      try readers[reader].read(harness, limit: [nil, 1, 2].randomElement(using: &random)!)
      if Int.random(in: 0..<20, using: &random) == 0 { readers[reader] = Reader() }
    }
    for index in readers.indices {
      try readers[index].read(harness, limit: 2)
      let seen = try readers[index].records.mapValues { Model.Row(fields: try $0.fields, tag: $0.tag) }
      #expect(seen == model.rows, "seed \(seed), reader \(index)")
    }
  }

  private func randomOperation(
    _ name: RecordName, _ tag: ChangeTag?, _ oldTags: [ChangeTag], _ random: inout SplitMix64
  ) -> RecordOperation {
    let kind = RecordOperation.Kind.allCases.randomElement(using: &random)!
    var change = RecordChange(name: name, type: "Entry")
    change.tag = Int.random(in: 0..<4, using: &random) == 0 ? oldTags.randomElement(using: &random) : tag
    for field in ["a", "b", "c"] where Bool.random(using: &random) {
      let isCleared = Int.random(in: 0..<4, using: &random) == 0
      let value = FieldValue.int64(Int64.random(in: 0..<100, using: &random))
      change.fields.append(FieldChange(FieldName(field), isCleared ? nil : Field(value)))
    }
    return RecordOperation(kind, change)
  }

  private func check(_ harness: Harness, _ model: Model, _ place: String) throws {
    let names = (0..<6).map { RecordName("r\($0)") }
    for (name, result) in zip(names, try harness.lookUp(names)) {
      let row = try result.record.map { Model.Row(fields: try $0.fields, tag: $0.tag) }
      #expect(row == model.rows[name], "\(place): \(name)")
    }
  }

  /// However references and deletions are mixed, no guarded reference ever dangles and no deletion is half done.
  @Test(arguments: 1...60) func noGuardedReferenceEverDangles(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let harness = try Harness.withZone()
    for step in 0..<40 {
      let names = (0..<7).map { RecordName("r\($0)") }
      let chosen = names.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random))
      let operations = chosen.map { name -> RecordOperation in
        if Int.random(in: 0..<3, using: &random) == 0 { return .forceDelete(name) }
        let target = names.randomElement(using: &random)!
        let action: Reference.Action = Bool.random(using: &random) ? .validate : .deleteSelf
        if Int.random(in: 0..<4, using: &random) == 0 {
          return .force(name).with { $0.record.parent = .set(Reference(recordName: target)) }
        }
        return .force(name, ["to": .reference(Reference(recordName: target, action: action))])
      }
      let results = try harness.modify(operations, atomic: Bool.random(using: &random))
      let live = try harness.page().records.compactMap(\.record)
      let liveNames = Set(live.map(\.id.name))
      for record in live {
        var targets = [record.parent?.recordName]
        if case .reference(let reference)? = try record.value("to") { targets.append(reference.recordName) }
        for target in targets.compactMap({ $0 }) {
          #expect(liveNames.contains(target), "seed \(seed), step \(step): \(record.id.name) dangles")
        }
      }
      for (operation, result) in zip(operations, results) where result.code == nil && operation.kind == .forceDelete {
        #expect(!liveNames.contains(operation.record.name!), "seed \(seed), step \(step)")
      }
    }
  }

  /// Whoever follows the database feed knows which zones there are, however they come and go.
  @Test(arguments: 1...40) func everyReaderOfTheDatabaseFeedConverges(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let harness = Harness()
    var zones: Set<ZoneName> = []
    var token: String?
    var seen: Set<ZoneName> = []
    func read() throws {
      while true {
        let reply = try harness.databaseChanges(token, limit: [nil, 1, 2].randomElement(using: &random)!)
        for zone in reply.zones.compactMap(\.zone) {
          if zone.isDeleted { seen.remove(zone.id.name) } else { seen.insert(zone.id.name) }
        }
        token = reply.syncToken
        if !reply.moreComing { return }
      }
    }
    for step in 0..<60 {
      let name = ZoneName("z\(Int.random(in: 0..<5, using: &random))")
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        try harness.deleteZone(name)
        zones.remove(name)
      case 1:
        try harness.makeZone(name)
        zones.insert(name)
      case 2 where zones.contains(name): _ = try harness.modify(.force("r"), zone: ZoneSelector(name))
      default:
        if step % 7 == 0 { (token, seen) = (nil, []) }
        try read()
        #expect(seen == zones, "seed \(seed), step \(step)")
      }
    }
  }
}
