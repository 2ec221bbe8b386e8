import Foundation

/// Measures a real server against the disk and raw SQLite in the same run, and prints ratios.
///
/// Times depend on the machine: only ratios say something. Counts (see `Counts.swift`) are exact, and are compared
/// with `thresholds.json`.
enum Bench {
  static func run(arguments: [String]) async -> Int32 {
    do {
      if arguments.contains("--help") {
        print(
          """
          usage: bench [--counts | --store | --queries | --storm | --saves | --uploads | --repeat KIND COUNT]
            --counts  only the exact counts, compared with Benchmarks/thresholds.json
            --store   only the store, without rules and HTTP
            --queries only queries and lookups among few and many records, and reads of what others share
            --storm   only the conflicts of many clients
            --saves   only saves of one record by one client and by many
            --uploads only uploads
            --repeat  one kind of request (save, batch, lookup or page) over and over in this process, for a profiler
          """)
        return 0
      }
      if arguments.contains("--store") {
        try StoreLevel.measure()
        return 0
      }
      if arguments.first == "--repeat", arguments.count == 3, let count = Int(arguments[2]) {
        try await Counts.repeatRequest(arguments[1], count: count)
        return 0
      }
      let part: Set = ["--queries", "--storm", "--saves", "--uploads"]
      if arguments.contains(where: part.contains) {
        let server = try await ServerUnderTest()
        defer { server.stop() }
        if arguments.contains("--uploads") { try measureUploads(server, Workload.records(20_000)) }
        if arguments.contains("--saves") { _ = try measureSaves(server) }
        if arguments.contains("--queries") { try measureQueries(server) }
        if arguments.contains("--storm") { try measureStorm(server, saveRate: nil) }
        return 0
      }
      if !arguments.contains("--counts") { try await measure() }
      return try await Counts.compare() ? 0 : 1
    } catch {
      FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
      return 1
    }
  }

  private static func measure() async throws {
    let server = try await ServerUnderTest()
    defer { server.stop() }
    let records = Workload.records(20_000)
    let append = Baseline.durableAppendSeconds(in: server.folder.path)
    report("durable 4 KB append (median)", "\(microseconds(append)) µs")

    try measureUploads(server, records)
    for page in [200, 2_000] {
      let rate = try Workload.download(zone: "Upload200-1", page: page, from: server)
      report("fresh download, pages of \(page)", "\(Int(rate)) records/s")
    }

    let sixteen = try measureSaves(server)
    try measureStorm(server, saveRate: sixteen)
    try measureQueries(server)

    let latency = try Workload.pushLatency(zone: "Single", on: server)
    report("push after the commit (median)", "\(microseconds(latency.push)) µs")
    report("poll for the change (median)", "\(microseconds(latency.poll)) µs")

    let assets = try Workload.assets(count: 40, on: server)
    report("1 MB assets up", "\(Int(assets.up)) MB/s")
    report("1 MB assets down", "\(Int(assets.down)) MB/s")

    let parked = try Workload.parkedPolls(1_000, on: server)
    report("one parked poll", "\(parked / 1_024) KB")
  }

  private static func measureUploads(_ server: ServerUnderTest, _ records: [Workload.Item]) throws {
    let payloads = records.map(\.fields)
    let folder = server.folder.path
    var raw = 0.0
    for batch in [200, 400] {
      // In turn, since a machine shared with others changes its pace from second to second.
      let rounds = try (1...3).map { round in
        let zone = "Upload\(batch)-\(round)"
        try Workload.makeZone(zone, on: server)
        return (
          raw: Baseline.rowsPerSecond(payloads: payloads, batch: batch, in: folder),
          ours: try Workload.upload(records, batch: batch, zone: zone, to: server)
        )
      }
      raw = median(rounds.map(\.raw))
      report(
        "upload in batches of \(batch)", "\(Int(median(rounds.map(\.ours)))) records/s",
        median(rounds.map { $0.ours / $0.raw }), "of raw SQLite (\(Int(raw)) rows/s)")
    }
    report("memory after the uploads", "\(server.residentBytes >> 20) MB")
    report(
      "disk after the uploads", "\(server.diskBytes / 120_000) bytes a record",
      Double(server.diskBytes) / Double(120_000 * (payloads.first?.count ?? 1)), "of the fields' bytes")

    try Workload.makeZone("Upload4", on: server)
    let four = try Workload.upload(records, batch: 400, zone: "Upload4", clients: 4, to: server)
    report("the same, 4 clients", "\(Int(four)) records/s", four / raw, "of raw SQLite (\(Int(raw)) rows/s)")
  }

  /// - Returns: one-record saves a second by 16 clients.
  private static func measureSaves(_ server: ServerUnderTest) throws -> Double {
    try Workload.makeZone("Single", on: server)
    let append = Baseline.durableAppendSeconds(in: server.folder.path)
    let one = try Workload.singleSaves(300, zone: "Single", to: server)
    report("one-record save, 1 client", "\(microseconds(one.median)) µs", one.median / append, "of one durable append")
    // What waking the server and the client takes, which no server can spare.
    let empty = try Workload.emptyRoundTrip(to: server)
    report(
      "the same without the way", "\(microseconds(one.median - empty)) µs", (one.median - empty) / append,
      "of one durable append; a request without work takes \(microseconds(empty)) µs")
    let sixteen = try Workload.saveRate(clients: 16, each: 1_000, zone: "Single", to: server)
    report("one-record saves, 16 clients", "\(Int(sixteen))/s", sixteen / one.rate, "of one client's rate")
    return sixteen
  }

  private static func measureQueries(_ server: ServerUnderTest) throws {
    try QueryCost.measure(on: server)
    try SharedReads.measure(in: server.folder.appending(path: "shared").path)
  }

  /// - Parameter saveRate: One-record saves a second by as many clients; measured if it is not known yet.
  private static func measureStorm(_ server: ServerUnderTest, saveRate: Double?) throws {
    var rate = saveRate
    if rate == nil {
      try Workload.makeZone("Single", on: server)
      rate = try Workload.saveRate(clients: 16, each: 1_000, zone: "Single", to: server)
    }
    let storm = try ConflictStorm.run(each: 300, on: server)
    report(
      "conflict storm, 16 clients", "\(Int(storm.rate)) updates/s", storm.rate / (rate ?? storm.rate),
      "of 16 clients' saves without conflicts")
    report(
      "conflicts met for each update", String(format: "%.2f", storm.conflictsPerUpdate) + ", \(storm.lost) updates lost"
    )
    if storm.lost != 0 { throw BenchError("\(storm.lost) accepted updates are not in the records") }
  }

  static func report(_ what: String, _ value: String, _ ratio: Double? = nil, _ of: String = "") {
    print(column(what, 36) + column(value, 22) + (ratio.map { String(format: "%.2f", $0) + "x " + of } ?? ""))
  }

  static func column(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }

  static func microseconds(_ seconds: Double) -> Int { Int(seconds * 1_000_000) }
}
