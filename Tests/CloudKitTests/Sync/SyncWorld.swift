import Foundation
import VirgaModel

/// A server and devices in one virtual time. Homes with one letter are accounts: devices of one home share it.
final class SyncWorld {
  let time = VirtualTime()
  let server: SyncServer
  private let folder: String
  private var homes: Set<String> = []

  init() {
    server = SyncServer(time)
    folder = NSTemporaryDirectory() + "virga-sync-\(UUID().uuidString)"
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func home(_ name: String) -> String {
    let path = "\(folder)/\(name)"
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  func device(
    account: String = "u1", disk: DiaryDevice.Disk = DiaryDevice.Disk(), automatic: Bool = false, seed: UInt64 = 1
  ) -> DiaryDevice {
    DiaryDevice(server, home: home(account), disk: disk, automatic: automatic, seed: seed)
  }
}
