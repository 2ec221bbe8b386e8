import CloudKit
import Foundation
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaCloudKit

/// Values that are marked as encrypted and come in the clear: a web page wrote them, or whoever runs the server.
@Suite struct UnencryptedValueTests {
  let diary: SealedDiary
  var server: TestServer { diary.server }
  var phone: TestDevice { diary.phone }
  var zone: CKRecordZone { diary.zone }

  init() async throws { diary = try await SealedDiary() }

  private static let forged = "I OWE THE SERVER 1000 EUR"

  private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone.zoneID) }

  /// Puts a plain value in the place of an encrypted one on its way to a device, as `plain` of a malicious server does.
  private func forge(_ device: TestDevice) {
    device.network.replaceAnswers { target, answer in
      guard target.contains("/database/"), let json = try? JSONSerialization.jsonObject(with: Data(answer.body)) else {
        return answer
      }
      func walk(_ value: Any) -> Any {
        if let list = value as? [Any] { return list.map(walk) }
        guard var object = value as? [String: Any] else { return value }
        for (key, inner) in object { object[key] = walk(inner) }
        if var fields = object["fields"] as? [String: Any], fields["text"] != nil {
          fields["text"] = ["value": Self.forged, "type": "STRING", "isEncrypted": true] as [String: Any]
          object["fields"] = fields
        }
        return object
      }
      var answer = answer
      if let data = try? JSONSerialization.data(withJSONObject: walk(json)) { answer.body = Array(data) }
      return answer
    }
  }

  private func expectPutAway(_ record: CKRecord?, _ location: SourceLocation = #_sourceLocation) throws {
    let record = try #require(record, sourceLocation: location)
    #expect(record.encryptedValueState(forKey: "text") == .notEncryptedByDevices, sourceLocation: location)
    #expect(record.encryptedValues["text"] == nil && record["text"] == nil, sourceLocation: location)
    #expect(!record.encryptedValues.allKeys().contains("text"), sourceLocation: location)
    #expect(!record.description.contains("1000 EUR"), sourceLocation: location)
    #expect(record.valueNotEncryptedByDevices(forKey: "text") as? String == Self.forged, sourceLocation: location)
    #expect(record.valueNotEncryptedByDevices(forKey: "title") == nil, sourceLocation: location)
  }

  @Test func aServersPlainValueIsNotTakenForADevicesInAnyWayOfReading() async throws {
    let record = diary.entry("one", secret: "first")
    _ = try await phone.database.save(record)
    let device = phone.restarted()
    forge(device)
    let database = device.database
    let fetched = try await database.record(for: record.recordID)
    try expectPutAway(fetched)
    let page = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
    try expectPutAway(try page.modificationResultsByID[record.recordID]?.get().record)
    let query = CKQuery(recordType: "Entry", predicate: NSPredicate(format: "title == %@", "plain"))
    let found = try await database.records(matching: query, inZoneWith: zone.zoneID, desiredKeys: nil)
    try expectPutAway(try found.matchResults.first?.1.get())

    record.encryptedValues["text"] = "second"
    _ = try await phone.database.save(record)
    fetched.encryptedValues["text"] = "mine"
    let error = await #expect(throws: CKError.self) { try await database.save(fetched) }
    try expectPutAway(error?.serverRecord)
    try expectPutAway(error?.ancestorRecord)
    #expect(error?.clientRecord?.encryptedValues["text"] as? String == "mine")
  }

  /// A device that encrypted what it was told would make it look like its own.
  @Test(arguments: [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
  func saveOfOtherFieldsDoesNotEncryptWhatCameInTheClear(
    policy: CKModifyRecordsOperation.RecordSavePolicy
  ) async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let sealed = try await phone.sealed("text", of: "one", in: zone)
    let device = phone.restarted()
    forge(device)
    let record = try await device.database.record(for: id("one"))
    record["title"] = "changed"
    let saved = try await device.database.modifyRecords(saving: [record], deleting: [], savePolicy: policy)
    _ = try saved.saveResults[record.recordID]?.get()
    try expectPutAway(record)
    #expect(try await phone.sealed("text", of: "one", in: zone) == sealed)
    #expect(try await diary.text(of: "one", on: phone.restarted()) == "first")
    let read = try await phone.restarted().database.record(for: id("one"))
    #expect(read["title"] as? String == "changed")
  }

  @Test func archivesAndCopiesKeepTheState() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    forge(phone)
    let record = try await phone.database.record(for: id("one"))
    let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    try expectPutAway(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    try expectPutAway(record.copy() as? CKRecord)
  }

  /// What a web page writes is there for an app that asks for it, and stays as it is until the app says otherwise.
  @Test func valueOfAWebPageIsShownAsWhatItIsAndCanBeAccepted() async throws {
    var change = RecordChange(name: "web", type: "Note")
    change.fields = [FieldChange("text", Field(.string("from a page"), isEncrypted: true))]
    _ = try await phone.modify(change, .create, in: zone)
    let fetched = try await phone.database.record(for: id("web"))
    #expect(fetched.encryptedValues["text"] == nil)
    #expect(fetched.encryptedValueState(forKey: "text") == .notEncryptedByDevices)
    let value = fetched.valueNotEncryptedByDevices(forKey: "text")
    #expect(value as? String == "from a page")
    fetched.encryptedValues["text"] = value
    _ = try await phone.database.save(fetched)
    #expect(try await phone.sealed("text", of: "web", in: zone).count > 0)
    let again = try await phone.restarted().database.record(for: id("web"))
    #expect(again.encryptedValues["text"] as? String == "from a page")
    #expect(again.encryptedValueState(forKey: "text") == .readable)
    #expect(again.valueNotEncryptedByDevices(forKey: "text") == nil)
  }

  static let values: [(FieldValue, @Sendable ((any CKRecordValue)?) -> Bool)] = [
    (.string("a"), { $0 as? String == "a" }), (.int64(7), { $0 as? Int == 7 }),
    (.double(1.5), { $0 as? Double == 1.5 }),
    (.bytes([1, 2]), { $0 as? Data == Data([1, 2]) }),
    (.timestamp(Timestamp(milliseconds: 1_000)), { $0 as? Date == Date(timeIntervalSince1970: 1) }),
    (.stringList(["a", "b"]), { $0 as? [String] == ["a", "b"] }), (.int64List([1]), { $0 as? [Int] == [1] }),
    (.emptyList, { ($0 as? NSArray)?.count == 0 }),
    (.location(Location(latitude: 48, longitude: 11)), { ($0 as? CLLocation)?.coordinate.latitude == 48 }),
  ]

  @Test(arguments: values.indices) func eachTypeComesAsItWas(index: Int) async throws {
    let (value, isSame) = Self.values[index]
    var change = RecordChange(name: "web", type: RecordType("Note\(index)"))
    change.fields = [FieldChange("value", Field(value, isEncrypted: true))]
    _ = try await phone.modify(change, .create, in: zone)
    let fetched = try await phone.database.record(for: id("web"))
    #expect(fetched.encryptedValueState(forKey: "value") == .notEncryptedByDevices)
    #expect(fetched.encryptedValues["value"] == nil && isSame(fetched.valueNotEncryptedByDevices(forKey: "value")))
  }

  /// A service that encrypts by itself, as Apple's, sends values in the clear: there they are what they say.
  @Test func withoutKeysOfDevicesAValueInTheClearIsReadable() throws {
    var record = Record(id: RecordID("one", in: zone.zoneID.model), type: "Entry")
    record.fields["text"] = Field(.string("from Apple"), isEncrypted: true)
    let object = CKRecord(CKRecord.State(record))
    #expect(object.encryptedValues["text"] as? String == "from Apple")
    #expect(object.encryptedValueState(forKey: "text") == .readable)
    #expect(object.valueNotEncryptedByDevices(forKey: "text") == nil)
  }
}
