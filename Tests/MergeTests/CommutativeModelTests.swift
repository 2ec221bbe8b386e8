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
    #expect(save.count == 3 && delete.isEmpty)
    // A device that is offline with its row open is not touched.
    #expect(!save.contains { $0.id == all[3].id })
    let folded = all.map { row in save.first { $0.id == row.id } ?? row }
    #expect(rows.total(of: "album", in: folded) == 10)
    let (again, gone) = try #require(rows.compaction(of: "album", rows: folded))
    #expect(again.isEmpty && gone.count == 2)
    let after = folded.filter { !gone.contains($0.id) }
    #expect(after.count == 2 && rows.total(of: "album", in: after) == 10)
    #expect(rows.compaction(of: "album", rows: after) == nil)
  }

  /// Devices that know different rows fold at the same time, each as an atomic batch that checks tags. Deletions check nothing.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func foldingAtOnceLosesNoRow(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var server: [RecordID: Record] = [:]
    var sequence: Int64 = 0
    func save(_ batch: [Record]) -> Bool {
      guard batch.allSatisfy({ $0.tag == server[$0.id]?.tag }) else { return false }
      for var record in batch {
        sequence += 1
        record.tag = ChangeTag(sequence: sequence)
        server[record.id] = record
      }
      return true
    }
    for device in 0..<8 {
      var row = rows.adding(Int64(1) << Int64(device), to: nil, of: "album", device: "d\(device)", in: zone)
      if device > 0 { row.fields[CounterRows.closed] = VirgaModel.Field(1) }
      #expect(save([row]))
    }
    for _ in 0..<12 {
      // What each of two devices has heard of so far.
      let known = (0..<2).map { _ in server.values.filter { _ in Int.random(in: 0..<3, using: &random) > 0 } }
      let plans = known.map { rows.compaction(of: "album", rows: $0) }
      for plan in plans.compactMap(\.self).shuffled(using: &random) {
        if Bool.random(using: &random) { _ = save(plan.save) }
        for id in plan.delete { server[id] = nil }
        #expect(rows.total(of: "album", in: server.values) == 255, "seed \(seed)")
      }
    }
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

  @Test func anEntryThatComesLateCounts() throws {
    let entries = (1...6).map { log.entry(Int64($0), number: Int64($0), log: "l", device: "phone", in: zone) }
    // The fifth is held back, and the sixth has arrived.
    let sent = entries.filter { $0 != entries[4] }
    let (save, delete) = try #require(log.compaction(of: "l", device: "phone", in: zone, records: sent))
    #expect(delete.count == 4)
    var records = sent.filter { !delete.contains($0.id) } + [save]
    #expect(log.total(of: "l", in: records) == 16)
    records.append(entries[4])
    #expect(log.total(of: "l", in: records) == 21)
    let (later, rest) = try #require(log.compaction(of: "l", device: "phone", in: zone, records: records))
    #expect(Set(rest) == [entries[4].id, entries[5].id])
    #expect(log.total(of: "l", in: [later]) == 21)
  }

  /// A crash after each step of a compaction, and readers that saw part of it, all see one total. Entries arrive in any order.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func compactionChangesNoTotalAtAnyStep(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var records: [RecordID: Record] = [:]
    var held: [Record] = []
    var expected: Int64 = 0
    var numbers = ["phone": Int64(0), "watch": 0]
    for _ in 0..<60 {
      let device = Bool.random(using: &random) ? "phone" : "watch"
      if Int.random(in: 0..<4, using: &random) > 0 {
        numbers[device]! += 1
        let amount = Int64.random(in: -3...5, using: &random)
        held.append(log.entry(amount, number: numbers[device]!, log: "l", device: device, in: zone))
        for entry in held where Int.random(in: 0..<3, using: &random) > 0 {
          records[entry.id] = entry
          expected += value(of: entry)
          held.removeAll { $0.id == entry.id }
        }
      } else if let (save, delete) = log.compaction(of: "l", device: device, in: zone, records: records.values) {
        records[save.id] = save
        #expect(log.total(of: "l", in: records.values) == expected, "seed \(seed)")
        for id in delete.prefix(Int.random(in: 0...delete.count, using: &random)) { records[id] = nil }
      }
      #expect(log.total(of: "l", in: records.values) == expected, "seed \(seed)")
    }
  }

  private func value(of entry: Record) -> Int64 {
    if case .int64(let amount)? = entry.fields[AppendLog.amount]?.value { amount } else { 0 }
  }
}
