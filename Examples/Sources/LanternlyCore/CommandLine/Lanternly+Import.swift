/// The import command.
extension Lanternly {
  func importExport() throws -> ExitCode {
    let scratch = home.scratch("import")
    defer { Folder.remove(scratch) }
    let export = try DayOneExport.open(arguments.words[0], scratch: scratch)
    let summary = try store.take(export, at: now)
    let code = export.entries.isEmpty && summary.notes.contains(where: \.isSkip) ? ExitCode.badInput : .done
    let skipped = summary.notes.filter(\.isSkip)
    let warnings = summary.notes.filter { !$0.isSkip }
    if wantsJSON {
      let shape = ScriptOutput.ImportShape(
        added: summary.added, updated: summary.updated, unchanged: summary.unchanged, kept: summary.kept,
        attachments: summary.attachments, skipped: skipped.map(presentation.note),
        warnings: warnings.map(presentation.note))
      done(try ScriptOutput.text(shape))
      return code
    }
    done(
      texts(.importDone, presentation.entries(summary.added), presentation.attachments(summary.attachments)))
    if summary.updated > 0 { done(texts(.importUpdated, presentation.entries(summary.updated))) }
    if summary.unchanged > 0 { output.line(texts(.importUnchanged, presentation.entries(summary.unchanged))) }
    if summary.kept > 0 { output.line(texts(.importKept, presentation.entries(summary.kept))) }
    for (head, notes) in [(Text.importSkipped, skipped), (.importWarnings, warnings)] where !notes.isEmpty {
      output.line(texts(head, String(notes.count)))
      for note in notes { output.line("  " + presentation.note(note)) }
    }
    return code
  }
}
