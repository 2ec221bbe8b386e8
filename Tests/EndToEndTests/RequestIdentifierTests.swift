import CloudKit
import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel

@testable import VirgaCloudKit

/// Whoever reports an error names the request, and whoever runs the server finds it.
@Suite struct RequestIdentifierTests {
  private func device(_ server: ServerProcess, _ name: String) -> CKDatabase {
    let service = RemoteService(
      endpoint: server.endpoint, environment: .development, home: VirgaHome(path: "\(server.folder.path)/\(name)"),
      transport: CurlTransport(), deviceName: name)
    return CKContainer("iCloud.virga.test", on: service).privateCloudDatabase
  }

  @Test func theRequestOfAnErrorIsInTheServersLog() async throws {
    let server = try await ServerProcess(options: ["--log", "--enrolment", "closed"])
    let refused = await #expect(throws: CKError.self) { try await device(server, "stranger").allRecordZones() }
    let log = await server.terminate().errors
    let request = try #require(refused?.userInfo["RequestUUID"] as? String)
    #expect(log.contains(request), "\(request) is not in \(log)")

    let open = try await ServerProcess(options: ["--log"])
    let database = device(open, "phone")
    let whole = await #expect(throws: CKError.self) {
      try await database.recordZoneChanges(inZoneWith: .init(zoneName: "None"), since: nil)
    }
    let item = await #expect(throws: CKError.self) { try await database.record(for: CKRecord.ID(recordName: "none")) }
    let query = await #expect(throws: CKError.self) {
      try await database.records(matching: CKQuery(recordType: "None", predicate: NSPredicate(value: true)))
    }
    let lines = await open.terminate().errors.split(separator: "\n")
    for error in [whole, item, query] {
      let request = try #require(error?.userInfo["RequestUUID"] as? String)
      #expect(lines.filter { $0.hasSuffix(request) }.count == 1, "\(request) is not in \(lines)")
    }
  }
}
