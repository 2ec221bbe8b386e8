import CloudKit
import Foundation
import TestSupport
import VirgaAccounts
import VirgaAuth
import VirgaModel

@testable import VirgaCloudKit

/// `virga serve --faults` and devices of one account, over sockets.
final class FaultyServer {
  static let operatorToken = String(repeating: "f", count: 64)
  let process: ServerProcess

  /// - Parameter faults: The rules of the plan, as JSON.
  init(_ faults: String...) async throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/faults.json"
    try Self.plan(faults).write(toFile: file, atomically: true, encoding: .utf8)
    process = try await ServerProcess(
      options: ["--faults", file, "--ephemeral"], environment: ["VIRGA_OPERATOR_TOKEN": Self.operatorToken])
  }

  private static func plan(_ faults: [String]) -> String {
    #"{"seed": 1, "faults": [\#(faults.joined(separator: ","))]}"#
  }

  /// Puts another plan in the place of the one before.
  func set(_ faults: String...) throws {
    let response = try request("PUT", Array(Self.plan(faults).utf8))
    guard response.status == 200 else { throw ProgramRun.Unexpected(description: "the plan was refused") }
  }

  /// How many requests each rule has met.
  func met() throws -> [Int] {
    let json = try JSONSerialization.jsonObject(with: Data(try request("GET").body)) as? [String: Any]
    return (json?["faults"] as? [[String: Any]] ?? []).map { $0["met"] as? Int ?? -1 }
  }

  private func request(_ method: String, _ body: [UInt8] = []) throws -> RawConnection.Response {
    try RawConnection(port: process.port).request(
      requestBytes(
        method, "/virga/1/faults", body: body,
        headers: "X-Virga-Operator: \(Self.operatorToken)\r\n"))
  }

  /// A device of a person, with a name of its own towards the service.
  func database(of person: String = "alice", in environment: VirgaModel.Environment = .development) -> CKDatabase {
    let service = RemoteService(
      endpoint: process.endpoint, environment: environment,
      home: VirgaHome(path: "\(process.folder.path)/\(person)"), transport: CurlTransport(), deviceName: "device")
    return CKContainer("iCloud.virga.test", on: service).privateCloudDatabase
  }

  func device(
    automatic: Bool = false, isAtomic: Bool = false, in environment: VirgaModel.Environment = .development
  ) -> FaultyDevice { FaultyDevice(database(in: environment), automatic: automatic, isAtomic: isAtomic) }

  func end() async { await process.terminate() }
}
