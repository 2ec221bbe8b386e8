import Foundation
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// What saves of all kinds answer and leave behind, line by line in a file. Most of a save is worked out before the
/// writer's turn; the file was first written by a server that did all of it there, one value after the other.
@Suite struct SavedRecordTests {
  struct Case {
    var testDescription: String
    var operations: [RecordOperation]
    var isAtomic = true
    var place = Harness.Where.own

    init(_ name: String, _ operations: [RecordOperation], atomic: Bool = true, in place: Harness.Where = .own) {
      testDescription = name
      self.operations = operations
      isAtomic = atomic
      self.place = place
    }
  }

  private static func change(_ name: FieldName, _ value: FieldValue?, tagged: Bool = true, encrypted: Bool = false)
    -> FieldChange
  {
    FieldChange(name, value.map { Field($0, isEncrypted: encrypted) }, isTagged: tagged)
  }

  private static func create(
    _ name: RecordName?, _ changes: [FieldChange], kind: RecordOperation.Kind = .create,
    _ more: (inout RecordOperation) -> Void = { _ in }
  ) -> RecordOperation {
    RecordOperation(kind, RecordChange(name: name, type: "Entry", fields: changes)).with(more)
  }

  private static func share(_ name: RecordName, of root: RecordName?) -> RecordOperation {
    create(name, []) {
      $0.record.type = .share
      $0.record.shareChange.root = root.map { ShareChange.Root($0) }
    }
  }

  private static let plain = [change("title", .string("Rain, \"again\" \u{1F327}\n")), change("pages", .int64(-3))]
  private static let all: [FieldChange] = [
    change("z", .string("")), change("a", .double(1)), change("m", .timestamp(Timestamp(milliseconds: 5))),
    change("b", .bytes([0, 255, 7])), change("p", .location(Location(latitude: 1, longitude: 2))),
    change("l", .stringList(["x", "y"])), change("n", .int64List([])),
  ]

  static let cases: [Case] = [
    Case("plain", [create("new", plain)]),
    Case("every kind of value, in no order", [create("new", all)]),
    Case("a field that is cleared", [create("new", plain + [change("gone", nil)])]),
    Case(
      "values without a type",
      [create("new", [change("n", .int64(1), tagged: false), change("s", .string("t"), tagged: false)])]),
    Case("a number for a field that holds doubles", [create("new", [change("number", .int64(1), tagged: false)])]),
    Case("another type than the field has", [create("new", [change("number", .string("1"))])]),
    Case("an encrypted value", [create("new", [change("secret", .string("s"), encrypted: true)])]),
    Case("an encrypted value in public", [create("new", [change("secret", .string("s"), encrypted: true)])], in: .open),
    Case("a list of no stated type", [create("new", [change("list", .emptyList)])]),
    Case("a number that is not finite", [create("new", [change("number", .double(.infinity))])]),
    Case("a field name that cannot be", [create("new", [change("1st", .int64(1))])]),
    Case("members that nobody knows", [create("new", plain) { $0.record.unknownMembers = Array(#""x":1"#.utf8) }]),
    Case("a parent", [create("new", plain) { $0.record.parent = .set(Reference(recordName: "old")) }]),
    Case(
      "a parent that is not there", [create("new", plain) { $0.record.parent = .set(Reference(recordName: "none")) }]),
    Case("a reference", [create("new", [change("to", .reference(Reference(recordName: "old", action: .validate)))])]),
    Case("a short address", [create("new", plain) { $0.record.createShortGUID = true }]),
    Case("no name", [create(nil, plain)]),
    Case("a name that is taken", [create("old", plain)]),
    Case("a name that was deleted", [create("dead", plain)]),
    Case("one that is taken among others", [create("new", plain), create("old", plain), create("dead", plain)]),
    Case("the same, not atomic", [create("new", plain), create("old", plain), create("dead", plain)], atomic: false),
    Case(
      "a bad value for a name that is taken", [create("old", [change("number", .string("1"))]), create("new", plain)],
      atomic: false),
    Case("taken, beside a conflict", [create("old", plain), .update("other", tag: "1", ["pages": .int64(1)])]),
    Case("a record too large", [create("new", [change("title", .string(String(repeating: "x", count: 1_100_000)))])]),
    Case(
      "kinds that need no record",
      [create("new", plain, kind: .forceReplace), create("new2", plain, kind: .forceUpdate)]),
    Case(
      "over one that is there", [create("old", plain, kind: .forceReplace), create("other", plain, kind: .forceUpdate)]),
    Case("over a deleted one", [create("dead", plain, kind: .forceReplace)]),
    Case("a type whose name cannot be", [create("new", plain) { $0.record.type = "1st" }]),
    Case("no type", [create("new", plain) { $0.record.type = nil }]),
    Case("a share of nothing", [create("new", plain) { $0.record.type = .share }]),
    Case("another zone", [create("new", plain) { $0.record.zone = ZoneSelector("Other") }]),
    Case("in public", [create("new", plain)], in: .open),
    Case("one's own user record", [create("_alice", plain)], in: .open),
    Case("many", (1...7).map { create(RecordName("new\($0)"), plain) }),
    Case(
      "many, one of which is spoilt",
      (1...7).map { create(RecordName("new\($0)"), $0 == 6 ? [change("number", .string("1"))] : plain) }),
    Case(
      "many, and a change",
      (1...5).map { create(RecordName("new\($0)"), plain) } + [.force("old", ["title": .string("u")])]),
    Case(
      "many, and deletions between them",
      [create("new", plain), create("new1", plain), .forceDelete("old"), create("new2", plain)]),
    Case(
      "a reference to one before it",
      (1...4).map { create(RecordName("new\($0)"), plain) } + [
        create("new", [change("to", .reference(Reference(recordName: "new1", action: .validate)))])
      ]),
    Case(
      "a child of one before it",
      (1...4).map { create(RecordName("new\($0)"), plain) } + [
        create("new", plain) { $0.record.parent = .set(Reference(recordName: "new1")) }
      ]),
    Case(
      "a share of one before it",
      [create("new", plain), create("new1", plain), create("new2", plain), share("s", of: "new1")]),
    Case(
      "a share of the zone",
      [create("new", plain), create("new1", plain), create("new2", plain), share(.zoneShare, of: nil)]),
    Case("a name twice", [create("new", plain), create("new1", plain), create("new", plain)]),
  ]

  /// Saves over a record that has values of all kinds.
  static let changes: [Case] = [
    Case("one field of many", [save(.update, [change("text", .string("other"))])]),
    Case("every field", [save(.update, all.map { change($0.name, $0.field?.value) }.reversed())]),
    Case("fields before, between and behind", [save(.update, ["A1", "aa", "mm", "zz"].map { change($0, .int64(1)) })]),
    Case("some cleared", [save(.update, [change("a", nil), change("none", nil), change("z", nil)])]),
    Case("all cleared", [save(.update, (all.map(\.name) + ["secret", "to"]).map { change($0, nil) })]),
    Case("nothing", [save(.update, [])]),
    Case("a number without a type for doubles", [save(.update, [change("a", .int64(7), tagged: false)])]),
    Case("text without a type for bytes", [save(.update, [change("b", .string("AAH/"), tagged: false)])]),
    Case("text that is no Base64 for bytes", [save(.update, [change("b", .string("?"), tagged: false)])]),
    Case(
      "text without a type for encrypted bytes", [save(.update, [change("hidden", .string("AAH/"), tagged: false)])]),
    Case("an empty list without a type", [save(.update, [change("l", .emptyList, tagged: false)])]),
    Case("another type among others", [save(.update, [change("l", .stringList([])), change("text", .int64(1))])]),
    Case("an encrypted value changed", [save(.update, [change("secret", .string("new"), encrypted: true)])]),
    Case("an encrypted value cleared", [save(.update, [change("secret", nil)])]),
    Case("an encrypted value in the clear", [save(.update, [change("secret", .string("new"))])]),
    Case(
      "a reference changed, another added",
      [
        save(
          .update,
          [
            change("to", .reference(Reference(recordName: "other", action: .deleteSelf))),
            change("from", .referenceList([Reference(recordName: "old", action: .validate)])),
          ])
      ]),
    Case(
      "a reference to nothing",
      [save(.update, [change("to", .reference(Reference(recordName: "x", action: .validate)))])]),
    Case(
      "a reference that names its zone",
      [
        save(
          .update,
          [
            change(
              "to", .reference(Reference(recordName: "old", action: .none, zone: ZoneID("Diary", owner: "_alice"))))
          ])
      ]),
    Case(
      "a reference to another zone",
      [
        save(
          .update,
          [change("to", .reference(Reference(recordName: "old", action: .none, zone: ZoneID("B", owner: "_alice"))))])
      ]),
    Case("a reference cleared, and what it led to deleted", [save(.update, [change("to", nil)]), .forceDelete("old")]),
    Case("what it leads to deleted", [save(.update, [change("z", nil)]), .forceDelete("old")]),
    Case("a parent", [save(.update, []) { $0.record.parent = .set(Reference(recordName: "other")) }]),
    Case("its parent cleared", [save(.update, []) { $0.record.parent = .cleared }, .forceDelete("root")]),
    Case("its parent deleted", [save(.update, []), .forceDelete("root")]),
    Case("its parent left out by a replacement", [save(.replace, plain), .forceDelete("root")]),
    Case("replaced", [save(.replace, plain)]),
    Case("replaced by force", [save(.forceReplace, [change("secret", .string("s"), encrypted: true)])]),
    Case("changed by force", [save(.forceUpdate, plain)]),
    Case("changed by force with an old tag", [save(.forceUpdate, plain) { $0.record.tag = "1" }]),
    Case("an old tag", [save(.update, plain) { $0.record.tag = "1" }]),
    Case("an old tag of another's change", [save(.replace, plain) { $0.record.tag = "zz" }]),
    Case("no tag", [save(.update, plain) { $0.record.tag = nil }]),
    Case("another type", [save(.update, plain) { $0.record.type = "Other" }]),
    Case("more members that nobody knows", [save(.update, []) { $0.record.unknownMembers = Array(#""y":[1]"#.utf8) }]),
    Case("a place that is nowhere", [save(.update, [change("p", .location(Location(latitude: 91, longitude: 0)))])]),
    Case("a list with what is no number", [save(.update, [change("d", .doubleList([1, .nan]))])]),
    Case(
      "an asset without a receipt", [save(.update, [change("file", .asset(AssetValue(fileChecksum: "c", size: 1)))])]),
    Case(
      "too large with what is there",
      [save(.update, [change("text", .string(String(repeating: "x", count: 1_048_000)))])]),
    Case("all but too large", [save(.update, [change("text", .string(String(repeating: "x", count: 1_046_000)))])]),
    Case(
      "more fields than there may be",
      [save(.update, (0..<Limits.fieldsPerRecordMax).map { change(FieldName("f\($0)"), .int64(1)) })]),
    Case("two alike, one of them new", [save(.update, plain), create("new", plain)]),
    Case(
      "alike, but without types",
      [save(.update, plain), create("new", plain.map { change($0.name, $0.field?.value, tagged: false) })]),
  ]

  private static func save(
    _ kind: RecordOperation.Kind, _ changes: [FieldChange], _ more: (inout RecordOperation) -> Void = { _ in }
  ) -> RecordOperation {
    create("rich", changes, kind: kind) { $0.record.tag = kind.comparesTag ? "5" : nil }.with(more)
  }

  /// A zone with a record of each kind, by name.
  private static func start(in place: Harness.Where) throws -> (harness: Harness, zone: ZoneSelector) {
    let harness = try Harness.withZone()
    harness.cipher = TestCipher()
    let zone = place.scope == .public ? ZoneSelector() : Harness.diary
    let simple: [RecordOperation] = [
      .create("old", ["number": .double(1), "title": .string("t")]), .create("other", ["pages": .int64(1)]),
      .create("dead", ["pages": .int64(1)]), .create("root"),
    ]
    let rich = create(
      "rich",
      all + [
        change("text", .string("\u{e9}\"\n")),
        change("secret", .string("s"), encrypted: true), change("hidden", .bytes([1]), encrypted: true),
        change("to", .reference(Reference(recordName: "old", action: .validate))),
      ]
    ) {
      $0.record.unknownMembers = Array(#""x":1"#.utf8)
      $0.record.parent = .set(Reference(recordName: "root"))
    }
    let begun = try harness.modify(place.scope == .public ? simple : simple + [rich], zone: zone, in: place)
    #expect(begun.allSatisfy { $0.record != nil })
    _ = try harness.modify(.force("other", ["pages": .int64(2)]), zone: zone, in: place)
    _ = try harness.modify(.forceDelete("dead"), zone: zone, in: place)
    // The clock is set back, but versions never are.
    harness.now = Timestamp(milliseconds: harness.now.milliseconds - 10_000)
    // Whether names were made, and how many, the dice tell.
    harness.random = .init(seed: 7)
    return (harness, zone)
  }

  /// What is answered, and which records of the zone are others then.
  private static func outcome(of one: Case) throws -> String {
    let (harness, zone) = try start(in: one.place)
    let names: [RecordName] =
      ["new", "old", "other", "dead", "root", "rich", "s", .zoneShare] + (1...7).map { RecordName("new\($0)") }
    let before = try harness.lookUp(names, zone: zone, in: one.place).map(text)
    var lines = ["== \(one.testDescription)"]
    do {
      lines += try harness.modify(one.operations, zone: zone, atomic: one.isAtomic, in: one.place).map(text)
    } catch let error as ServiceError {
      lines.append("\(error)")
    }
    let after = try harness.lookUp(names, zone: zone, in: one.place).map(text)
    lines += zip(before, after).filter { $0 != $1 }.map { "then \($1)" }
    return lines.joined(separator: "\n")
  }

  private static func text(_ result: RecordResult) -> String {
    switch result {
    case .record(let record): return text(record)
    case .deleted(let name, _, _): return "\(name) is deleted"
    case .failure(let failure):
      let records = [("server", failure.serverRecord), ("ancestor", failure.ancestorRecord)]
      return
        (["\(failure.name) fails: \(failure.error)"]
        + records.compactMap { label, record in
          record.map { "  \(label) \(text($0))" }
        }).joined(separator: "\n")
    }
  }

  private static func text(_ record: RecordEnvelope) -> String {
    let json = record.json
    var text = "\(record.id.name) \(json.count > 600 ? "\(json.prefix(100))… (\(json.utf8.count) bytes)" : json)"
    text +=
      " tag \(record.tag) \(record.created.time.milliseconds % 100_000) \(record.modified.time.milliseconds % 100_000)"
    if let parent = record.parent { text += " below \(parent.recordName)" }
    if let share = record.share { text += " shared by \(share.recordName)" }
    if let shortGUID = record.shortGUID { text += " at \(shortGUID)" }
    if !record.unknownMembers.isEmpty { text += " beside \(String(decoding: record.unknownMembers, as: UTF8.self))" }
    return text
  }

  @Test func eachSaveAnswersAndStoresWhatTheFileSays() throws {
    let outcomes = try (Self.cases + Self.changes).map { try Self.outcome(of: $0) }
    try Fixture.expect(outcomes, equals: "saves.txt")
  }
}

/// A golden file. `VIRGA_REWRITE_FIXTURES=1 swift test` writes it again; read the difference before you commit it.
private enum Fixture {
  static func expect(_ parts: [String], equals name: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = folder.appending(path: "Fixtures").appending(path: name)
    if ProcessInfo.processInfo.environment["VIRGA_REWRITE_FIXTURES"] == "1" {
      try Data((parts.joined(separator: "\n") + "\n").utf8).write(to: file)
    }
    let golden = try String(decoding: Data(contentsOf: file), as: UTF8.self).split(separator: "\n")
    let found = parts.joined(separator: "\n").split(separator: "\n")
    for (line, (expected, observed)) in zip(golden, found).enumerated() where expected != observed {
      Issue.record("line \(line + 1) of \(name):\n\(expected)\nbut now\n\(observed)")
    }
    #expect(golden.count == found.count)
  }
}
