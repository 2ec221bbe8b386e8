import Glibc
import Synchronization
import VirgaServer

/// The folder that a store lives in, locked so that no two processes share it.
///
/// The lock file also remembers that the folder held a store, or that one was begun there: a database file that has gone
/// or lost its bytes since is then reported, and not replaced by an empty one.
final class DataFolder: Sendable {
  let path: String
  /// The lock file; negative once it was given back.
  private let lock: Atomic<Int32>
  private let heldStore: Bool
  /// Whether a store was begun here and never finished: a database file without a byte is then left of that.
  private let beganStore: Bool

  var databasePath: String { "\(path)/\(DataFile.database)" }

  private static let mark = "holds a Virga store\n"
  private static let beginning = "begins a Virga store\n"

  /// Creates the folder if it is missing, and locks it.
  init(_ path: String) throws(StoreError) {
    self.path = path
    try Self.createFolder(path)
    let lockPath = "\(path)/\(DataFile.lock)"
    let lock = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if lock < 0 { throw Self.failure("cannot write in the data folder \(path)") }
    var bytes = [UInt8](repeating: 0, count: 200)
    let count = pread(lock, &bytes, bytes.count, 0)
    let content = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    heldStore = content.hasPrefix(Self.mark)
    beganStore = content.hasPrefix(Self.beginning)
    self.lock = Atomic(lock)
    if flock(lock, LOCK_EX | LOCK_NB) != 0 {
      let isHeld = errno == EWOULDBLOCK
      let error = Self.failure("cannot lock \(lockPath)")
      if !isHeld { throw error }
      let holder = content.split(separator: "\n").last.map { " (\($0))" } ?? ""
      throw .inUse("another server uses the data folder \(path)\(holder)")
    }
  }

  deinit { unlock() }

  /// Lets another store use the folder, as the end of the process would.
  func unlock() {
    let file = lock.exchange(-1, ordering: .acquiringAndReleasing)
    if file >= 0 { Glibc.close(file) }
  }

  /// Says why the database file must not be opened as it is.
  func checkFile() throws(StoreError) {
    if access("\(path)/\(DataFile.restoring)", F_OK) == 0 {
      throw .damaged("the restore into \(path) was cut off: empty the folder, then run virga restore again")
    }
    var status = stat()
    if stat(databasePath, &status) != 0 {
      guard heldStore else { return }
      throw .damaged("\(databasePath) is missing: \(Self.advice)")
    }
    guard status.st_size == 0 else { return }
    // A store that is begun writes its first bytes before anything else, so what lies beside them is of another one.
    var log = stat()
    let hasLog = stat(databasePath + "-wal", &log) == 0 && log.st_size > 0
    let hasSecrets = access("\(path)/\(DataFile.secrets)", F_OK) == 0
    guard beganStore, !hasLog, !hasSecrets, StoreCopy.places(in: path).isEmpty else {
      throw .damaged("\(databasePath) is empty: \(Self.advice)")
    }
  }

  private static let advice = "put it back from a backup, or empty the folder to start fresh"

  /// Notes that a database is about to be made, if there is none.
  func noteBeginning() throws(StoreError) {
    if access(databasePath, F_OK) != 0 { try note(Self.beginning) }
  }

  /// Notes that the folder holds a store now, and who uses it.
  func noteStore() throws(StoreError) {
    try note(Self.mark)
  }

  private func note(_ mark: String) throws(StoreError) {
    let content = mark + "process \(getpid())\n"
    let file = lock.load(ordering: .acquiring)
    if ftruncate(file, 0) != 0 || pwrite(file, content, content.utf8.count, 0) != content.utf8.count {
      throw Self.failure("cannot write \(path)/\(DataFile.lock)")
    }
  }

  private static func createFolder(_ path: String) throws(StoreError) {
    for end in path.indices where path[end] == "/" && end != path.startIndex {
      mkdir(String(path[..<end]), 0o755)
    }
    if mkdir(path, 0o700) == 0 { return }
    var status = stat()
    if errno == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
    throw failure("cannot create the data folder \(path)")
  }

  private static func failure(_ what: String) -> StoreError {
    let code = errno
    let text = what + ": " + String(cString: strerror(code))
    return code == ENOSPC ? .full(text) : .unwritable(text)
  }
}

extension DataFolder {
  /// What is free where a file lies; 0 if that cannot be found out.
  static func freeBytes(at path: String) -> Int64 {
    var space = statvfs()
    guard statvfs(path, &space) == 0 else { return 0 }
    return Int64(clamping: UInt64(space.f_bavail).multipliedReportingOverflow(by: UInt64(space.f_frsize)).partialValue)
  }
}
