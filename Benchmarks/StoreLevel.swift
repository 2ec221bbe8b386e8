import Dispatch
import Foundation
import Synchronization
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// The store by itself, without HTTP and rules, against the disk and raw SQLite.
enum StoreLevel {
  static let key = DatabaseKey(container: "iCloud.org.example.Bench", environment: .development, owner: "_bench")

  static func measure() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "virga-store-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let records = Workload.records(20_000)
    let payloads = records.map(\.fields)
    var options = SQLiteStore.Options()
    options.logRoomTime = .milliseconds(200)
    let store = try SQLiteStore(folder: folder + "/data", options: options)
    defer { store.close() }

    for batch in [200, 400] {
      let raw = Baseline.rowsPerSecond(payloads: payloads, batch: batch, in: folder)
      let before = store.counts
      let processor = processorSeconds()
      let ours = try upload(records, batch: batch, zone: ZoneName("Upload\(batch)"), to: store)
      Bench.report(
        "store: upload in batches of \(batch)", "\(Int(ours)) rows/s", ours / raw, "of raw SQLite (\(Int(raw)) rows/s)")
      let statements = Double(store.counts.statements - before.statements) / Double(records.count)
      Bench.report("store: statements a row", String(format: "%.3f", statements))
      let nanoseconds = Int((processorSeconds() - processor) * 1e9) / records.count
      Bench.report("store: CPU a row", "\(nanoseconds) ns")
    }
    for page in [200, 2_000] {
      let processor = processorSeconds()
      let rate = download(zone: "Upload200", page: page, from: store)
      let nanoseconds = Int((processorSeconds() - processor) * 1e9) / records.count
      Bench.report("store: feed in pages of \(page)", "\(Int(rate)) rows/s, \(nanoseconds) ns of CPU a row")
    }
    let append = Baseline.durableAppendSeconds(in: folder)
    let one = try singleSaves(clients: 1, each: 500, to: store)
    Bench.report(
      "store: one save, 1 client", "\(Bench.microseconds(one.median)) µs", one.median / append, "of one durable append")
    let sixteen = try singleSaves(clients: 16, each: 500, to: store)
    Bench.report("store: saves, 16 clients", "\(Int(sixteen.rate))/s", sixteen.rate / one.rate, "of one client's rate")
    try SharedReads.measure(on: store)
  }

  /// CPU time of the process, which other work on the machine moves less than it moves the clock.
  static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func wait<Value: Sendable>(
    _ store: SQLiteStore, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value
  ) throws -> Value {
    let box = Mutex<Result<Value, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    store.write(body) { result in
      box.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    guard let result = box.withLock({ $0 }) else { throw BenchError("no answer") }
    return try result.get()
  }

  private static func makeZone(_ name: ZoneName, in store: SQLiteStore) throws {
    try wait(store) { transaction in
      try transaction.put(DatabaseRow(key: key, incarnation: 1))
      var zone = ZoneRow(database: key, name: name, incarnation: 1)
      try transaction.put(&zone)
    }
  }

  @Sendable
  private static func save(
    _ items: ArraySlice<(name: RecordName, fields: [UInt8])>, zone name: ZoneName, _ transaction: any WriteTransaction
  ) throws {
    guard var zone = try transaction.zone(name, in: key) else { throw BenchError("no zone") }
    let stamp = RecordStamp(time: Timestamp(milliseconds: 1), user: "_bench", device: "bench")
    for item in items {
      zone.sequence += 1
      let previous = try transaction.record(item.name, in: zone)
      let record = StoredRecord(
        name: item.name, type: "Note", sequence: zone.sequence, created: stamp, modified: stamp,
        fieldsJSON: item.fields)
      try transaction.put(record, in: zone, replacing: previous, keepsVersion: true)
    }
    try transaction.put(&zone)
  }

  private static func upload(
    _ records: [Workload.Item], batch: Int, zone: ZoneName, to store: SQLiteStore
  ) throws -> Double {
    try makeZone(zone, in: store)
    let items = records.map { (name: RecordName($0.name), fields: $0.fields) }
    let elapsed = try seconds {
      for start in stride(from: 0, to: items.count, by: batch) {
        let part = items[start..<min(start + batch, items.count)]
        try wait(store) { try save(part, zone: zone, $0) }
      }
    }
    return Double(records.count) / elapsed
  }

  private static func download(zone name: ZoneName, page: Int, from store: SQLiteStore) -> Double {
    var count = 0
    let elapsed = seconds {
      var position: Int64 = 0
      while true {
        let box = Mutex<(last: Int64, count: Int)>((0, 0))
        let done = DispatchSemaphore(value: 0)
        let start = position
        store.read { transaction in
          guard let zone = try transaction.zone(name, in: key) else { throw BenchError("no zone") }
          var last = start
          var count = 0
          try transaction.changes(in: zone, after: start, limit: page) { record in
            last = record.sequence
            count += record.fieldsJSON.isEmpty ? 0 : 1
            return true
          }
          return (last: last, count: count)
        } completion: { (result: Result<(last: Int64, count: Int), any Error>) in
          if case .success(let value) = result { box.withLock { $0 = value } }
          done.signal()
        }
        done.wait()
        let read = box.withLock { $0 }
        if read.count == 0 { break }
        position = read.last
        count += read.count
      }
    }
    precondition(count == 20_000, "\(count) records came")
    return Double(count) / elapsed
  }

  private static func singleSaves(clients: Int, each: Int, to store: SQLiteStore) throws -> (
    median: Double, rate: Double
  ) {
    let zone = ZoneName("Single\(clients)")
    try makeZone(zone, in: store)
    let items = Workload.records(each)
    let times = Mutex<[Double]>([])
    let elapsed = seconds {
      let group = DispatchGroup()
      for client in 0..<clients {
        group.enter()
        let thread = Thread {
          defer { group.leave() }
          let mine = items.map { item in
            let one = [(name: RecordName("\(client)-\(item.name)"), fields: item.fields)][...]
            return seconds {
              do { try wait(store) { try save(one, zone: zone, $0) } } catch { preconditionFailure("\(error)") }
            }
          }
          times.withLock { $0 += mine }
        }
        thread.start()
      }
      group.wait()
    }
    return (median(times.withLock { $0 }), Double(clients * each) / elapsed)
  }
}
