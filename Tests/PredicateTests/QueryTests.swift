import Foundation
import Testing
import VirgaModel

@testable import VirgaPredicates

/// A place, as another module would hand it in.
struct Place: PredicateOperand {
  var location: Location
  var predicateValue: FieldValue { .location(location) }
}

struct Target: PredicateOperand {
  var name: RecordName
  var predicateValue: FieldValue {
    .reference(Reference(recordName: name, zone: ZoneID("Z", owner: "__defaultOwner__")))
  }
}

let here = Place(location: Location(latitude: 52.5, longitude: 13.4))

private func filters(_ format: String, _ arguments: Any...) throws -> [QueryFilter]? {
  try NSPredicate(checking: format, argumentArray: arguments).queryFilters()
}

private func refusal(_ format: String, _ arguments: [Any] = []) throws -> String? {
  let predicate = try NSPredicate(checking: format, argumentArray: arguments)
  do {
    _ = try predicate.queryFilters()
    return nil
  } catch {
    return error.description
  }
}

@Suite struct TranslationTests {
  @Test(arguments: [
    ("a == 1", QueryComparator.equals, FieldValue.int64(1)), ("a != 'x'", .notEquals, .string("x")),
    ("NOT a == 1", .notEquals, .int64(1)), ("NOT a != 1", .equals, .int64(1)), ("a < 1.5", .lessThan, .double(1.5)),
    ("1 < a", .greaterThan, .int64(1)), ("NOT (a < 1)", .greaterThanOrEquals, .int64(1)),
    ("a <= 1", .lessThanOrEquals, .int64(1)), ("a >= 1", .greaterThanOrEquals, .int64(1)),
    ("a IN {1, 2}", .isIn, .int64List([1, 2])), ("NOT a IN {'x'}", .notIn, .stringList(["x"])),
    ("{1, 2.5} CONTAINS a", .isIn, .doubleList([1, 2.5])), ("a CONTAINS 'x'", .listContains, .string("x")),
    ("'x' IN a", .listContains, .string("x")), ("NOT a CONTAINS 'x'", .notListContains, .string("x")),
    ("ANY a == 'x'", .listContains, .string("x")), ("NONE a == 'x'", .notListContains, .string("x")),
    ("ANY a IN {1}", .listContainsAny, .int64List([1])), ("a BEGINSWITH 'x'", .beginsWith, .string("x")),
    ("NOT a BEGINSWITH 'x'", .notBeginsWith, .string("x")),
    ("ANY a BEGINSWITH 'x'", .listMemberBeginsWith, .string("x")),
    ("a TOKENMATCHES[cdl] 'x y'", .containsAllTokens, .string("x y")), ("a == TRUE", .equals, .int64(1)),
    ("NOT NOT a == 1", .equals, .int64(1)), ("a IN {}", .isIn, .emptyList),
  ])
  func comparisonsBecomeFilters(format: String, comparator: QueryComparator, value: FieldValue) throws {
    #expect(try filters(format) == [QueryFilter("a", comparator, value)])
  }

  @Test func systemFieldsHaveTheirOwnNames() throws {
    let when = Date(timeIntervalSince1970: 5)
    let time = FieldValue.timestamp(Timestamp(milliseconds: 5_000))
    #expect(try filters("creationDate > %@", when) == [QueryFilter(.system(.createTime), .greaterThan, time)])
    #expect(try filters("___createTime > %@", when) == filters("creationDate > %@", when))
    #expect(try filters("modificationDate <= %@", when) == [QueryFilter(.system(.modTime), .lessThanOrEquals, time)])
    let target = Target(name: "r")
    #expect(try filters("recordID == %@", target) == [QueryFilter(.system(.recordID), .equals, target.predicateValue)])
    #expect(try filters("%K == %@", "creatorUserRecordID", target)?.first?.field == .system(.createdBy))
    #expect(try filters("lastModifiedUserRecordID IN %@", [target])?.first?.comparator == .isIn)
  }

  // C86: Apple's page "Some scenarios for CloudKit queries based on CKReference fields"
  @Test func boundsAreBothIncluded() throws {
    let expected = [
      QueryFilter("d", .greaterThanOrEquals, .int64(1)), QueryFilter("d", .lessThanOrEquals, .int64(5)),
    ]
    #expect(try filters("d BETWEEN {1, 5}") == expected)
    #expect(try filters("d BETWEEN %@", [1, 5]) == expected)
    let numbers = (0...7).map { ["d": $0] }
    #expect(numbers.filter { NSPredicate(format: "d BETWEEN {1, 5}").evaluate(with: $0) }.count == 5)
    #expect(numbers.filter { NSPredicate(format: "d BETWEEN {5, 1}").evaluate(with: $0) }.isEmpty)
  }

  @Test func placesAreWithinMetres() throws {
    let near = QueryFilter("place", .near, here.predicateValue, distance: 1_000)
    #expect(try filters("distanceToLocation:fromLocation:(place, %@) < 1000", here) == [near])
    #expect(try filters("distanceToLocation:fromLocation:(%K, %@) <= %f", "place", here, 1_000.0) == [near])
    #expect(try filters("1000 > distanceToLocation:fromLocation:(%@, place)", here) == [near])
    #expect(try refusal("distanceToLocation:fromLocation:(place, %@) > 1000", [here])?.contains("use <") == true)
    #expect(try refusal("distanceToLocation:fromLocation:(place, other) < 1000")?.contains("CLLocation") == true)
  }

  // C75: NSHipster/articles#438
  @Test func wordsAreSearchedInAllFields() throws {
    let search = [QueryFilter(.anySearchable, .containsAllTokens, .string("store apple"))]
    #expect(try filters("self CONTAINS 'store apple'") == search)
    #expect(try filters("allTokens TOKENMATCHES[cdl] %@", "store apple") == search)
    #expect(try refusal("NOT SELF CONTAINS 'x'")?.contains("search for words") == true)
    #expect(try refusal("SELF == 'x'")?.contains("SELF CONTAINS") == true)
  }

  @Test func conditionsAreJoinedByAnd() throws {
    #expect(try filters("a == 1 AND (b == 2 AND NOT c == 3)")?.map(\.comparator) == [.equals, .equals, .notEquals])
    #expect(try filters("TRUEPREDICATE") == [])
    #expect(try filters("a == 1 AND TRUEPREDICATE")?.count == 1)
    #expect(try filters("FALSEPREDICATE") == nil)
    #expect(try filters("a == 1 AND FALSEPREDICATE") == nil)
    #expect(try filters("NOT FALSEPREDICATE") == [])
    let parts = [NSPredicate(format: "a == 1"), NSPredicate(value: true), NSPredicate(format: "b == 2")]
    #expect(try NSCompoundPredicate(andPredicateWithSubpredicates: parts).queryFilters()?.count == 2)
    #expect(try NSCompoundPredicate(andPredicateWithSubpredicates: []).queryFilters() == [])
    #expect(try NSCompoundPredicate(orPredicateWithSubpredicates: []).queryFilters() == nil)
    #expect(try NSCompoundPredicate(orPredicateWithSubpredicates: [parts[0]]).queryFilters()?.count == 1)
  }
}

@Suite struct RefusalTests {
  // C76: lionheart/openradar-mirror#7575, brightdigit/MistKit#151
  @Test(arguments: [
    ("a == 1 OR b == 2", "OR"), ("NOT (a == 1 AND b == 2)", "NOT of AND (which is OR)"),
    ("NOT (a == 1 OR b == 2)", "OR"), ("x == 3 AND (a == 1 OR b == 2)", "OR"), ("ALL a == 'x'", "ALL"),
    ("ANY a < 5", "ANY with <"), ("ANY a != 5", "ANY with !="), ("ANY a CONTAINS 'x'", "ANY with CONTAINS"),
    ("a LIKE 'x*'", "LIKE"), ("a MATCHES 'x'", "MATCHES"), ("a ENDSWITH 'x'", "ENDSWITH"),
    ("a BEGINSWITH[cd] 'x'", "BEGINSWITH with an option in brackets"), ("a ==[c] 'x'", "== with an option in brackets"),
    ("NOT a BETWEEN {1, 2}", "NOT of BETWEEN (which is OR)"), ("a == nil", "Comparing a with nil"),
    ("a != NULL", "Comparing a with nil"), ("a == {1, 2}", "== with a list"), ("a IN 'text'", "IN without a list"),
    ("a CONTAINS {1, 2}", "CONTAINS with a list"), ("a == b", "a == b"), ("1 == 1", "1 == 1"),
    ("a IN {1, 'x'}", #"{1, "x"}"#), ("FALSEPREDICATE AND a LIKE 'x'", "LIKE"),
  ])
  func whatTheServiceCannotDoIsNamed(format: String, subject: String) throws {
    let text = try #require(try refusal(format))
    #expect(text.hasPrefix(subject + " is not supported in queries: "))
  }

  // C86: Apple's pages on CKQuery and on references in queries
  @Test func parentsAndPathsIntoOtherRecordsAreRefusedWithAdvice() throws {
    let target = Target(name: "r")
    for format in ["parent == %@", "___parent == %@", "share == %@"] {
      #expect(try refusal(format, [target])?.contains("CKRecord.Reference field to the records") == true)
    }
    #expect(try filters("chat == %@", target) == [QueryFilter("chat", .equals, target.predicateValue)])
    #expect(try refusal("author.name == 'x'")?.hasPrefix("The key path author.name is not supported") == true)
  }

  @Test func systemFieldsAreComparedWithWhatTheyHold() throws {
    #expect(try refusal("recordID == 'r'")?.contains("CKRecord.ID") == true)
    #expect(try refusal("creationDate > 5")?.contains("date") == true)
    #expect(try refusal("___etag == 'x'") != nil)
  }

  @Test func blocksAndForeignValuesAreRefused() throws {
    #expect(throws: PredicateRefusal.self) { try NSPredicate(block: { _, _ in true }).queryFilters() }
    #expect(try refusal("a == %@", [UUID()])?.contains("no field can hold this value") == true)
  }
}

@Suite struct SortTests {
  @Test func aKeyBecomesASort() throws {
    #expect(try NSSortDescriptor(key: "name", ascending: false).querySort() == QuerySort("name", ascending: false))
    #expect(try NSSortDescriptor(key: "creationDate", ascending: true).querySort().field == .system(.createTime))
    #expect(NSSortDescriptor(key: "name", ascending: true).key == "name")
    let reversed = NSSortDescriptor(key: "name", ascending: true).reversedSortDescriptor as? NSSortDescriptor
    #expect(reversed == NSSortDescriptor(key: "name", ascending: false))
  }

  @Test func whatNoQueryCanSortByIsRefused() {
    #expect(throws: PredicateRefusal.self) { try NSSortDescriptor(key: "a.b", ascending: true).querySort() }
    #expect(throws: PredicateRefusal.self) { try NSSortDescriptor(key: "parent", ascending: true).querySort() }
    #expect(throws: PredicateRefusal.self) {
      try NSSortDescriptor(keyPath: \NSString.length, ascending: true).querySort()
    }
    #expect(throws: PredicateRefusal.self) {
      try NSSortDescriptor(key: "a", ascending: true, comparator: { _, _ in .orderedSame }).querySort()
    }
  }

  @Test func objectsAreSortedAsAQueryWould() {
    let objects: [[String: Any]] = [["n": 3, "t": "b"], ["t": "a"], ["n": 1, "t": "é"], ["n": 3, "t": "Z"]]
    let sorts = [NSSortDescriptor(key: "n", ascending: false), NSSortDescriptor(key: "t", ascending: true)]
    let sorted = objects.sorted { left, right in
      for sort in sorts {
        let order = sort.compare(left, to: right)
        if order != .orderedSame { return order == .orderedAscending }
      }
      return false
    }
    #expect(sorted.compactMap { $0["t"] as? String } == ["Z", "b", "é", "a"])
  }
}
