import TestSupport
import Testing
import VirgaMerge
import VirgaModel

@Suite struct CounterRowsTests {
  private let rows = CounterRows(type: "Visits")

  @Test func theValueIsTheSumOfAllDevices() {
    let phone = rows.adding(2, to: nil, of: "album", device: "phone", in: zone)
    let watch = rows.adding(
      3, to: rows.adding(1, to: nil, of: "album", device: "watch", in: zone), of: "album", device: "watch", in: zone)
    let other = rows.adding(9, to: nil, of: "other", device: "phone", in: zone)
    #expect(rows.total(of: "album", in: [phone, watch, other]) == 6)
    #expect(phone.id != watch.id && phone.id != other.id)
    #expect(rows.adding(0, to: nil, of: "album", device: "phone", in: zone).id == phone.id)
  }

  @Test func foldingClosedRowsKeepsTheSum() throws {
    var all = (0..<4).map { rows.adding(Int64($0 + 1), to: nil, of: "album", device: "d\($0)", in: zone) }
    for index in 0..<3 { all[index].fields[CounterRows.closed] = VirgaModel.Field(1) }
    let (save, delete) = try #require(rows.compaction(of: "album", rows: all))
    let after = all.map { $0.id == save.id ? save : $0 }.filter { !delete.contains($0.id) }
    #expect(after.count == 2 && rows.total(of: "album", in: after) == 10)
    // A device that is offline with its row open is not touched.
    #expect(!delete.contains(all[3].id) && save.id != all[3].id)
    #expect(rows.compaction(of: "album", rows: after) == nil)
  }
}

@Suite struct MembershipRowsTests {
  private let rows = MembershipRows(type: "Tag")

  @Test func additionsOfBothStayAndRemovalsOfEitherCount() {
    let (a, b) = (
      rows.adding("rain", to: "n", unique: "1", in: zone), rows.adding("snow", to: "n", unique: "2", in: zone)
    )
    let removed = rows.removing("rain", from: "n", rows: [a, b])
    #expect(rows.elements(of: "n", in: [b] + removed) == ["snow"])
    // Somebody added it again without knowing of the removal.
    let again = rows.adding("rain", to: "n", unique: "3", in: zone)
    #expect(rows.elements(of: "n", in: [b, again] + removed) == ["rain", "snow"])
    #expect(rows.elements(of: "m", in: [a, b]) == [])
  }

  @Test func removedRowsCanGoWithoutChangingAnything() {
    let all = [rows.adding("a", to: "n", unique: "1", in: zone), rows.adding("b", to: "n", unique: "2", in: zone)]
    let removed = rows.removing("a", from: "n", rows: all)
    let now = removed + [all[1]]
    #expect(rows.compaction(of: "n", rows: now) == [all[0].id])
    #expect(rows.elements(of: "n", in: now) == rows.elements(of: "n", in: now.filter { $0.id != all[0].id }))
  }
}

@Suite struct AppendLogTests {
  private let log = AppendLog(type: "Payment")

  @Test func anEntryThatIsWrittenTwiceCountsOnce() {
    let entry = log.entry(5, number: 1, log: "l", device: "phone", in: zone)
    #expect(entry.id == log.entry(5, number: 1, log: "l", device: "phone", in: zone).id)
    #expect(entry.id != log.entry(5, number: 1, log: "l", device: "watch", in: zone).id)
  }

  /// A crash after each step of a compaction, and readers that saw part of it, all see one total.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func compactionChangesNoTotalAtAnyStep(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var records: [RecordID: Record] = [:]
    var expected: Int64 = 0
    var numbers = ["phone": Int64(0), "watch": 0]
    for _ in 0..<60 {
      let device = Bool.random(using: &random) ? "phone" : "watch"
      if Int.random(in: 0..<4, using: &random) > 0 {
        numbers[device]! += 1
        let amount = Int64.random(in: -3...5, using: &random)
        let entry = log.entry(amount, number: numbers[device]!, log: "l", device: device, in: zone)
        records[entry.id] = entry
        expected += amount
      } else if let (save, delete) = log.compaction(of: "l", device: device, in: zone, records: records.values) {
        records[save.id] = save
        #expect(log.total(of: "l", in: records.values) == expected, "seed \(seed)")
        for id in delete.prefix(Int.random(in: 0...delete.count, using: &random)) { records[id] = nil }
      }
      #expect(log.total(of: "l", in: records.values) == expected, "seed \(seed)")
    }
  }
}
