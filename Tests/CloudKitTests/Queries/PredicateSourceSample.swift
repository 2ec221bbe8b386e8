import CloudKit
import Foundation

// Lines as apps for Apple's systems have them; they must compile as they stand.

class RestaurantFinder {
  let userLocation = CLLocation(latitude: 52.5, longitude: 13.4)
  let categories = ["cafe", "bar"]

  func queries(after date: Date, owner: CKRecord, named name: String) -> [CKQuery] {
    let byName = NSPredicate(format: "name = %@", name)
    let recent = NSPredicate(format: "creationDate > %@", date as NSDate)
    let since = NSPredicate(format: "%K >= %@", "visited", date as any CVarArg)
    let ranged = NSPredicate(format: "rating BETWEEN {%d, %d}", 2, 4)
    let rangedList = NSPredicate(format: "rating BETWEEN %@", [2, 4])
    let anyOf = NSPredicate(format: "category IN %@", categories)
    let tagged = NSPredicate(format: "tags CONTAINS %@", "vegan")
    let prefixed = NSPredicate(format: "name BEGINSWITH 'Ca' AND rating > %f", 2.5)
    let owned = NSPredicate(format: "owner == %@", owner.recordID)
    let referenced = NSPredicate(format: "owner == %@", CKRecord.Reference(record: owner, action: .none))
    let these = NSPredicate(format: "recordID IN %@", [CKRecord.Reference(record: owner, action: .none)])
    let close = NSPredicate(
      format: "distanceToLocation:fromLocation:(location, %@) < %f", userLocation, 500.0)
    let search = NSPredicate(format: "self contains %@", "coffee cake")
    let tokens = NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "coffee cake")
    let arrayed = NSPredicate(format: "name == %@ && open == %@", argumentArray: [name, NSNumber(value: true)])
    let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [byName, recent])
    let nested = NSCompoundPredicate(
      type: .and, subpredicates: [compound, NSCompoundPredicate(notPredicateWithSubpredicate: tagged)])
    let all = NSPredicate(value: true)

    let predicates = [
      byName, recent, since, ranged, rangedList, anyOf, tagged, prefixed, owned, referenced, these, close, search,
      tokens, arrayed, compound, nested, all,
    ]
    return predicates.map { predicate in
      let query = CKQuery(recordType: "Restaurant", predicate: predicate)
      query.sortDescriptors = [
        NSSortDescriptor(key: "rating", ascending: false), NSSortDescriptor(key: "creationDate", ascending: true),
        CKLocationSortDescriptor(key: "location", relativeLocation: userLocation),
      ]
      return query
    }
  }

  func open(among records: [CKRecord]) -> [CKRecord] {
    let predicate = NSPredicate(format: "open == YES AND NOT (name LIKE[c] %@)", "closed*")
    return records.filter { predicate.evaluate(with: $0) }
  }
}
