import CloudKit
import TestSupport
import Testing
import VirgaModel

@testable import VirgaCloudKit

/// What Apple's CloudKit has archived, by an archive of a real app and by archives with Apple's names and keys.
struct AppleArchiveTests {
  /// A whole record as an app keeps it, and what is in it.
  struct Kept: CustomTestStringConvertible {
    var name: String
    var archive: @Sendable () throws -> Data
    var recordName: String
    var person: String
    var age: Int
    var website: String
    var avatarBytes: Int64
    var avatarFile: String
    var created: Double
    var modified: Double
    var device: String
    var testDescription: String { name }
  }

  private static let own = Kept(
    name: "own",
    archive: {
      let plain = AppleArchive.object(
        "CKRecordValueStore",
        [
          "RecordValues": [
            "name": "Ada Example", "age": 36, "isDeveloper": 1, "website": "https://example.org/ada",
            "avatar": AppleArchive.object(
              "CKAsset",
              [
                "AssetFileURL": URL(fileURLWithPath: "/tmp/portrait.png"), "AssetSize": 2_048,
                "AssetSignature": Data([1, 2, 3]),
              ]),
          ], "ChangedKeys": Set<String>(), "OriginalValues": [String: Any](),
        ])
      return AppleArchive.data([
        "root": AppleArchive.object(
          "CKRecord",
          [
            "RecordType": "Person", "RecordID": AppleArchive.recordID("person-1"), "ValueStore": plain, "ETag": "9z",
            "RecordCtime": Date(timeIntervalSince1970: 1_764_547_200.25),
            "RecordMtime": Date(timeIntervalSince1970: 1_764_547_260.5), "ModifiedByDevice": "Ada's phone",
            "CreatorUserRecordID": AppleArchive.recordID(CKCurrentUserDefaultName), "KnownToServer": true,
            "LastModifiedUserRecordID": AppleArchive.recordID(CKCurrentUserDefaultName),
          ])
      ])
    }, recordName: "person-1", person: "Ada Example", age: 36, website: "https://example.org/ada", avatarBytes: 2_048,
    avatarFile: "portrait", created: 1_764_547_200.25, modified: 1_764_547_260.5, device: "Ada's phone")

  /// What a real app has archived on Apple's systems.
  private static let real = Kept(
    name: "a real app's",
    archive: {
      let folder = try #require(Corpus.archives)
      return try Data(contentsOf: folder.appending(path: "insidegui__CloudKitCodable__Person.ckrecord"))
    }, recordName: "1C0F1D79-F80C-74AF-9F9E-6A1581E7CD73", person: "Terry Tester", age: 26,
    website: "https://example.org/tester", avatarBytes: 931_862, avatarFile: "7644AD10", created: 1_526_133_605.465,
    modified: 1_526_133_653.433, device: "iCloud")

  static let kept = [own] + (Corpus.archives == nil ? [] : [real])

  @Test(arguments: kept) func aRealRecordIsReadWhole(kept: Kept) throws {
    let data = try kept.archive()
    let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    #expect(record.recordType == "Person")
    #expect(record.recordID == CKRecord.ID(recordName: kept.recordName))
    #expect(record.allKeys() == ["age", "avatar", "isDeveloper", "name", "website"])
    #expect(record["name"] as? String == kept.person && record["age"] as? Int == kept.age)
    #expect(record["isDeveloper"] as? Bool == true && record["website"] as? String == kept.website)
    let avatar = try #require(record["avatar"] as? CKAsset)
    #expect(avatar.model.size == kept.avatarBytes && avatar.fileURL?.isFileURL == true && !avatar.isUploaded)
    #expect(avatar.fileURL?.lastPathComponent.hasPrefix(kept.avatarFile) == true)
    #expect(record.creationDate == Date(timeIntervalSince1970: kept.created))
    #expect(record.modificationDate == Date(timeIntervalSince1970: kept.modified))
    #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
    #expect(record.state.withLock { $0.record.modified?.device } == kept.device)
    #expect(record.changedKeys().isEmpty && record.encryptedValues.allKeys().isEmpty)
    #expect(record.recordChangeTag == nil)
  }

  @Test(arguments: kept) func whatWasReadIsArchivedAsOursWithOneKey(kept: Kept) throws {
    let data = try kept.archive()
    let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    let own = NSKeyedArchiver(requiringSecureCoding: true)
    record.encode(with: own)
    own.finishEncoding()
    let list = try PropertyListSerialization.propertyList(from: own.encodedData, format: nil) as? [String: Any]
    #expect((list?["$top"] as? [String: Any])?.keys.sorted() == ["virga"])
    #expect(try archivedCopy(of: record).state.withLock { $0.record } == record.state.withLock { $0.record })
  }

  /// An archive as Apple's classes write it: objects of a class are dictionaries with their keys.
  private func archive(_ top: [String: Any]) -> Data { AppleArchive.data(top) }

  @Test func systemFieldsAreReadWithoutTheTag() throws {
    let data = archive([
      "RecordType": "Note", "RecordID": AppleArchive.recordID("n", zone: "Notes"), "ETag": "3k", "KnownToServer": true,
      "RecordCtime": Date(timeIntervalSinceReferenceDate: 1), "CreatorUserRecordID": AppleArchive.recordID("_maker"),
      "ParentReference": AppleArchive.object(
        "CKReference", ["recordID": AppleArchive.recordID("p", zone: "Notes"), "referenceAction": 0]),
    ])
    let coder = try NSKeyedUnarchiver(forReadingFrom: data)
    coder.requiresSecureCoding = true
    let record = try #require(CKRecord(coder: coder))
    #expect(record.recordType == "Note" && record.recordID.recordName == "n")
    #expect(record.recordID.zoneID == CKRecordZone.ID(zoneName: "Notes"))
    #expect(record.recordChangeTag == nil && record.creatorUserRecordID?.recordName == "_maker")
    #expect(record.parent?.recordID.recordName == "p" && record.modificationDate == nil)
    #expect(record.allKeys().isEmpty && record.changedKeys().isEmpty)
  }

  @Test func everyKindOfValueIsRead() throws {
    let place = AppleArchive.object(
      "CLLocation",
      [
        "kCLLocationCodingKeyCoordinateLatitude": 48.1, "kCLLocationCodingKeyCoordinateLongitude": 11.6,
        "kCLLocationCodingKeyAltitude": 519.0, "kCLLocationCodingKeyHorizontalAccuracy": 5.0,
        "kCLLocationCodingKeyVerticalAccuracy": 3.0, "kCLLocationCodingKeySpeed": 1.5,
        "kCLLocationCodingKeyCourse": 90.0, "kCLLocationCodingKeyTimestamp": 700_000_000.25,
      ])
    let link = AppleArchive.object(
      "CKReference", ["recordID": AppleArchive.recordID("x", zone: "Notes"), "referenceAction": 1])
    let asset = AppleArchive.object(
      "CKAsset",
      ["AssetFileURL": URL(fileURLWithPath: "/tmp/photo.heic"), "AssetSize": 12, "AssetSignature": Data([1])])
    let plain = AppleArchive.object(
      "CKRecordValueStore",
      [
        "RecordValues": [
          "text": "a", "whole": 7, "double": 0.5, "date": Date(timeIntervalSinceReferenceDate: 0.000_1),
          "bytes": Data([1, 2]), "place": place, "link": link, "file": asset, "texts": ["a", "b"], "links": [link],
          "package": AppleArchive.object("CKPackage", ["Anything": 1]),
        ], "ChangedKeys": Set(["text", "gone"]), "OriginalValues": [String: Any](),
      ])
    let encrypted = AppleArchive.object(
      "CKEncryptedRecordValueStore",
      ["RecordValues": ["secret": "s"], "ChangedKeys": Set(["secret"]), "OriginalValues": [String: Any]()])
    let root = AppleArchive.object(
      "CKRecord",
      [
        "RecordType": "Note", "RecordID": AppleArchive.recordID("n", zone: "Notes"), "ValueStore": plain,
        "EncryptedValueStore": encrypted, "HasUpdatedParentReference": false,
      ])
    let data = archive(["root": root])
    let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    #expect(
      record.allKeys() == ["bytes", "date", "double", "file", "link", "links", "place", "text", "texts", "whole"])
    #expect(record["text"] as? String == "a" && record["whole"] as? Int == 7 && record["double"] as? Double == 0.5)
    #expect(record["date"] as? Date == Date(timeIntervalSinceReferenceDate: 0.000_1))
    #expect(record["bytes"] as? Data == Data([1, 2]) && record["texts"] as? [String] == ["a", "b"])
    #expect((record["link"] as? CKRecord.Reference)?.action == .deleteSelf)
    #expect((record["links"] as? [CKRecord.Reference])?.first?.recordID.recordName == "x")
    #expect((record["file"] as? CKAsset)?.fileURL?.path == "/tmp/photo.heic")
    let read = try #require(record["place"] as? CLLocation)
    #expect(read.coordinate.latitude == 48.1 && read.altitude == 519 && read.course == 90 && read.speed == 1.5)
    #expect(read.timestamp == Date(timeIntervalSinceReferenceDate: 700_000_000.25))
    #expect(record.encryptedValues["secret"] as? String == "s")
    #expect(record.changedKeys() == ["gone", "text"] && record.encryptedValues.changedKeys() == ["secret"])
  }

  @Test func identifiersZonesAndTokensAreRead() throws {
    let zone = AppleArchive.object(
      "CKRecordZoneID", ["ZoneName": "Notes", "ownerName": "_someone", "databaseScopeKey": 3])
    let zoneID = try read(CKRecordZone.ID.self, zone)
    #expect(zoneID == CKRecordZone.ID(zoneName: "Notes", ownerName: "_someone"))
    #expect(try read(CKRecord.ID.self, AppleArchive.recordID("n"))?.recordName == "n")
    #expect(try read(CKRecordZone.self, AppleArchive.object("CKRecordZone", ["ZoneID": zone]))?.zoneID == zoneID)
    let share = AppleArchive.object(
      "CKShare", ["RecordType": "cloudkit.share", "RecordID": AppleArchive.recordID("s", zone: "Notes"), "ETag": "1"])
    #expect(try read(CKShare.self, share)?.recordChangeTag == nil)
    let token = try read(
      CKServerChangeToken.self, AppleArchive.object("CKServerChangeToken", ["ChangeTokenData": Data([1, 2])]))
    #expect(token?.text == "AQI=")
  }

  private func read<T: NSObject & NSCoding>(_ type: T.Type, _ object: AppleObject) throws -> T? {
    try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: archive(["root": object]))
  }

  /// A file that is damaged, or made to do harm, gives nothing and stops nobody.
  @Test func archivesWithKeysMissingGiveNothing() throws {
    let id = AppleArchive.recordID("n")
    let incomplete: [[String: Any]] = [
      ["RecordType": "Note"], ["RecordID": id], ["RecordType": "Note", "RecordID": "n"],
      ["RecordType": id, "RecordID": id],
    ]
    // Foundation itself stops a decoder that was not told to go on after an object that cannot be read.
    let damaged: [[String: Any]] = [
      ["RecordType": "Note", "RecordID": AppleArchive.object("CKRecordID", ["RecordName": "n"])],
      ["RecordType": "Note", "RecordID": AppleArchive.object("CKUnheardOf", ["RecordName": "n"])],
    ]
    for top in incomplete {
      let coder = try NSKeyedUnarchiver(forReadingFrom: archive(top))
      coder.requiresSecureCoding = true
      #expect(CKRecord(coder: coder) == nil, "\(top)")
    }
    for top in incomplete + damaged {
      let whole = archive(["root": AppleArchive.object("CKRecord", top)])
      #expect((try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: whole)) == nil, "\(top)")
    }
    // A value that no field can hold is left out.
    let store = AppleArchive.object("CKRecordValueStore", ["RecordValues": ["a": [1, "x"], "b": UInt64.max, "c": 1]])
    let root = AppleArchive.object("CKRecord", ["RecordType": "Note", "RecordID": id, "ValueStore": store])
    #expect(try read(CKRecord.self, root)?.allKeys() == ["c"])
  }

  /// After a move to this server the first save of a record that came along is a conflict.
  @Test func theFirstSaveAfterAMoveIsAConflict() async throws {
    let phone = try TestServer().device()
    let zone = CKRecordZone(zoneName: "Notes")
    _ = try await phone.database.save(zone)
    let here = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone.zoneID))
    here["text"] = "brought over"
    let tag = try #require(try await phone.database.save(here).recordChangeTag)
    let data = archive(["RecordType": "Note", "RecordID": AppleArchive.recordID("n", zone: "Notes"), "ETag": tag])
    let moved = try #require(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: data)))
    moved["text"] = "edited before the move"
    let error = await #expect(throws: CKError.self) { try await phone.database.save(moved) }
    #expect(error?.code == .serverRecordChanged)
    #expect(error?.serverRecord?["text"] as? String == "brought over")
    #expect(error?.clientRecord?["text"] as? String == "edited before the move")
    // Whoever followed a feed there begins here from the beginning.
    let token = try read(
      CKServerChangeToken.self, AppleArchive.object("CKServerChangeToken", ["ChangeTokenData": Data([1, 2])]))
    let expired = await #expect(throws: CKError.self) {
      try await phone.database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
    }
    #expect(expired?.code == .changeTokenExpired)
  }
}
