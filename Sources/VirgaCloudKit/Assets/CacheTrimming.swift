import Foundation
import Synchronization

/// How large a cache of assets may be, and for how long what nobody asks for stays.
///
/// A file's time of modification says when it was last asked for. Names of one file count once: a fetched asset has a
/// name of its own for the bytes in the cache. A file of the app's that has only a second name here takes no space, and its
/// time of modification is the app's: when it got the name says how old it is.
struct CacheTrimming: Sendable {
  /// From when a file that nobody asked for leaves.
  var unusedAge: TimeInterval = 7 * 86_400
  /// How many bytes the files may have together.
  var bytesMax: Int64 = 2 << 30
  /// A file that was asked for within this time stays whatever its size: an app may be about to open it.
  var spareAge: TimeInterval = 3_600
  /// How often a program looks.
  var interval: TimeInterval = 600

  /// When this process last looked at each folder.
  private static let lastLooks = Mutex<[String: Date]>([:])

  /// Ends the names of files of the app's.
  static let sentSuffix = ".sent"

  private struct File {
    var names: [String] = []
    var bytes: Int64
    /// How many names it has, here and elsewhere.
    var nameCount: Int
    var used: Date

    var bytesHere: Int64 { nameCount > names.count ? 0 : bytes }
  }

  /// Removes what is to go, if the last look was long enough ago. A clock that was set back does not put it off.
  func trimIfDue(_ folder: String, at now: Date) {
    let isDue = Self.lastLooks.withLock { looks in
      if let last = looks[folder], last <= now, now.timeIntervalSince(last) < interval { return false }
      looks[folder] = now
      return true
    }
    if isDue { trim(folder, at: now) }
  }

  func trim(_ folder: String, at now: Date) {
    var files = files(in: folder)
    files.removeAll { file in
      guard now.timeIntervalSince(file.used) > unusedAge else { return false }
      Self.remove(file, from: folder)
      return true
    }
    var bytes = files.reduce(0) { $0 + $1.bytesHere }
    for file in files.sorted(by: { ($0.used, $0.names[0]) < ($1.used, $1.names[0]) }) {
      guard bytes > bytesMax, now.timeIntervalSince(file.used) > spareAge else { break }
      Self.remove(file, from: folder)
      bytes -= file.bytesHere
    }
  }

  private static func remove(_ file: File, from folder: String) {
    for name in file.names { unlink(folder + "/" + name) }
  }

  private func files(in folder: String) -> [File] {
    var files: [UInt64: File] = [:]
    for name in ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() {
      var status = stat()
      guard lstat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { continue }
      let seconds = name.hasSuffix(Self.sentSuffix) ? status.st_ctim.tv_sec : status.st_mtim.tv_sec
      let file = File(
        bytes: Int64(status.st_blocks) * 512, nameCount: Int(status.st_nlink),
        used: Date(timeIntervalSince1970: Double(seconds)))
      files[UInt64(status.st_ino), default: file].names.append(name)
    }
    return files.sorted { $0.key < $1.key }.map(\.value)
  }
}
