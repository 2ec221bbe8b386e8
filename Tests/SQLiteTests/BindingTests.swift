import Foundation
import TestSupport
import Testing
import VirgaSQLite

/// The binding to SQLite, by itself.
struct BindingTests {
  let connection: Connection

  init() throws {
    connection = try Connection(path: ":memory:")
    try connection.execute(
      "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, data BLOB, size REAL)")
  }

  @Test func valuesComeBackAsTheyWereBound() throws {
    let bytes: [UInt8] = [0, 255, 1]
    try connection.run("INSERT INTO thing VALUES (?, ?, ?, ?)", Int64.max, "näme 👩‍👩‍👧‍👦 \0 end", bytes, -0.5)
    try connection.run("INSERT INTO thing VALUES (?, ?, ?, ?)", 2, "", [UInt8](), nil)
    let rows = try connection.query("SELECT id, name, data, size FROM thing ORDER BY id DESC") { row in
      (row.int64(0), row.text(1), row.optionalBlob(2), row.optionalDouble(3))
    }
    #expect(rows[0] == (Int64.max, "näme 👩‍👩‍👧‍👦 \0 end", bytes, -0.5))
    #expect(rows[1] == (2, "", [], nil))
  }

  @Test func aFileThatNobodyChangesIsReadAlone() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("virga 50%3F # \(UUID().uuidString)?")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let path = folder.path + "/it.sqlite"
    do {
      let writer = try Connection(path: path)
      try writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE thing (name TEXT); INSERT INTO thing VALUES ('a')")
    }
    let reader = try Connection(path: path, access: .immutable)
    #expect(try reader.first("SELECT name FROM thing") { $0.text(0) } == "a")
    #expect(throws: SQLiteError.self) { try reader.run("DELETE FROM thing") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["it.sqlite"])
  }

  @Test func anEmptyTextIsNotNull() throws {
    try connection.run("INSERT INTO thing VALUES (1, ?, NULL, NULL)", "")
    #expect(
      try connection.first("SELECT name IS NULL, data IS NULL FROM thing") { [$0.bool(0), $0.bool(1)] } == [
        false, true,
      ])
  }

  @Test func runCountsTheRowsItChanged() throws {
    #expect(try connection.run("INSERT INTO thing (name) VALUES (?), (?)", "a", "b") == 2)
    #expect(connection.lastInsertedID == 2)
    #expect(try connection.run("UPDATE thing SET size = 1 WHERE name = ?", "none") == 0)
    #expect(try connection.run("DELETE FROM thing") == 2)
  }

  @Test func aTransactionThatThrowsIsUndone() throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try connection.transaction {
        try connection.run("INSERT INTO thing (name) VALUES (?)", "a")
        throw Stop()
      }
    }
    #expect(!connection.isInTransaction)
    #expect(try connection.first("SELECT count(*) FROM thing") { $0.int(0) } == 0)
  }

  @Test func anInnerTransactionIsUndoneAlone() throws {
    struct Stop: Error {}
    try connection.transaction {
      try connection.run("INSERT INTO thing (name) VALUES (?)", "kept")
      #expect(throws: Stop.self) {
        try connection.transaction {
          try connection.run("INSERT INTO thing (name) VALUES (?)", "dropped")
          throw Stop()
        }
      }
    }
    #expect(try connection.query("SELECT name FROM thing") { $0.text(0) } == ["kept"])
  }

  @Test func aBrokenRuleIsAConstraintWithItsStatement() throws {
    try connection.run("INSERT INTO thing (name) VALUES (?)", "a")
    let error = try #require(throws: SQLiteError.self) {
      try connection.run("INSERT INTO thing (name) VALUES (?)", "a")
    }
    #expect(error.condition == .constraint)
    #expect(error.sql == "INSERT INTO thing (name) VALUES (?)")
    #expect(error.message.contains("thing.name"))
  }

  @Test func theSameStatementMayRunInsideItself() throws {
    try connection.run("INSERT INTO thing (name) VALUES (?), (?)", "a", "b")
    let sql = "SELECT name FROM thing ORDER BY name"
    let pairs = try connection.query(sql) { outer in
      let name = outer.text(0)
      return try connection.query(sql) { name + $0.text(0) }
    }
    #expect(pairs == [["aa", "ab"], ["ba", "bb"]])
  }

  @Test func aWriterInTheWayIsBusy() throws {
    let folder = TemporaryFolder()
    let first = try Connection(path: folder.path + "/a.sqlite")
    let second = try Connection(path: folder.path + "/a.sqlite", busyTimeout: .zero)
    try first.execute("CREATE TABLE a (b)")
    try first.transaction {
      let error = #expect(throws: SQLiteError.self) { try second.transaction {} }
      #expect(error?.condition == .busy)
    }
  }

  @Test func aReadOnlyConnectionRefusesWrites() throws {
    let folder = TemporaryFolder()
    try Connection(path: folder.path + "/a.sqlite").execute("CREATE TABLE a (b)")
    let reader = try Connection(path: folder.path + "/a.sqlite", access: .readOnly)
    let error = #expect(throws: SQLiteError.self) { try reader.run("INSERT INTO a VALUES (1)") }
    #expect(error?.condition == .readOnly)
  }

  @Test func aFileOfOtherContentIsNotADatabase() throws {
    let folder = TemporaryFolder()
    folder.write(
      "this is a text, and a long one, so that it does not look like an empty file. "
        + String(repeating: "x", count: 999), to: "a.sqlite")
    let connection = try Connection(path: folder.path + "/a.sqlite")
    let error = #expect(throws: SQLiteError.self) { try connection.execute("SELECT * FROM sqlite_schema") }
    #expect(error?.condition == .notADatabase)
    let missing = #expect(throws: SQLiteError.self) {
      try Connection(path: folder.path + "/none/b.sqlite")
    }
    #expect(missing?.condition == .cannotOpen)
  }

  @Test func migrationsRunOnceAndForward() throws {
    let connection = try Connection(path: ":memory:")
    let steps = [
      Migration(1, "CREATE TABLE a (b)"), Migration(2, "ALTER TABLE a ADD COLUMN c; INSERT INTO a VALUES (1, 2)"),
    ]
    try connection.migrate(applicationID: 7, [steps[0]])
    try connection.migrate(applicationID: 7, steps)
    try connection.migrate(applicationID: 7, steps)
    #expect(try connection.query("SELECT b, c FROM a") { [$0.int(0), $0.int(1)] } == [[1, 2]])
    #expect(throws: MigrationError.newerVersion(found: 2, known: 1)) {
      try connection.migrate(applicationID: 7, [steps[0]])
    }
    #expect(throws: MigrationError.foreign(applicationID: 7)) { try connection.migrate(applicationID: 8, steps) }
    #expect(throws: MigrationError.foreign(applicationID: 0)) { try self.connection.migrate(applicationID: 7, steps) }
  }

  @Test func aMigrationThatFailsLeavesTheLayoutAsItWas() throws {
    let connection = try Connection(path: ":memory:")
    #expect(throws: SQLiteError.self) {
      try connection.migrate(
        applicationID: 7, [Migration(1, "CREATE TABLE a (b)"), Migration(2, "CREATE TABLE c (d); nonsense")])
    }
    #expect(try connection.query("SELECT name FROM sqlite_schema") { $0.text(0) } == ["a"])
    #expect(try connection.first("PRAGMA user_version") { $0.int(0) } == 1)
  }
}
