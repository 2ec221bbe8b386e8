import CloudKit
import Foundation
import Testing
import VirgaModel
import VirgaPredicates

@testable import VirgaCloudKit

/// C84: swiftlang/swift-corelibs-foundation#5345
@Suite struct CloudKitPredicateTests {
  private let owner = CKRecord(recordType: "Person", recordID: CKRecord.ID(recordName: "ada"))

  private func restaurant() -> CKRecord {
    let record = CKRecord(recordType: "Restaurant", recordID: CKRecord.ID(recordName: "r"))
    record["name"] = "Café Central"
    record["rating"] = 3
    record["open"] = true
    record["tags"] = ["vegan", "cake"]
    record["category"] = "cafe"
    record["visited"] = Date(timeIntervalSince1970: 200)
    record["location"] = CLLocation(latitude: 52.501, longitude: 13.4)
    record["owner"] = CKRecord.Reference(record: owner, action: .none)
    record["motto"] = "Coffee and cake"
    return record
  }

  @Test func ordinaryPredicatesBecomeQueriesThatSelectWhatTheySelectInPlace() throws {
    let record = restaurant()
    let date = Date(timeIntervalSince1970: 100)
    for query in RestaurantFinder().queries(after: date, owner: owner, named: "Café Central") {
      let model = try #require(try query.model())
      #expect(model.recordType == "Restaurant")
      #expect(model.sorts.count == 3)
      #expect(query.predicate.evaluate(with: record) == model.matches(record.querySubject), "\(query.predicate)")
    }
    #expect(RestaurantFinder().open(among: [record]).count == 1)
  }

  @Test func recordsAreSelectedByEveryKindOfValue() {
    let record = restaurant()
    #expect(NSPredicate(format: "owner == %@", owner).evaluate(with: record))
    #expect(NSPredicate(format: "owner == %@", owner.recordID).evaluate(with: record))
    #expect(!NSPredicate(format: "owner == %@", record.recordID).evaluate(with: record))
    #expect(NSPredicate(format: "recordID == %@", record.recordID).evaluate(with: record))
    #expect(NSPredicate(format: "visited == %@", Date(timeIntervalSince1970: 200) as NSDate).evaluate(with: record))
    let here = RestaurantFinder().userLocation
    #expect(
      NSPredicate(format: "distanceToLocation:fromLocation:(location, %@) < 500", here).evaluate(with: record))
    #expect(
      !NSPredicate(format: "distanceToLocation:fromLocation:(location, %@) < 50", here).evaluate(with: record))
  }

  @Test func encryptedValuesAreNotLookedInto() {
    let record = restaurant()
    record.encryptedValues["secret"] = "x"
    #expect(!NSPredicate(format: "secret == 'x'").evaluate(with: record))
    #expect(!NSPredicate(format: "secret != 'y'").evaluate(with: record))
  }

  // C76: lionheart/openradar-mirror#7575
  @Test(arguments: ["a == 1 OR b == 2", "a LIKE 'x'", "author.name == 'x'", "parent == 'x'", "ALL a == 1"])
  func whatCannotBeSentIsAnInvalidArgument(format: String) {
    let query = CKQuery(recordType: "T", predicate: NSPredicate(format: format))
    do {
      _ = try query.model()
      Issue.record("\(format) was taken")
    } catch let error as CKError {
      #expect(error.code == .invalidArguments)
      #expect(error.localizedDescription.contains("is not supported in queries"))
    } catch {
      Issue.record(error)
    }
  }

  @Test func nothingIsAskedWhereNothingCanMatch() throws {
    #expect(try CKQuery(recordType: "T", predicate: NSPredicate(value: false)).model() == nil)
    #expect(try CKQuery(recordType: "T", predicate: NSPredicate(value: true)).model() == Query("T"))
  }

  @Test func queriesSurviveTheirArchives() throws {
    for query in RestaurantFinder().queries(after: Date(timeIntervalSince1970: 1), owner: owner, named: "n'\"") {
      let data = try NSKeyedArchiver.archivedData(withRootObject: query, requiringSecureCoding: true)
      let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: data))
      #expect(read.predicate.condition.text == query.predicate.condition.text)
      #expect(try read.model()?.sorts.map(\.field) == query.model()?.sorts.map(\.field))
    }
  }

  @Test func recordsAreSortedByDistance() {
    let records = [3.0, 1.0, 2.0].map { degrees in
      let record = CKRecord(recordType: "T")
      record["location"] = CLLocation(latitude: degrees, longitude: 0)
      return record
    }
    let sort = CKLocationSortDescriptor(key: "location", relativeLocation: CLLocation(latitude: 0, longitude: 0))
    let sorted = records.sorted { sort.compare($0, to: $1) == .orderedAscending }
    #expect(sorted.compactMap { ($0["location"] as? CLLocation)?.coordinate.latitude } == [1, 2, 3])
  }
}
