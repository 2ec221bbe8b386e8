import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import VirgaCommandLine

@Suite struct ProgressLineTests {
  @Test(arguments: [
    (
      0 as Int64, 100 as Int64?, 0, 79,
      "Saving  [                                ]    0%  0 records / 100 records  0:00"
    ),
    (50, 100, 10, 79, "Saving  [###############               ]   50%  50 records / 100 records  -0:10"),
    (100, 100, 65, 79, "Saving  [##############################]  100%  100 records / 100 records  1:05"),
    // More than was thought at first.
    (120, 100, 3_700, 79, "Saving  [###########################]  100%  120 records / 120 records  1:01:40"),
    (7, nil, 5, 79, "Saving  7 records  0:05"), (0, nil, 5, 79, "Saving  0:05"),
    (7, 0, 5, 79, "Saving  7 records / 7 records  0:05"),
    // Where the bar has no room, it is left out; then the line is cut.
    (50, 100, 10, 50, "Saving   50%  50 records / 100 records  -0:10"), (50, 100, 10, 12, "Saving   50%"),
    (50, 100, 10, 0, ""),
  ])
  func theLineFitsTheTerminal(done: Int64, total: Int64?, seconds: Int, width: Int, text: String) {
    let line = ProgressLine(label: "Saving", unit: .things("records"), done: done, total: total)
    #expect(line.text(elapsed: .seconds(seconds), width: width) == text)
  }

  @Test(arguments: [
    (1 as Int64, "1 B"), (999, "999 B"), (1_000, "1.0 kB"), (12_345, "12.3 kB"), (999_999, "999.9 kB"),
    (1_000_000, "1.0 MB"), (2_600_000_000, "2.6 GB"), (5_000_000_000_000, "5.0 TB"),
  ])
  func bytesAreShort(count: Int64, text: String) {
    #expect(
      ProgressLine(label: "Copying", unit: .bytes, done: count).text(elapsed: .zero, width: 79)
        == "Copying  \(text)  0:00")
  }
}

@Suite(.timeLimit(.minutes(1))) struct ProgressMeterTests {
  /// A clock that the test moves.
  private final class Clock: Sendable {
    private let time = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func pass(milliseconds: Int) { time.withLock { $0 += .milliseconds(milliseconds) } }
  }

  private let clock = Clock()

  @Test func aTerminalShowsOneLineThatIsWipedAtTheEnd() throws {
    let terminal = try PseudoTerminal(columns: 60)
    defer { terminal.close() }
    let meter = ProgressMeter(
      "Backing up", unit: .things("assets"), total: 40, descriptor: terminal.program, now: { [clock] in clock.now })
    meter.update(done: 1)
    #expect(terminal.text().isEmpty, "quick work shows nothing")
    clock.pass(milliseconds: 600)
    for done in 2...40 { meter.update(done: Int64(done)) }
    let shown = terminal.text()
    #expect(shown.hasPrefix("\rBacking up"), "\(shown)")
    #expect(shown.components(separatedBy: "\r").count == 2, "drawn too often: \(shown)")
    #expect(shown.hasSuffix("\u{1B}[K") && shown.count < 60 + 8, "\(shown)")
    meter.finish()
    meter.update(done: 41)
    #expect(terminal.text() == "\r\u{1B}[K")
  }

  @Test func whatIsNoTerminalShowsNothing() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let meter = ProgressMeter("Backing up", unit: .bytes, total: 2, descriptor: ends[1], now: { [clock] in clock.now })
    clock.pass(milliseconds: 600)
    meter.update(done: 1)
    meter.finish()
    close(ends[1])
    var byte: UInt8 = 0
    #expect(read(ends[0], &byte, 1) == 0)
    close(ends[0])
  }

  @Test func nothingIsShownWhereItIsNotWanted() throws {
    let terminal = try PseudoTerminal(columns: 60)
    defer { terminal.close() }
    let meter = ProgressMeter(
      "Backing up", unit: .bytes, descriptor: terminal.program, isWanted: false, now: { [clock] in clock.now })
    clock.pass(milliseconds: 600)
    meter.update(done: 1)
    meter.finish()
    #expect(terminal.text().isEmpty)
  }
}
