import CloudKit
import Foundation
import Testing
import VirgaModel

@testable import VirgaCloudKit

struct ArchiveTests {
  @Test func systemFieldsCarryNoValuesAndNoChanges() throws {
    let record = fetched(["title": .string("t")])
    record["title"] = "changed"
    record.setParent(CKRecord.ID(recordName: "p", zoneID: record.recordID.zoneID))
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: archiver)
    archiver.finishEncoding()

    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true
    let copy = try #require(CKRecord(coder: unarchiver))
    #expect(copy.recordID == record.recordID)
    #expect(copy.recordType == "Note")
    #expect(copy.recordChangeTag == "1")
    #expect(copy.creationDate == record.creationDate)
    #expect(copy.creatorUserRecordID?.recordName == "_abc")
    #expect(copy.parent?.recordID.recordName == "p")
    #expect(copy.allKeys() == [])
    #expect(copy.changedKeys() == [])
  }

  @Test func systemFieldsAreWrittenAsAllOthersAre() throws {
    var full = Record(id: RecordID("r \"1\"", in: ZoneID("Notes", owner: "_owner")), type: "Note")
    full.tag = "3k"
    full.created = RecordStamp(time: Timestamp(milliseconds: -5), user: "_a", device: "iCloud")
    full.modified = RecordStamp(time: Timestamp(milliseconds: 1_790_000_000_000), user: "_b", device: "a/b\u{1}é")
    full.parent = Reference(recordName: "p")
    full.share = Reference(recordName: "s", action: .deleteSelf, zone: ZoneID("Other", owner: "_x"))
    full.shortGUID = "guid"
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    for record in [Record(id: RecordID("r", in: ZoneID("Notes", owner: "_owner")), type: "Note"), full] {
      let state = CKRecord.State(record)
      let json = try #require(state.systemFieldsJSON)
      let plain = String(decoding: try encoder.encode(ArchivedRecord(state)), as: UTF8.self)
      #expect(String(decoding: json, as: UTF8.self) == plain.replacingOccurrences(of: "\\/", with: "/"))
      #expect(try JSONDecoder().decode(ArchivedRecord.self, from: Data(json)).state.record == record)
    }
  }

  @Test func fullArchiveKeepsEveryValueAndWhatHasChanged() throws {
    let record = fetched([
      "string": .string("s"), "int": .int64(.max), "double": .double(0.1),
      "date": .timestamp(Timestamp(milliseconds: 1)),
      "bytes": .bytes([1, 2]), "link": .reference(Reference(recordName: "x", action: .deleteSelf)),
      "place": .location(Location(latitude: 1, longitude: 2)), "texts": .stringList(["a"]), "ints": .int64List([1]),
      "doubles": .doubleList([.infinity]), "dates": .timestampList([Timestamp(milliseconds: -1)]),
      "blobs": .bytesList([[]]), "links": .referenceList([Reference(recordName: "y")]), "empty": .emptyList,
      "asset": .asset(AssetValue(fileChecksum: "c", size: 3)),
    ])
    record["string"] = "changed"
    record.encryptedValues["secret"] = "z"
    record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/picture"))
    let copy = try archivedCopy(of: record)
    #expect(copy.changedKeys() == ["file", "string"])
    #expect(copy.encryptedValues.changedKeys() == ["secret"])
    #expect(copy.state.withLock { $0.record } == record.state.withLock { $0.record })
    #expect((copy["file"] as? CKAsset)?.fileURL?.path == "/tmp/picture")
  }

  // Bytes of the first release. They must be read for ever: apps keep them beside their own data.
  @Test func archiveOfTheFirstReleaseIsRead() throws {
    let json = """
      {"changedKeys":["a"],"created":{"device":"iCloud","time":1760000000000,"user":"_abc"},\
      "fields":[{"name":"a","strings":["x"]},{"integers":[1],"isList":true,"name":"b"}],\
      "id":{"name":"r","zone":{"name":"Notes","owner":"__defaultOwner__"}},"tag":"1","type":"Note"}
      """
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode(Data(json.utf8) as NSData, forKey: "virga")
    archiver.finishEncoding()
    let record = try #require(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)))
    #expect(record["a"] as? String == "x")
    #expect(record["b"] as? [Int] == [1])
    #expect(record.changedKeys() == ["a"])
    #expect(record.recordID.zoneID.zoneName == "Notes")
  }

  @Test func foreignArchivesDecodeToNil() throws {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode("something else" as NSString, forKey: "root")
    archiver.finishEncoding()
    func unarchiver() throws -> NSKeyedUnarchiver {
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
      unarchiver.requiresSecureCoding = true
      return unarchiver
    }
    #expect(CKRecord(coder: try unarchiver()) == nil)
    #expect(CKRecord.ID(coder: try unarchiver()) == nil)
    #expect(CKRecordZone(coder: try unarchiver()) == nil)
    #expect(CKRecord.Reference(coder: try unarchiver()) == nil)
    #expect(CKServerChangeToken(coder: try unarchiver()) == nil)
    #expect(CKDatabaseSubscription(coder: try unarchiver()) == nil)
    #expect(CLLocation(coder: try unarchiver()) == nil)
    #expect(throws: (any Error).self) {
      try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: Data("junk".utf8))
    }
  }

  @Test func valueObjectsSurviveARound() throws {
    func round<T: NSObject & NSSecureCoding>(_ object: T, _ note: Comment) throws {
      let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
      #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: T.self, from: data) == object, note)
      #expect(object.copy() as? T == object, note)
    }
    let zoneID = CKRecordZone.ID(zoneName: "Notes")
    try round(zoneID, "zone identifier")
    try round(CKRecord.ID(recordName: "r", zoneID: zoneID), "record identifier")
    try round(CKRecordZone(zoneID: zoneID), "zone")
    try round(CKRecord.Reference(recordID: CKRecord.ID(recordName: "r"), action: .deleteSelf), "reference")
    try round(CKServerChangeToken("abc="), "token")
    try round(CLLocation(latitude: 1.5, longitude: -2.5), "location")
    try round(CKDatabaseSubscription(subscriptionID: "s"), "database subscription")
    try round(CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "s"), "zone subscription")
    try round(CKSubscription.NotificationInfo(alertBody: "b", shouldSendContentAvailable: true), "notification info")
    let query = CKQuerySubscription(recordType: "T", predicate: NSPredicate(value: true), subscriptionID: "q")
    try round(query, "query subscription")
  }
}
