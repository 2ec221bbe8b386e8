import Foundation
import Testing
import VirgaModel

@testable import VirgaPredicates

/// Filters as predicates again.
struct FilterTests {
  @Test(arguments: [
    "a == 1", "a != \"x\"", "a < 1.5 AND b >= 2", "a IN {1, 2}", "NOT (a IN {\"x\"})", "a CONTAINS \"x\"",
    "NOT (ANY a IN {1})", "ANY a BEGINSWITH \"x\"", "a BEGINSWITH \"x\" AND NOT (b BEGINSWITH \"y\")",
    "SELF CONTAINS \"some words\"", "a TOKENMATCHES[cdl] \"x\"", "recordID == CAST({\"r\"}, \"CKReference\")",
    "creationDate > CAST(3.5, \"NSDate\")", "TRUEPREDICATE",
    "distanceToLocation:fromLocation:(a, CAST({1.0, 2.0}, \"CLLocation\")) < 5.0",
  ])
  func aPredicateComesBackFromItsFilters(format: String) throws {
    let predicate = try NSPredicate(checking: format)
    let filters = try #require(try predicate.queryFilters())
    #expect(NSPredicate.meeting(filters) == predicate)
  }

  @Test(arguments: QueryComparator.allCases)
  func everyFilterHasAPredicateThatMeansTheSame(comparator: QueryComparator) throws {
    let value: FieldValue =
      switch comparator.operand {
      case .members, .list: .stringList(["rain", "sun"])
      default: .string("rain")
      }
    if comparator == .near { return }
    let filter = QueryFilter("text", comparator, value)
    let predicate = NSPredicate.meeting([filter])
    for found in ["rain", "rainbow", "sun and rain", "snow"] as [String] {
      for stored in [FieldValue.string(found), .stringList([found]), .stringList(["rain", found])]
      where comparator.applies(to: FieldType(.string, isList: stored.listMembers != nil)) {
        let subject = QuerySubject(
          id: RecordID("r", in: ZoneID("Z", owner: "_a")), fields: ["text": stored])
        #expect(
          predicate.evaluate(with: Note(querySubject: subject)) == filter.matches(subject), "\(predicate) \(stored)")
      }
    }
  }

  private struct Note: PredicateRecord {
    var querySubject: QuerySubject
    func predicateObject(forKey key: String) -> Any? { nil }
  }
}
