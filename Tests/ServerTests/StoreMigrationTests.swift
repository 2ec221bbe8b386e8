import Foundation
import Glibc
import TestSupport
import Testing
import VirgaModel
import VirgaSQLite
import VirgaServer
import VirgaServerSQLite

/// A store that brings the file of an earlier version to its layout, and is killed while it does.
@Suite(.timeLimit(.minutes(2))) struct StoreMigrationTests {
  private static let records: Int64 = 2_500
  private static let versions: Int64 = 9

  /// A file as the version before this one left it, with a history that is moved in several portions, and a queue.
  private func makeOldFile(in folder: TemporaryFolder) async throws -> StoreContents {
    let store = try SQLiteStore(folder: folder.path)
    try await store.writing { transaction in
      let zone = try transaction.makeZone()
      var sequence: Int64 = 0
      for number in 0..<Self.records {
        for _ in 0...Self.versions {
          sequence += 1
          try transaction.save(stored(RecordName("r\(number)"), sequence), in: zone)
        }
      }
      try transaction.append(NotificationRow(pushToken: "t", coalescingKey: "k", payload: [1]))
    }
    let contents = try await store.reading(Self.contents)
    store.close()
    try Connection(path: folder.path + "/virga.sqlite").execute(OldLayout.six)
    return contents
  }

  @Sendable private static func contents(_ transaction: any ReadTransaction) throws -> StoreContents {
    let names = stride(from: 0, to: records, by: 50).map { RecordName("r\($0)") }
    return try StoreContents(transaction, names: names, owners: [], assets: [], tokens: ["t"])
  }

  private static func layout(of folder: String) throws -> Int {
    let connection = try Connection(path: folder + "/virga.sqlite")
    #expect(try connection.first("PRAGMA integrity_check(1)") { $0.text(0) } == "ok")
    return try connection.first("PRAGMA user_version") { $0.int(0) } ?? 0
  }

  /// Killed before the first portion, after it, and after all but the last.
  @Test func aKillInTheMiddleOfTheMoveLosesNothing() async throws {
    let folder = TemporaryFolder()
    let before = try await makeOldFile(in: folder)
    let path = folder.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      try StoreMigrationTests.openUntil(" 0 %", in: path)
    }
    #expect(try Self.layout(of: path) == 8)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      try StoreMigrationTests.openUntil(" 40 %", in: path)
    }
    #expect(try Self.layout(of: path) == 8)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      try StoreMigrationTests.openUntil(" 80 %", in: path)
    }
    #expect(try Self.layout(of: path) == 8)

    let store = try SQLiteStore(folder: path)
    #expect(try await store.reading(Self.contents) == before)
    store.close()
    #expect(try Self.layout(of: path) == 9)
  }

  /// Opens the store, and kills the process once the move says that it is so far.
  static func openUntil(_ share: String, in folder: String) throws {
    var options = SQLiteStore.Options()
    options.note = { if $0.hasSuffix(share) { kill(getpid(), SIGKILL) } }
    try SQLiteStore(folder: folder, options: options).close()
  }
}
