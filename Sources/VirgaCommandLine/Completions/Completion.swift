/// A shell for which a program writes its completions.
public enum Shell: String, CaseIterable, Sendable {
  /// The shells that are known.
  case bash, zsh, fish

  /// What completes the program's commands, options and values in the shell.
  public func completion(of program: ProgramSpec) -> String {
    switch self {
    case .bash: BashCompletion(program).text
    case .zsh: ZshCompletion(program).text
    case .fish: FishCompletion(program).text
    }
  }

  /// The name of the file under which the shell finds them.
  public func fileName(for program: String) -> String {
    switch self {
    case .bash: program
    case .zsh: "_\(program)"
    case .fish: "\(program).fish"
    }
  }
}

extension ProgramSpec {
  /// All that may follow a command, with what every command has.
  func options(of command: CommandSpec) -> [CommandSpec.Option] {
    let own = command.options + options.filter { option in !command.options.contains { $0.name == option.name } }
    if own.contains(where: { $0.name == "--help" }) { return own }
    return own + [CommandSpec.Option(name: "--help", value: nil, help: "Print the help and exit.")]
  }

  /// A name for functions of shells.
  var identifier: String { String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" }) }
}

extension CommandSpec.Option {
  /// Whether the next word of the command line is its value.
  var takesNextWord: Bool { value != nil && valueIfBare == nil }
  /// Its help on one line.
  var line: String { CommandSpec.firstSentence(of: help) }
}

/// A word as a POSIX shell and fish read it.
func shellQuoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }
