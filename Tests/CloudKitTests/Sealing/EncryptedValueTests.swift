import CloudKit
import Foundation
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaCloudKit

/// What one device encrypts, and what becomes of it on its way.
@Suite struct EncryptedValueTests {
  let diary: SealedDiary
  var server: TestServer { diary.server }
  var phone: TestDevice { diary.phone }
  var zone: CKRecordZone { diary.zone }

  init() async throws { diary = try await SealedDiary() }

  @Test func serverHoldsCiphertextAndTheDeviceReadsItsValues() async throws {
    let record = diary.entry("one", secret: "the first rain in weeks")
    record.encryptedValues["count"] = 7
    record.encryptedValues["ratio"] = 2.0
    record.encryptedValues["day"] = Date(timeIntervalSince1970: 86_400)
    record.encryptedValues["raw"] = Data([1, 2, 3])
    record.encryptedValues["place"] = CLLocation(latitude: 48, longitude: 11)
    record.encryptedValues["tags"] = ["rain", "June"]
    record.encryptedValues["none"] = [String]()
    _ = try await phone.database.save(record)
    #expect(record.encryptedValues["text"] as? String == "the first rain in weeks")
    #expect(record.changedKeys().isEmpty && record.encryptedValues.changedKeys().isEmpty)

    let stored = try await phone.envelope("one", in: zone)
    let text = String(decoding: stored.fieldsJSON, as: UTF8.self)
    #expect(!text.contains("rain") && !text.contains("June") && text.contains("\"plain\""))
    for (name, field) in try Fields(json: stored.fieldsJSON).map({ ($0.name, $0.field) }) where name != "title" {
      #expect(field.isEncrypted && field.type?.wireTag == "ENCRYPTED_BYTES" && field.sealedHead != nil, "\(name)")
    }

    let fetched = try await phone.restarted().database.record(for: record.recordID)
    let values = fetched.encryptedValues
    #expect(values["text"] as? String == "the first rain in weeks" && values["count"] as? Int == 7)
    #expect(values["ratio"] as? Double == 2 && values["raw"] as? Data == Data([1, 2, 3]))
    #expect(values["day"] as? Date == Date(timeIntervalSince1970: 86_400))
    #expect((values["place"] as? CLLocation)?.coordinate.latitude == 48)
    #expect(values["tags"] as? [String] == ["rain", "June"] && (values["none"] as? NSArray)?.count == 0)
    #expect(values.allKeys() == ["count", "day", "none", "place", "ratio", "raw", "tags", "text"])
    #expect(fetched["text"] == nil && fetched.allKeys() == ["title"])
    #expect(fetched.encryptedValueState(forKey: "text") == .readable)
    #expect(fetched.encryptedValueState(forKey: "title") == nil)
  }

  @Test func sameValueNeverLooksTheSame() async throws {
    _ = try await phone.database.modifyRecords(
      saving: [diary.entry("one", secret: "yes"), diary.entry("two", secret: "yes")], deleting: [])
    let one = try await phone.sealed("text", of: "one", in: zone)
    let two = try await phone.sealed("text", of: "two", in: zone)
    #expect(one != two && one.count == two.count)
  }

  @Test func changesComeOpenInEveryWayOfReading() async throws {
    let record = diary.entry("one", secret: "first")
    _ = try await phone.database.save(record)
    let other = phone.restarted().database
    let page = try await other.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
    let fetched = try #require(try page.modificationResultsByID[record.recordID]?.get().record)
    #expect(fetched.encryptedValues["text"] as? String == "first")
    let found = try await phone.restarted().database.records(
      matching: CKQuery(recordType: "Entry", predicate: NSPredicate(format: "title == %@", "plain")),
      inZoneWith: zone.zoneID, desiredKeys: nil)
    #expect(try found.matchResults.first?.1.get().encryptedValues["text"] as? String == "first")

    record.encryptedValues["text"] = "second"
    _ = try await phone.database.save(record)
    fetched.encryptedValues["text"] = "mine"
    let error = await #expect(throws: CKError.self) { try await other.save(fetched) }
    #expect(error?.code == .serverRecordChanged)
    #expect(error?.serverRecord?.encryptedValues["text"] as? String == "second")
    #expect(error?.ancestorRecord?.encryptedValues["text"] as? String == "first")
    #expect(error?.clientRecord?.encryptedValues["text"] as? String == "mine")

    let results = try await other.modifyRecords(saving: [fetched], deleting: [], savePolicy: .changedKeys)
    #expect(try results.saveResults[record.recordID]?.get().encryptedValues["text"] as? String == "mine")
    #expect(try await phone.database.record(for: record.recordID).encryptedValues["text"] as? String == "mine")
  }

  @Test func archivesHoldTheValuesAndTheirChanges() async throws {
    let record = diary.entry("one", secret: "first")
    _ = try await phone.database.save(record)
    record.encryptedValues["text"] = "second"
    let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
    #expect(copy.encryptedValues["text"] as? String == "second")
    #expect(copy.encryptedValues.changedKeys() == ["text"])
    _ = try await phone.database.save(copy)
    #expect(try await phone.database.record(for: record.recordID).encryptedValues["text"] as? String == "second")

    let coder = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: coder)
    coder.finishEncoding()
    #expect(coder.encodedData.range(of: Data("second".utf8)) == nil)
  }

  // C92
  @Test func encryptedValuesAreRefusedInThePublicDatabaseBeforeTheyLeave() async throws {
    let record = CKRecord(recordType: "Entry")
    record.encryptedValues["text"] = "secret"
    let before = phone.network.count("")
    let error = await #expect(throws: CKError.self) { try await phone.container.publicCloudDatabase.save(record) }
    #expect(error?.code == .invalidArguments && phone.network.count("") == before)
  }

  // C92
  @Test func encryptedFieldsCannotBeQueriedNorHoldReferencesOrAssets() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let query = CKQuery(recordType: "Entry", predicate: NSPredicate(format: "text == %@", "first"))
    let error = await #expect(throws: CKError.self) {
      try await phone.database.records(matching: query, inZoneWith: zone.zoneID, desiredKeys: nil)
    }
    #expect(error?.code == .invalidArguments && error?.localizedDescription.contains("ENCRYPTED_STRING") == true)
    let record = diary.entry("two", secret: "x")
    record.encryptedValues["link"] = CKRecord.Reference(recordID: record.recordID, action: .none)
    let refusal = await #expect(throws: CKError.self) { try await phone.database.save(record) }
    #expect(refusal?.code == .invalidArguments && refusal?.localizedDescription.contains("cannot be encrypted") == true)
  }

  @Test func schemaHoldsSealedValuesToTheirTypes() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let other = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "two", zoneID: zone.zoneID))
    other.encryptedValues["text"] = 5
    let error = await #expect(throws: CKError.self) { try await phone.database.save(other) }
    #expect(error?.localizedDescription.contains("ENCRYPTED_INT64") == true)
    #expect(error?.localizedDescription.contains("defined to be: ENCRYPTED_STRING") == true)
  }

  @Test(arguments: [("two", "text", "Diary"), ("one", "note", "Diary"), ("one", "text", "Other")])
  func sealedValueOpensInItsOwnPlaceOnly(record: String, field: String, zoneName: String) async throws {
    let other = CKRecordZone(zoneName: "Other")
    _ = try await phone.database.save(other)
    for zone in [zone, other] {
      for name in ["one", "two"] {
        let record = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
        record.encryptedValues["text"] = "\(name) in \(zone.zoneID.zoneName)"
        record.encryptedValues["note"] = "note of \(name)"
        _ = try await phone.database.save(record)
      }
    }
    // Whoever runs the server puts one device's bytes somewhere else.
    let sealed = try await phone.sealed("text", of: "one", in: zone)
    let target = zoneName == "Other" ? other : zone
    try await phone.put(sealed, as: field, of: record, in: target)
    let id = CKRecord.ID(recordName: record, zoneID: target.zoneID)
    for device in [phone, phone.restarted()] {
      let fetched = try await device.database.record(for: id)
      #expect(fetched.encryptedValues[field] == nil && !fetched.encryptedValues.allKeys().contains(field))
      let state = fetched.encryptedValueState(forKey: field)
      #expect(state == (zoneName == "Other" ? .keyMissing : .damaged))
      #expect(fetched.encryptedValueState(forKey: field == "text" ? "note" : "text") == .readable)
    }
  }

  @Test func oneChangedByteIsRefused() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let sealed = try await phone.sealed("text", of: "one", in: zone)
    for index in [7, SealedValueHead.byteCount, sealed.count - 20, sealed.count - 1] {
      var changed = sealed
      changed[index] ^= index == 7 ? 4 : 1
      // Another type in the head is refused by the schema at once; here the server itself is the liar.
      let field = index == 7 ? "other" : "text"
      try await phone.put(changed, as: field, of: "one", in: zone)
      let fetched = try await phone.database.record(for: diary.entry("one", secret: "").recordID)
      #expect(fetched.encryptedValues[field] == nil, "byte \(index)")
      #expect(fetched.encryptedValueState(forKey: field) == .damaged, "byte \(index)")
    }
  }

  @Test func keysAreForTheirOwnerOnlyOnDisk() async throws {
    _ = try await phone.database.save(diary.entry("one", secret: "first"))
    let files = try FileManager.default.contentsOfDirectory(atPath: phone.home.path)
    let secrets = files.filter { $0.hasSuffix(".keys") || $0.hasSuffix(".box") }
    #expect(secrets.count == 2)
    for name in secrets {
      let mode = try FileManager.default.attributesOfItem(atPath: phone.home.path + "/" + name)[.posixPermissions]
      #expect((mode as? NSNumber)?.intValue == 0o600, "\(name)")
    }
  }
}

extension TestDevice {
  /// A record as the server sends it.
  func envelope(_ name: String, in zone: CKRecordZone) async throws -> RecordEnvelope {
    let call = Call.recordsLookup(
      RecordsLookupRequest(records: [.init(RecordName(name))], zone: ZoneSelector(zone.zoneID.model)))
    guard case .records(let reply) = try await database.perform(call, in: zone.zoneID.model),
      case .record(let envelope)? = reply.records.first
    else { throw CKError(.unknownItem) }
    return envelope
  }

  /// The bytes of an encrypted field as the server has them.
  func sealed(_ field: String, of name: String, in zone: CKRecordZone) async throws -> [UInt8] {
    let fields = try Fields(json: try await envelope(name, in: zone).fieldsJSON)
    guard let field = fields[FieldName(field)], field.sealedHead != nil, case .bytes(let bytes) = field.value else {
      throw CKError(.unknownItem)
    }
    return bytes
  }

  /// Puts bytes in the place of a field behind the device's back.
  func put(_ sealed: [UInt8], as field: String, of name: String, in zone: CKRecordZone) async throws {
    var change = RecordChange(name: RecordName(name), type: "Entry")
    change.fields = [FieldChange(FieldName(field), Field(.bytes(sealed), isEncrypted: true))]
    _ = try await modify(change, .forceUpdate, in: zone)
  }

  func modify(_ change: RecordChange, _ kind: RecordOperation.Kind, in zone: CKRecordZone) async throws -> Reply {
    let request = RecordsModifyRequest(
      operations: [RecordOperation(kind, change)], zone: ZoneSelector(zone.zoneID.model), atomic: true)
    let reply = try await database.perform(.recordsModify(request), in: zone.zoneID.model)
    guard case .records(let records) = reply else { throw CKError(.internalError, "\(reply)") }
    switch records.records.first {
    case .record?, .deleted?: return reply
    default: throw CKError(.internalError, "\(reply)")
    }
  }
}
