import CloudKit
import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit

/// What a device encrypted goes out with its keys, which are sealed to the account's devices, and comes in for them again.
@Suite(.timeLimit(.minutes(3))) struct SealedExportTests {
  private let server: ServerProcess
  private let zone = CKRecordZone(zoneName: "Diary")
  private let export: String

  /// An export of a diary with one record that is encrypted and one that is not.
  init() async throws {
    server = try await ServerProcess()
    export = server.folder.path + "/export"
    let database = database(at: server.endpoint)
    _ = try await database.save(zone)
    let sealed = record("sealed")
    sealed.encryptedValues["text"] = "the first rain in weeks"
    let plain = record("plain")
    plain["title"] = "in the clear"
    _ = try await database.modifyRecords(saving: [sealed, plain], deleting: [])
    let end = try await ProgramRun.run(["export", try await account("phone"), export, "--data", server.data])
    #expect(end.code == 0, "\(end)")
  }

  /// The phone's database, as a program that has just started has it.
  private func database(at endpoint: String) -> CKDatabase {
    let service = RemoteService(
      endpoint: endpoint, environment: .development, home: VirgaHome(path: server.folder.path + "/phone"),
      transport: CurlTransport(), deviceName: "phone")
    return CKContainer("iCloud.sealed", on: service).privateCloudDatabase
  }

  private func record(_ name: String) -> CKRecord {
    CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID))
  }

  private func account(_ home: String) async throws -> String {
    let end = try await ProgramRun.run(server.account("show", "--json", home: home))
    let object = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    return try #require(object?["account"] as? String)
  }

  private func importing(for account: String, to data: String) async throws -> ProgramRun.End {
    try await ProgramRun.run(["import", export, "--user", account, "--data", data])
  }

  private func checkDiary(at endpoint: String) async throws {
    let database = database(at: endpoint)
    let sealed = try await database.record(for: record("sealed").recordID)
    #expect(sealed.encryptedValues["text"] as? String == "the first rain in weeks")
    sealed.encryptedValues["text"] = "and the second"
    _ = try await database.save(sealed)
    let again = try await self.database(at: endpoint).record(for: sealed.recordID)
    #expect(again.encryptedValues["text"] as? String == "and the second")
  }

  @Test func theDeviceReadsItAgainAfterEraseAndImport() async throws {
    let account = try await account("phone")
    await server.terminate()
    let erased = try await ProgramRun.run(["erase", account, "--yes", "--data", server.data])
    #expect(erased.code == 0, "\(erased)")
    let end = try await importing(for: account, to: server.data)
    #expect(end.code == 0 && end.output == "Imported 2 records.\n" && end.errors.isEmpty, "\(end)")
    try await server.restart()
    try await checkDiary(at: server.endpoint)
  }

  @Test func theDeviceReadsItOnAnotherServer() async throws {
    let other = try await ServerProcess()
    let account = try await account("phone")
    for _ in 0..<2 {
      let end = try await importing(for: account, to: other.data)
      #expect(end.code == 0 && end.output == "Imported 2 records.\n" && end.errors.isEmpty, "\(end)")
    }
    try await checkDiary(at: other.endpoint)
    #expect(
      try await database(at: server.endpoint).record(for: record("sealed").recordID).encryptedValues["text"] != nil)
  }

  @Test func forAnotherAccountItIsLeftOutAndNamed() async throws {
    let end = try await importing(for: try await account("bob"), to: server.data)
    #expect(end.code == 0 && end.output == "Imported 1 records.\n", "\(end)")
    let mine = try await account("phone")
    #expect(end.errors.contains("private zone Diary record sealed") && end.errors.contains("--user \(mine)"), "\(end)")
    #expect(!end.errors.contains("record plain"))
  }

  @Test func itIsLeftOutOnceTheAccountHasBegunAnew() async throws {
    let reset = try await ProgramRun.run(server.account("reset-keys", "--yes", home: "phone"))
    #expect(reset.code == 0, "\(reset)")
    let end = try await importing(for: try await account("phone"), to: server.data)
    #expect(end.code == 0 && end.output == "Imported 1 records.\n", "\(end)")
    #expect(end.errors.contains("private zone Diary record sealed") && !end.errors.contains("--user"), "\(end)")
  }

  @Test func anAccountWhoseDevicesHaveOthersThereIsNotMadeAgain() async throws {
    let other = try await ServerProcess()
    let account = try await account("phone")
    _ = try await database(at: other.endpoint).allRecordZones()
    let end = try await importing(for: account, to: other.data)
    #expect(end.code == 1 && end.errors.contains("all of its devices have been in other accounts here"), "\(end)")
  }
}
