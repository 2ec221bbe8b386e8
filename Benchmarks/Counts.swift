import Allocations
import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaHTTP
import VirgaModel
import VirgaServerSQLite

/// Exact counts of one request each, in process over the durable store: they depend on the code, not on the machine.
///
/// `Benchmarks/thresholds.json` holds the most that each may be. A change that moves a count moves the file with it.
enum Counts {
  /// - Returns: Whether every count is within its threshold.
  static func compare() async throws -> Bool {
    let thresholds = try Self.thresholds()
    var isWithin = true
    print("")
    for (name, value) in try await measured() {
      let limit = thresholds[name]
      let verdict = limit.map { value <= $0 ? "at most \(text($0))" : "OVER \(text($0))" } ?? "NO THRESHOLD"
      if limit.map({ value > $0 }) ?? true { isWithin = false }
      print(Bench.column(name, 44) + Bench.column(text(value), 14) + verdict)
    }
    return isWithin
  }

  private static func text(_ value: Double) -> String { String(format: "%.1f", value) }

  private static func thresholds() throws -> [String: Double] {
    let file = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
      .appendingPathComponent("Benchmarks/thresholds.json")
    return try JSONDecoder().decode([String: Double].self, from: Data(contentsOf: file))
  }

  private static func measured() async throws -> [(String, Double)] {
    let rig = try await Rig()
    defer { rig.remove() }
    let records = Workload.records(5_000)
    try await rig.post("zones/modify", Array(Workload.zoneBody("Counts").utf8))
    // Caches fill and buffers grow in the first requests; those are not counted.
    for start in stride(from: 0, to: 1_000, by: 200) {
      try await rig.post("records/modify", Workload.modifyBody(records[start..<start + 200], zone: "Counts"))
    }
    try await rig.post("records/modify", Workload.modifyBody(records[1_000..<1_001], zone: "Counts"))

    var results: [(String, Double)] = []
    let single = try await rig.count { rig, number in
      try await rig.post(
        "records/modify", Workload.modifyBody(records[2_000 + number..<2_001 + number], zone: "Counts"))
    }
    results.append(("allocations, save of one record", single.allocations))
    results.append(("statements, save of one record", single.statements))

    let batch = try await rig.count { rig, number in
      let start = 2_200 + number * 200
      return try await rig.post("records/modify", Workload.modifyBody(records[start..<start + 200], zone: "Counts"))
    }
    results.append(("allocations a record, batch of 200", batch.allocations / 200))
    results.append(("statements a record, batch of 200", batch.statements / 200))

    let lookup = try await rig.count { rig, _ in
      try await rig.post(
        "records/lookup", Array(#"{"zoneID":{"zoneName":"Counts"},"records":[{"recordName":"record-7"}]}"#.utf8))
    }
    results.append(("allocations, lookup of one record", lookup.allocations))
    results.append(("statements, lookup of one record", lookup.statements))

    let page = try await rig.count { rig, _ in
      try await rig.post("changes/zone", Array(#"{"zones":[{"zoneID":{"zoneName":"Counts"}}]}"#.utf8))
    }
    results.append(("allocations a record, page of 200 changes", page.allocations / 200))
    results.append(("statements, page of 200 changes", page.statements))
    results.append(("rows read, page of 200 changes", page.rows))
    results.append(("bytes on the wire a record, page of changes", Double(page.bytes) / 200))
    results.append(("bytes of fields a record", Double(records[0].fields.count)))
    return results
  }

  /// Sends one kind of request over and over, for a profiler to look at.
  static func repeatRequest(_ kind: String, count: Int) async throws {
    let rig = try await Rig()
    defer { rig.remove() }
    let size = kind == "save" ? 1 : 200
    let records = Workload.records(kind == "save" || kind == "batch" ? count * size : size)
    try await rig.post("zones/modify", Array(Workload.zoneBody("Counts").utf8))
    var operation = "records/modify"
    var bodies = stride(from: 0, to: records.count, by: size).map { start in
      Workload.modifyBody(records[start..<start + size], zone: "Counts")
    }
    if kind == "lookup" || kind == "page" {
      try await rig.post(operation, bodies[0])
      let isPage = kind == "page"
      operation = isPage ? "changes/zone" : "records/lookup"
      let body =
        isPage
        ? #"{"zones":[{"zoneID":{"zoneName":"Counts"}}]}"#
        : #"{"zoneID":{"zoneName":"Counts"},"records":[{"recordName":"record-7"}]}"#
      bodies = [[UInt8]](repeating: Array(body.utf8), count: count)
    }
    var processor = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor)
    let start = Double(processor.tv_sec) * 1e6 + Double(processor.tv_nsec) / 1e3
    for body in bodies { try await rig.post(operation, body) }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor)
    let spent = Double(processor.tv_sec) * 1e6 + Double(processor.tv_nsec) / 1e3 - start
    print(String(format: "%.1f µs of CPU a request", spent / Double(count)))
  }

  private struct Cost {
    var allocations = 0.0
    var statements = 0.0
    var rows = 0.0
    var bytes = 0
  }

  /// The service in this process.
  private struct Rig {
    private let folder: URL
    private let store: SQLiteStore
    private let front: Gateway
    private let credentials: String

    init() async throws {
      folder = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
        .appendingPathComponent(".build/bench-counts-\(ProcessInfo.processInfo.processIdentifier)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      store = try SQLiteStore(folder: folder.path)
      let now: @Sendable () -> Timestamp = { Timestamp(milliseconds: 1_790_000_000_000) }
      front = try Gateway(
        store: store, secrets: .random(),
        configuration: GatewayConfiguration(folder: folder.path, policy: .open, now: now))
      let account = AccountClient(
        home: VirgaHome(path: folder.path + "/home"), endpoint: "http://127.0.0.1:8787",
        transport: InProcess(front: front),
        deviceName: "bench", now: now)
      let tokens = try await account.tokens(for: ContainerID(ServerUnderTest.container), in: .development)
      let web = tokens.webAuthToken.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      credentials = "?ckAPIToken=\(tokens.apiToken)&ckWebAuthToken=\(web)"
    }

    func remove() {
      store.close()
      try? FileManager.default.removeItem(at: folder)
    }

    @discardableResult
    func post(_ operation: String, _ body: [UInt8]) async throws -> Int {
      let target = "/database/1/\(ServerUnderTest.container)/development/private/\(operation)\(credentials)"
      let head = HTTPRequestHead(
        method: "POST", target: target, headers: HTTPHeaders([("Host", "127.0.0.1:8787")]))
      let response = await front.exchange(HTTPRequest(head: head, body: .bytes(body)))
      guard response.status == 200, case .bytes(let bytes) = response.body else {
        throw BenchError("\(operation): status \(response.status)")
      }
      return bytes.count
    }

    /// The least of ten requests each: another thread may allocate meanwhile, but never less.
    func count(_ request: (Rig, Int) async throws -> Int) async throws -> Cost {
      var least: Cost?
      for number in 0..<10 {
        let before = store.counts
        let allocations = allocations_so_far()
        let bytes = try await request(self, number)
        let made = Double(allocations_so_far() - allocations)
        let after = store.counts
        let cost = Cost(
          allocations: min(made, least?.allocations ?? made),
          // A connection that reads for the first time asks for more.
          statements: min(Double(after.statements - before.statements), least?.statements ?? .infinity),
          rows: min(Double(after.rows - before.rows), least?.rows ?? .infinity), bytes: bytes)
        least = cost
      }
      return least ?? Cost()
    }
  }

  private struct InProcess: AccountTransport {
    let front: Gateway

    func send(
      method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
    ) async throws -> (status: Int, body: [UInt8]) {
      let head = HTTPRequestHead(
        method: method, target: path, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }))
      let answer = await front.exchange(HTTPRequest(head: head, body: .bytes(body)))
      guard case .bytes(let bytes) = answer.body else { return (answer.status, []) }
      return (answer.status, bytes)
    }
  }
}
