import CloudKit
import Testing
import VirgaModel

@testable import VirgaCloudKit

/// Dates on their way to the service and back.
@Suite struct DateTests {
  let diary: SealedDiary

  init() async throws { diary = try await SealedDiary() }

  private func record(_ name: String = "day") -> CKRecord {
    CKRecord(recordType: "Day", recordID: CKRecord.ID(recordName: name, zoneID: diary.zone.zoneID))
  }

  private func fetched(_ record: CKRecord) async throws -> CKRecord {
    try await diary.phone.restarted().database.record(for: record.recordID)
  }

  /// Before 1970 and after 2100, with whole milliseconds and with less.
  static let dates: [Date] = [
    Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1_760_000_000.123), Date(timeIntervalSince1970: -0.001),
    Date(timeIntervalSince1970: -86_400.5), Date(timeIntervalSince1970: -3_000_000_000.999),
    Date(timeIntervalSince1970: 4_200_000_000.001), Date(timeIntervalSince1970: 253_402_300_799.999),
    Date(timeIntervalSinceReferenceDate: 812_345_678.987_654_3), Date(timeIntervalSinceReferenceDate: 0.000_4),
    Date(timeIntervalSince1970: -1_234_567_890.123_456_7), Date(timeIntervalSinceReferenceDate: 7_000_000_000.000_999),
    .distantFuture, .distantPast,
  ]

  private static func isWhole(_ date: Date) -> Bool { Timestamp(date).date == date }

  // C135
  @Test(arguments: dates) func aDateComesBackAsItWas(date: Date) async throws {
    let record = record()
    record["plain"] = date
    record["list"] = [date, date]
    record["place"] = CLLocation(
      coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 0, horizontalAccuracy: 0,
      verticalAccuracy: 0, timestamp: date)
    record.encryptedValues["secret"] = date
    record.encryptedValues["secrets"] = [date, date]
    _ = try await diary.phone.database.save(record)
    // The object that was saved has the app's own.
    #expect(record["plain"] as? Date == date && record["list"] as? [Date] == [date, date])
    #expect((record["place"] as? CLLocation)?.timestamp == date)
    #expect(record.encryptedValues["secret"] as? Date == date)

    let back = try await fetched(record)
    let plain = try #require(back["plain"] as? Date)
    #expect(abs(plain.timeIntervalSince(date)) <= 0.000_500_1)
    #expect(Timestamp(plain) == Timestamp(date))
    if Self.isWhole(date) { #expect(plain == date) }
    #expect(back["list"] as? [Date] == [plain, plain])
    #expect((back["place"] as? CLLocation)?.timestamp == plain)
    #expect(back.encryptedValues["secret"] as? Date == date)
    #expect(back.encryptedValues["secrets"] as? [Date] == [date, date])

    // A second trip changes nothing.
    back["plain"] = plain
    back["list"] = [plain, plain]
    back.encryptedValues["secret"] = date
    _ = try await diary.phone.database.save(back)
    let again = try await fetched(record)
    #expect(again["plain"] as? Date == plain && again["list"] as? [Date] == [plain, plain])
    #expect(again.encryptedValues["secret"] as? Date == date)
  }

  @Test(arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys])
  func anOverwritingSaveKeepsTheAppsDateToo(policy: CKModifyRecordsOperation.RecordSavePolicy) async throws {
    let date = Self.dates[7]
    let record = record()
    record["plain"] = date
    record.encryptedValues["secret"] = date
    let results = try await diary.phone.database.modifyRecords(saving: [record], deleting: [], savePolicy: policy)
    _ = try results.saveResults[record.recordID]?.get()
    #expect(record["plain"] as? Date == date && record.encryptedValues["secret"] as? Date == date)
  }

  @Test func theServiceIsSentMilliseconds() async throws {
    let record = record()
    record["plain"] = Self.dates[7]
    _ = try await diary.phone.database.save(record)
    let envelope = try await diary.phone.envelope("day", in: diary.zone)
    #expect(String(decoding: envelope.fieldsJSON, as: UTF8.self).contains(#""value":1790652878988"#))
  }

  /// What another device has put beside a value is believed only as far as it is that value.
  @Test func wholeDatesThatAreOthersDoNotCount() {
    let record = CKRecord(recordType: "Day")
    var field = Field(.timestamp(Timestamp(milliseconds: 1_000)))
    for dates in [[812_345_678.9], [-978_307_199.0, 0], [.nan]] {
      field.exactDates = dates
      record.state.withLock { [field] in $0.record.fields["plain"] = field }
      #expect(record["plain"] as? Date == Date(timeIntervalSince1970: 1))
    }
  }

  // C131: nil removes, an empty list stays, and what was not touched is left alone.
  @Test func nothingAndAnEmptyListReachTheService() async throws {
    let record = record()
    record["date"] = Date(timeIntervalSince1970: 1)
    record["list"] = ["a"]
    record["bytes"] = Data([1])
    record["kept"] = "k"
    record.encryptedValues["secret"] = "s"
    record.encryptedValues["other"] = "o"
    _ = try await diary.phone.database.save(record)
    record["date"] = nil
    record["bytes"] = nil
    record["list"] = [String]()
    record.encryptedValues["secret"] = nil
    _ = try await diary.phone.database.save(record)
    for known in [record, try await fetched(record)] {
      #expect(known.allKeys() == ["kept", "list"] && known.encryptedValues.allKeys() == ["other"])
      #expect(known["date"] == nil && known["bytes"] == nil && known.encryptedValues["secret"] == nil)
      #expect((known["list"] as? NSArray)?.count == 0 && known["kept"] as? String == "k")
      #expect(known.encryptedValues["other"] as? String == "o")
    }
    let fresh = CKRecord(recordType: "Day", recordID: record.recordID)
    fresh["new"] = 1
    _ = try await diary.phone.database.modifyRecords(saving: [fresh], deleting: [], savePolicy: .changedKeys)
    let all = try await fetched(record)
    #expect(all.allKeys() == ["kept", "list", "new"] && all["kept"] as? String == "k")
  }
}
