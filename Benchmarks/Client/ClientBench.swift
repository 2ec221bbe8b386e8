import Foundation

/// Measures the sync engine against a real server: what an app with very many records pays.
///
/// Each step runs in a process of its own, so that its peak of memory is its own. Ratios are of the same run; times depend
/// on the machine. Counts are exact and compared with `thresholds.json`.
enum ClientBench {
  static func run(arguments: [String]) async -> Int32 {
    do {
      if arguments.first == "step" {
        guard let step = Step(arguments.dropFirst()) else { throw BenchError("unknown step: \(arguments)") }
        let result = try await step.perform()
        print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
        return 0
      }
      if arguments.contains("--help") {
        print(
          """
          usage: bench-client [--records N] [--megabytes N] [--idle SECONDS]
            --records N      records of the large run (100000)
            --megabytes N    size of the large asset (1024)
            --idle SECONDS   how long eight engines do nothing (20; 0 leaves it out)
          """)
        return 0
      }
      return try measure(
        records: number(after: "--records", in: arguments) ?? 100_000,
        megabytes: number(after: "--megabytes", in: arguments) ?? 1_024,
        idleSeconds: number(after: "--idle", in: arguments) ?? 20) ? 0 : 1
    } catch {
      FileHandle.standardError.write(Data("bench-client: \(error)\n".utf8))
      return 1
    }
  }

  private static func number(after option: String, in arguments: [String]) -> Int? {
    arguments.firstIndex(of: option).flatMap { $0 + 1 < arguments.count ? Int(arguments[$0 + 1]) : nil }
  }

  /// - Returns: Whether every count is within its threshold.
  private static func measure(records large: Int, megabytes: Int, idleSeconds: Int) throws -> Bool {
    let server = try ServedProgram()
    defer { server.stop() }
    let small = large / 10
    var counts: [(String, Double)] = []

    var uploads: [Int: StepResult] = [:]
    for count in [small, large] { uploads[count] = try server.perform(.upload, count) }
    if let few = uploads[small], let many = uploads[large] {
      report(
        "upload of \(large) pending changes", "\(many.rate) records/s", many.rateText(of: few), "of \(small)'s rate")
      memory(many, few)
      report("state with \(large) pending changes", "\(many.stateBytes / large) bytes a change")
      report("CPU of the client a record", many.processorText)
      counts.append(("records lost, client upload", Double(many.missing)))
      counts.append(("requests for 1,000 records, client upload", per(1_000, many.requests, many.records)))
      counts.append(("allocations a record, client upload", many.ownAllocations))
      counts.append(("bytes of state a pending change", Double(many.stateBytes) / Double(many.records)))
      counts.append(
        ("bytes of state written a change, client upload", Double(many.stateBytesWritten) / Double(many.records)))
      counts.append(
        (
          "bytes of memory a pending change",
          Double(many.peakBytes - few.peakBytes) / Double(many.records - few.records)
        ))
    }

    var firsts: [Int: StepResult] = [:]
    for count in [small, large] { firsts[count] = try server.perform(.firstSync, count) }
    if let few = firsts[small], let many = firsts[large] {
      report(
        "first sync of \(large) into SQLite", "\(many.rate) records/s",
        String(format: "%.2f", many.baselineSeconds / many.seconds), "of downloading alone (\(many.baselineRate)/s)")
      memory(many, few)
      report("CPU of the client a record", many.processorText)
      counts.append(("records lost, first sync", Double(many.missing)))
      counts.append(("requests for 10,000 records, first sync", per(10_000, many.requests, many.records)))
      counts.append(("allocations a record, first sync", many.ownAllocations))
      counts.append(("MB of growth by ten times the records, first sync", Double(many.peakBytes - few.peakBytes) / 1e6))
    }

    let archive = try server.perform(.archive, 20_000)
    let beside = (archive.processorSeconds - archive.baselineSeconds) * 1e6 / Double(archive.records)
    report(
      "system fields of a record, archived", String(format: "%.1f µs", beside), "",
      String(format: "beside an empty archive (%.1f µs)", archive.baselineSeconds * 1e6 / Double(archive.records)))
    counts.append(("bytes of archived system fields", Double(archive.stateBytes)))

    let nothing = try server.perform(.nothing, large)
    report("sync with nothing to do (median)", String(format: "%.2f ms", nothing.seconds * 1_000))
    counts.append(("requests, sync with nothing to do", Double(nothing.requests)))

    let film = try server.perform(.asset, megabytes)
    report(
      "an asset of \(megabytes) MB", "\(Int(Double(megabytes) / film.seconds)) MB/s up", "",
      "\(Int(Double(megabytes) / film.baselineSeconds)) MB/s down, \(Int(film.processorSeconds * 1e6) / megabytes) µs of CPU a MB"
    )
    counts.append(("MB of growth, a large asset", Double(film.peakBytes) / 1e6))

    if idleSeconds > 0 {
      let idle = try server.perform(.idle, idleSeconds)
      report("8 idle engines for \(idleSeconds) s", String(format: "%.1f ms of CPU", idle.processorSeconds * 1_000))
      counts.append(("ms of CPU a second, 8 idle engines", idle.processorSeconds * 1_000 / Double(idleSeconds)))
      counts.append(("requests, 8 idle engines", Double(idle.requests)))
    }
    return try compare(counts)
  }

  private static func per(_ unit: Int, _ requests: Int, _ records: Int) -> Double {
    Double(requests) * Double(unit) / Double(max(1, records))
  }

  private static func memory(_ many: StepResult, _ few: StepResult) {
    report(
      "peak memory", "\(many.peakBytes >> 20) MB",
      String(format: "%.2f", Double(many.peakBytes) / Double(few.peakBytes)), "of that with \(few.records)")
  }

  private static func compare(_ counts: [(String, Double)]) throws -> Bool {
    let file = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
      .appendingPathComponent("Benchmarks/thresholds.json")
    let thresholds = try JSONDecoder().decode([String: Double].self, from: Data(contentsOf: file))
    var isWithin = true
    print("")
    for (name, value) in counts {
      let limit = thresholds[name]
      if limit.map({ value > $0 }) ?? true { isWithin = false }
      let verdict = limit.map { (value <= $0 ? "at most " : "OVER ") + String(format: "%.1f", $0) } ?? "NO THRESHOLD"
      print(column(name, 52) + column(String(format: "%.1f", value), 12) + verdict)
    }
    return isWithin
  }

  private static func report(_ what: String, _ value: String, _ ratio: String = "", _ of: String = "") {
    let line = column(what, 40) + column(value, 22) + (ratio.isEmpty ? of : "\(ratio)x \(of)")
    // Past the buffer: the steps take long, and each is to be seen as it ends.
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }

  private static func column(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}

struct BenchError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
