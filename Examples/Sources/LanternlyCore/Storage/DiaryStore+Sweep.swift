import Foundation
import VirgaSQLite

extension DiaryStore {
  /// How long a file without a row may be on its way to one.
  private static let graceSeconds: Int64 = 3600

  /// Removes files that a crash left behind: attachments that no row names, and half copies. What an editor left stays,
  /// as it may hold words that are nowhere else.
  package func sweep(at now: Moment) throws {
    for folder in try Folder.names(in: home.files.root) {
      let path = "\(home.files.root)/\(folder)"
      for name in try Folder.names(in: path) where isOld("\(path)/\(name)", now) {
        let isNamed = try read { rows in
          try rows.connection.first("SELECT 1 FROM attachment WHERE sha256 = ? LIMIT 1", name) { $0.int(0) } != nil
        }
        if !isNamed { home.files.remove(sha256: name) }
      }
    }
    for name in try Folder.names(in: home.temporary) where name.hasPrefix("copy-") || name.hasPrefix("import-") {
      if isOld("\(home.temporary)/\(name)", now) { Folder.remove("\(home.temporary)/\(name)") }
    }
  }

  private func isOld(_ path: String, _ now: Moment) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    return Int64(status.st_mtim.tv_sec) + Self.graceSeconds < now.milliseconds / 1000
  }
}
