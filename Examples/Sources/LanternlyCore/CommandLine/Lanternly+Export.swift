import Foundation
import VirgaCommandLine

/// Commands that hand the diary to other programs.
extension Lanternly {
  func export() throws -> ExitCode {
    let forms: Set<DiaryExport.Form>
    if let word = arguments.value("format") {
      guard let form = DiaryExport.Form(rawValue: word) else {
        throw UsageError.valueIsWrong(option: "format", value: word)
      }
      forms = [form]
    } else {
      forms = Set(DiaryExport.Form.allCases)
    }
    let filter = try filter()
    let folder = arguments.words[0]
    let export: DiaryExport
    do throws(FileError) {
      export = try DiaryExport(to: folder, forms, files: home.files)
    } catch {
      if error.errorNumber == ENOTEMPTY { throw CommandFailure(.failure, .exportIsNotEmpty, folder) }
      throw CommandFailure(.failure, .fileFailed, error.path, error.reason)
    }
    let meter = ProgressMeter(
      texts(.progressExport), unit: .things(texts(.progressEntries)), total: Int64(try store.status().entries))
    do {
      try store.forEachEntry(filter) { stored, rows in
        let (entry, attachments) = try rows.standalone(stored)
        try export.add(entry, attachments)
        meter.advance()
      }
      try export.finish()
    } catch let error as FileError where error.path.hasPrefix(folder) {
      meter.finish()
      throw CommandFailure(.failure, .fileFailed, error.path, error.reason)
    }
    meter.finish()
    let summary = export.summary
    done(
      texts(
        .exportDone, presentation.entries(summary.entries), presentation.attachments(summary.attachments), folder))
    if summary.missing > 0 { output.problem(texts(.exportMissing, presentation.attachments(summary.missing))) }
    return .done
  }

  // MARK: Opening

  /// Opens an entry's files with the programs that the desktop has for them.
  func open() throws -> ExitCode {
    let stored = try entry(arguments.words[0])
    let attachments = AttachmentOrder(text: stored.entry.text).sorted(try store.attachments(of: stored.id))
    let wanted = try arguments.words.dropFirst().map { word in
      let found = attachments.first { $0.attachment.fileName == word || $0.attachment.id.name.hasPrefix(word) }
      guard let found else { throw CommandFailure(.notFound, .attachmentNotFound, short(stored.id), word) }
      return found
    }
    let chosen = wanted.isEmpty ? attachments : wanted
    guard !chosen.isEmpty else { throw CommandFailure(.notFound, .nothingToOpen, short(stored.id)) }
    for attachment in chosen { try open(attachment) }
    return .done
  }

  private func open(_ stored: StoredAttachment) throws {
    let attachment = stored.attachment
    guard stored.hasFile else {
      throw CommandFailure(.notFound, .fileIsNotHere, presentation.readable(attachment.fileName))
    }
    // A copy under the name that the user knows, whose ending says what it is; the diary's own is nobody's to change.
    let folder = home.scratch("open")
    try Folder.make(folder)
    let path = folder + "/" + Self.fileName(attachment.fileName)
    _ = try AttachmentFiles.copy(home.files.path(sha256: attachment.sha256), to: path)
    chmod(path, 0o400)
    let opener = surroundings.environment["LANTERNLY_OPENER"].flatMap { $0.isEmpty ? nil : $0 } ?? "xdg-open"
    let code = surroundings.edit(opener, path)
    guard code == 0 else { throw CommandFailure(.failure, .openerFailed, opener, String(code), path) }
    done(texts(.fileOpened, presentation.readable(attachment.fileName)))
  }

  /// A name from elsewhere as one of a file.
  private static func fileName(_ name: String) -> String {
    let plain = String(name.map { $0 == "/" || $0.isNewline || $0 == "\0" ? "-" : $0 }).drop { $0 == "." }
    var short = ""
    for letter in plain.suffix(120) where short.utf8.count + String(letter).utf8.count <= 240 { short.append(letter) }
    return short.isEmpty ? "file" : short
  }
}
