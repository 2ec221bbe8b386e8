import VirgaCommandLine

/// The import command.
extension Lanternly {
  func importExport() throws -> ExitCode {
    let scratch = try ScratchFolder(home.scratch("import"))
    let meter = ProgressMeter(
      texts(.progressReading), unit: .things(texts(.progressEntries)), isWanted: !wantsJSON)
    let export = try DayOneExport.open(arguments.words[0], scratch: scratch.path) { meter.update(done: Int64($0)) }
    meter.begin(texts(.progressImport), unit: .things(texts(.progressEntries)), total: Int64(export.count))
    let summary = try withExtendedLifetime(scratch) {
      try store.take(export, at: now) { meter.update(done: Int64($0.entries)) }
    }
    meter.finish()
    try store.sweep(at: now)
    let code = summary.entries == 0 && summary.skipped.count > 0 ? ExitCode.badInput : .done
    if wantsJSON {
      let shape = ScriptOutput.ImportShape(summary, note: presentation.note)
      done(try ScriptOutput.text(shape))
      return code
    }
    done(
      texts(.importDone, presentation.entries(summary.added), presentation.attachments(summary.attachments)))
    if summary.updated > 0 { done(texts(.importUpdated, presentation.entries(summary.updated))) }
    if summary.unchanged > 0 { output.line(texts(.importUnchanged, presentation.entries(summary.unchanged))) }
    if summary.kept > 0 { output.line(texts(.importKept, presentation.entries(summary.kept))) }
    for (head, notes) in [(Text.importSkipped, summary.skipped), (.importWarnings, summary.warnings)]
    where notes.count > 0 {
      output.line(texts(head, String(notes.count)))
      for note in notes.listed { output.line("  " + presentation.note(note)) }
      if notes.count > notes.listed.count { output.line(texts(.moreChanges, String(notes.count - notes.listed.count))) }
    }
    return code
  }
}
