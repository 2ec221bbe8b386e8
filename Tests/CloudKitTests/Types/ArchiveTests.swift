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

  private var full: Record {
    var full = Record(id: RecordID("r \"1\"", in: ZoneID("Notes", owner: "_owner")), type: "Note")
    full.tag = "3k"
    full.created = RecordStamp(time: Timestamp(milliseconds: -5), user: "_a", device: "iCloud")
    full.modified = RecordStamp(time: Timestamp(milliseconds: 1_790_000_000_000), user: "_b", device: "a/b\u{1}é")
    full.parent = Reference(recordName: "p")
    full.share = Reference(recordName: "s", action: .deleteSelf, zone: ZoneID("Other", owner: "_x"))
    full.shortGUID = "guid"
    full.unknownMembers = Array(#""later":1"#.utf8)
    return full
  }

  @Test func systemFieldsSurviveTheirBinaryForm() throws {
    var extreme = full
    extreme.created?.time = Timestamp(milliseconds: .min)
    extreme.modified?.time = Timestamp(milliseconds: .max)
    var unsaved = full
    (unsaved.created, unsaved.tag, unsaved.parent, unsaved.share) = (nil, nil, nil, nil)
    let bare = Record(id: RecordID("", in: ZoneID("Notes", owner: "_owner")), type: "Note")
    for record in [bare, full, extreme, unsaved] {
      #expect(SystemFieldsArchive.decode(SystemFieldsArchive.encode(record)) == record)
    }
  }

  /// Apps keep these bytes for years. A later form may add to them; what is here must be read for ever.
  @Test func theBinaryFormOfSystemFieldsIsFixed() throws {
    var record = Record(
      id: RecordID("3F2504E0-4F89-41D3-9A0C-0305E82C3301", in: ZoneID("Notes", owner: .defaultOwner)), type: "Note")
    record.tag = "1a"
    let user: UserName = "_0123456789abcdef0123456789abcdef"
    record.created = RecordStamp(time: Timestamp(milliseconds: 1_000), user: user, device: "iCloud")
    record.modified = RecordStamp(time: Timestamp(milliseconds: 999), user: user, device: "iCloud")
    let hex = SystemFieldsArchive.encode(record).map { String(format: "%02x", $0) }.joined()
    #expect(
      hex == "01" + "0c10" + "3f2504e04f8941d39a0c0305e82c3301" + "1105" + "4e6f746573" + "2104" + "4e6f7465" + "2902"
        + "3161" + "30d00f" + "3b10" + "0123456789abcdef0123456789abcdef" + "4106" + "69436c6f7564" + "4801")
  }

  @Test func aMemberOfALaterReleaseIsSkippedAndDamageIsRefused() throws {
    let bytes = SystemFieldsArchive.encode(full)
    let numberAndText: [UInt8] = [31 << 3, 5, 30 << 3 | 1, 2, 65, 66]
    #expect(SystemFieldsArchive.decode(bytes + numberAndText) == full)
    #expect(SystemFieldsArchive.decode([]) == nil && SystemFieldsArchive.decode([1]) == nil)
    #expect(SystemFieldsArchive.decode([2] + bytes.dropFirst()) == nil)
    // A text that is longer than what is left, a number without an end, and a text that is not one.
    #expect(SystemFieldsArchive.decode(bytes + [30 << 3 | 1, 3, 65]) == nil)
    #expect(SystemFieldsArchive.decode(bytes + [31 << 3] + [UInt8](repeating: 0x80, count: 10)) == nil)
    #expect(SystemFieldsArchive.decode([1, 1 << 3 | 1, 1, 0xff]) == nil)
    // No cut stops the process.
    for length in 0..<bytes.count { _ = SystemFieldsArchive.decode(Array(bytes.prefix(length))) }
  }

  @Test(arguments: [
    "", "metric-12", "_abc", "abcdef", "0123456789abcdef", "0123456789abcde", "0123456789ABCDEF", "_0123456789abcdef",
    "_", "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "3F2504E04-F89-41D3-9A0C-0305E82C3301", "3F2504E0-4F89-41D3-9A0C-0305E82C330-", "naïve é",
  ])
  func packedTextsComeBack(text: String) { #expect(PackedText(text).text == text) }

  @Test func identifiersArePackedToHalf() {
    #expect(PackedText("_0123456789abcdef").bytes.count == 8)
    #expect(PackedText("0123456789abcdef").bytes.count == 8)
    #expect(PackedText(UUID().uuidString).bytes.count == 16)
  }

  /// What an archive costs is its length: see `SystemFieldsArchive`.
  @Test func systemFieldsOfAUsualRecordAreShort() {
    var record = Record(
      id: RecordID(RecordName(UUID().uuidString), in: ZoneID("Notes", owner: .defaultOwner)), type: "Note")
    record.tag = "2k"
    let user: UserName = "_0123456789abcdef0123456789abcdef"
    let device = "0123456789abcdef0123456789abcdef"
    record.created = RecordStamp(time: Timestamp(milliseconds: 1_790_000_000_000), user: user, device: device)
    record.modified = record.created
    #expect(SystemFieldsArchive.encode(record).count <= 85)
  }

  // What earlier releases wrote, as bytes under the key and as an object.
  @Test(arguments: [true, false])
  func systemFieldsOfEarlierReleasesAreRead(asBytes: Bool) throws {
    let json = """
      {"created":{"device":"iCloud","time":-5,"user":"_a"},"id":{"name":"r \\"1\\"","zone":{"name":"Notes",\
      "owner":"_owner"}},"modified":{"device":"a/b\\u0001é","time":1790000000000,"user":"_b"},\
      "parent":{"action":"NONE","recordName":"p"},"share":{"action":"DELETE_SELF","recordName":"s",\
      "zone":{"name":"Other","owner":"_x"}},"shortGUID":"guid","tag":"3k","type":"Note"}
      """
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    if asBytes {
      Array(json.utf8).withUnsafeBufferPointer {
        archiver.encodeBytes($0.baseAddress, length: $0.count, forKey: "virga")
      }
    } else {
      archiver.encode(Data(json.utf8) as NSData, forKey: "virga")
    }
    archiver.finishEncoding()
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true
    let record = try #require(CKRecord(coder: unarchiver))
    var expected = full
    expected.unknownMembers = []
    #expect(record.state.withLock { $0.record } == expected)
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
