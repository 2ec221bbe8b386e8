import Foundation
import TestSupport
import Testing
import VirgaModel

@testable import VirgaPredicates

/// A record as another module would hand it in.
struct SampleRecord: PredicateRecord {
  var querySubject: QuerySubject

  init(_ fields: Fields) {
    querySubject = QuerySubject(id: RecordID("r", in: ZoneID("Z", owner: .defaultOwner)), fields: fields)
  }

  func predicateObject(forKey key: String) -> Any? { nil }
}

private var apple: [String: Any] {
  [
    "name": "Apple Store", "age": 5, "price": 1.5, "tags": ["red", "green"], "open": true, "maker": ["name": "Cook"],
    "since": Date(timeIntervalSince1970: 100),
  ]
}

private class Shop {
  let name = "Kiosk"
  let age: Int? = nil
}

@Suite struct EvaluationTests {
  @Test(arguments: [
    ("name == 'Apple Store'", true), ("name == 'apple store'", false), ("name ==[c] 'apple store'", true),
    ("name CONTAINS 'pp'", true), ("name CONTAINS 'PP'", false), ("name CONTAINS[c] 'PP'", true),
    ("name BEGINSWITH 'App'", true), ("name BEGINSWITH[cd] 'äpp'", true), ("name ENDSWITH 'ore'", true),
    ("name LIKE 'A*S?ore'", true), ("name LIKE 'A*x'", false), ("name LIKE[c] '*STORE'", true),
    ("name MATCHES 'Apple S[a-z]+'", true), ("name MATCHES 'Apple'", false), ("name MATCHES[c] 'apple store'", true),
    ("age == 5", true), ("age == 5.0", true), ("age > 4.5", true), ("5 < age", false), ("age BETWEEN {5, 6}", true),
    ("NOT age BETWEEN {5, 6}", false), ("age IN {4, 5}", true), ("NOT age IN {4, 5}", false), ("price < age", true),
    ("open == YES", true), ("tags CONTAINS 'red'", true), ("'red' IN tags", true), ("ANY tags BEGINSWITH 'gr'", true),
    ("ALL tags ENDSWITH 'n'", false), ("ANY tags LIKE 'r*'", true), ("NONE tags == 'blue'", true),
    ("maker.name == 'Cook'", true), ("maker.age == 3", false), ("missing == 1", false), ("missing != 1", false),
    ("NOT missing == 1", false), ("missing == nil", true), ("missing != nil", false), ("age != nil", true),
    ("age == 1 OR age == 5", true), ("NOT (age == 1 OR age == 2)", true), ("age == 5 AND price == 1", false),
    ("TRUEPREDICATE", true), ("NOT TRUEPREDICATE", false), ("1 == 1", true),
  ])
  func objectsAreJudgedInPlace(format: String, expected: Bool) {
    #expect(NSPredicate(format: format).evaluate(with: apple) == expected)
    #expect(NSPredicate(format: format).evaluate(with: NSDictionary(dictionary: apple)) == expected)
  }

  @Test func objectsOfAnAppAreReadByTheirProperties() {
    #expect(NSPredicate(format: "name == 'Kiosk' AND age == nil").evaluate(with: Shop()))
    #expect(!NSPredicate(format: "name == 'Kiosk'").evaluate(with: nil))
    #expect(["apple", "pear"].filter { NSPredicate(format: "SELF CONTAINS 'pp'").evaluate(with: $0) } == ["apple"])
    let words = NSArray(array: ["apple", "pear"])
    #expect(words.filtered(using: NSPredicate(format: "self BEGINSWITH %@", "p")) as? [String] == ["pear"])
  }

  @Test func compoundPredicatesJoinEveryKind() {
    let isFive = NSPredicate(format: "age == %d", 5)
    let block = NSPredicate(block: { object, _ in (object as? [String: Any])?["open"] as? Bool == true })
    #expect(NSCompoundPredicate(andPredicateWithSubpredicates: [isFive, block]).evaluate(with: apple))
    #expect(NSCompoundPredicate(notPredicateWithSubpredicate: isFive).evaluate(with: apple) == false)
    let made = NSPredicate(format: "age == 5 AND name == 'x'") as? NSCompoundPredicate
    #expect(made?.compoundPredicateType == .and)
    #expect(made?.subpredicates == [NSPredicate(format: "age == 5"), NSPredicate(format: "name == 'x'")])
    #expect(made?.copy() as? NSPredicate == made)
  }

  @Test func aRecordsWordsAreSearchedAsTheServiceDoes() {
    let record = SampleRecord(["title": .string("The Café store"), "tags": .stringList(["Apple"])])
    #expect(NSPredicate(format: "self CONTAINS 'store apple'").evaluate(with: record))
    #expect(NSPredicate(format: "allTokens TOKENMATCHES[cdl] 'CAFE'").evaluate(with: record))
    #expect(!NSPredicate(format: "self CONTAINS 'app'").evaluate(with: record))
    #expect(NSPredicate(format: "title CONTAINS 'afé'").evaluate(with: record))
  }
}

/// C84: whatever a query can state selects the same records in place as by the service's evaluator.
@Suite struct AgreementTests {
  private static let values: [FieldValue?] = [
    nil, .int64(1), .int64(2), .double(1), .double(1.5), .string("a"), .string("ab"), .string("A"),
    .timestamp(Timestamp(milliseconds: 1_000)), .stringList(["a", "b"]), .stringList(["ab"]), .int64List([1, 2]),
    .emptyList, .bytes([1]), .reference(Reference(recordName: "a")), .location(here.location),
  ]

  private static var formats: [(String, [Any])] {
    [
      ("a == 1", []), ("a != 1", []), ("a < 2", []), ("a >= 1.5", []), ("a == 'a'", []), ("a != 'a'", []),
      ("a BEGINSWITH 'a'", []), ("a IN {1, 2}", []), ("a IN {'a', 'ab'}", []), ("a IN {}", []), ("ANY a == 'a'", []),
      ("ANY a IN {'b', 'x'}", []), ("ANY a BEGINSWITH 'a'", []), ("a CONTAINS 2", []), ("a BETWEEN {1, 1.5}", []),
      ("a > %@", [Date(timeIntervalSince1970: 0)]), ("a == %@", [Data([1])]), ("a TOKENMATCHES 'a'", []),
      ("self CONTAINS 'a'", []), ("distanceToLocation:fromLocation:(a, %@) < 10", [here]),
      ("a == %@", [Target(name: "a")]),
      ("TRUEPREDICATE", []), ("FALSEPREDICATE", []),
    ]
  }

  private static func random(_ generator: inout SplitMix64, depth: Int) -> Condition {
    let (format, arguments) = formats[Int.random(in: 0..<formats.count, using: &generator)]
    guard depth > 0, let leaf = try? FormatParser.parse(format, arguments) else { return .always(true) }
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return .not(random(&generator, depth: depth - 1))
    case 1, 2: return .all((0..<2).map { _ in random(&generator, depth: depth - 1) })
    case 3: return .any([random(&generator, depth: depth - 1)])
    default: return leaf
    }
  }

  @Test func recordsAreJudgedAsByTheService() throws {
    var generator = SplitMix64(seed: 84)
    var sent = 0
    for _ in 0..<3_000 {
      let condition = Self.random(&generator, depth: 4)
      let predicate = condition.predicate
      let filters: [QueryFilter]?
      do { filters = try predicate.queryFilters() } catch { continue }
      sent += 1
      for value in Self.values {
        var fields = Fields()
        fields["a"] = value.map { Field($0) }
        let record = SampleRecord(fields)
        let byService = filters.map { Query("T", filters: $0).matches(record.querySubject) } ?? false
        #expect(predicate.evaluate(with: record) == byService, "\(condition.text) on \(String(describing: value))")
      }
    }
    #expect(sent > 1_000)
  }
}
