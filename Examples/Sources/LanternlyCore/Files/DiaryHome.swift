import Foundation

/// The folder of one device: the diary's database, its attachments and what the CloudKit client keeps.
package struct DiaryHome: Sendable {
  package let path: String

  /// - Parameter isMade: False for who only looks: a folder that is not there is not made.
  package init(path: String, isMade: Bool = true) throws(FileError) {
    let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    self.path = URL(fileURLWithPath: absolute).standardizedFileURL.path
    guard isMade else { return }
    for folder in [self.path, files.root, temporary] { try Folder.make(folder) }
  }

  package var database: String { path + "/diary.sqlite" }
  /// Where the client keeps the device's key and account.
  package var client: String { path + "/virga" }
  /// Held by the one process that syncs.
  package var syncLock: String { path + "/sync.lock" }
  package var temporary: String { path + "/tmp" }
  package var files: AttachmentFiles { AttachmentFiles(root: path + "/attachments", temporary: temporary) }

  /// Whether there is a diary in the folder.
  package var hasDiary: Bool { access(database, F_OK) == 0 }

  /// Whether nothing can be written there, whoever asks.
  var isReadOnly: Bool { access(path, W_OK) != 0 }

  var isDiskFull: Bool {
    var status = statvfs()
    return statvfs(path, &status) == 0 && status.f_bavail == 0
  }

  /// Whether the database is an empty file, and yet the diary was used.
  var isDatabaseLost: Bool {
    var status = stat()
    guard stat(database, &status) == 0, status.st_size == 0 else { return false }
    let files = (try? Folder.names(in: files.root)) ?? []
    return !files.isEmpty || access(syncLock, F_OK) == 0
  }

  /// How files of editors begin that hold a text of this entry.
  static func draftPrefix(of id: EntryID) -> String { "entry-\(id.name.prefix(8))" }

  /// A new name below `tmp`, on the same file system as the attachments.
  func scratch(_ prefix: String) -> String {
    "\(temporary)/\(prefix)-\(UUID().uuidString.lowercased())"
  }
}
