import CloudKit

// The shape of a query app over the public database: save, search by prefix, page with a cursor.

struct Station {
  var name: String
  var line: Int
}

extension Station {
  init?(_ record: CKRecord) {
    guard let name = record["name"] as? String, let line = record["line"] as? Int else { return nil }
    self.init(name: name, line: line)
  }
}

final class StationStore {
  private let database: CKDatabase

  init(_ container: CKContainer) { database = container.publicCloudDatabase }

  func save(_ station: Station) async throws {
    let record = CKRecord(recordType: "Station", recordID: CKRecord.ID(recordName: "station-" + station.name))
    record.setValuesForKeys(["name": station.name, "line": station.line])
    _ = try await database.save(record)
  }

  func search(_ prefix: String) async throws -> [Station] {
    let predicate = NSPredicate(format: "%K BEGINSWITH %@ AND line >= %d", "name", prefix, 1)
    let query = CKQuery(recordType: "Station", predicate: predicate)
    query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    var stations: [Station] = []
    var (results, cursor) = try await database.records(matching: query, desiredKeys: ["name", "line"], resultsLimit: 2)
    while true {
      stations += results.compactMap { try? $0.1.get() }.compactMap { Station($0) }
      guard let next = cursor else { return stations }
      (results, cursor) = try await database.records(continuingMatchFrom: next, resultsLimit: 2)
    }
  }

  /// The same with an operation, one page after the other.
  func count(onLine line: Int, done: @escaping @Sendable (Int, Error?) -> Void) {
    let query = CKQuery(recordType: "Station", predicate: NSPredicate(format: "line == %d", line))
    run(CKQueryOperation(query: query), 0, done)
  }

  private func run(_ operation: CKQueryOperation, _ before: Int, _ done: @escaping @Sendable (Int, Error?) -> Void) {
    let counter = Counter(before)
    let database = database
    operation.resultsLimit = 1
    operation.recordMatchedBlock = { _, result in if case .success = result { counter.value += 1 } }
    operation.queryResultBlock = { result in
      switch result {
      case .success(let cursor?):
        StationStore(database).run(CKQueryOperation(cursor: cursor), counter.value, done)
      case .success(nil): done(counter.value, nil)
      case .failure(let error): done(counter.value, error)
      }
    }
    database.add(operation)
  }

  private init(_ database: CKDatabase) { self.database = database }
}

private final class Counter: @unchecked Sendable {
  var value: Int
  init(_ value: Int) { self.value = value }
}

func stationsApp(_ action: String, _ words: [String]) async throws {
  let store = StationStore(CKContainer.default())
  switch action {
  case "save":
    for word in words {
      let parts = word.split(separator: ":").map(String.init)
      try await store.save(Station(name: parts[0], line: Int(parts[1])!))
    }
  case "search": for station in try await store.search(words[0]) { print("station: \(station.name) \(station.line)") }
  case "count":
    let count = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int, Error>) in
      store.count(onLine: Int(words[0])!) { count, error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: count) }
      }
    }
    print("count: \(count)")
  case "either":
    do {
      let query = CKQuery(recordType: "Station", predicate: NSPredicate(format: "line == 1 OR line == 2"))
      _ = try await CKContainer.default().publicCloudDatabase.records(matching: query)
    } catch CKError.invalidArguments {
      print("refused")
    }
  default: break
  }
}

extension CKRecord {
  fileprivate func setValuesForKeys(_ values: [String: CKRecordValueProtocol]) {
    for (key, value) in values { self[key] = value }
  }
}
