import Foundation

extension DiaryStore {
  /// How long a file without a row may be on its way to one.
  private static let graceSeconds: Int64 = 3600

  /// Removes files that a crash left behind: attachments that no row names, and half copies. What an editor left stays,
  /// as it may hold words that are nowhere else.
  package func sweep(at now: Moment) throws {
    try sweepTemporary(at: now)
    for folder in try Folder.names(in: home.files.root) {
      let path = "\(home.files.root)/\(folder)"
      // Somebody else's file is left alone.
      guard Folder.exists(path) else { continue }
      let old = try Folder.names(in: path).filter { isOld("\(path)/\($0)", now) }
      let orphans = try read { rows in try old.filter { try !rows.isNamed(sha256: $0) } }
      if !orphans.isEmpty { try write { rows in rows.touchedFiles.formUnion(orphans) } }
    }
  }

  /// Removes what other processes were killed over: half copies, archives that were being unpacked, files that were opened.
  func sweepTemporary(at now: Moment) throws {
    for name in try Folder.names(in: home.temporary) {
      let path = "\(home.temporary)/\(name)"
      let isLeft =
        switch name.prefix(while: { $0 != "-" }) {
        case "copy", "import": ScratchFolder.isLeft(path, at: now)
        // Somebody looks at it, or has it in an editor, as long as that takes.
        case "open": isOld(path, Moment(milliseconds: now.milliseconds - 86_400_000))
        default: false
        }
      if isLeft { Folder.remove(path) }
    }
  }

  private func isOld(_ path: String, _ now: Moment) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    return Int64(status.st_mtim.tv_sec) + Self.graceSeconds < now.milliseconds / 1000
  }
}

extension DiaryRows {
  func isNamed(sha256: String) throws -> Bool {
    try connection.first("SELECT 1 FROM attachment WHERE sha256 = ? LIMIT 1", sha256) { $0.int(0) } != nil
  }
}
