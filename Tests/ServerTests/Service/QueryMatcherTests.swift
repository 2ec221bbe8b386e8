import Testing
import VirgaModel

/// Lists of values are compared as their members are, however long they are.
struct QueryMatcherTests {
  private static let zone = ZoneID("Diary", owner: "_alice")

  private static func matches(_ found: FieldValue, _ comparator: QueryComparator, _ wanted: FieldValue) -> Bool {
    let subject = QuerySubject(id: RecordID("r", in: zone), fields: ["f": found])
    return QueryMatcher(Query("Entry", filters: [QueryFilter("f", comparator, wanted)])).matches(subject)
  }

  private static func list(_ value: FieldValue) -> FieldValue {
    switch value {
    case .int64(let number): .int64List([number])
    case .double(let number): .doubleList([number])
    case .timestamp(let time): .timestampList([time])
    case .string(let text): .stringList([text])
    case .bytes(let bytes): .bytesList([bytes])
    case .reference(let target): .referenceList([target])
    case .location(let place): .locationList([place])
    case .asset(let asset): .assetList([asset])
    default: value
    }
  }

  private static let values: [FieldValue] = [
    .int64(0), .int64(1), .int64(1 << 53), .int64(1 << 53 + 1), .int64(.max), .double(0), .double(-0.0), .double(1),
    .double(0.5), .double(0x1p53), .double(0x1p63), .double(1e300), .timestamp(Timestamp(milliseconds: 1)),
    .string(""), .string("1"), .string("caf\u{e9}"), .string("cafe\u{301}"), .bytes([]), .bytes([1]),
    .bytes(Array("1".utf8)), .location(Location(latitude: 0, longitude: 1)),
    .location(Location(latitude: -0.0, longitude: 1)), .location(Location(latitude: 0, longitude: 2)),
    .reference(Reference(recordName: "a")), .reference(Reference(recordName: "a", action: .deleteSelf)),
    .reference(Reference(recordName: "a", zone: zone)), .reference(Reference(recordName: "b")),
    .reference(Reference(recordName: "a", zone: ZoneID("Other", owner: "_alice"))),
    .asset(AssetValue(fileChecksum: "x", size: 1)),
  ]

  @Test func aListFindsWhatItsMemberEquals() {
    for found in Self.values {
      for wanted in Self.values {
        let isEqual = Self.matches(found, .equals, wanted)
        let (one, all) = (Self.list(wanted), Self.list(found))
        #expect(Self.matches(found, .isIn, one) == isEqual, "\(found) in \(one)")
        #expect(Self.matches(found, .notIn, one) != isEqual)
        #expect(Self.matches(all, .listContains, wanted) == isEqual, "\(all) has \(wanted)")
        #expect(Self.matches(all, .listContainsAny, one) == isEqual, "\(all) has any of \(one)")
        #expect(Self.matches(all, .listContainsAll, one) == isEqual, "\(all) has all of \(one)")
        #expect(Self.matches(all, .notListContainsAll, one) != isEqual)
      }
    }
  }

  @Test func emptyListsHoldNothingAndAreHeldByAll() {
    #expect(!Self.matches(.int64(1), .isIn, .emptyList))
    #expect(!Self.matches(.int64List([1]), .listContainsAny, .emptyList))
    #expect(Self.matches(.int64List([1]), .listContainsAll, .emptyList))
    #expect(!Self.matches(.emptyList, .listContainsAll, .int64List([1])))
  }

  /// Of a creator only the name counts.
  @Test func systemFieldsAreFoundByNameAlone() {
    var subject = QuerySubject(id: RecordID("r", in: Self.zone), fields: [:])
    subject.created = RecordStamp(time: Timestamp(milliseconds: 0), user: "_bob", device: "phone")
    let elsewhere = Reference(recordName: "_bob", zone: ZoneID("Other", owner: "_alice"))
    for targets in [[Reference(recordName: "_bob")], [elsewhere, Reference(recordName: "_carol")]] {
      let filter = QueryFilter(.system(.createdBy), .isIn, .referenceList(targets))
      #expect(filter.matches(subject))
    }
    #expect(!QueryFilter(.system(.createdBy), .isIn, .referenceList([Reference(recordName: "_al")])).matches(subject))
  }
}
