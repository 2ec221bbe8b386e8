import CSQLite
import Glibc

/// What the disk and SQLite do by themselves, on the same folder and the same rows.
enum Baseline {
  /// Median seconds of one durable 4 KB append.
  static func durableAppendSeconds(in folder: String) -> Double {
    let descriptor = open("\(folder)/append", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    precondition(descriptor >= 0)
    defer { close(descriptor) }
    let block = [UInt8](repeating: 7, count: 4_096)
    let times = (0..<200).map { _ in
      seconds {
        _ = write(descriptor, block, block.count)
        fdatasync(descriptor)
      }
    }
    return median(times)
  }

  /// Durable rows a second of raw SQLite: for each row the tag check that the rules ask for, then the insert.
  static func rowsPerSecond(payloads: [[UInt8]], batch: Int, in folder: String) -> Double {
    let path = "\(folder)/raw-\(batch).sqlite"
    var database: OpaquePointer?
    precondition(sqlite3_open(path, &database) == SQLITE_OK)
    defer {
      sqlite3_close(database)
      unlink(path)
    }
    for sql in [
      "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
      """
      CREATE TABLE record(id INTEGER PRIMARY KEY, zone INTEGER, name TEXT, sequence INTEGER, type TEXT, created INTEGER,
        modified INTEGER, deleted INTEGER, data BLOB, UNIQUE(zone, name))
      """,
      "CREATE UNIQUE INDEX record_sequence ON record(zone, sequence)",
    ] {
      precondition(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK)
    }
    var select: OpaquePointer?
    var insert: OpaquePointer?
    sqlite3_prepare_v2(database, "SELECT sequence FROM record WHERE zone = 1 AND name = ?1", -1, &select, nil)
    sqlite3_prepare_v2(
      database,
      "INSERT INTO record(zone, name, sequence, type, created, modified, deleted, data) VALUES(1, ?1, ?2, 'Note', 1, 1, 0, ?3)",
      -1, &insert, nil)
    defer {
      sqlite3_finalize(select)
      sqlite3_finalize(insert)
    }
    let elapsed = seconds {
      var sequence = 0
      while sequence < payloads.count {
        sqlite3_exec(database, "BEGIN IMMEDIATE", nil, nil, nil)
        for _ in 0..<min(batch, payloads.count - sequence) {
          let payload = payloads[sequence]
          sequence += 1
          "record-\(sequence)".withCString { name in
            sqlite3_bind_text(select, 1, name, -1, nil)
            sqlite3_step(select)
            sqlite3_reset(select)
            sqlite3_bind_text(insert, 1, name, -1, nil)
            sqlite3_bind_int64(insert, 2, Int64(sequence))
            payload.withUnsafeBytes { data in
              sqlite3_bind_blob(insert, 3, data.baseAddress, Int32(data.count), nil)
              precondition(sqlite3_step(insert) == SQLITE_DONE)
              sqlite3_reset(insert)
            }
          }
        }
        precondition(sqlite3_exec(database, "COMMIT", nil, nil, nil) == SQLITE_OK)
      }
    }
    return Double(payloads.count) / elapsed
  }
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
  let elapsed = try ContinuousClock().measure(body)
  return Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}
