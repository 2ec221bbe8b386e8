import Glibc

/// Where SQLite keeps what does not fit into memory: in the folder that a command works in, which has room for it. The
/// system's place for temporary files may be small, and is no place for what people store.
enum TemporaryFiles {
  private static let variable = "SQLITE_TMPDIR"

  /// - Precondition: No database was opened yet; later calls change nothing.
  static func use(_ folder: String) { setenv(variable, folder, 0) }

  /// The folders among which SQLite takes the first that is there and can be written.
  static var candidates: [String] {
    let named = [variable, "TMPDIR"].compactMap { (name: String) in getenv(name).map { String(cString: $0) } }
    return named + ["/var/tmp", "/usr/tmp", "/tmp"]
  }

  /// Of some folders those on a file system without space, as one would say it.
  static func full(among folders: [String]) -> String {
    var found: [String] = []
    for folder in folders + candidates where !found.contains(folder) {
      var space = statvfs()
      guard statvfs(folder, &space) == 0 else { continue }
      let room = UInt64(space.f_bavail) * UInt64(space.f_frsize)
      if room < roomMin { found.append(folder) }
    }
    return (found.isEmpty ? Array(folders.prefix(1)) : found).joined(separator: " and ")
  }

  /// With less a file system counts as full: SQLite gives up before the last byte.
  private static let roomMin: UInt64 = 1 << 20
}
