import CloudKit
import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit
import VirgaModel
import VirgaServer

/// A server and devices in one virtual time. Homes with one letter are accounts: devices of one home share it.
final class SyncWorld {
  let time = VirtualTime()
  let server: SyncServer
  private let folder: String
  private var homes: Set<String> = []

  init(policy: EnrolmentPolicy = .open) {
    server = SyncServer(time, policy: policy)
    folder = NSTemporaryDirectory() + "virga-sync-\(UUID().uuidString)"
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func home(_ name: String) -> String {
    let path = "\(folder)/\(name)"
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  func device(
    account: String = "u1", disk: DiaryDevice.Disk = DiaryDevice.Disk(), automatic: Bool = false, seed: UInt64 = 1,
    engineSkew: Duration = .zero
  ) -> DiaryDevice {
    DiaryDevice(
      server, home: home(account), disk: disk, automatic: automatic, seed: seed, engineSkew: engineSkew)
  }

  /// As `virga account join CODE --replace` does on a device whose programs run.
  func replaceAccount(of account: String, by other: String) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: home(other)) where name != "cache" {
      let path = "\(home(account))/\(name)"
      try? FileManager.default.removeItem(atPath: path)
      try FileManager.default.copyItem(atPath: "\(home(other))/\(name)", toPath: path)
    }
  }

  func container(account: String, _ link: Link) -> CKContainer {
    let service = RemoteService(
      endpoint: "http://server", environment: .development, home: VirgaHome(path: home(account)), transport: link,
      deviceName: "test", now: { [time] in time.now })
    return CKContainer(server.container, on: service)
  }

  /// What the server holds, as a device sees it that knows nothing yet.
  func serverRows(account: String = "u1") throws -> [String: [String: String]] {
    let reader = device(account: account)
    try reader.fetch()
    return reader.rows
  }

  /// Syncs devices in turn until nothing waits and nothing comes.
  func converge(_ devices: DiaryDevice..., sourceLocation: SourceLocation = #_sourceLocation) throws {
    for _ in 0..<3 { for device in devices { try device.sync() } }
    let server = try serverRows()
    for (number, device) in devices.enumerated() {
      #expect(device.rows == server, "device \(number)", sourceLocation: sourceLocation)
      #expect(device.pending == [], "device \(number)", sourceLocation: sourceLocation)
    }
  }
}
