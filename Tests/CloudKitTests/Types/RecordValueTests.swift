import CloudKit
import Foundation
import Testing

/// What app code reads back, written as app code is written.
struct RecordValueTests {
  let record = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "e1"))

  @Test func textCastsAsOnApplesSystems() {
    record["text"] = "Ægir"
    #expect(record["text"] as? String == "Ægir")
    #expect(record["text"] as? NSString == "Ægir")
    #expect(record["text"] as? NSObject != nil)
    #expect(record["text"] as? Int == nil)
    let inferred: String? = record["text"]
    #expect(inferred == "Ægir")
  }

  @Test func wholeNumbersCastToEveryNumberThatHoldsThem() {
    record["number"] = 5
    #expect(record["number"] as? Int == 5)
    #expect(record["number"] as? Int64 == 5)
    #expect(record["number"] as? UInt8 == 5)
    #expect(record["number"] as? Double == 5)
    #expect(record["number"] as? NSNumber == 5)
    #expect(record["number"] as? Bool == nil)
    #expect(record["number"] as? String == nil)
    #expect(record["number"] as? Date == nil)
    let inferred: Double? = record["number"]
    #expect(inferred == 5)
  }

  // C89
  @Test(arguments: [Int64.min, -9_007_199_254_740_993, 0, 9_007_199_254_740_993, .max])
  func integersKeepEveryDigit(number: Int64) throws {
    record["number"] = number
    #expect(record["number"] as? Int64 == number)
    #expect(try archivedCopy(of: record)["number"] as? Int64 == number)
  }

  @Test func fractionsStayDoubles() {
    record["number"] = 2.5
    record["whole"] = 2.0
    #expect(record["number"] as? Double == 2.5)
    #expect(record["number"] as? Int == nil)
    #expect(record["whole"] as? Double == 2)
    #expect(record["whole"] as? Int == 2)
  }

  @Test func truthIsANumber() {
    record["yes"] = true
    record["no"] = false
    #expect(record["yes"] as? Bool == true)
    #expect(record["no"] as? Bool == false)
    #expect(record["yes"] as? Int == 1)
    let inferred: Bool? = record["no"]
    #expect(inferred == false)
  }

  @Test func datesKeepMilliseconds() {
    let date = Date(timeIntervalSince1970: 1_760_000_000.123)
    record["date"] = date
    #expect((record["date"] as? Date).map { abs($0.timeIntervalSince(date)) < 0.0005 } == true)
    #expect(record["date"] as? NSDate != nil)
    #expect(record["date"] as? Double == nil)
    record["early"] = Date(timeIntervalSince1970: -1)
    #expect(record["early"] as? Date == Date(timeIntervalSince1970: -1))
    record["never"] = Date.distantFuture
    #expect(record["never"] as? Date == Date.distantFuture)
  }

  @Test func bytesPlacesAndReferencesComeBack() {
    let target = CKRecord.ID(recordName: "target")
    record["bytes"] = Data([0, 255])
    record["place"] = CLLocation(latitude: -33.9, longitude: 18.4)
    record["link"] = CKRecord.Reference(recordID: target, action: .deleteSelf)
    #expect(record["bytes"] as? Data == Data([0, 255]))
    #expect((record["place"] as? CLLocation)?.coordinate.latitude == -33.9)
    #expect((record["link"] as? CKRecord.Reference)?.recordID == target)
    #expect((record["link"] as? CKRecord.Reference)?.action == .deleteSelf)
    let typed: CKRecord.Reference? = record["link"]
    #expect(typed?.recordID == target)
  }

  @Test func listsOfOneTypeComeBack() {
    record["texts"] = ["a", "b"]
    record["numbers"] = [1, 2]
    record["mixed"] = [1, 2.5] as NSArray
    record["none"] = [String]()
    record["dates"] = [Date(timeIntervalSince1970: 1)]
    record["links"] = [CKRecord.Reference(recordID: CKRecord.ID(recordName: "x"), action: .none)]
    #expect(record["texts"] as? [String] == ["a", "b"])
    #expect(record["texts"] as? NSArray != nil)
    #expect(record["numbers"] as? [Int] == [1, 2])
    #expect(record["numbers"] as? [Double] == [1, 2])
    #expect(record["mixed"] as? [Double] == [1, 2.5])
    #expect(record["none"] as? [String] == [])
    #expect(record["dates"] as? [Date] == [Date(timeIntervalSince1970: 1)])
    #expect((record["links"] as? [CKRecord.Reference])?.first?.recordID.recordName == "x")
    let inferred: [String]? = record["texts"]
    #expect(inferred == ["a", "b"])
  }

  @Test func everyWayToWriteAValueCompiles() {
    let optional: String? = "x"
    record["a"] = optional
    record["b"] = "x" as any CKRecordValue
    record["c"] = NSString(string: "x")
    record["d"] = 7 as NSNumber
    record.setObject("x" as NSString, forKey: "e")
    record.setObject("x" as any CKRecordValue, forKey: "f")
    record["g"] = UInt16(3)
    record["h"] = Float(0.5)
    record["i"] = nil
    for key in ["a", "b", "c", "e", "f"] { #expect(record[key] as? String == "x", "\(key)") }
    #expect(record["d"] as? Int == 7)
    #expect(record["g"] as? Int == 3)
    #expect(record["h"] as? Double == 0.5)
    #expect(record["i"] == nil)
    #expect(record.allKeys() == ["a", "b", "c", "d", "e", "f", "g", "h"])
  }

  @Test func valueOfAnUnknownClassStopsTheProcess() async {
    struct Own: CKRecordValueProtocol {}
    await #expect(processExitsWith: .failure) {
      struct Own: CKRecordValueProtocol {}
      CKRecord(recordType: "T")["x"] = Own()
    }
  }

  @Test func iterationYieldsNamesInOrderWithTheirValues() {
    record["b"] = 2
    record["a"] = "one"
    record.encryptedValues["secret"] = "hidden"
    var pairs: [String] = []
    for (key, value) in record { pairs.append("\(key)=\(value)") }
    #expect(pairs == ["a=one", "b=2"])
  }

  @Test func tokensAreFoldedWordsOfTexts() {
    record["title"] = "Café, 2nd visit"
    record["tags"] = ["Öl"]
    record["count"] = 3
    #expect(record.allTokens() == ["ol", "cafe", "2nd", "visit"])
  }
}

/// The record after a round through an archive.
func archivedCopy(of record: CKRecord) throws -> CKRecord {
  let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
  return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
}
