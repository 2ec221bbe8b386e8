import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaSync

/// What a long list of pending changes costs, in counts.
@Suite struct LongListTests {
  private struct Upload {
    var reports = 0
    var bytes = 0
    /// Of the state with all changes pending.
    var fullBytes = 0
    /// The most changes that were sent and that the latest report still lists, beyond a fifth of those that it lists.
    var unreportedBeyondAFifth = 0
  }

  /// Sends so many changes, with 200 ms for each request.
  private func upload(_ count: Int) throws -> Upload {
    var world = MachineWorld()
    var upload = Upload()
    world.take(.add(zones: [], records: (0..<count).map { PendingRecordChange(.save, record("metric-\($0)")) }))
    upload.fullBytes = try JSONEncoder().encode(world.machine.state).count
    world.take(.send(CallID(1), .all))
    var reported = count
    while let step = world.takeStep() {
      var event = world.answer(step)
      switch step {
      case .askBatch:
        let saves = world.machine.state.records.entries.prefix(400).map(\.key)
        event = .batch(saves.isEmpty ? nil : BatchPart(saves: saves, deletes: []))
      case .sendRecords: world.now = world.now + .milliseconds(200)
      case .tell(.sentRecords):
        let pending = world.machine.state.records.count
        upload.unreportedBeyondAFifth = max(upload.unreportedBeyondAFifth, reported - pending - reported / 5)
      case .tell(.stateUpdate):
        upload.reports += 1
        upload.bytes += try JSONEncoder().encode(world.machine.state).count
        reported = world.machine.state.records.count
      default: break
      }
      world.take(event)
    }
    #expect(world.finished[CallID(1)] == .some(nil))
    #expect(world.machine.state.records.isEmpty && reported == 0)
    return upload
  }

  /// After each request, 100,000 changes would be written 125 times.
  @Test(arguments: [1_000, 10_000, 100_000])
  func theBytesOfStateWrittenGrowAsTheList(count: Int) throws {
    let upload = try upload(count)
    #expect(upload.bytes <= 6 * upload.fullBytes, "\(upload)")
    #expect(upload.fullBytes <= 20 * count + 500, "\(upload)")
    // What is sent again after a kill: one request is answered, another is under way while the report is due.
    #expect(upload.unreportedBeyondAFifth <= 800, "\(upload)")
  }

  @Test func aShortListIsReportedWithEachRequest() throws { #expect(try upload(1_200).reports >= 3) }

  /// An app that adds one change at a time, all the time, does not write its whole list ten times a second.
  @Test(arguments: [(100, 9...11), (20_000, 3...4)])
  func aLongListIsReportedLessOften(pending: Int, reports: ClosedRange<Int>) {
    var policy = SyncPolicy()
    policy.sendDelay = .seconds(60)
    var world = MachineWorld(automatic: true, policy: policy)
    world.handle(.add(zones: [], records: (0..<pending).map { PendingRecordChange(.save, record("r\($0)")) }))
    world.pass(.seconds(1))
    world.trace = []
    for number in 0..<100 {
      world.save(record("later\(number)"))
      world.pass(.milliseconds(10))
    }
    #expect(reports.contains(world.trace.filter { $0 == "state" }.count), "\(world.trace)")
  }

  // MARK: The table

  @Test(arguments: 0..<20 as Range<UInt64>) func theTableIsAListWithoutDuplicates(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var table = OrderedTable<Int, Int>()
    var model: [(key: Int, value: Int)] = []
    let keys = seed % 2 == 0 ? 40 : 700
    for step in 0..<3_000 {
      let key = Int.random(in: 0..<keys, using: &random)
      let place = model.firstIndex { $0.key == key }
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        table[key] = step
        if let place { model[place].value = step } else { model.append((key, step)) }
      case 5..<9:
        table[key] = nil
        if let place { model.remove(at: place) }
      default:
        table.moveToEnd(key)
        if let place { model.append(model.remove(at: place)) }
      }
      #expect(table[key] == model.first { $0.key == key }?.value)
      #expect(table.count == model.count && table.isEmpty == model.isEmpty)
    }
    #expect(table.map(\.key) == model.map(\.key) && table.map(\.value) == model.map(\.value))
    table.removeAll()
    #expect(table.isEmpty && table[1] == nil)
  }
}
