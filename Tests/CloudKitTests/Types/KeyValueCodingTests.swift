import CloudKit
import Testing

@testable import VirgaCloudKit

/// Key-value coding, as apps use it on records.
struct KeyValueCodingTests {
  @Test func valuesAreThoseOfTheFields() {
    let record = fetched(["title": .string("Rain"), "count": .int64(3)])
    #expect(record.value(forKey: "title") as? String == "Rain")
    #expect(record.value(forKey: "count") as? Int == 3)
    #expect(record.value(forKey: "none") == nil)
    record.setValue("Sun", forKey: "title")
    record.setValue(nil, forKey: "count")
    #expect(record["title"] as? String == "Sun" && record["count"] == nil)
    #expect(record.changedKeys() == ["count", "title"])
  }

  @Test func everyKindOfValueThatAFieldTakesIsSet() {
    let record = CKRecord(recordType: "Note")
    let link = CKRecord.Reference(recordID: CKRecord.ID(recordName: "x"), action: .none)
    let file = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/x"))
    let values: [(String, Any)] = [
      ("text", "a"), ("whole", 7), ("fraction", 0.5), ("truth", true), ("date", Date(timeIntervalSince1970: 1)),
      ("bytes", Data([1])), ("link", link), ("place", CLLocation(latitude: 1, longitude: 2)), ("file", file),
      ("texts", ["a", "b"]), ("numbers", [1, 2] as [Any]), ("object", NSString("o")), ("wrapped", String?("w") as Any),
    ]
    for (key, value) in values { record.setValue(value, forKey: key) }
    #expect(record.allKeys() == values.map(\.0).sorted())
    #expect(record["numbers"] as? [Int] == [1, 2] && record["wrapped"] as? String == "w")
    #expect(record.value(forKey: "file") as? CKAsset === file)
    record.setValue(NSNull(), forKey: "text")
    record.setValue(String?.none as Any, forKey: "texts")
    #expect(record["text"] == nil && record["texts"] == nil)
  }

  @Test func propertiesOfTheRecordAreFoundByName() {
    let record = fetched(["title": .string("Rain")])
    record.setParent(CKRecord.ID(recordName: "p", zoneID: record.recordID.zoneID))
    #expect(record.value(forKey: "recordID") as? CKRecord.ID == record.recordID)
    #expect(record.value(forKey: "recordType") as? String == "Note")
    #expect(record.value(forKey: "recordChangeTag") as? String == "1")
    #expect(record.value(forKey: "creationDate") as? Date == record.creationDate)
    #expect((record.value(forKey: "parent") as? CKRecord.Reference)?.recordID.recordName == "p")
    record.setValue(nil, forKey: "parent")
    #expect(record.parent == nil)
  }

  @Test func severalFieldsTravelAsADictionary() {
    let record = fetched(["title": .string("Rain"), "count": .int64(3)])
    let values = record.dictionaryWithValues(forKeys: ["title", "count", "none"])
    #expect(values["title"] as? String == "Rain" && values["count"] as? Int == 3 && values["none"] is NSNull)
    let other = CKRecord(recordType: "Note")
    other.setValuesForKeys(values)
    #expect(other.allKeys() == ["count", "title"])
    #expect(other.changedKeys() == ["count", "none", "title"])
  }

  @Test func systemFieldsCannotBeSet() async {
    await #expect(processExitsWith: .failure) {
      CKRecord(recordType: "T").setValue(Date(), forKey: "creationDate")
    }
    await #expect(processExitsWith: .failure) { CKRecord(recordType: "T").setValue(Process(), forKey: "x") }
  }
}
