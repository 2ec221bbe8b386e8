import Allocations
import Foundation

/// What one step measured in its process.
struct StepResult: Codable {
  var records = 0
  var seconds = 0.0
  /// Of downloading the same pages and throwing them away.
  var baselineSeconds = 0.0
  var processorSeconds = 0.0
  var requests = 0
  var missing = 0
  var stateBytes = 0
  /// Of all states that were stored, together.
  var stateBytesWritten = 0
  var allocations = 0.0
  /// What of these was the app's own, in its calls by the engine.
  var appProcessorSeconds = 0.0
  var appAllocations = 0.0
  /// The most memory that the process ever held.
  var peakBytes = 0

  var rate: Int { seconds > 0 ? Int(Double(records) / seconds) : 0 }
  var baselineRate: Int { baselineSeconds > 0 ? Int(Double(records) / baselineSeconds) : 0 }
  /// Processor time a record, outside of the app and in it.
  var processorText: String {
    func text(_ seconds: Double) -> String { String(format: "%.1f", seconds * 1e6 / Double(max(1, records))) }
    return "\(text(processorSeconds - appProcessorSeconds)) µs, \(text(appProcessorSeconds)) µs in the app"
  }

  /// Allocations a record outside of the app.
  var ownAllocations: Double { (allocations - appAllocations) / Double(max(1, records)) }

  func rateText(of other: StepResult) -> String { String(format: "%.2f", Double(rate) / Double(max(1, other.rate))) }
}

/// Time, processor time and allocations of this process since it was made.
struct Meter {
  private let start = ContinuousClock.now
  private let processor = Meter.processorSeconds
  private let allocations = allocations_so_far()

  func read(into result: inout StepResult) throws {
    let elapsed = (ContinuousClock.now - start).components
    result.seconds = Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18
    result.processorSeconds = Self.processorSeconds - processor
    result.allocations = Double(allocations_so_far() - allocations)
    result.peakBytes = try Self.statusBytes("VmHWM:")
  }

  /// Of the calling thread.
  static var threadSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static var processorSeconds: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  static func residentBytes() throws -> Int { try statusBytes("VmRSS:") }

  private static func statusBytes(_ name: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
  }
}
