import Foundation

/// Writes a diary into a folder: as Day One's JSON, which Day One and this program read again, as a Markdown file for each entry,
/// and the files that they show.
final class DiaryExport {
  struct Summary: Hashable {
    var entries = 0
    var attachments = 0
    /// Files that this device does not have yet, or whose bytes are not what they should be.
    var missing = 0
  }

  enum Form: String, CaseIterable { case json, markdown }

  private let folder: String
  private let forms: Set<Form>
  private let files: AttachmentFiles
  private var journal: OutputFile?
  private var folders: Set<String> = []
  private(set) var summary = Summary()

  /// - Parameter folder: Must not exist, or be empty: nothing of anybody's is written over.
  init(to folder: String, _ forms: Set<Form>, files: AttachmentFiles) throws(FileError) {
    self.folder = folder
    self.forms = forms
    self.files = files
    try Folder.make(folder)
    guard try Folder.names(in: folder).isEmpty else { throw FileError(.make, folder, errorNumber: ENOTEMPTY) }
    if forms.contains(.json) {
      journal = try OutputFile(folder + "/Journal.json")
      try journal?.write("{\n  \"metadata\" : {\n    \"version\" : \"1.0\"\n  },\n  \"entries\" : [")
    }
  }

  func add(_ stored: StoredEntry, _ attachments: [StoredAttachment]) throws(FileError) {
    let attachments = AttachmentOrder(text: stored.entry.text).sorted(attachments)
    var exported: [ExportedFile] = []
    for attachment in attachments {
      if let file = try copy(attachment) { exported.append(file) }
    }
    if forms.contains(.json) {
      var writer = JSONWriter(depth: 2)
      DayOneForm(stored: stored, files: exported).write(to: &writer)
      try journal?.write((summary.entries == 0 ? "\n    " : ",\n    ") + writer.text)
    }
    if forms.contains(.markdown) {
      let page = MarkdownForm(stored: stored, files: exported)
      try make("entries/" + page.folder)
      let file = try OutputFile("\(folder)/entries/\(page.folder)/\(page.fileName)")
      try file.write(page.text)
      try file.finish()
    }
    summary.entries += 1
  }

  func finish() throws(FileError) {
    try journal?.write("\n  ]\n}\n")
    try journal?.finish()
  }

  private func make(_ name: String) throws(FileError) {
    if folders.insert(name).inserted { try Folder.make("\(folder)/\(name)") }
  }

  /// Copies a file under the name that Day One gives it, its MD5.
  private func copy(_ stored: StoredAttachment) throws(FileError) -> ExportedFile? {
    let attachment = stored.attachment
    guard stored.hasFile, files.contains(sha256: attachment.sha256) else {
      summary.missing += 1
      return nil
    }
    let kind = ExportedFile.folders[attachment.kind] ?? "files"
    try make(kind)
    let partial = "\(folder)/\(kind)/.partial"
    let copied = try AttachmentFiles.copy(files.path(sha256: attachment.sha256), to: partial)
    guard copied.sha256 == attachment.sha256 else {
      unlink(partial)
      summary.missing += 1
      return nil
    }
    let ending = (attachment.fileName as NSString).pathExtension.lowercased().filter { $0.isLetter || $0.isNumber }
    let name = copied.md5 + (ending.isEmpty ? "" : "." + ending)
    guard rename(partial, "\(folder)/\(kind)/\(name)") == 0 else {
      throw FileError(.rename, "\(folder)/\(kind)/\(name)")
    }
    summary.attachments += 1
    return ExportedFile(attachment: attachment, md5: copied.md5, type: ending, path: "\(kind)/\(name)")
  }
}

/// A file that was copied.
struct ExportedFile {
  var attachment: Attachment
  var md5: String
  var type: String
  /// Below the folder of the export.
  var path: String

  static let folders: [Attachment.Kind: String] = DayOneJournal.folderNames
}

/// A file that is written from its beginning to its end.
final class OutputFile {
  private let file: FileHandleOwned
  private let path: String
  private var buffer: [UInt8] = []

  init(_ path: String) throws(FileError) {
    self.path = path
    file = try FileHandleOwned(creating: path)
  }

  func write(_ text: String) throws(FileError) {
    buffer += Array(text.utf8)
    if buffer.count > 64 * 1024 { try flush() }
  }

  func finish() throws(FileError) {
    try flush()
    try file.synchronize(path: path)
  }

  private func flush() throws(FileError) {
    let bytes = buffer
    buffer = []
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(FileError) in try file.write(bytes, path: path) }
    }
    try result.get()
  }
}
