import CSQLite
import Synchronization

/// A disk that fails when it is told to: SQLite's own way to files, but that files whose path has `mark` in it refuse to
/// be written or to be made durable.
enum FailingDisk {
  static let mark = "failing-disk"
  static let failsAtSync = Atomic<Bool>(false)
  static let failsAtWrite = Atomic<Bool>(false)

  // Set once by `isInstalled`, before any file is opened through them, and only read afterwards.
  nonisolated(unsafe) private static var systemOpen:
    (
      @convention(c) (
        UnsafeMutablePointer<sqlite3_vfs>?, sqlite3_filename?, UnsafeMutablePointer<sqlite3_file>?, Int32,
        UnsafeMutablePointer<Int32>?
      ) -> Int32
    )?
  private static let lock = Mutex(())
  // How the system writes and makes durable, which is the same for all its kinds of files; set under `lock` when the
  // first file is opened, before any use.
  nonisolated(unsafe) private static var system: UnsafePointer<sqlite3_io_methods>?
  // The failing methods by the system's, which differ by how a file is locked; used under `lock`.
  nonisolated(unsafe) private static var known: [UnsafePointer<sqlite3_io_methods>: UnsafePointer<sqlite3_io_methods>] =
    [:]

  /// Makes it the way to files of all connections that are opened from now on.
  static let isInstalled: Bool = {
    guard let known = sqlite3_vfs_find(nil) else { return false }
    let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    own.initialize(to: known.pointee)
    systemOpen = known.pointee.xOpen
    own.pointee.xOpen = { vfs, name, file, flags, outFlags in
      guard let open = FailingDisk.systemOpen else { return SQLITE_CANTOPEN }
      let result = open(vfs, name, file, flags, outFlags)
      if result == SQLITE_OK, let name, let file, String(cString: name).contains(FailingDisk.mark) {
        FailingDisk.wrap(file)
      }
      return result
    }
    return sqlite3_vfs_register(own, 1) == SQLITE_OK
  }()

  private static func wrap(_ file: UnsafeMutablePointer<sqlite3_file>) {
    lock.withLock { _ in
      guard let methods = file.pointee.pMethods else { return }
      if let own = known[methods] {
        file.pointee.pMethods = own
        return
      }
      if system == nil { system = methods }
      let own = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
      own.initialize(to: methods.pointee)
      own.pointee.xSync = { file, flags in
        if FailingDisk.failsAtSync.load(ordering: .sequentiallyConsistent) { return SQLITE_IOERR | 4 << 8 }
        return FailingDisk.system?.pointee.xSync(file, flags) ?? SQLITE_IOERR
      }
      own.pointee.xWrite = { file, bytes, count, offset in
        if FailingDisk.failsAtWrite.load(ordering: .sequentiallyConsistent) { return SQLITE_IOERR | 3 << 8 }
        return FailingDisk.system?.pointee.xWrite(file, bytes, count, offset) ?? SQLITE_IOERR
      }
      known[methods] = UnsafePointer(own)
      file.pointee.pMethods = UnsafePointer(own)
    }
  }
}
