import Foundation

extension DiaryStore {
  /// How long a file without a row may be on its way to one.
  private static let graceSeconds: Int64 = 3600

  /// Removes files that a crash left behind: attachments that no row names, and half copies. What an editor left stays,
  /// as it may hold words that are nowhere else.
  package func sweep(at now: Moment) throws {
    let named = Set(try allAttachments().map(\.attachment.sha256))
    var orphans: [String] = []
    for folder in try Folder.names(in: home.files.root) {
      let path = "\(home.files.root)/\(folder)"
      // Somebody else's file is left alone.
      guard Folder.exists(path) else { continue }
      orphans += try Folder.names(in: path).filter { !named.contains($0) && isOld("\(path)/\($0)", now) }
    }
    if !orphans.isEmpty { try write { rows in rows.touchedFiles.formUnion(orphans) } }
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
