import CloudKit
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaCloudKit

/// Every public class that Apple's API can archive: it is archived with secure coding, read back, and equal.
struct SecureCodingTests {
  private static let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_someone")
  private static let recordID = CKRecord.ID(recordName: "r", zoneID: zoneID)
  private static let identity = CKUserIdentity(UserIdentity(userRecordName: "_u", lookupInfo: .emailAddress("a@b")))

  private static var configuration: CKFetchRecordZoneChangesOperation.ZoneConfiguration {
    .init(previousServerChangeToken: CKServerChangeToken("t"), resultsLimit: 3, desiredKeys: ["a"])
  }

  private static var query: CKQuery {
    let query = CKQuery(recordType: "T", predicate: NSPredicate(format: "a == 1 AND b BEGINSWITH %@", "x"))
    query.sortDescriptors = [
      NSSortDescriptor(key: "a", ascending: false),
      CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: 1, longitude: 2)),
    ]
    return query
  }

  private static var share: CKShare {
    let share = CKShare(rootRecord: CKRecord(recordType: "T", recordID: recordID))
    share.publicPermission = .readOnly
    return share
  }

  private static var asset: CKAsset {
    CKAsset(AssetValue(fileChecksum: "c2hh", size: 3), fileURL: URL(fileURLWithPath: "/tmp/a b"))
  }

  /// A class of which Apple's API makes no object by itself is read from an archive of what it holds.
  private static func coded<T: NSObject & NSSecureCoding>(_ type: T.Type, from other: some NSSecureCoding) throws -> T {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    other.encode(with: archiver)
    archiver.finishEncoding()
    return try #require(T(coder: NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)))
  }

  private static let objects: [@Sendable () throws -> any NSObject & NSSecureCoding] = [
    { zoneID }, { recordID }, { CKRecordZone(zoneID: zoneID) }, { CKServerChangeToken("token=") },
    { CKRecord.Reference(recordID: recordID, action: .deleteSelf) }, { asset },
    { CKAsset(fileURL: URL(fileURLWithPath: "/tmp/photo.jpeg")) },
    { CKAsset(AssetValue(fileChecksum: "c2hh", size: 3)) },
    { CLLocation(latitude: 1.5, longitude: -2.5) }, { query }, { CKNotificationID("n") },
    { CKLocationSortDescriptor(key: "k", relativeLocation: CLLocation(latitude: 1, longitude: 2)) },
    {
      let descriptor = CKLocationSortDescriptor(key: "k", relativeLocation: CLLocation(latitude: 1, longitude: 2))
      return try #require(descriptor.reversedSortDescriptor as? CKLocationSortDescriptor)
    },
    { CKQueryCursor(RecordsQueryRequest(Query("T"), zone: ZoneSelector(zoneID.model))) },
    { CKDatabaseSubscription(subscriptionID: "s") },
    { CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "s") },
    { CKQuerySubscription(recordType: "T", predicate: NSPredicate(format: "a == 1"), subscriptionID: "s") },
    { CKSubscription.NotificationInfo(alertBody: "b", desiredKeys: ["k"], shouldBadge: true) },
    { configuration },
    {
      let options = CKFetchRecordZoneChangesOperation.ZoneOptions()
      options.desiredKeys = ["a"]
      options.resultsLimit = 3
      return options
    },
    { CKOperationGroup() }, { identity }, { CKUserIdentity.LookupInfo(emailAddress: "a@b") },
    { CKShareParticipant(ShareParticipant(id: "p", identity: identity.model, permission: .readOnly)) },
    { try coded(CKShare.AccessRequester.self, from: identity) },
    { try coded(CKShare.BlockedIdentity.self, from: identity) },
    {
      CKAllowedSharingOptions(
        allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .anyoneWithLink)
    },
  ]

  @Test(arguments: objects.indices) func objectsComeBackEqual(index: Int) throws {
    let object = try Self.objects[index]()
    let copy = try round(object)
    #expect(copy == object && object == copy && copy.hash == object.hash, "\(object)")
    #expect(type(of: object).supportsSecureCoding)
    #expect(object.isEqual("something else") == false)
    // Inside other archives too.
    let list = NSArray(array: [object])
    let data = try NSKeyedArchiver.archivedData(withRootObject: list, requiringSecureCoding: true)
    let read = try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, type(of: object)], from: data)
    #expect((read as? NSArray)?.object(at: 0) as? NSObject == object, "\(object)")
  }

  private func round<T: NSObject & NSSecureCoding>(_ object: T) throws -> NSObject {
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    return try #require(
      try NSKeyedUnarchiver.unarchivedObject(ofClasses: [type(of: object)], from: data) as? NSObject, "\(object)")
  }

  /// Records are one object each, so their content is compared.
  @Test func recordsAndSharesComeBackWhole() throws {
    let record = CKRecord(recordType: "T", recordID: Self.recordID)
    record["photo"] = Self.asset
    record["date"] = Date(timeIntervalSinceReferenceDate: 812_345_678.987_654_3)
    record["dates"] = [Date(timeIntervalSinceReferenceDate: -0.000_1), Date(timeIntervalSinceReferenceDate: 1)]
    record.encryptedValues["when"] = Date(timeIntervalSinceReferenceDate: 812_345_678.987_654_3)
    let copy = try #require(try round(record) as? CKRecord)
    #expect(copy.state.withLock { $0.record } == record.state.withLock { $0.record })
    #expect(copy["photo"] as? CKAsset == Self.asset)
    #expect(copy["date"] as? Date == record["date"] as? Date && copy["dates"] as? [Date] == record["dates"] as? [Date])
    #expect(copy.changedKeys() == ["date", "dates", "photo"])
    let share = Self.share
    let other = try #require(try round(share) as? CKShare)
    #expect(other.publicPermission == .readOnly && other.recordID == share.recordID)
    #expect(other.state.withLock { $0.record } == share.state.withLock { $0.record })
    #expect(other.participants.map(\.role) == [.owner])
  }

  /// What is not archived says so at once: these hold no values, or work that goes on.
  @Test func otherClassesAreNotCodable() {
    let others: [NSObject] = [
      CKContainer(
        "iCloud.test",
        on: .init(endpoint: "", environment: .development, home: .init(path: "/tmp"), transport: Nowhere())),
      CKModifyRecordsOperation(), CKOperation.Configuration(),
    ]
    for other in others { #expect(!(other is any NSCoding), "\(other)") }
  }

  private struct Nowhere: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse { throw TransportError.failed("") }
  }

  @Test func aForeignArchiveOfASortIsNoSort() throws {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode("x" as NSString, forKey: "root")
    archiver.finishEncoding()
    let coder = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    #expect(CKLocationSortDescriptor(coder: coder).sortKey.isEmpty)
    #expect(CKAsset(coder: coder) == nil && CKAllowedSharingOptions(coder: coder) == nil)
  }
}
