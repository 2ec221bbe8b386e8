import Foundation

/// The folder of one device: the diary's database, its attachments and what the CloudKit client keeps.
package struct DiaryHome: Sendable {
  package let path: String

  package init(path: String) throws(FileError) {
    let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    self.path = URL(fileURLWithPath: absolute).standardizedFileURL.path
    for folder in [self.path, files.root, temporary] { try Folder.make(folder) }
  }

  package var database: String { path + "/diary.sqlite" }
  /// Where the client keeps the device's key and account.
  package var client: String { path + "/virga" }
  /// Held by the one process that syncs.
  package var syncLock: String { path + "/sync.lock" }
  package var temporary: String { path + "/tmp" }
  package var files: AttachmentFiles { AttachmentFiles(root: path + "/attachments", temporary: temporary) }

  /// How files of editors begin that hold a text of this entry.
  static func draftPrefix(of id: EntryID) -> String { "entry-\(id.name.prefix(8))" }

  /// A new name below `tmp`, on the same file system as the attachments.
  package func scratch(_ prefix: String) -> String {
    "\(temporary)/\(prefix)-\(UUID().uuidString.lowercased())"
  }
}
