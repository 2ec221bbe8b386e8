/// The words of a help page, in the language of the program.
public struct HelpWords: Sendable {
  /// Above the command line.
  public var usage = "Usage"
  /// Above the options.
  public var options = "Options"
  /// Above the commands.
  public var commands = "Commands"
  /// Above a single example.
  public var example = "Example"
  /// Above several examples.
  public var examples = "Examples"
  /// What stands for the options in a usage line.
  public var anyOptions = "[options]"
  /// What `--help` does.
  public var help = "Print this and exit."

  /// The English words.
  public init() {}

  /// The English words, which help has by default.
  public static let english = HelpWords()
}

extension CommandSpec {
  /// What `--help` prints.
  public func help(in words: HelpWords = .english) -> String {
    let usage = ([name] + operands.map(\.usage) + (options.isEmpty ? [] : [words.anyOptions])).joined(separator: " ")
    var text = "\(summary)\n\n\(words.usage): \(usage)\n"
    let all = options + [Option(name: "--help", value: nil, help: words.help)]
    let width = all.map(\.usage.count).max() ?? 0
    text += "\n\(words.options):\n"
    for option in all {
      let padding = String(repeating: " ", count: width - option.usage.count)
      let lines = option.help.split(separator: "\n").map(String.init)
      let help = lines.joined(separator: "\n" + String(repeating: " ", count: width + 4))
      text += "  \(option.usage)\(padding)  \(help)\n"
    }
    if !examples.isEmpty {
      text += "\n\(examples.count == 1 ? words.example : words.examples):\n"
      for example in examples { text += "  \(example)\n" }
    }
    return notes.isEmpty ? text : text + "\n" + notes + "\n"
  }
}

extension ProgramSpec {
  private static let widthMax = 100

  /// The commands with a phrase each; those of a group on one line, or two.
  public func commandList() -> String {
    let lines = firstWords.map { word -> (String, String) in
      let below = commands(below: [word])
      if below.count == 1, below[0].words == [word] {
        return (([word] + below[0].operands.map(\.usage)).joined(separator: " "), below[0].brief)
      }
      let names = nextWords(after: [word]).map(\.name).joined(separator: ", ")
      return ("\(word) …", "\(groups.first { $0.name == word }?.brief ?? ""): \(names)")
    }
    return Self.columns(lines)
  }

  /// The commands of a group, as `--help` prints them.
  public func commandList(of group: String) -> String {
    Self.columns(
      commands(below: [group]).map { command in
        ((command.words + command.operands.map(\.usage)).joined(separator: " "), command.brief)
      })
  }

  static func columns(_ lines: [(String, String)]) -> String {
    let width = lines.map(\.0.count).max() ?? 0
    let indent = String(repeating: " ", count: width + 4)
    return lines.map { head, text in
      let padding = String(repeating: " ", count: width - head.count)
      let wrapped = wrap(text, to: max(widthMax - width - 4, 20)).joined(separator: "\n" + indent)
      return "  \(head)\(padding)  \(wrapped)"
    }.joined(separator: "\n")
  }

  private static func wrap(_ text: String, to width: Int) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ") {
      let last = lines[lines.count - 1]
      if last.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
