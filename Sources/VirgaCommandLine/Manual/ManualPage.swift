/// A page for `man`, in the macros that every version of it reads.
public struct ManualPage: Sendable {
  /// The name of its file: `virga-records.1`.
  public let fileName: String
  /// The page in the language of `man`.
  public let text: String

  /// The pages of a program: one with everything, or one for the program and one for each first word of its commands.
  public static func all(of program: ProgramSpec, isSplit: Bool) -> [ManualPage] {
    let writer = ManualWriter(program)
    guard isSplit else { return [ManualPage(fileName: "\(program.name).1", text: writer.whole())] }
    return [ManualPage(fileName: "\(program.name).1", text: writer.overview())]
      + program.firstWords.map { ManualPage(fileName: "\(program.name)-\($0).1", text: writer.page(of: $0)) }
  }
}

struct ManualWriter {
  private let program: ProgramSpec

  init(_ program: ProgramSpec) { self.program = program }

  // MARK: Pages

  func whole() -> String {
    head(program.name, brief: program.summary)
      + synopsis([program.name + " [options] command"])
      + section("COMMANDS") + program.commands.map { command($0, isSection: false) }.joined()
      + options(program.options) + closing()
  }

  func overview() -> String {
    let words = program.firstWords.map { word -> String in
      let brief = program.nextWords(after: []).first { $0.name == word }?.text ?? ""
      return ".TP\n.BR \(roff(program.name))\\-\(roff(word)) (1)\n\(roff(brief))\n"
    }
    return head(program.name, brief: program.summary)
      + synopsis([program.name + " command"])
      + section("COMMANDS") + words.joined() + options(program.options) + closing()
  }

  func page(of word: String) -> String {
    let commands = program.commands(below: [word])
    let brief = program.nextWords(after: []).first { $0.name == word }?.text ?? ""
    let body =
      commands.count == 1
      ? command(commands[0], isSection: true)
      : section("COMMANDS") + commands.map { command($0, isSection: false) }.joined()
    return head("\(program.name)-\(word)", brief: brief) + synopsis(commands.map(usage)) + body
      + section("SEE ALSO") + ".BR \(roff(program.name)) (1)\n"
  }

  // MARK: Parts

  private func head(_ name: String, brief: String) -> String {
    var phrase = brief
    if phrase.hasSuffix(".") { phrase.removeLast() }
    return """
      .\\" \(program.name) wrote this page from the table of its commands.
      .TH "\(roff(name.uppercased()))" "1" "\(program.date)" "\(roff(program.name)) \(roff(program.version))" ""
      .SH NAME
      \(roff(name)) \\- \(roff(phrase))

      """
  }

  private func section(_ name: String) -> String { ".SH \(name)\n" }

  private func usage(_ command: CommandSpec) -> String {
    ([command.name] + command.operands.map(\.usage) + (command.options.isEmpty ? [] : ["[options]"]))
      .joined(separator: " ")
  }

  private func synopsis(_ lines: [String]) -> String {
    section("SYNOPSIS") + lines.map { ".B \(roff($0))\n" }.joined(separator: ".br\n")
  }

  private func command(_ command: CommandSpec, isSection: Bool) -> String {
    var text = isSection ? section("DESCRIPTION") : ".SS \"\(roff(usage(command)))\"\n"
    text += paragraphs(command.summary)
    if isSection, !command.options.isEmpty { text += section("OPTIONS") }
    text += command.options.map(option).joined()
    if !command.notes.isEmpty {
      text += (isSection ? section("NOTES") : ".PP\n") + paragraphs(command.notes)
    }
    if !command.examples.isEmpty {
      text += isSection ? section("EXAMPLES") : ".PP\n"
      text += ".nf\n" + command.examples.map { roff($0) + "\n" }.joined() + ".fi\n"
    }
    return text
  }

  private func options(_ options: [CommandSpec.Option]) -> String {
    options.isEmpty ? "" : section("OPTIONS") + options.map(option).joined()
  }

  private func option(_ option: CommandSpec.Option) -> String {
    ".TP\n.B \(roff(option.usage))\n" + paragraphs(option.help)
  }

  private func closing() -> String {
    list("ENVIRONMENT", program.environment) + list("EXIT STATUS", program.exitCodes) + list("FILES", program.files)
  }

  private func list(_ name: String, _ entries: [ProgramSpec.Entry]) -> String {
    guard !entries.isEmpty else { return "" }
    return section(name) + entries.map { ".TP\n.B \(roff($0.name))\n" + paragraphs($0.text) }.joined()
  }

  /// Text whose empty lines part paragraphs; an indented line stays a line of its own.
  private func paragraphs(_ text: String) -> String {
    var result = ""
    var isIndented = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      // roff breaks the line before one that is indented, and not after it.
      if isIndented && !line.isEmpty && !line.hasPrefix(" ") { result += ".br\n" }
      isIndented = line.hasPrefix(" ")
      result += line.isEmpty ? ".sp\n" : roff(String(line)) + "\n"
    }
    return result
  }

  /// Text that means nothing to roff: no request, no escape, no dash that could not be copied.
  private func roff(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "\"": result += "\\(dq"
      case "'": result += "\\(aq"
      case "`": result += "\\(ga"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
      default:
        let digits = String(scalar.value, radix: 16, uppercase: true)
        result += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
      }
    }
    return result.hasPrefix(".") ? "\\&" + result : result
  }
}
