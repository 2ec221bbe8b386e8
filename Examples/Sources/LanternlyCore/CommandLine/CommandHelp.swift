import Foundation
import VirgaCommandLine

// The help of a command, the completions of shells and the manual pages are made from these tables.
extension CommandShape {
  /// A word that follows a command.
  struct Operand {
    var text: Text
    var isOptional = false
    var isRepeatable = false
    var values = CommandSpec.Values.anything
  }

  private static let entry = Operand(text: .wordID)

  private static let operands: [String: [Operand]] = [
    "edit": [entry], "show": [entry],
    "search": [Operand(text: .wordWord, isRepeatable: true)],
    "delete": [Operand(text: .wordID, isRepeatable: true)],
    "import": [Operand(text: .wordPath, values: .files)],
    "export": [Operand(text: .wordFolder, values: .folders)],
    "open": [entry, Operand(text: .wordFile, isOptional: true, isRepeatable: true)],
    "join": [Operand(text: .wordCode)],
    "device": [Operand(text: .wordNameItself, values: .words(["name"])), Operand(text: .wordName, isOptional: true)],
    "conflicts": [
      Operand(text: .wordResolve, isOptional: true, values: .words(["resolve"])),
      Operand(text: .wordID, isOptional: true),
    ],
    "completion": [Operand(text: .wordShell, values: .words(Shell.allCases.map(\.rawValue)))],
    "manual": [Operand(text: .wordFolder, values: .folders)],
    "help": [Operand(text: .wordCommand, isOptional: true, values: .words(all.map(\.name)))],
  ]

  private static let summaries: [String: Text] = [
    "new": .helpNew, "edit": .helpEdit, "list": .helpList, "show": .helpShow, "search": .helpSearch,
    "delete": .helpDelete, "import": .helpImport, "export": .helpExport, "open": .helpOpen, "sync": .helpSync,
    "watch": .helpWatch, "status": .helpStatus, "invite": .helpInvite, "join": .helpJoin, "devices": .helpDevices,
    "device": .helpDevice, "conflicts": .helpConflicts, "completion": .helpCompletion, "manual": .helpManual,
    "help": .helpHelp,
  ]

  /// Options in the order of the help. The text of one with a value begins with the word for it and a bar.
  private static let optionTexts: [(name: String, text: Text, values: CommandSpec.Values)] = [
    ("text", .optionText, .anything), ("append", .optionAppend, .anything), ("date", .optionDate, .anything),
    ("zone", .optionZone, .anything), ("tag", .optionTag, .anything), ("untag", .optionUntag, .anything),
    ("mood", .optionMood, .words(["1", "2", "3", "4", "5", "none"])), ("star", .optionStar, .anything),
    ("unstar", .optionUnstar, .anything), ("place", .optionPlace, .anything), ("attach", .optionAttach, .files),
    ("detach", .optionDetach, .anything), ("restore", .optionRestore, .anything), ("limit", .optionLimit, .anything),
    ("starred", .optionStarred, .anything), ("since", .optionSince, .anything), ("until", .optionUntil, .anything),
    ("versions", .optionVersions, .anything),
    ("format", .optionFormat, .words(DiaryExport.Form.allCases.map(\.rawValue))),
    ("again", .optionAgain, .anything), ("yes", .optionYes, .anything), ("server", .optionServer, .anything),
    ("replace", .optionReplace, .anything),
    ("keep", .optionKeep, .words(["original", "copy", "both", "mine", "theirs"])), ("file", .optionFile, .files),
    ("home", .optionHome, .folders), ("json", .optionJSON, .anything),
  ]

  /// Commands that print JSON if they are told to.
  private static let printingJSON: Set<String> = [
    "list", "show", "search", "import", "sync", "status", "devices", "conflicts",
  ]

  func spec(_ texts: Texts) -> CommandSpec {
    let shared = Self.printingJSON.contains(name) ? ["home", "json"] : ["home"]
    return CommandSpec(
      name: "lanternly \(name)", summary: Self.summaries[name].map { texts($0) } ?? "",
      operands: (Self.operands[name] ?? []).map { operand in
        let name = texts(operand.text) + (operand.isRepeatable ? "…" : "")
        return CommandSpec.Operand(operand.isOptional ? "[\(name)]" : name, values: operand.values)
      },
      options: Self.optionTexts.filter { options[$0.name] != nil || shared.contains($0.name) }.map { option in
        let kind = options[option.name] ?? Self.shared[option.name]
        let parts = texts(option.text).split(separator: "|", maxSplits: 1).map(String.init)
        return CommandSpec.Option(
          name: "--" + option.name, value: parts.count == 2 ? parts[0] : nil, help: parts.last ?? "",
          isRepeatable: kind == .many, values: option.values)
      })
  }
}

extension Lanternly {
  /// All that the program knows, in the user's language.
  static func spec(_ texts: Texts) -> ProgramSpec {
    let commands = CommandShape.all.map { $0.spec(texts) }
    return ProgramSpec(
      name: "lanternly", version: version, date: releaseDate, summary: texts(.programSummary),
      commands: commands, options: commands.first?.options.filter { $0.name == "--home" } ?? [],
      environment: [
        ProgramSpec.Entry("LANTERNLY_HOME", texts(.variableHome)),
        ProgramSpec.Entry("VIRGA_HOME", texts(.variableKeys)),
        ProgramSpec.Entry("VIRGA_ENDPOINT", texts(.variableEndpoint)),
        ProgramSpec.Entry("VIRGA_CA_FILE", texts(.variableCertificates)),
        ProgramSpec.Entry("VISUAL, EDITOR", texts(.variableEditor)), ProgramSpec.Entry("PAGER", texts(.variablePager)),
        ProgramSpec.Entry("NO_COLOR", texts(.variableNoColour)),
        ProgramSpec.Entry("LANTERNLY_OPENER", texts(.variableOpener)),
      ],
      exitCodes: texts(.exitCodes).split(separator: "\n").map { line in
        let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
        return ProgramSpec.Entry(parts[0], parts.last ?? "")
      })
  }

  static func helpWords(_ texts: Texts) -> HelpWords {
    var words = HelpWords()
    let own = texts(.helpWords).split(separator: "|").map(String.init)
    (words.usage, words.options, words.commands, words.anyOptions, words.help) = (
      own[0], own[1], own[2], own[3], own[4]
    )
    return words
  }

  /// The help that a command line asks for; `nil` if it asks for none.
  static func help(_ arguments: Arguments, _ texts: Texts) throws(UsageError) -> String? {
    if arguments.has("version") { return "lanternly \(version)" }
    let isAsked = arguments.command == "help" && !arguments.has("help")
    let topic = isAsked ? arguments.words.first ?? "" : arguments.command
    guard arguments.command == "help" || arguments.has("help") else { return nil }
    if topic.isEmpty { return texts(.help, spec(texts).commandList()) }
    guard let shape = CommandShape.all.first(where: { $0.name == topic }) else { throw .unknownCommand(topic) }
    return String(shape.spec(texts).help(in: helpWords(texts)).dropLast())
  }

  /// What needs no diary: files for the shell and for man.
  static func writeSupport(_ arguments: Arguments, _ texts: Texts, _ output: Output) throws -> ExitCode? {
    switch arguments.command {
    case "completion":
      guard let shell = Shell(rawValue: arguments.words[0]) else {
        throw UsageError.tooManyWords(arguments.words[0], command: "completion")
      }
      let text = shell.completion(of: spec(texts))
      if let path = arguments.value("file") { try write(text, to: path) } else { output.line(String(text.dropLast())) }
    case "manual":
      let folder = arguments.words[0]
      do {
        try Folder.make(folder)
      } catch {
        throw CommandFailure(.failure, .fileFailed, folder, error.reason)
      }
      for page in ManualPage.all(of: spec(texts), isSplit: true) {
        try write(page.text, to: "\(folder)/\(page.fileName)")
      }
    default: return nil
    }
    return .done
  }

  private static func write(_ text: String, to path: String) throws {
    do throws(FileError) {
      // What an earlier version wrote is replaced.
      unlink(path)
      let file = try OutputFile(path)
      try file.write(text)
      try file.finish()
    } catch {
      throw CommandFailure(.failure, .fileFailed, path, error.reason)
    }
  }
}
