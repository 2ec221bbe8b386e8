import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// What is worked out before the writer's turn must be what the writer would make: the same calls, not prepared,
/// prepared as a whole and in parts, give the same answers and leave the same records.
@Suite struct PreparedFieldsTests {
  struct Case: Sendable, CustomTestStringConvertible {
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

  @Test(arguments: cases) func preparingChangesNothing(_ one: Case) throws {
    func run(_ preparing: Harness.Preparing) throws -> (String, [RecordResult]) {
      let harness = try Harness.withZone()
      harness.cipher = TestCipher()
      let zone = one.place.scope == .public ? ZoneSelector() : Harness.diary
      let start: [RecordOperation] = [
        .create("old", ["number": .double(1), "title": .string("t")]), .create("other", ["pages": .int64(1)]),
        .create("dead", ["pages": .int64(1)]),
      ]
      _ = try harness.modify(start, zone: zone, in: one.place)
      _ = try harness.modify(.force("other", ["pages": .int64(2)]), zone: zone, in: one.place)
      _ = try harness.modify(.forceDelete("dead"), zone: zone, in: one.place)
      // The clock is set back, but versions never are.
      harness.now = Timestamp(milliseconds: harness.now.milliseconds - 10_000)
      harness.preparing = preparing
      // Whether names were made, and how many, the dice tell.
      harness.random = .init(seed: 7)
      var answer = ""
      do {
        answer = "\(try harness.modify(one.operations, zone: zone, atomic: one.isAtomic, in: one.place))"
      } catch let error as ServiceError {
        answer = "\(error)"
      }
      let names: [RecordName] =
        ["new", "old", "other", "dead", "s", .zoneShare] + (1...7).map { RecordName("new\($0)") }
      return (answer, try harness.lookUp(names, zone: zone, in: one.place))
    }
    let (expected, expectedRecords) = try run(.notAtAll)
    for preparing in Harness.Preparing.allCases {
      let (answer, records) = try run(preparing)
      #expect(answer == expected, "prepared \(preparing)")
      #expect(records == expectedRecords, "prepared \(preparing)")
    }
  }
}
