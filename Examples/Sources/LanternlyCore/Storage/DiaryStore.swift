import Foundation
import Glibc
import Synchronization
import VirgaSQLite

/// The diary of one device: entries, attachments, what the server must still learn, and how far it was read.
///
/// Every method is one transaction that is on the disk when it returns, a change of the diary together with its row in
/// the outbox. Several processes may use one diary at a time.
package final class DiaryStore: Sendable {
  package let home: DiaryHome
  private let lock = Mutex(())
  // Used under `lock` alone; nothing that comes from it outlives the closure.
  private nonisolated(unsafe) let connection: Connection
  private let isReadOnly: Bool

  /// - Parameter isOnlyRead: Whether reading is enough, so that a medium that takes nothing is good enough.
  package init(home: DiaryHome, isOnlyRead: Bool = false) throws {
    self.home = home
    if home.isDatabaseLost { throw SQLiteError(condition: .corrupt, code: 11, message: "the file is empty") }
    do {
      connection = try Self.open(home)
      isReadOnly = false
    } catch let error as SQLiteError where isOnlyRead && Self.writingFailures.contains(error.condition) {
      guard let connection = try Self.openUnwritable(home) else { throw error }
      self.connection = connection
      isReadOnly = true
    }
  }

  private static func open(_ home: DiaryHome) throws -> Connection {
    let connection = try Connection(path: home.database, busyTimeout: .seconds(20))
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    try connection.migrate(applicationID: DiarySchema.applicationID, DiarySchema.migrations)
    return connection
  }

  /// What a full or read-only disk makes of SQLite's files beside the database.
  private static let writingFailures: [SQLiteError.Condition] = [.full, .readOnly, .cannotOpen, .ioFailed]

  /// `nil` if the database alone does not tell all: a log beside it must be read too, or its layout is an older one.
  private static func openUnwritable(_ home: DiaryHome) throws -> Connection? {
    var log = stat()
    if stat(home.database + "-wal", &log) == 0, log.st_size > 0 { return nil }
    let connection = try Connection(path: home.database, access: .immutable)
    let known = DiarySchema.migrations.count
    guard try connection.checkLayout(applicationID: DiarySchema.applicationID, known: known) == known else {
      return nil
    }
    return connection
  }

  func read<Value: Sendable>(_ body: (DiaryRows) throws -> Value) throws -> Value {
    try lock.withLock { _ in
      let rows = DiaryRows(connection: connection, files: home.files)
      return try connection.transaction(.deferred) { try body(rows) }
    }
  }

  /// Files that no row names any longer go after the commit: a crash before leaves a file too many, never one too few.
  func write<Value: Sendable>(_ body: (DiaryRows) throws -> Value) throws -> Value {
    try lock.withLock { _ in
      let rows = DiaryRows(connection: connection, files: home.files)
      let value = try connection.transaction { try body(rows) }
      if !rows.touchedFiles.isEmpty { try connection.transaction { try rows.removeReleasedFiles() } }
      return value
    }
  }

  /// A number that changes when another connection has written.
  package func dataVersion() throws -> Int64 {
    try lock.withLock { _ in try connection.first("PRAGMA data_version") { $0.int64(0) } ?? 0 }
  }
}

/// The rows of an open transaction.
final class DiaryRows {
  let connection: Connection
  let files: AttachmentFiles
  var touchedFiles: Set<String> = []

  init(connection: Connection, files: AttachmentFiles) {
    self.connection = connection
    self.files = files
  }

  // Under the write lock, as another process may just be about to name the same content: either its row is seen here,
  // or `require` sees there that the file is gone.
  func removeReleasedFiles() throws {
    for sha256 in touchedFiles.sorted() {
      let isNamed = try connection.first("SELECT 1 FROM attachment WHERE sha256 = ? LIMIT 1", sha256) { $0.int(0) }
      if isNamed == nil { files.remove(sha256: sha256) }
    }
  }

  /// Makes sure that a file is there before a row says so.
  func require(_ attachment: Attachment) throws(FileError) {
    guard files.contains(sha256: attachment.sha256) else {
      throw FileError(.read, files.path(sha256: attachment.sha256), errorNumber: ENOENT)
    }
  }

  // MARK: Settings

  func setting(_ name: String) throws -> [UInt8]? {
    try connection.first("SELECT value FROM setting WHERE name = ?", name) { $0.blob(0) }
  }

  func set(_ name: String, _ value: [UInt8]?) throws {
    if let value {
      try connection.run(
        "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name, value)
    } else {
      try connection.run("DELETE FROM setting WHERE name = ?", name)
    }
  }
}

extension DiaryStore {
  package func setting(_ name: String) throws -> [UInt8]? { try read { try $0.setting(name) } }

  package func set(_ name: String, _ value: [UInt8]?) throws { try write { try $0.set(name, value) } }

  /// What devices call this one, until the user says otherwise: the folder's name, or the machine's for a hidden one.
  package func deviceName() throws -> String {
    if let bytes = try setting("device") { return String(decoding: bytes, as: UTF8.self) }
    let folder = (home.path as NSString).lastPathComponent
    let name = folder.hasPrefix(".") ? Self.hostName : folder
    if !isReadOnly { try set("device", Array(name.utf8)) }
    return name
  }
}

extension DiaryStore {
  package func setDeviceName(_ name: String) throws {
    let before = try deviceName()
    if name == before { return }
    let known = try formerNames() + [before]
    try set("device", Array(name.utf8))
    try set("device-names", Array(try StoredJSON.text(known.filter { $0 != name }).utf8))
  }

  /// What this device was called before: entries that it wrote bear that name.
  func formerNames() throws -> [String] {
    guard let bytes = try setting("device-names") else { return [] }
    return try StoredJSON.value(String(decoding: bytes, as: UTF8.self))
  }

  /// Whether this device wrote under that name.
  func isMine(_ device: String) throws -> Bool { try device == deviceName() || formerNames().contains(device) }

  /// This machine's name as the kernel has it. Foundation's may ask the network, and wait for it.
  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "device" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// How values are kept in a column.
enum StoredJSON {
  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  static func value<Value: Decodable>(_ text: String) throws -> Value {
    try JSONDecoder().decode(Value.self, from: Data(text.utf8))
  }
}
